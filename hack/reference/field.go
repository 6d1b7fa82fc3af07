package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

// typeOf is the type of a field, linked to where it is described.
func (o *objects) typeOf(s *apiextensionsv1.JSONSchemaProps) string {
	element, suffix := elementOf(s)
	name := scalarOf(element)
	if heading, ok := o.heading(s); ok {
		name = fmt.Sprintf("[object](#%s)", anchor(heading))
	}
	switch suffix {
	case "[]":
		return "list of " + name
	case "{}":
		return "map to " + name
	}
	return name
}

// scalarOf is the type of a value that has no fields of its own.
func scalarOf(s *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.XIntOrString:
		return "integer or string"
	case ptr.Deref(s.XPreserveUnknownFields, false):
		return "any JSON"
	case s.Format == "date-time":
		return "time"
	}
	return s.Type
}

// defaultOf is the default of a field, or that there must be a value.
func defaultOf(parent *apiextensionsv1.JSONSchemaProps, name string) string {
	field := parent.Properties[name]
	switch {
	case field.Default != nil:
		return code(string(field.Default.Raw))
	case slices.Contains(parent.Required, name):
		return "required"
	}
	return ""
}

// meaningOf is the description of a field and everything it is held to.
func meaningOf(s *apiextensionsv1.JSONSchemaProps) string {
	parts := []string{sentence(cell(s.Description))}
	element, suffix := elementOf(s)
	if len(s.Properties) > 0 {
		return parts[0] // What it is held to stands with its fields.
	}
	parts = append(parts, boundsOf(s)...)
	for i := range s.XValidations {
		parts = append(parts, "Rule: "+sentence(ruleOf(&s.XValidations[i])))
	}
	if suffix != "" && len(element.Properties) == 0 {
		for _, bound := range boundsOf(element) {
			parts = append(parts, "Each: "+bound)
		}
		for i := range element.XValidations {
			parts = append(parts, "Each: "+sentence(ruleOf(&element.XValidations[i])))
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}

// ruleOf is what a rule says to whoever breaks it.
func ruleOf(r *apiextensionsv1.ValidationRule) string {
	if r.Message == "" {
		return code(r.Rule)
	}
	return cell(r.Message)
}

// boundsOf says what a value is held to, a sentence each.
func boundsOf(s *apiextensionsv1.JSONSchemaProps) []string {
	var bounds []string
	if len(s.Enum) > 0 {
		values := make([]string, len(s.Enum))
		for i := range s.Enum {
			values[i] = code(strings.Trim(string(s.Enum[i].Raw), `"`))
		}
		bounds = append(bounds, "One of "+strings.Join(values, ", ")+".")
	} else if b := between(s.MinLength, s.MaxLength, "character"); b != "" {
		bounds = append(bounds, b)
	}
	if b := between(s.MinItems, s.MaxItems, "item"); b != "" {
		bounds = append(bounds, b)
	}
	if b := between(s.MinProperties, s.MaxProperties, "key"); b != "" {
		bounds = append(bounds, b)
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		bounds = append(bounds, fmt.Sprintf("%s to %s.", number(*s.Minimum), number(*s.Maximum)))
	case s.Minimum != nil:
		bounds = append(bounds, fmt.Sprintf("At least %s.", number(*s.Minimum)))
	case s.Maximum != nil:
		bounds = append(bounds, fmt.Sprintf("At most %s.", number(*s.Maximum)))
	}
	if s.Pattern != "" {
		bounds = append(bounds, "Matches "+code(s.Pattern)+".")
	}
	switch ptr.Deref(s.XListType, "") {
	case "set":
		bounds = append(bounds, "No item twice.")
	case "map":
		keys := make([]string, len(s.XListMapKeys))
		for i, key := range s.XListMapKeys {
			keys[i] = code(key)
		}
		bounds = append(bounds, "No two with the same "+strings.Join(keys, " and ")+".")
	}
	return bounds
}

// between says how many of something there may be; nothing for what says nothing.
func between(least, most *int64, unit string) string {
	low := ptr.Deref(least, 0)
	switch {
	case most == nil && low == 0:
		return ""
	case most == nil:
		return fmt.Sprintf("At least %s.", count(low, unit))
	case low == 0:
		return fmt.Sprintf("At most %s.", count(*most, unit))
	case low == *most:
		return fmt.Sprintf("Exactly %s.", count(low, unit))
	}
	return fmt.Sprintf("%d to %s.", low, count(*most, unit))
}

func count(n int64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return strconv.FormatInt(n, 10) + " " + unit + "s"
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
