package goldentool

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/assay-dev/assay/internal/golden"
)

// yamlList finds the list of cases of a YAML text that was read before; nil
// where the text is empty.
func yamlList(data []byte) (doc, list, next *yaml.Node, err error) {
	doc = &yaml.Node{}
	if err := yaml.Unmarshal(data, doc); err != nil {
		return nil, nil, nil, fmt.Errorf("find the list of cases: %w", err)
	}
	if len(doc.Content) == 0 {
		return doc, nil, nil, nil
	}
	root := doc.Content[0]
	switch root.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(root.Content); i += 2 {
			if root.Content[i].Value == "cases" {
				list = root.Content[i+1]
				if i+2 < len(root.Content) {
					next = root.Content[i+2]
				}
			}
		}
	case yaml.SequenceNode:
		list = root
	}
	return doc, list, next, nil
}

// appendYAMLText puts the text of the cases behind the last one, so that every
// byte of the file stays as it is. Whether that was the right place is found by
// reading the result.
func appendYAMLText(data []byte, cases []golden.Case) ([]byte, error) {
	_, list, next, err := yamlList(data)
	if err != nil {
		return nil, err
	}
	indent := 0
	if list != nil && len(list.Content) > 0 {
		indent = max(0, list.Column-1)
	}
	var added bytes.Buffer
	for i := range cases {
		writeYAML(&added, &cases[i], indent)
	}
	text := bytes.ReplaceAll(added.Bytes(), []byte("\n"), []byte(newline(data)))
	out := ended(data)
	at := len(out)
	if next != nil {
		at = lineStart(out, next.Line)
		at = aboveComments(out, at, next.Column)
	}
	return append(out[:at:at], append(text, out[at:]...)...), nil
}

// lineStart gives where a line begins, counted from 1.
func lineStart(data []byte, line int) int {
	at := 0
	for ; line > 1; line-- {
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			return len(data)
		}
		at += end + 1
	}
	return at
}

// aboveComments goes up over the blank lines and the comments that belong to the
// key that begins at a line.
func aboveComments(data []byte, at, column int) int {
	for at > 0 {
		before := bytes.LastIndexByte(data[:at-1], '\n') + 1
		line := strings.TrimRight(string(data[before:at]), " \t\r\n")
		if line != "" && !strings.HasPrefix(line, strings.Repeat(" ", column-1)+"#") {
			break
		}
		at = before
	}
	return at
}

// appendYAMLNodes writes the whole file anew, with its comments and its order. It
// is for files in flow style, [{…}], where no text can be put behind the last.
func appendYAMLNodes(data []byte, cases []golden.Case) ([]byte, error) {
	doc, list, _, err := yamlList(data)
	if err != nil {
		return nil, err
	}
	if list == nil || list.Kind != yaml.SequenceNode {
		return data, nil // the caller sees that nothing was added
	}
	text, err := Write(cases, golden.YAML)
	if err != nil {
		return nil, err
	}
	var added yaml.Node
	if err := yaml.Unmarshal(text, &added); err != nil {
		return nil, fmt.Errorf("read the new case: %w", err)
	}
	if len(list.Content) == 0 {
		// [] # none yet: what stands behind the brackets goes above the first case.
		list.Style &^= yaml.FlowStyle
		list.HeadComment, list.LineComment = list.LineComment, ""
	}
	list.Content = append(list.Content, added.Content[0].Content...)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(doc); err != nil {
		return nil, fmt.Errorf("write the YAML anew: %w", err)
	}
	if losesComment(data, out.Bytes()) {
		return data, nil
	}
	return out.Bytes(), nil
}

// losesComment says whether something that may be a comment is in the one text
// and not in the other. The library keeps most comments, and not all.
func losesComment(before, after []byte) bool {
	for line := range bytes.Lines(before) {
		at := bytes.Index(append([]byte(" "), line...), []byte(" #"))
		if at >= 0 && !bytes.Contains(after, bytes.TrimSpace(line[at:])) {
			return true
		}
	}
	return false
}
