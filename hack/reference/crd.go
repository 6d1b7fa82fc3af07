package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// readCRDs reads the CRDs below bases, sorted by kind: EvalSuite, which users
// write, before EvalRun, which they mostly read.
func readCRDs(from fs.FS) ([]apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(from, "bases/*.yaml")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	slices.Reverse(names)
	crds := make([]apiextensionsv1.CustomResourceDefinition, len(names))
	for i, name := range names {
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		if err := yaml.UnmarshalStrict(data, &crds[i]); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return crds, nil
}

// object is an object of the API: its schema, and everywhere it stands.
type object struct {
	schema apiextensionsv1.JSONSchemaProps
	// description is that of the first field that holds it.
	description string
	// paths are those of the fields that hold it, the first one being its heading.
	paths []string
}

// objects finds every object once, however often it stands in the API.
type objects struct {
	all   []*object
	byKey map[string]*object
}

// add notes the objects at and below a path.
func (o *objects) add(path string, s *apiextensionsv1.JSONSchemaProps) error {
	element, suffix := elementOf(s)
	path += suffix
	if len(element.Properties) == 0 {
		return nil
	}
	key, err := keyOf(element)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if known, ok := o.byKey[key]; ok {
		known.paths = append(known.paths, path)
		return nil // So are all below it.
	}
	found := &object{schema: *element, description: cmp.Or(s.Description, element.Description), paths: []string{path}}
	o.all = append(o.all, found)
	o.byKey[key] = found
	for _, name := range fieldsOf(element) {
		field := element.Properties[name]
		if err := o.add(path+"."+name, &field); err != nil {
			return err
		}
	}
	return nil
}

// heading is where the object of a schema is described; false where it is none.
func (o *objects) heading(s *apiextensionsv1.JSONSchemaProps) (string, bool) {
	element, _ := elementOf(s)
	if len(element.Properties) == 0 {
		return "", false
	}
	key, err := keyOf(element)
	if err != nil {
		return "", false
	}
	found, ok := o.byKey[key]
	if !ok {
		return "", false
	}
	return found.paths[0], true
}

// elementOf is the schema of what a list or a map holds, with what its path says of that.
func elementOf(s *apiextensionsv1.JSONSchemaProps) (element *apiextensionsv1.JSONSchemaProps, suffix string) {
	switch {
	case s.Items != nil && s.Items.Schema != nil:
		return s.Items.Schema, "[]"
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return s.AdditionalProperties.Schema, "{}"
	}
	return s, ""
}

// keyOf is equal for schemas of which one description will do. What is said where
// the object stands, and its default there, is told with the field.
func keyOf(s *apiextensionsv1.JSONSchemaProps) (string, error) {
	bare := *s
	bare.Description, bare.Default = "", nil
	key, err := json.Marshal(bare)
	return string(key), err
}

// fieldsOf gives the fields of an object: those that must be there first.
func fieldsOf(s *apiextensionsv1.JSONSchemaProps) []string {
	names := slices.Sorted(maps.Keys(s.Properties))
	slices.SortStableFunc(names, func(a, b string) int {
		ra, rb := slices.Contains(s.Required, a), slices.Contains(s.Required, b)
		switch {
		case ra == rb:
			return 0
		case ra:
			return -1
		}
		return 1
	})
	return names
}
