package manifest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"
)

// decodeConfigMap reads a ConfigMap as the API server would take it.
func decodeConfigMap(doc *document) (*corev1.ConfigMap, []Problem) {
	problems := append(checkMeta(doc), checkData(doc, "data", "binaryData")...)
	if len(problems) > 0 {
		return nil, problems
	}
	cm := &corev1.ConfigMap{}
	if problems := decodeStrict(doc, cm); len(problems) > 0 {
		return nil, problems
	}
	return cm, nil
}

// decodeSecret reads a Secret as the API server would take it: stringData is
// written over data.
func decodeSecret(doc *document) (*corev1.Secret, []Problem) {
	problems := append(checkMeta(doc), checkData(doc, "stringData", "data")...)
	if len(problems) > 0 {
		return nil, problems
	}
	secret := &corev1.Secret{}
	if problems := decodeStrict(doc, secret); len(problems) > 0 {
		return nil, problems
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	for key, value := range secret.StringData {
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
	return secret, nil
}

// decodeStrict decodes into a typed object; unknown fields are problems. No
// message repeats a value, for it may be a secret.
func decodeStrict(doc *document, into any) []Problem {
	data, err := json.Marshal(doc.object)
	if err != nil {
		return []Problem{doc.problem("", err.Error())}
	}
	strict, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		return []Problem{doc.problem("", strings.TrimPrefix(err.Error(), "json: "))}
	}
	var problems []Problem
	for _, err := range strict {
		path := ""
		var fieldError kjson.FieldError
		if errors.As(err, &fieldError) {
			path = fieldError.FieldPath()
		}
		problems = append(problems, doc.problem(path, "unknown field"))
	}
	return inOrder(problems)
}

// checkData checks the two maps of a ConfigMap or Secret. Problems name keys,
// never values, which may be secrets.
func checkData(doc *document, text, binary string) []Problem {
	_, kind := doc.typeMeta()
	var problems []Problem
	byName := map[string]map[string]any{}
	for _, name := range []string{text, binary} {
		value, present := doc.object[name]
		if !present || value == nil {
			continue
		}
		values, ok := value.(map[string]any)
		if !ok {
			problems = append(problems, doc.problem(name, "must be a map of keys to strings"))
			continue
		}
		byName[name] = values
		for _, key := range slices.Sorted(maps.Keys(values)) {
			path := fmt.Sprintf("%s[%s]", name, key)
			if messages := utilvalidation.IsConfigMapKey(key); len(messages) > 0 {
				problems = append(problems, doc.problem(path, strings.Join(messages, "; ")))
			}
			value, isString := values[key].(string)
			switch {
			case !isString && name == text:
				problems = append(problems, doc.problem(path, fmt.Sprintf("must be a string: put the value in quotes, or write it as a block behind %q", key+": |")))
			case !isString:
				problems = append(problems, doc.problem(path, "must be a base64 string"))
			case name == binary:
				if _, err := base64.StdEncoding.DecodeString(value); err != nil {
					problems = append(problems, doc.problem(path, "is not base64: write plain text under "+text))
				}
			}
		}
	}
	if kind == "ConfigMap" {
		for _, key := range slices.Sorted(maps.Keys(byName[text])) {
			if _, both := byName[binary][key]; both {
				problems = append(problems, doc.problem(fmt.Sprintf("%s[%s]", binary, key), "the same key stands in data: remove one of the two"))
			}
		}
	}
	return inOrder(problems)
}
