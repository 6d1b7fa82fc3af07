package suite

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/golden"
)

// LoadGolden reads the suite's golden set and keeps the cases that
// goldenSet.tags names. Objectives on a tag that no case carries are an error.
func LoadGolden(ctx context.Context, s *v1alpha1.EvalSuite, src Source, d Deps) (*golden.Set, error) {
	files, err := goldenFiles(ctx, s, src, d)
	if err != nil {
		return nil, err
	}
	return readGolden(s, files)
}

func readGolden(s *v1alpha1.EvalSuite, files []golden.File) (*golden.Set, error) {
	set, err := golden.Read(files...)
	if err != nil {
		return nil, errorf(ReasonGoldenSetInvalid, "the golden set cannot be read: %w", err)
	}
	all := set
	set = set.WithTags(s.Spec.GoldenSet.Tags)
	if len(set.Cases) == 0 {
		return nil, errorf(ReasonGoldenSetInvalid, "no case carries one of spec.goldenSet.tags (%s): the golden set has %s", strings.Join(s.Spec.GoldenSet.Tags, ", "), tagList(all.Tags()))
	}
	if err := checkObjectiveTags(s.Spec.Objectives, set.Tags()); err != nil {
		return nil, err
	}
	return set, nil
}

// checkObjectiveTags names every objective whose tag no case carries.
func checkObjectiveTags(objectives []v1alpha1.Objective, tags []string) error {
	var unknown []string
	for _, o := range objectives {
		if tag := tagOf(o); tag != "" && !slices.Contains(tags, tag) {
			unknown = append(unknown, fmt.Sprintf("%q (objective on %s)", tag, o.Metric))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return errorf(ReasonInvalidObjective, "spec.objectives: no case carries the tag %s: the golden set has %s", strings.Join(unknown, ", nor "), tagList(tags))
}

// tagList says which tags there are, the first few of many.
func tagList(tags []string) string {
	const few = 12
	switch n := len(tags); {
	case n == 0:
		return "no tags"
	case n > few:
		return fmt.Sprintf("the tags %s and %d more", strings.Join(tags[:few], ", "), n-few)
	}
	return "the tags " + strings.Join(tags, ", ")
}

func goldenFiles(ctx context.Context, s *v1alpha1.EvalSuite, src Source, d Deps) ([]golden.File, error) {
	g := &s.Spec.GoldenSet
	switch {
	case g.ConfigMapRef != nil:
		cm, err := src.ConfigMap(ctx, g.ConfigMapRef.Name)
		if apierrors.IsNotFound(err) {
			return nil, errorf(ReasonGoldenSetNotFound, "the ConfigMap %q of spec.goldenSet.configMapRef does not exist in namespace %q: create it", g.ConfigMapRef.Name, s.Namespace)
		}
		if err != nil {
			return nil, outage(ReasonGoldenSetUnreadable, fmt.Errorf("read ConfigMap %s: %w", g.ConfigMapRef.Name, err))
		}
		return filesOf(cm, g.ConfigMapRef.Key, goldenSource)
	case g.ConfigMapSelector != nil:
		return selectedFiles(ctx, s, src)
	case g.HTTP != nil:
		return fetchGolden(ctx, g.HTTP, d)
	}
	return nil, errorf(ReasonGoldenSetInvalid, "spec.goldenSet names no source: give configMapRef, configMapSelector or http")
}

func selectedFiles(ctx context.Context, s *v1alpha1.EvalSuite, src Source) ([]golden.File, error) {
	selector, err := metav1.LabelSelectorAsSelector(s.Spec.GoldenSet.ConfigMapSelector)
	if err != nil {
		return nil, errorf(ReasonGoldenSetInvalid, "spec.goldenSet.configMapSelector: %w", err)
	}
	if selector.Empty() {
		return nil, errorf(ReasonGoldenSetInvalid, "spec.goldenSet.configMapSelector is empty and would pick every ConfigMap of the namespace: give it matchLabels")
	}
	cms, err := src.ConfigMaps(ctx, selector)
	if err != nil {
		return nil, outage(ReasonGoldenSetUnreadable, fmt.Errorf("list ConfigMaps: %w", err))
	}
	if len(cms) == 0 {
		return nil, errorf(ReasonGoldenSetNotFound, "no ConfigMap in namespace %q matches spec.goldenSet.configMapSelector %q: give one these labels", s.Namespace, selector)
	}
	var files []golden.File
	for i := range cms {
		more, err := filesOf(&cms[i], "", selectedSource)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// fileSource is a field that names ConfigMaps with files in them.
type fileSource struct {
	field string
	// example of a key.
	example string
	// empty and missing are the reasons of a ConfigMap without a key, and of one
	// without that key.
	empty, missing string
	// qualified puts the ConfigMap's name before the file's.
	qualified bool
}

var (
	goldenSource   = fileSource{field: "spec.goldenSet.configMapRef", example: "golden.yaml", empty: ReasonGoldenSetInvalid, missing: ReasonGoldenSetNotFound}
	selectedSource = fileSource{field: "spec.goldenSet.configMapSelector", example: "golden.yaml", empty: ReasonGoldenSetInvalid, missing: ReasonGoldenSetNotFound, qualified: true}
	labelSource    = fileSource{field: "spec.judge.calibration.configMapRef", example: "labels.jsonl", empty: ReasonLabelsInvalid, missing: ReasonConfigMapNotFound}
)

// filesOf gives the ConfigMap's files, one key or all in the order of their names.
func filesOf(cm *corev1.ConfigMap, key string, from fileSource) ([]golden.File, error) {
	keys := slices.Sorted(maps.Keys(cm.Data))
	keys = append(keys, slices.Collect(maps.Keys(cm.BinaryData))...)
	slices.Sort(keys)
	if len(keys) == 0 {
		return nil, errorf(from.empty, "the ConfigMap %q of %s is empty: give it a key such as %s", cm.Name, from.field, cmp.Or(key, from.example))
	}
	if key != "" {
		if !slices.Contains(keys, key) {
			return nil, errorf(from.missing, "the ConfigMap %q of %s has no key %q: it has %s; name one of these, or leave key out to read all", cm.Name, from.field, key, strings.Join(keys, ", "))
		}
		keys = []string{key}
	}
	files := make([]golden.File, len(keys))
	for i, k := range keys {
		name := k
		if from.qualified {
			name = cm.Name + "/" + k
		}
		data, binary := cm.BinaryData[k]
		if !binary {
			data = []byte(cm.Data[k])
		}
		files[i] = golden.File{Name: name, Data: data}
	}
	return files, nil
}
