package goldentool

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/assay-dev/assay/internal/golden"
)

// writeYAML writes a case as an item of a block list that is indented by so many
// spaces. It is written here and not by the library, which escapes emoji, and
// quotes by other rules than those that golden sets are read by.
func writeYAML(b *bytes.Buffer, c *golden.Case, indent int) {
	w := yamlWriter{b: b, indent: strings.Repeat(" ", indent), first: true}
	if c.ID != "" {
		w.text("id", c.ID)
		w.optional("name", c.Name)
	} else {
		// A name alone would be taken for the id.
		w.optional("title", c.Name)
	}
	w.text("question", c.Question)
	w.relevant(c.Relevant)
	w.optional("reference_answer", c.ReferenceAnswer)
	if len(c.Tags) > 0 {
		w.key("tags")
		w.list(c.Tags)
	}
	if !c.Answerable {
		w.key("answerable")
		b.WriteString(" false\n")
	}
	if len(c.History) > 0 {
		w.key("history")
		b.WriteByte('\n')
		for _, turn := range c.History {
			fmt.Fprintf(b, "%s    - role: %s\n%s      content: ", w.indent, scalar(turn.Role), w.indent)
			w.value(turn.Content, "        ")
		}
	}
	if len(c.Metadata) > 0 {
		w.key("metadata")
		b.WriteString(" " + flow(exactNumbers(c.Metadata)) + "\n")
	}
}

type yamlWriter struct {
	b      *bytes.Buffer
	indent string
	first  bool
}

func (w *yamlWriter) key(name string) {
	lead := "  "
	if w.first {
		lead, w.first = "- ", false
	}
	w.b.WriteString(w.indent + lead + name + ":")
}

func (w *yamlWriter) text(name, value string) {
	w.key(name)
	w.b.WriteByte(' ')
	w.value(value, "    ")
}

func (w *yamlWriter) optional(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

// value writes a text; one of several lines as a block where that keeps it.
func (w *yamlWriter) value(s, indent string) {
	body, one := strings.CutSuffix(s, "\n")
	if !blockable(body) {
		w.b.WriteString(scalar(s) + "\n")
		return
	}
	if one {
		w.b.WriteString("|\n")
	} else {
		w.b.WriteString("|-\n")
	}
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			w.b.WriteString(w.indent + indent + line)
		}
		w.b.WriteByte('\n')
	}
}

func (w *yamlWriter) relevant(ids []golden.Relevant) {
	if len(ids) == 0 {
		return
	}
	w.key("relevant")
	plain := make([]string, 0, len(ids))
	for _, r := range ids {
		if r.Grade == 1 {
			plain = append(plain, r.ID)
		}
	}
	if len(plain) == len(ids) {
		w.list(plain)
		return
	}
	w.b.WriteByte('\n')
	for _, r := range ids {
		fmt.Fprintf(w.b, "%s    - {id: %s, grade: %s}\n", w.indent, flowScalar(r.ID), shortest(r.Grade))
	}
}

// list writes a few short texts on the line, others below each other.
func (w *yamlWriter) list(items []string) {
	const short = 100
	length, escaped := 0, make([]string, len(items))
	for i, item := range items {
		escaped[i] = flowScalar(item)
		length += len(item) + 2
	}
	if length <= short {
		w.b.WriteString(" [" + strings.Join(escaped, ", ") + "]\n")
		return
	}
	w.b.WriteByte('\n')
	for _, item := range items {
		w.b.WriteString(w.indent + "    - " + scalar(item) + "\n")
	}
}

// blockable says whether a literal block keeps a text: it has several lines, the
// first one tells the indentation, and no white space hangs at their ends.
func blockable(s string) bool {
	if !strings.Contains(s, "\n") || strings.HasPrefix(s, "\n") || strings.HasSuffix(s, "\n") {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		if line != strings.TrimRightFunc(line, unicode.IsSpace) || strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && !readable(r) }) {
			return false
		}
	}
	return s[0] != ' ' && s[0] != '\t'
}

var (
	// reserved are plain scalars that some reader of YAML takes for no text.
	reserved = regexp.MustCompile(`(?i)^(null|true|false|yes|no|on|off|y|n)$`)
	// flowPlain are texts that stand in a flow list as they are.
	flowPlain = regexp.MustCompile(`^[\p{L}_][\p{L}\p{M}\p{N}_./@+-]*$`)
)

// scalar writes a text on one line, without quotes where it is plainly text.
func scalar(s string) string {
	first := true
	plain := !reserved.MatchString(s) && !strings.Contains(s, ": ") && !strings.Contains(s, " #") &&
		!strings.HasSuffix(s, ":") && strings.TrimSpace(s) == s
	for _, r := range s {
		if first && !unicode.IsLetter(r) || !readable(r) {
			plain = false
			break
		}
		first = false
	}
	if plain && s != "" {
		return s
	}
	return quoted(s)
}

func flowScalar(s string) string {
	if flowPlain.MatchString(s) && !reserved.MatchString(s) {
		return s
	}
	return quoted(s)
}

// readable says whether a character may stand as it is.
func readable(r rune) bool { return unicode.IsGraphic(r) && r != unicode.ReplacementChar }

// quoted writes a text in double quotes, with the escapes that YAML has.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case readable(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
