package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// document is one object of a manifest file.
type document struct {
	file       string
	fromFolder bool
	// line that the document begins at, from 1.
	line int
	// object as JSON decodes it, integers as int64.
	object map[string]any
	// node is the same as source text, for lines; nil where it cannot be had.
	node *yamlv3.Node
	// offset is added to the lines of node.
	offset int
}

// entry is one document of a file, or what keeps it from being one.
type entry struct {
	doc      *document
	problems []Problem
}

// entries splits a file into its documents.
func (s source) entries() []entry {
	if first := bytes.TrimLeft(s.data, " \t\r\n"); len(first) > 0 && first[0] == '{' {
		entries, err := s.jsonEntries()
		if err == nil {
			return entries
		}
		if strings.HasSuffix(strings.ToLower(s.name), ".json") {
			return []entry{{problems: []Problem{{File: s.name, Line: jsonErrorLine(s.data, err), Message: "not JSON: " + err.Error()}}}}
		}
	}
	return s.yamlEntries()
}

// jsonEntries reads a stream of JSON objects.
func (s source) jsonEntries() ([]entry, error) {
	var entries []entry
	decoder := json.NewDecoder(bytes.NewReader(s.data))
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return entries, nil
		} else if err != nil {
			return nil, err
		}
		start := int(decoder.InputOffset()) - len(raw)
		entries = append(entries, s.decode(raw, raw, 1+bytes.Count(s.data[:start], []byte("\n"))))
	}
}

// yamlEntries reads the documents between lines of "---".
func (s source) yamlEntries() []entry {
	var entries []entry
	for _, chunk := range splitYAML(s.data) {
		asJSON, err := yaml.YAMLToJSONStrict(chunk.text)
		switch {
		case err != nil:
			entries = append(entries, entry{problems: s.syntaxProblems(chunk, err)})
		case !bytes.Equal(asJSON, []byte("null")):
			entries = append(entries, s.decode(asJSON, chunk.text, chunk.line))
		}
	}
	return entries
}

// decode reads one document; text is its source, for lines.
func (s source) decode(asJSON, text []byte, line int) entry {
	doc := &document{file: s.name, fromFolder: s.fromFolder, line: line, offset: line - 1}
	var root yamlv3.Node
	if err := yamlv3.Unmarshal(text, &root); err == nil && len(root.Content) == 1 {
		doc.node = root.Content[0]
		doc.line = doc.offset + doc.node.Line
	}
	var value any
	strict, err := kjson.UnmarshalStrict(asJSON, &value)
	if err != nil {
		return entry{problems: []Problem{doc.problem("", err.Error())}}
	}
	object, ok := value.(map[string]any)
	if !ok && !s.fromFolder {
		return entry{problems: []Problem{doc.problem("", "no Kubernetes manifest: a manifest is a map with apiVersion and kind; "+
			"a golden set as it stands is given with --golden")}}
	}
	doc.object = object
	var problems []Problem
	for _, err := range strict {
		problems = append(problems, doc.problem("", err.Error()))
	}
	return entry{doc: doc, problems: problems}
}

// chunk is the text of one YAML document and the line that it begins at.
type chunk struct {
	text []byte
	line int
}

// splitYAML cuts at document markers, which YAML allows at the start of a line
// only, where no block scalar can have text. What stands behind a marker
// belongs to the document that it opens.
func splitYAML(data []byte) []chunk {
	var chunks []chunk
	current := chunk{line: 1}
	empty := true
	flush := func(nextLine int) {
		if !empty {
			chunks = append(chunks, current)
		}
		current, empty = chunk{line: nextLine}, true
	}
	line := 0
	for len(data) > 0 {
		line++
		text := data
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			text = data[:i+1]
		}
		data = data[len(text):]
		if isMarker(text, "---") || isMarker(text, "...") {
			flush(line)
			text = append([]byte("   "), text[3:]...)
		}
		if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] != '#' && text[0] != '%' {
			empty = false
		}
		current.text = append(current.text, text...)
	}
	flush(line)
	return chunks
}

