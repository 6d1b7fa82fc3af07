package goldentool

import (
	"bytes"
	"encoding/json"
	"errors"

	"go.yaml.in/yaml/v3"

	"github.com/assay-dev/assay/internal/golden"
)

// ReadCases reads a case, or a list of them, as YAML or JSON. The name is what
// problems call the text by.
func ReadCases(name string, data []byte) ([]golden.Case, error) {
	if len(data) > maxYAMLBytes {
		return nil, errors.New(name + " is over 8 MiB: that is more than a few cases")
	}
	f := golden.File{Name: name + ".yaml", Data: data}
	switch trimmed := bytes.TrimSpace(data); {
	case json.Valid(data) && len(trimmed) > 0 && trimmed[0] == '{' && !hasCases(data):
		f = golden.File{Name: name + ".json", Data: []byte("[" + string(data) + "]")}
	case json.Valid(data):
		f.Name = name + ".json"
	case isMapping(data):
		f.Data = listed(data)
	}
	set, err := golden.Read(f)
	if err != nil {
		return nil, renamed(err, f.Name, name)
	}
	return set.Cases, nil
}

// hasCases says whether a JSON object is a whole set.
func hasCases(data []byte) bool {
	var top struct{ Cases json.RawMessage }
	return json.Unmarshal(data, &top) == nil && top.Cases != nil
}

// isMapping says whether YAML is a single case.
func isMapping(data []byte) bool {
	var doc yaml.Node
	if yaml.Unmarshal(data, &doc) != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i < len(doc.Content[0].Content); i += 2 {
		if doc.Content[0].Content[i].Value == "cases" {
			return false
		}
	}
	return true
}

// listed makes the case the item of a list, every line staying where it is, so
// that problems name the lines that people see.
func listed(data []byte) []byte {
	var out bytes.Buffer
	first := true
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		if first {
			line = bytes.TrimPrefix(line, []byte("---"))
		}
		switch {
		case first && len(bytes.TrimSpace(line)) > 0 && !bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")):
			out.WriteString("- ")
			first = false
		case !first && len(bytes.TrimSpace(line)) > 0:
			out.WriteString("  ")
		}
		out.Write(line)
	}
	return out.Bytes()
}

// renamed calls a file in problems by the name that the user knows.
func renamed(err error, from, to string) error {
	e, ok := errors.AsType[*golden.Error](err)
	if !ok {
		return err
	}
	out := &golden.Error{Total: e.Total}
	for _, p := range e.Problems {
		if p.File == from {
			p.File = to
		}
		out.Problems = append(out.Problems, p)
	}
	return out
}
