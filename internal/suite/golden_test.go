package suite

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/assay-dev/assay/internal/golden"
)

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func labelled(cm *corev1.ConfigMap) *corev1.ConfigMap {
	cm.Labels = map[string]string{"set": "bot"}
	return cm
}

func oneCase(id string) string {
	return "- {id: " + id + ", question: where is " + id + ", relevant: x}\n"
}

func ids(set *golden.Set) []string {
	var ids []string
	for _, c := range set.Cases {
		ids = append(ids, c.ID)
	}
	return ids
}

const bySelector = `{goldenSet: {configMapRef: null, configMapSelector: {matchLabels: {set: bot}}}}`

func TestLoadGolden(t *testing.T) {
	several := configMap("golden", map[string]string{"b.yaml": oneCase("b"), "a.jsonl": `{"id": "a", "question": "where is a", "source_doc": "x"}`})
	several.BinaryData = map[string][]byte{"c.csv.gz": gzipped(t, "id,question,relevant\nc,where is c,x;y\n")}
	for name, test := range map[string]struct {
		spec string
		have []*corev1.ConfigMap
		want []string
	}{
		"one key":        {`{goldenSet: {configMapRef: {key: b.yaml}}}`, []*corev1.ConfigMap{several}, []string{"b"}},
		"a gzip key":     {`{goldenSet: {configMapRef: {key: c.csv.gz}}}`, []*corev1.ConfigMap{several}, []string{"c"}},
		"all keys":       {`{}`, []*corev1.ConfigMap{several}, []string{"a", "b", "c"}},
		"a selector":     {bySelector, []*corev1.ConfigMap{labelled(configMap("two", map[string]string{"a.yaml": oneCase("2")})), labelled(configMap("one", map[string]string{"a.yaml": oneCase("1")})), configMap("none", map[string]string{"a.yaml": oneCase("3")})}, []string{"1", "2"}},
		"a tag":          {`{goldenSet: {tags: [howto]}}`, []*corev1.ConfigMap{golden3}, []string{"q1"}},
		"either tag":     {`{goldenSet: {tags: [howto, billing, nobody]}}`, []*corev1.ConfigMap{golden3}, []string{"q1", "q2"}},
		"tag in NFD":     {`{goldenSet: {tags: [` + decomposed + `]}}`, []*corev1.ConfigMap{golden3}, []string{"q2"}},
		"objective":      {`{objectives: [{metric: mrr, tag: howto, min: "0.5"}, {metric: mrr, min: "0.5"}]}`, []*corev1.ConfigMap{golden3}, []string{"q1", "q2", "q3"}},
		"its tag in NFD": {`{objectives: [{metric: mrr, tag: ` + decomposed + `, min: "0.5"}]}`, []*corev1.ConfigMap{golden3}, []string{"q1", "q2", "q3"}},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := LoadGolden(t.Context(), suiteOf(t, test.spec), &objects{configMaps: test.have}, Deps{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, ids(set)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The order in which files are read shows where an error names the first of
// two duplicates.
func TestFilesAreReadInTheOrderOfTheirNames(t *testing.T) {
	for name, test := range map[string]struct {
		spec string
		have []*corev1.ConfigMap
		says []string
	}{
		"keys": {`{}`, []*corev1.ConfigMap{{ObjectMeta: golden3.ObjectMeta, Data: map[string]string{"b.yaml": oneCase("x")}, BinaryData: map[string][]byte{"a.yaml.gz": gzipped(t, oneCase("x")), "c.yaml.gz": gzipped(t, oneCase("x"))}}},
			[]string{"2 problems", "\nb.yaml:1: ", "duplicate id, first used at a.yaml.gz:1", "\nc.yaml.gz:1: ", "first used at a.yaml.gz:1"}},
		"ConfigMaps": {bySelector, []*corev1.ConfigMap{labelled(configMap("m2", map[string]string{"a.yaml": oneCase("x")})), labelled(configMap("m1", map[string]string{"b.yaml": oneCase("x")}))},
			[]string{"m2/a.yaml:1: ", "first used at m1/b.yaml:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadGolden(t.Context(), suiteOf(t, test.spec), &objects{configMaps: test.have}, Deps{})
			want{ReasonGoldenSetInvalid, false, test.says}.check(t, err)
		})
	}
}

func TestGoldenSetsThatCannotBeUsed(t *testing.T) {
	many := make([]string, 20)
	for i := range many {
		many[i] = fmt.Sprintf("t%02d", i)
	}
	manyTags := configMap("golden", map[string]string{"a.yaml": "- {question: q, relevant: x, tags: [" + strings.Join(many, ", ") + "]}"})
	for name, test := range map[string]struct {
		spec string
		have *objects
		want want
	}{
		"no ConfigMap":    {`{}`, &objects{}, want{ReasonGoldenSetNotFound, false, []string{`the ConfigMap "golden" of spec.goldenSet.configMapRef does not exist in namespace "rag": create it`}}},
		"no key":          {`{goldenSet: {configMapRef: {key: other.yaml}}}`, &objects{configMaps: []*corev1.ConfigMap{golden3}}, want{ReasonGoldenSetNotFound, false, []string{`no key "other.yaml": it has golden.yaml;`}}},
		"empty":           {`{}`, &objects{configMaps: []*corev1.ConfigMap{configMap("golden", nil)}}, want{ReasonGoldenSetInvalid, false, []string{`the ConfigMap "golden" of spec.goldenSet.configMapRef is empty: give it a key such as golden.yaml`}}},
		"empty with key":  {`{goldenSet: {configMapRef: {key: q.csv}}}`, &objects{configMaps: []*corev1.ConfigMap{configMap("golden", nil)}}, want{ReasonGoldenSetInvalid, false, []string{`is empty: give it a key such as q.csv`}}},
		"no label":        {bySelector, &objects{configMaps: []*corev1.ConfigMap{golden3}}, want{ReasonGoldenSetNotFound, false, []string{`no ConfigMap in namespace "rag" matches`, `"set=bot"`}}},
		"one is empty":    {bySelector, &objects{configMaps: []*corev1.ConfigMap{labelled(configMap("a", nil))}}, want{ReasonGoldenSetInvalid, false, []string{`the ConfigMap "a" of spec.goldenSet.configMapSelector is empty`}}},
		"no case":         {`{}`, &objects{configMaps: []*corev1.ConfigMap{configMap("golden", map[string]string{"a.yaml": ""})}}, want{ReasonGoldenSetInvalid, false, []string{"the golden set cannot be read: a.yaml: has no cases"}}},
		"bad cases":       {`{}`, &objects{configMaps: []*corev1.ConfigMap{configMap("golden", map[string]string{"a.yaml": "- {id: x, question: ''}\n- {id: y}"})}}, want{ReasonGoldenSetInvalid, false, []string{"2 problems", "a.yaml:1", `"x"`, "question", "a.yaml:2", `"y"`}}},
		"another file":    {`{}`, &objects{configMaps: []*corev1.ConfigMap{configMap("golden", map[string]string{"README": "x"})}}, want{ReasonGoldenSetInvalid, false, []string{"README: "}}},
		"its tags":        {`{goldenSet: {tags: [nobody, never]}}`, &objects{configMaps: []*corev1.ConfigMap{golden3}}, want{ReasonGoldenSetInvalid, false, []string{"spec.goldenSet.tags (nobody, never)", "the tags billing, howto, 한국어"}}},
		"no tags at all":  {`{goldenSet: {tags: [nobody]}}`, &objects{configMaps: []*corev1.ConfigMap{configMap("golden", map[string]string{"a.yaml": oneCase("a")})}}, want{ReasonGoldenSetInvalid, false, []string{"the golden set has no tags"}}},
		"many tags":       {`{goldenSet: {tags: [nobody]}}`, &objects{configMaps: []*corev1.ConfigMap{manyTags}}, want{ReasonGoldenSetInvalid, false, []string{"t00, ", "t11 and 8 more"}}},
		"objectives":      {`{objectives: [{metric: mrr, tag: nobody, min: "0.5"}, {metric: mrr, tag: howto, min: "0.5"}, {metric: hit_rate@5, tag: never, min: "0.5"}]}`, &objects{configMaps: []*corev1.ConfigMap{golden3}}, want{ReasonInvalidObjective, false, []string{`"nobody" (objective on mrr)`, `"never" (objective on hit_rate@5)`, "billing, howto"}}},
		"tag left out":    {`{goldenSet: {tags: [howto]}, objectives: [{metric: mrr, tag: billing, min: "0.5"}]}`, &objects{configMaps: []*corev1.ConfigMap{golden3}}, want{ReasonInvalidObjective, false, []string{`"billing"`, "the tags howto"}}},
		"outage":          {`{}`, &objects{broken: "golden"}, want{ReasonGoldenSetUnreadable, true, []string{"read ConfigMap", "golden", "etcd is away"}}},
		"selector outage": {bySelector, &objects{broken: "golden"}, want{ReasonGoldenSetUnreadable, true, []string{"list ConfigMaps", "etcd is away"}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadGolden(t.Context(), suiteOf(t, test.spec), test.have, Deps{})
			test.want.check(t, err)
		})
	}
	none := suiteOf(t)
	none.Spec.GoldenSet.ConfigMapRef = nil
	_, err := LoadGolden(t.Context(), none, &objects{}, Deps{})
	want{ReasonGoldenSetInvalid, false, []string{"spec.goldenSet names no source"}}.check(t, err)
}
