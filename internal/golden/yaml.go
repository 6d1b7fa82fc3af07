package golden

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readYAML reads a list of cases, or {cases: [...]}.
func (r *reader) readYAML(data []byte) {
	if yamlMarks(data) > maxYAMLMarks {
		r.problem(0, "", "holds more values than are read of YAML, going by its line breaks, commas and brackets: write a case a line in a .jsonl file, which takes far less memory")
		return
	}
	data, r.breaks = hideBreaks(data)
	root, ok := r.yamlRoot(data)
	if !ok || root == nil {
		return
	}
	if line, err := checkAliases(root); err != nil {
		r.problem(line, "", "%s", err)
		return
	}
	root = aliased(root)
	switch root.Kind {
	case yaml.SequenceNode:
		r.yamlCases(root)
	case yaml.MappingNode:
		r.yamlTopMap(root)
	default:
		r.casesNeeded(root.Line, "")
	}
}

// yamlMarks counts what can begin a value. Text has such marks too, so that
// there are fewer values than this.
func yamlMarks(data []byte) (n int) {
	for _, mark := range []string{"\n", ",", "[", "{", "- ", "? ", ": "} {
		n += bytes.Count(data, []byte(mark))
	}
	return n
}

// yamlRoot parses the one document of a file; nil where it is empty.
func (r *reader) yamlRoot(data []byte) (root *yaml.Node, ok bool) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		switch {
		case errors.Is(err, io.EOF):
			return root, true
		case err != nil:
			line, message := yamlReason(err, data)
			r.problem(line, "", "is not YAML: %s", message)
			return nil, false
		case len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null":
			continue
		case root != nil:
			r.problem(doc.Content[0].Line, "", "holds a second YAML document: put all cases into one list, without --- between them")
			return nil, false
		}
		root = doc.Content[0]
	}
}

func (r *reader) yamlTopMap(root *yaml.Node) {
	found := 0
	for i := 0; i < len(root.Content); i += 2 {
		k, v := aliased(root.Content[i]), aliased(root.Content[i+1])
		switch {
		case k.Value != "cases":
			r.unknownTopKey(key{k.Value, k.Line})
		case found > 0:
			r.problem(k.Line, "cases", "is given twice, first on line %d: keep one", found)
			return
		default:
			found = k.Line
			switch {
			case v.Kind == yaml.SequenceNode:
				r.yamlCases(v)
			case v.ShortTag() != "!!null":
				n := r.yamlNode(v, 1)
				r.wrongType(&n, "cases", "a list of cases")
			}
		}
	}
	if found == 0 {
		r.casesNeeded(root.Line, "; a single case goes into a list too")
	}
}

func (r *reader) yamlCases(seq *yaml.Node) {
	for _, item := range seq.Content {
		m := r.mark()
		n := r.yamlNode(item, 0)
		r.addCase(&n, m)
		if r.full {
			return
		}
	}
}

// yamlNode takes a node over; depth is 0 for a case.
func (r *reader) yamlNode(y *yaml.Node, depth int) node {
	y = aliased(y)
	n := node{line: y.Line}
	switch y.Kind {
	case yaml.SequenceNode:
		r.checkTag(y, "!!seq")
		n.kind = list
		n.items = make([]node, 0, len(y.Content))
		for _, item := range y.Content {
			n.items = append(n.items, r.yamlNode(item, depth+1))
		}
		return n
	case yaml.MappingNode:
		r.checkTag(y, "!!map")
		n.kind = object
		b := objectBuilder{n: n}
		r.yamlMap(&b, y, depth)
		return b.n
	default:
		return r.yamlScalar(y)
	}
}

// yamlMap puts the keys of a map into b, then those of the maps that it merges
// (<<: *defaults): a key of its own wins, then the map that comes first.
func (r *reader) yamlMap(b *objectBuilder, y *yaml.Node, depth int) {
	var merged []*yaml.Node
	for i := 0; i < len(y.Content); i += 2 {
		yk, yv := aliased(y.Content[i]), y.Content[i+1]
		if yk.Kind != yaml.ScalarNode {
			r.problem(yk.Line, r.caseField, "a key must be text, is a list or a map")
			continue
		}
		if yk.Style == 0 && yk.Tag == "!!merge" {
			merged = append(merged, yv)
			continue
		}
		k := key{r.showBreaks(yk.Value), yk.Line}
		if depth == 0 {
			r.caseField = k.name
		}
		r.addOnce(b, k, r.yamlNode(yv, depth+1), depth == 0)
	}
	for _, source := range merged {
		r.yamlMerge(b, aliased(source), depth)
	}
}

func (r *reader) yamlMerge(b *objectBuilder, source *yaml.Node, depth int) {
	switch source.Kind {
	case yaml.MappingNode:
		var other objectBuilder
		r.yamlMap(&other, source, depth)
		for i, k := range other.n.keys {
			if b.find(k.name) < 0 {
				b.add(k, other.n.items[i])
			}
		}
	case yaml.SequenceNode:
		for _, item := range source.Content {
			if item = aliased(item); item.Kind != yaml.MappingNode {
				r.problem(item.Line, "<<", "must be a map or a list of maps")
				continue
			}
			r.yamlMerge(b, item, depth)
		}
	default:
		r.problem(source.Line, "<<", "must be a map or a list of maps")
	}
}

const yamlQuoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// yamlScalar keeps the source text of a scalar, and says what it may be besides.
func (r *reader) yamlScalar(y *yaml.Node) node {
	n := node{kind: text, source: true, line: y.Line, text: r.showBreaks(y.Value)}
	if y.Style&yaml.TaggedStyle == 0 {
		if y.Style&yamlQuoted == 0 {
			n.kind = plainKind(y.Value)
		}
		return n
	}
	asked, known := map[string]kind{"!!null": null, "!!bool": boolean, "!!int": number, "!!float": number}[y.ShortTag()]
	if !known {
		r.checkTag(y, "!!str")
		return n
	}
	if n.kind = plainKind(y.Value); n.kind != asked {
		r.problem(y.Line, r.caseField, "has the YAML tag %s, but is %s", y.ShortTag(), n.kind)
	}
	return n
}

// checkTag refuses tags that would need somebody to say what they mean.
func (r *reader) checkTag(y *yaml.Node, want string) {
	if y.Style&yaml.TaggedStyle != 0 && y.ShortTag() != want {
		r.problem(y.Line, r.caseField, "has the YAML tag %s, which has no meaning here: remove it", shorten(y.ShortTag()))
	}
}

// aliased follows an alias to what it stands for.
func aliased(y *yaml.Node) *yaml.Node {
	for y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	return y
}

// YAML 1.2 breaks lines at line feed and carriage return only, the library also
// at these, and folds them away. They stand for themselves here, and runes of
// the private use area stand in for them while the library reads.
var (
	toHidden   = strings.NewReplacer("\u0085", "\uf6f0", "\u2028", "\uf6f1", "\u2029", "\uf6f2")
	fromHidden = strings.NewReplacer("\uf6f0", "\u0085", "\uf6f1", "\u2028", "\uf6f2", "\u2029")
)

func hideBreaks(data []byte) (hidden []byte, any bool) {
	if !bytes.ContainsAny(data, "\u0085\u2028\u2029") || bytes.ContainsAny(data, "\uf6f0\uf6f1\uf6f2") {
		return data, false
	}
	return []byte(toHidden.Replace(string(data))), true
}

func (r *reader) showBreaks(s string) string {
	if r.breaks {
		return fromHidden.Replace(s)
	}
	return s
}
