package manifest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// decodeSuite reads a suite as the API server would take it from
// kubectl apply: unknown fields are errors, what is left out is defaulted, and
// the rules of the CRD hold.
func decodeSuite(doc *document) (*v1alpha1.EvalSuite, []Problem) {
	if problems := checkMeta(doc); len(problems) > 0 {
		return nil, problems
	}
	obj := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(doc.object)}
	// The API server drops the status of what it creates: a suite as kubectl get
	// prints it is as good as the one that was applied.
	delete(obj.Object, "status")
	unknown, err := Default(obj)
	if err != nil {
		return nil, []Problem{doc.problem("", err.Error())}
	}
	var problems []Problem
	for _, path := range unknown {
		problems = append(problems, doc.problem(path, "unknown field"+suggestion(obj, path)))
	}
	for _, err := range Validate(context.Background(), obj) {
		problems = append(problems, doc.problem(pathOf(err), doc.explain(err)))
	}
	if len(problems) > 0 {
		return nil, inOrder(problems)
	}
	suite := &v1alpha1.EvalSuite{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, suite); err != nil {
		return nil, []Problem{doc.problem("", err.Error())}
	}
	return suite, nil
}

// checkMeta refuses a document that no API server would name.
func checkMeta(doc *document) []Problem {
	metadata, ok := doc.object["metadata"].(map[string]any)
	if !ok {
		return []Problem{doc.problem("metadata", "metadata with a name is missing")}
	}
	var problems []Problem
	for key, check := range map[string]validation.ValidateNameFunc{
		"name":      validation.NameIsDNSSubdomain,
		"namespace": validation.ValidateNamespaceName,
	} {
		path := "metadata." + key
		value, present := metadata[key]
		text, isString := value.(string)
		switch {
		case key == "name" && (!present || text == "" && isString):
			problems = append(problems, doc.problem(path, "a name is missing"))
		case !present || value == nil:
		case !isString:
			problems = append(problems, doc.problem(path, doc.mustBeString(path)))
		case text == "" && key == "namespace":
		default:
			if messages := check(text, false); len(messages) > 0 {
				problems = append(problems, doc.problem(path, fmt.Sprintf("%q: %s", text, strings.Join(messages, "; "))))
			}
		}
	}
	for _, key := range []string{"labels", "annotations"} {
		values, _ := metadata[key].(map[string]any)
		texts := map[string]string{}
		for name, value := range values {
			text, isString := value.(string)
			if !isString {
				path := fmt.Sprintf("metadata.%s[%s]", key, name)
				problems = append(problems, doc.problem(path, doc.mustBeString(path)))
			}
			texts[name] = text
		}
		if key == "labels" {
			for _, err := range metav1validation.ValidateLabels(texts, field.NewPath("metadata", key)) {
				problems = append(problems, doc.problem(err.Field, fmt.Sprintf("%q: %s", err.BadValue, err.Detail)))
			}
		}
	}
	return inOrder(problems)
}

// inOrder sorts by line, the document's own problems last, and drops repeats.
func inOrder(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		if a.Field == "" || b.Field == "" {
			return strings.Compare(fmt.Sprint(a.Field == ""), fmt.Sprint(b.Field == ""))
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return strings.Compare(a.Field, b.Field)
	})
	return slices.Compact(problems)
}