func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}

var yamlLine = regexp.MustCompile(`line (\d+)(?:: |$)`)

// syntaxProblems gives a YAML error with lines of the file instead of the document.
func (s source) syntaxProblems(c chunk, err error) []Problem {
	var problems []Problem
	for _, text := range strings.Split(err.Error(), "\n") {
		text = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(text), "error converting YAML to JSON: "), "yaml: "))
		if text == "" || text == "unmarshal errors:" {
			continue
		}
		line := c.line
		if match := yamlLine.FindStringSubmatchIndex(text); match != nil {
			within, _ := strconv.Atoi(text[match[2]:match[3]])
			line = c.line - 1 + within
			text = text[:match[0]] + text[match[1]:]
		}
		problems = append(problems, Problem{File: s.name, Line: line, Message: "not YAML: " + text})
	}
	return problems
}

func jsonErrorLine(data []byte, err error) int {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
	}
	return 1 + bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n"))
}

func (d *document) typeMeta() (apiVersion, kind string) {
	apiVersion, _ = d.object["apiVersion"].(string)
	kind, _ = d.object["kind"].(string)
	return apiVersion, kind
}

func (d *document) name() string {
	metadata, _ := d.object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

// describe gives kind and name, for people.
func (d *document) describe() string {
	_, kind := d.typeMeta()
	switch name := d.name(); {
	case kind == "":
		return "the document"
	case name == "":
		return kind
	default:
		return kind + " " + name
	}
}

// place gives file and line.
func (d *document) place() string { return fmt.Sprintf("%s:%d", d.file, d.line) }

// problem is something wrong with the field at the path; "" is the whole document.
func (d *document) problem(path, message string) Problem {
	object := d.describe()
	if _, kind := d.typeMeta(); kind == "" {
		object = ""
	}
	line, _ := d.at(path)
	return Problem{File: d.file, Line: line, Object: object, Field: path, Message: message}
}

// items gives the objects of a List.
func (d *document) items() ([]*document, bool) {
	_, kind := d.typeMeta()
	list, ok := d.object["items"].([]any)
	if !ok || !strings.HasSuffix(kind, "List") {
		return nil, false
	}
	docs := make([]*document, 0, len(list))
	for i, item := range list {
		path := fmt.Sprintf("items[%d]", i)
		line, node := d.at(path)
		object, ok := item.(map[string]any)
		if !ok {
			object = map[string]any{}
		}
		docs = append(docs, &document{file: d.file, fromFolder: d.fromFolder, line: line, object: object, node: node, offset: d.offset})
	}
	return docs, true
}

// at gives the line of the deepest field of the path that is written in the
// document, and the node of the whole path, nil where it is not written.
func (d *document) at(path string) (int, *yamlv3.Node) {
	line, node := d.line, d.node
	if node == nil {
		return line, nil
	}
	for _, step := range splitPath(path) {
		key, next := descend(node, step)
		if next == nil {
			return line, nil
		}
		line, node = d.offset+key.Line, next
	}
	return line, node
}

// descend gives a child and the node whose line stands for it.
func descend(node *yamlv3.Node, step string) (key, value *yamlv3.Node) {
	if node.Kind == yamlv3.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yamlv3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i], node.Content[i+1]
			}
		}
	case yamlv3.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i]
		}
	}
	return nil, nil
}

// splitPath cuts a field path into its steps: names, and what stands in brackets.
func splitPath(path string) []string {
	var steps []string
	for path != "" {
		switch end := strings.IndexAny(path, ".["); {
		case path[0] == '[':
			closing := strings.IndexByte(path, ']')
			if closing < 0 {
				return append(steps, path[1:])
			}
			steps = append(steps, path[1:closing])
			path = path[closing+1:]
		case path[0] == '.':
			path = path[1:]
		case end < 0:
			return append(steps, path)
		default:
			steps = append(steps, path[:end])
			path = path[end:]
		}
	}
	return steps
}
