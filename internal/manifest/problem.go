package manifest

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong in a manifest.
type Problem struct {
	// File as it was given; "standard input" for stdin.
	File string
	// Line of the field, or of its document; 0 where there is none.
	Line int
	// Object is kind and name, for example "EvalSuite docs-bot".
	Object string
	// Field is the path of the field, for example spec.objectives[0].min.
	Field string
	// Message says what to do.
	Message string
}

// String gives file, line, object, field and message, as far as they are known.
func (p Problem) String() string {
	var parts []string
	switch {
	case p.File != "" && p.Line > 0:
		parts = append(parts, fmt.Sprintf("%s:%d", p.File, p.Line))
	case p.File != "":
		parts = append(parts, p.File)
	}
	for _, part := range []string{p.Object, p.Field, p.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// Error is everything that is wrong in the manifests.
type Error struct {
	// Problems in the order of the files.
	Problems []Problem
}

// Error gives one line a problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}
