package secrets

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// isReference says whether a type names a Secret, or may.
func isReference(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[v1alpha1.SecretKeySelector](), reflect.TypeFor[v1alpha1.SecretReference](), reflect.TypeFor[v1alpha1.CABundleReference]():
		return true
	}
	return false
}

// places gives the paths of a type at which a Secret is named. A field whose name
// speaks of a secret is one as well, whatever its type.
func places(t reflect.Type, path string, into map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t.Kind() == reflect.Slice {
			path += "[]"
		}
		t = t.Elem()
	}
	if isReference(t) {
		into[path] = true
		return
	}
	if t.Kind() != reflect.Struct || !strings.HasPrefix(t.PkgPath(), "github.com/assay-dev/assay/") {
		if strings.Contains(strings.ToLower(path[strings.LastIndex(path, ".")+1:]), "secret") {
			into[path] = true
		}
		return
	}
	for i := range t.NumField() {
		places(t.Field(i).Type, path+"."+jsonName(t.Field(i)), into)
	}
}

// used gives the paths of a value at which a Secret is named.
func used(v reflect.Value, path string, into map[string]bool) {
	switch {
	case isReference(v.Type()):
		if kind := v.FieldByName("Kind"); !kind.IsValid() || kind.Interface() == v1alpha1.CABundleSecret {
			into[path] = into[path] || v.FieldByName("Name").String() != ""
		}
		return
	case v.Kind() == reflect.Pointer && !v.IsNil():
		used(v.Elem(), path, into)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			used(v.Index(i), path+"[]", into)
		}
	case v.Kind() == reflect.Struct && strings.HasPrefix(v.Type().PkgPath(), "github.com/assay-dev/assay/"):
		for i := range v.NumField() {
			used(v.Field(i), path+"."+jsonName(v.Type().Field(i)), into)
		}
	}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// requireEveryPlace fails where the API names Secrets at a place that no suite of
// the test uses: what is new in the API must be proved here as well.
func requireEveryPlace(t *testing.T, suites []*v1alpha1.EvalSuite) {
	t.Helper()
	want, got := map[string]bool{}, map[string]bool{}
	places(reflect.TypeFor[v1alpha1.EvalSuiteSpec](), "spec", want)
	places(reflect.TypeFor[v1alpha1.EvalRunSpec](), "spec", want)
	for _, s := range suites {
		used(reflect.ValueOf(s.Spec), "spec", got)
	}
	maps.DeleteFunc(got, func(_ string, named bool) bool { return !named })
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("places of the API that name a Secret (-all +those with a suite here):\n%s", diff)
	}
	if len(want) < 20 {
		t.Errorf("only %d places are found in the API: %v", len(want), want)
	}
}
