package golden

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problem is one thing that is wrong with a golden set, and where.
type Problem struct {
	// File is the name of the file; empty where the set as a whole is meant.
	File string
	// Line counts from 1; 0 where it is unknown.
	Line int
	// Case is the id of the case, or "#3" for the third of the file where it
	// has none; empty where no case is meant.
	Case string
	// Field is the name that the file uses.
	Field string
	// Message says what is wrong and what to do.
	Message string
}

// String gives the problem on one line: file:line: case "id": field: message.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(oneLine(p.File))
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d", p.Line)
		}
		b.WriteString(": ")
	}
	switch {
	case strings.HasPrefix(p.Case, "#"):
		fmt.Fprintf(&b, "case %s: ", oneLine(p.Case))
	case p.Case != "":
		fmt.Fprintf(&b, "case %s: ", quote(p.Case))
	}
	if p.Field != "" {
		b.WriteString(oneLine(p.Field))
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Error is why a golden set cannot be used: a mistake of whoever wrote it,
// which reading it again does not mend.
type Error struct {
	// Problems in the order of the files; at most the first 1,000.
	Problems []Problem
	// Total counts all problems, those that Problems leaves out too.
	Total int
}

// Error gives the only problem, or how many there are and the first 20, one a
// line. It reads well behind "the golden set cannot be read: ".
func (e *Error) Error() string {
	if e.Total == 1 {
		return e.Problems[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d problems:", e.Total)
	listed := min(len(e.Problems), maxListed)
	for _, p := range e.Problems[:listed] {
		b.WriteString("\n")
		b.WriteString(p.String())
	}
	if more := e.Total - listed; more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

// problemLog gathers problems up to a bound and counts the rest.
type problemLog struct {
	problems []Problem
	total    int
}

func (l *problemLog) add(p Problem) {
	l.total++
	if len(l.problems) < maxProblems {
		l.problems = append(l.problems, p)
	}
}

func (l *problemLog) err() error {
	if l.total == 0 {
		return nil
	}
	return &Error{Problems: l.problems, Total: l.total}
}

// warningLog unites the warnings of one kind about one field of one file, so
// that a thousand cases with the same unknown field are one warning.
type warningLog struct {
	kinds map[warningKind]*warning
	order []*warning
	lost  int
}

type warningKind struct{ file, field, message string }

type warning struct {
	first Problem
	named []string
	more  int
}

func (l *warningLog) add(p Problem) {
	kind := warningKind{p.File, p.Field, p.Message}
	w, known := l.kinds[kind]
	switch {
	case !known && len(l.order) == maxWarnings:
		l.lost++
	case !known:
		if l.kinds == nil {
			l.kinds = map[warningKind]*warning{}
		}
		w = &warning{first: p}
		l.kinds[kind] = w
		l.order = append(l.order, w)
	case len(w.named) < maxNamedCases:
		w.named = append(w.named, shorten(p.Case))
	default:
		w.more++
	}
}

func (l *warningLog) list() []Problem {
	var list []Problem
	for _, w := range l.order {
		p := w.first
		if len(w.named) > 0 {
			p.Message += " (also: " + strings.Join(w.named, ", ")
			if w.more > 0 {
				p.Message += fmt.Sprintf(" and %d more", w.more)
			}
			p.Message += ")"
		}
		list = append(list, p)
	}
	if l.lost > 0 {
		list = append(list, Problem{Message: fmt.Sprintf("%d more warnings are not listed", l.lost)})
	}
	return list
}

// shorten cuts what a user wrote down to a length that fits in a message.
func shorten(s string) string {
	const limit = 64
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit]) + "…"
}

// quote shows what a user wrote on one line.
func quote(s string) string { return strconv.Quote(shorten(s)) }

// oneLine leaves a plain name as it is and quotes one that would break the line.
func oneLine(s string) string {
	const limit = 512 // a namespace, a ConfigMap and a key fit
	if utf8.RuneCountInString(s) > limit {
		s = string([]rune(s)[:limit]) + "…"
	}
	if quoted := strconv.Quote(s); quoted[1:len(quoted)-1] != s {
		return quoted
	}
	return s
}
