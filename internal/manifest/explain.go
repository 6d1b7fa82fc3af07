package manifest

import (
	"fmt"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// pathOf gives the path of an error; "" for the whole object.
func pathOf(err *field.Error) string {
	if err.Field == "<nil>" {
		return ""
	}
	return err.Field
}

// explain says what to do about an error of the API server's validation. The
// sentences of CEL rules stand as they are.
func (d *document) explain(err *field.Error) string {
	path := pathOf(err)
	switch err.Type {
	case field.ErrorTypeRequired:
		if err.Detail != "" {
			return err.Detail
		}
		return "is required: add it"
	case field.ErrorTypeNotSupported:
		message := fmt.Sprintf("%s is not supported", quoteValue(err.BadValue))
		if err.Detail != "" {
			message += ": " + strings.TrimPrefix(err.Detail, "supported values: ")
			message = strings.Replace(message, "not supported: ", "not supported: use ", 1)
		}
		return message
	case field.ErrorTypeDuplicate:
		return "the same entry stands twice: remove one of the two"
	case field.ErrorTypeTypeInvalid:
		_, want, _ := strings.Cut(err.Detail, "must be of type ")
		want, _, _ = strings.Cut(want, ":")
		switch _, node := d.at(path); {
		case want == "string":
			return d.mustBeString(path)
		case node != nil && node.Kind == yamlv3.ScalarNode && node.Style&(yamlv3.SingleQuotedStyle|yamlv3.DoubleQuotedStyle) != 0:
			return fmt.Sprintf("must be of type %s: remove the quotes around %s", want, node.Value)
		default:
			return "must be of type " + want
		}
	}
	return strings.TrimPrefix(err.Detail, path+" in body ")
}

func quoteValue(value any) string {
	if text, ok := value.(string); ok {
		return strconv.Quote(text)
	}
	return fmt.Sprint(value)
}

// mustBeString asks for quotes where they make a string of what is written.
func (d *document) mustBeString(path string) string {
	_, node := d.at(path)
	if node == nil || node.Kind != yamlv3.ScalarNode || node.Tag == "!!null" {
		return "must be a string"
	}
	kind := map[string]string{"!!int": "number", "!!float": "number", "!!bool": "boolean", "!!timestamp": "date"}[node.Tag]
	if kind == "" {
		// YAML 1.1, which kubectl reads, has more booleans than the node's tag knows.
		kind = "boolean"
	}
	key := path[strings.LastIndexAny(path, ".[")+1:]
	if strings.HasSuffix(path, "]") {
		return fmt.Sprintf("must be a string, but %s is a %s: put it in quotes, %q", node.Value, kind, node.Value)
	}
	return fmt.Sprintf("must be a string, but %s is a %s: put it in quotes, %s: %q", node.Value, kind, key, node.Value)
}
