package judge

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readYAML reads a list of labels, or {labels: […]}.
func (r *labelReader) readYAML(data []byte) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	read := false
	for {
		var document yaml.Node
		err := dec.Decode(&document)
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			line, message := yamlProblem(err)
			r.problem(line, "", "is not YAML: %s", message)
			return
		case len(document.Content) == 0 || document.Content[0].ShortTag() == "!!null":
			continue
		case read:
			r.problem(document.Content[0].Line, "", "holds a second YAML document: put all labels into one list, without --- between them")
			return
		}
		read = true
		v, err := yamlValue(document.Content[0], 0)
		if err != nil {
			r.problem(v.line, "", "%s", err)
			return
		}
		r.top(&v)
	}
}

// yamlValue takes a node over. Beside an error, the value's line is that of the
// mistake.
func yamlValue(y *yaml.Node, depth int) (v value, err error) {
	v.line = y.Line
	if depth > maxDepth {
		return v, errTooDeep
	}
	switch y.Kind {
	case yaml.AliasNode:
		// An alias may stand for an alias: a short file for an endless label.
		return v, errors.New("uses a YAML alias: write the text out")
	case yaml.MappingNode:
		v.kind = kindObject
	case yaml.SequenceNode:
		v.kind = kindList
	default:
		return yamlScalar(y), nil
	}
	content := y.Content
	for len(content) > 0 {
		if v.kind == kindObject {
			if content[0].Kind != yaml.ScalarNode {
				v.line = content[0].Line
				return v, errors.New("has a key that is no text")
			}
			v.keys = append(v.keys, content[0].Value)
			content = content[1:]
		}
		item, err := yamlValue(content[0], depth+1)
		if err != nil {
			return item, err
		}
		v.items = append(v.items, item)
		content = content[1:]
	}
	return v, nil
}

// yamlScalar keeps the source of a scalar, so that 007 stays what it was.
func yamlScalar(y *yaml.Node) value {
	v := value{kind: kindText, text: y.Value, line: y.Line}
	switch y.ShortTag() {
	case "!!null":
		v.kind = kindNull
	case "!!bool":
		v.kind, v.truth = kindBool, strings.EqualFold(y.Value, "true")
	case "!!int", "!!float":
		v.kind = kindNumber
	}
	return v
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// yamlProblem takes an error of the library apart.
func yamlProblem(err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = message[len(m[0]):]
	}
	return line, message
}
