package chart_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// schema is a part of values.schema.json.
type schema struct {
	Ref                  string            `json:"$ref"`
	Description          string            `json:"description"`
	Properties           map[string]schema `json:"properties"`
	AdditionalProperties any               `json:"additionalProperties"`
}

// A setting is one value that somebody may set.
type setting struct{ path, description string }

// ofHelm are the values that Helm itself knows, and the chart does not read.
var ofHelm = []string{"global", "enabled"}

// settings are all of the schema's, in the order of values.yaml's sections.
func settings(t *testing.T) []setting {
	t.Helper()
	data, err := os.ReadFile(chart + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var root schema
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	var all []setting
	var walk func(string, schema)
	walk = func(path string, s schema) {
		if path != "" && s.Description == "" {
			t.Errorf("values.schema.json says nothing of %s", path)
		}
		if s.Properties == nil {
			all = append(all, setting{path, s.Description})
			return
		}
		if s.AdditionalProperties != false {
			t.Errorf("values.schema.json lets %s have any property", path)
		}
		for name, property := range s.Properties {
			if path == "" && slices.Contains(ofHelm, name) {
				continue
			}
			walk(strings.TrimPrefix(path+"."+name, "."), property)
		}
	}
	walk("", root)
	text := values(t)
	place := func(path string) int { return strings.Index("\n"+text, "\n"+strings.SplitN(path, ".", 2)[0]+":") }
	slices.SortFunc(all, func(a, b setting) int {
		if d := place(a.path) - place(b.path); d != 0 {
			return d
		}
		return strings.Compare(a.path, b.path)
	})
	return all
}

// values is the text of values.yaml.
func values(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(chart + "/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var values map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// lookup gives what stands at a path.
func lookup(values map[string]any, path string) (any, bool) {
	name, rest, deeper := strings.Cut(path, ".")
	value, ok := values[name]
	if !deeper || !ok {
		return value, ok
	}
	inner, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	return lookup(inner, rest)
}

// The schema and values.yaml name the same values, and a comment stands at every section.
func TestSchemaKnowsTheValues(t *testing.T) {
	text := values(t)
	parsed := parse(t, text)
	known := map[string]bool{}
	for _, s := range settings(t) {
		known[s.path] = true
		if _, ok := lookup(parsed, s.path); !ok {
			t.Errorf("values.yaml has no default of %s", s.path)
		}
	}
	var walk func(string, any)
	walk = func(path string, value any) {
		inner, ok := value.(map[string]any)
		if known[path] {
			return
		}
		if !ok {
			t.Errorf("values.schema.json lacks %s", path)
		}
		for name, value := range inner {
			walk(strings.TrimPrefix(path+"."+name, "."), value)
		}
	}
	walk("", parsed)
}

// A chart that depends on this one hands it values that are Helm's own.
func TestValuesOfHelm(t *testing.T) {
	if _, err := template(t, "{global: {region: eu}, enabled: true}"); err != nil {
		t.Error(err)
	}
}
