package api_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Every field answers kubectl explain with a sentence, its unit and its default.
func TestEveryFieldIsDescribed(t *testing.T) {
	fields := 0
	for kind, schema := range schemas(t) {
		walk(kind, schema, func(path string, s apiextensionsv1.JSONSchemaProps) {
			name := path[strings.LastIndexAny(path, ".")+1:]
			if name == "metadata" || strings.HasSuffix(name, "[]") {
				return
			}
			fields++
			if len(strings.Fields(s.Description)) < 3 || !strings.HasSuffix(strings.TrimSpace(s.Description), ".") && !strings.Contains(s.Description, "More info:") && !strings.HasSuffix(s.Description, "True, False, Unknown.") {
				t.Errorf("%s is described as %q, want a sentence", path, s.Description)
			}
			if strings.HasSuffix(name, "Seconds") && !strings.Contains(s.Description, "second") {
				t.Errorf("%s does not name its unit: %q", path, s.Description)
			}
			if s.Default != nil && s.Type != "object" && !saysDefault(s) {
				t.Errorf("%s does not name its default %s: %q", path, s.Default.Raw, s.Description)
			}
		})
	}
	if fields < 150 {
		t.Errorf("%d fields were looked at, want at least 150: is the walk broken?", fields)
	}
}

// saysDefault tells whether a description names the default, or what leaving the field out means.
func saysDefault(s apiextensionsv1.JSONSchemaProps) bool {
	var value any
	if err := json.Unmarshal(s.Default.Raw, &value); err != nil {
		return false
	}
	if value == "" || strings.Contains(s.Description, "empty for all cases") {
		return strings.Contains(s.Description, "Left out") || strings.Contains(s.Description, "empty")
	}
	text := strings.Trim(string(s.Default.Raw), `"`)
	return regexp.MustCompile(`(?i)(^|[^\w.])`+regexp.QuoteMeta(text)+`($|\W)`).MatchString(s.Description) && strings.Contains(s.Description, "default")
}

// What the documentation speaks of for later is no field yet: every field does something.
func TestNoFieldBeforeItWorks(t *testing.T) {
	later := regexp.MustCompile(`(?i)^(mode|shards)$`)
	for kind, schema := range schemas(t) {
		walk(kind, schema, func(path string, _ apiextensionsv1.JSONSchemaProps) {
			if name := path[strings.LastIndex(path, ".")+1:]; later.MatchString(name) {
				t.Errorf("%s stands in the schema and does nothing yet", path)
			}
		})
	}
}

// A list without a bound would let one object fill the API server's store, and CEL's budget.
func TestEveryListAndStringOfASpecIsBounded(t *testing.T) {
	for kind, schema := range schemas(t) {
		walk(kind+".spec", schema.Properties["spec"], func(path string, s apiextensionsv1.JSONSchemaProps) {
			// The label selector is Kubernetes' own type.
			if strings.Contains(path, "configMapSelector") || len(s.Enum) > 0 {
				return
			}
			if s.Type == "array" && (s.MaxItems == nil || s.XListType == nil) {
				t.Errorf("%s has no maximum or no list type", path)
			}
			if s.Type == "string" && s.MaxLength == nil {
				t.Errorf("%s has no maximum length", path)
			}
		})
	}
}
