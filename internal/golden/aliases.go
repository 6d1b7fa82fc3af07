package golden

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// checkAliases refuses a document whose aliases stand for far more than it
// holds, before anything follows them. Every node is measured once, so that a
// document of 2 MiB that means 10⁹ values costs no more than one that means itself.
func checkAliases(root *yaml.Node) (line int, err error) {
	e := expansion{done: map[*yaml.Node]extent{}}
	all := e.measure(root, 1)
	if e.err == nil && all.size-e.own > maxExpandedBytes {
		e.fail(e.firstAlias, errExpansion)
	}
	if e.err == nil && all.height > maxYAMLDepth {
		e.fail(root.Line, errYAMLDepth)
	}
	return e.line, e.err
}

const (
	// nodeBytes is roughly what it takes to hold a value beside its text.
	nodeBytes = 64
	// maxYAMLDepth is far above what a case needs, far below what a stack holds.
	maxYAMLDepth = 1_000
)

var (
	errExpansion = fmt.Errorf("its YAML aliases expand to more than %d MiB: write the values out where they are needed", maxExpandedBytes>>20)
	errYAMLDepth = fmt.Errorf("is nested more than %d levels deep", maxYAMLDepth)
)

// extent is what a node means once its aliases are followed.
type extent struct {
	size   int64
	height int
}

type expansion struct {
	done       map[*yaml.Node]extent // by node with an anchor
	own        int64                 // size of what the document holds itself
	firstAlias int                   // its line
	line       int
	err        error
}

func (e *expansion) fail(line int, err error) {
	if e.err == nil {
		e.line, e.err = line, err
	}
}

func (e *expansion) measure(y *yaml.Node, depth int) extent {
	if depth > maxYAMLDepth {
		e.fail(y.Line, errYAMLDepth)
	}
	if e.err != nil {
		return extent{}
	}
	if y.Kind == yaml.AliasNode {
		return e.alias(y)
	}
	x := extent{size: nodeBytes + int64(len(y.Value))}
	e.own += x.size
	for _, child := range y.Content {
		c := e.measure(child, depth+1)
		// No sum overflows: aliases to more than the bound have failed.
		x.size += c.size
		x.height = max(x.height, c.height)
	}
	x.height++
	if y.Anchor != "" {
		e.done[y] = x
	}
	return x
}

func (e *expansion) alias(y *yaml.Node) extent {
	if e.firstAlias == 0 {
		e.firstAlias = y.Line
	}
	x, ok := e.done[y.Alias]
	switch {
	case !ok: // its anchor is not finished: a node above this one
		e.fail(y.Line, fmt.Errorf("the YAML alias *%s stands inside what it stands for: remove it", shorten(y.Value)))
	case x.size > maxExpandedBytes:
		e.fail(y.Line, errExpansion)
	case x.height > maxYAMLDepth:
		e.fail(y.Line, errYAMLDepth)
	}
	return x
}
