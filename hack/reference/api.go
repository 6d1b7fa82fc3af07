package main

import (
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const apiHead = `# API reference

<!-- Made by make generate (hack/reference) from config/crd. Do not edit. -->

The fields of Assay's two kinds, with what the API server holds them to. A rule's text is what ` + "`kubectl apply`" + ` says when it is broken. The pages of
[the README's table](../../README.md#pages) say what to do with them.
`

// apiPage is docs/reference/api.md.
func apiPage(crds []apiextensionsv1.CustomResourceDefinition) (string, error) {
	found := &objects{byKey: map[string]*object{}}
	roots := map[string]apiextensionsv1.JSONSchemaProps{}
	for i := range crds {
		kind := crds[i].Spec.Names.Kind
		root, err := schemaOf(&crds[i])
		if err != nil {
			return "", err
		}
		roots[kind] = root
		for _, part := range []string{"spec", "status"} {
			s, ok := root.Properties[part]
			if !ok {
				return "", fmt.Errorf("the CRD of %s has no %s", kind, part)
			}
			if err := found.add(kind+"."+part, &s); err != nil {
				return "", err
			}
		}
	}

	var b strings.Builder
	b.WriteString(apiHead)
	written := 0
	for i := range crds {
		kind := crds[i].Spec.Names.Kind
		root := roots[kind]
		writeKind(&b, &crds[i], &root)
		for ; written < len(found.all) && strings.HasPrefix(found.all[written].paths[0], kind+"."); written++ {
			found.write(&b, found.all[written])
		}
	}
	return b.String(), nil
}

// schemaOf is the schema of the version that is stored.
func schemaOf(c *apiextensionsv1.CustomResourceDefinition) (apiextensionsv1.JSONSchemaProps, error) {
	for _, v := range c.Spec.Versions {
		if v.Storage && v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			return *v.Schema.OpenAPIV3Schema, nil
		}
	}
	return apiextensionsv1.JSONSchemaProps{}, fmt.Errorf("the CRD %s has no schema", c.Name)
}

// writeKind writes what is to be said of a kind as a whole.
func writeKind(b *strings.Builder, c *apiextensionsv1.CustomResourceDefinition, root *apiextensionsv1.JSONSchemaProps) {
	names := c.Spec.Names
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", names.Kind, prose(root.Description))
	fmt.Fprintf(b, "`apiVersion: %s/%s`, `kind: %s`", c.Spec.Group, c.Spec.Versions[0].Name, names.Kind)
	if len(names.ShortNames) > 0 {
		fmt.Fprintf(b, "; `kubectl get %s`", strings.Join(names.ShortNames, "`, `"))
	}
	b.WriteString(".\n")
	writeRules(b, root)
}

// write writes an object and its fields.
func (o *objects) write(b *strings.Builder, x *object) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n", x.paths[0], sentence(prose(x.description)))
	if len(x.paths) > 1 {
		also := make([]string, len(x.paths)-1)
		for i, path := range x.paths[1:] {
			also[i] = code(path)
		}
		fmt.Fprintf(b, "\nThe same: %s.\n", strings.Join(also, ", "))
	}
	b.WriteString("\n| field | type | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, name := range fieldsOf(&x.schema) {
		field := x.schema.Properties[name]
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", code(name), o.typeOf(&field), defaultOf(&x.schema, name), meaningOf(&field))
	}
	writeRules(b, &x.schema)
}

// writeRules writes what an object is held to as a whole.
func writeRules(b *strings.Builder, s *apiextensionsv1.JSONSchemaProps) {
	var rules []string
	if bound := between(s.MinProperties, s.MaxProperties, "field"); bound != "" {
		rules = append(rules, bound)
	}
	for i := range s.XValidations {
		rules = append(rules, outsideTable(ruleOf(&s.XValidations[i])))
	}
	if len(rules) > 0 {
		fmt.Fprintf(b, "\nRules:\n\n- %s\n", strings.Join(rules, "\n- "))
	}
}

// prose is a description outside of a table.
func prose(s string) string { return outsideTable(cell(s)) }

// outsideTable takes back what keeps a bar from being taken for a column.
func outsideTable(s string) string { return strings.ReplaceAll(s, `\|`, "|") }
