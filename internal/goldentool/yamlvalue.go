package goldentool

import (
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

const (
	// maxYAMLBytes bounds a file that is YAML: the library takes some 400 bytes for
	// every value.
	maxYAMLBytes = 8 << 20
	// maxYAMLValues bounds what its aliases may stand for.
	maxYAMLValues = 1_000_000
	maxYAMLDepth  = 100
)

// yamlValue reads the first document of YAML as JSON values; a scalar that is not
// quoted keeps its text, as a number where it is one.
func yamlValue(data []byte) (any, error) {
	if len(data) > maxYAMLBytes {
		return nil, fmt.Errorf("is over %d MiB of YAML: split it", maxYAMLBytes>>20)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("is not YAML: %w", err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	r := yamlReader{left: maxYAMLValues}
	return r.value(doc.Content[0], 0)
}

// yamlReader follows aliases as far as there are values left.
type yamlReader struct{ left int }

func (r *yamlReader) value(n *yaml.Node, depth int) (any, error) {
	r.left--
	switch {
	case r.left < 0:
		return nil, errors.New("holds too many values, counting what its aliases stand for: write it without aliases, or split it")
	case depth > maxYAMLDepth:
		return nil, fmt.Errorf("is nested more than %d levels deep", maxYAMLDepth)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			v, err := r.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		return r.mapping(n, depth)
	}
	return yamlScalar(n), nil
}

func (r *yamlReader) mapping(n *yaml.Node, depth int) (any, error) {
	fields, merged := map[string]any{}, map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		v, err := r.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		if key.Kind == yaml.ScalarNode && key.Tag == "!!merge" {
			merge(merged, v)
			continue
		}
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("has a list or a map as a key on line %d", key.Line)
		}
		fields[key.Value] = v
	}
	for key, v := range merged {
		if _, own := fields[key]; !own {
			fields[key] = v
		}
	}
	return fields, nil
}

// merge takes in what << names: a map, or a list of them of which the first wins.
func merge(into map[string]any, v any) {
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	for _, item := range list {
		fields, _ := item.(map[string]any)
		for key, value := range fields {
			if _, there := into[key]; !there {
				into[key] = value
			}
		}
	}
}

func yamlScalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		switch n.Value {
		case "true", "True", "TRUE":
			return true
		case "false", "False", "FALSE":
			return false
		}
	case "!!int", "!!float":
		return json.Number(n.Value)
	}
	return n.Value
}
