package suite

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// costly compiles and would take for ever.
const costly = `'{"x": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".split("").map(a, question.split("").map(b, question.split("").map(c, question.split("").map(d, question.split("").map(e, a + b + c + d + e)))))}'`

func TestCheckAccepts(t *testing.T) {
	for name, spec := range map[string]string{
		"the least": `{}`,
		"much":      full,
		"a header":  `{retriever: {headers: [{name: X-A, value: "a\tb é"}]}}`,
		"suspended": `{schedule: "0 */6 * * *", timeZone: Asia/Seoul, suspend: true}`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := Check(suiteOf(t, spec)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		spec string
		want want
	}{
		"cron":          {`{schedule: "61 * * * *"}`, want{ReasonInvalidSchedule, false, []string{"spec.schedule: ", "61"}}},
		"never":         {`{schedule: "0 0 31 2 *"}`, want{ReasonInvalidSchedule, false, []string{"spec.schedule: ", "no date ever matches"}}},
		"zone":          {`{schedule: "0 0 * * *", timeZone: Asia/Soeul}`, want{ReasonInvalidSchedule, false, []string{"spec.timeZone: ", "Asia/Soeul"}}},
		"cron and zone": {`{schedule: "0 0 * *", timeZone: Asia/Soeul}`, want{ReasonInvalidSchedule, false, []string{"spec.schedule: ", "0 0 * *", "spec.timeZone: ", "Asia/Soeul"}}},
		"mapping":       {`{retriever: {results: "response.hits.map(h,"}}`, want{ReasonInvalidMapping, false, []string{"spec.retriever.results: "}}},
		"two mappings":  {`{retriever: {results: "response.", request: "nobody"}}`, want{ReasonInvalidMapping, false, []string{"spec.retriever.request: ", "nobody", "retriever.results: "}}},
		"costly":        {`{retriever: {request: ` + costly + `}}`, want{ReasonInvalidMapping, false, []string{"spec.retriever.request: "}}},
		"params":        {`{retriever: {preset: OpenSearch, params: {idField: _id}}}`, want{ReasonInvalidMapping, false, []string{"spec.retriever.params: ", "textField"}}},
		"header": {`{retriever: {headers: [{name: X-A, value: fine}, {name: X-B, value: "two\nlines"}], embedding: {url: "http://e/v1", model: m, headers: [{name: X-C, value: "\u0007"}]}}}`,
			want{ReasonInvalidMapping, false, []string{"spec.retriever.headers[1].value", "spec.retriever.embedding.headers[0].value"}}},
		"all at once": {`{schedule: "0 0 * *", retriever: {results: "response."}}`, want{ReasonInvalidSchedule, false, []string{"spec.schedule: ", "; spec.retriever.results: "}}},
	} {
		t.Run(name, func(t *testing.T) {
			test.want.check(t, Check(suiteOf(t, test.spec)))
		})
	}
}

// What the CRD's rules hold off is refused here as well: a suite may come from
// an older API server, or from no server at all.
func TestCheckRefusesWhatTheCRDWould(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1alpha1.EvalSuiteSpec)
		want   want
	}{
		"an empty selector": {
			func(s *v1alpha1.EvalSuiteSpec) {
				s.GoldenSet = v1alpha1.GoldenSet{ConfigMapSelector: &metav1.LabelSelector{}}
			},
			want{ReasonGoldenSetInvalid, false, []string{"spec.goldenSet.configMapSelector is empty", "matchLabels"}},
		},
		"a bad selector": {
			func(s *v1alpha1.EvalSuiteSpec) {
				s.GoldenSet = v1alpha1.GoldenSet{ConfigMapSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}}
			},
			want{ReasonGoldenSetInvalid, false, []string{"spec.goldenSet.configMapSelector: ", "a b"}},
		},
		"a metric": {
			func(s *v1alpha1.EvalSuiteSpec) {
				s.Objectives = []v1alpha1.Objective{{Metric: "hitrate@5", Min: "0.9"}}
			},
			want{ReasonInvalidObjective, false, []string{"spec.scoring: ", "hitrate@5"}},
		},
		"topK of the service": {
			func(s *v1alpha1.EvalSuiteSpec) {
				s.Retriever.Preset, s.Retriever.TopK = v1alpha1.PresetOpenAIVectorStore, 51
			},
			want{ReasonInvalidMapping, false, []string{"spec.retriever.topK: ", "50"}},
		},
		"params": {
			func(s *v1alpha1.EvalSuiteSpec) { s.Retriever.Params = rawJSON(`[1]`) },
			want{ReasonInvalidMapping, false, []string{"spec.retriever.params must be a map"}},
		},
		"everything": {
			func(s *v1alpha1.EvalSuiteSpec) {
				s.Schedule = "* *"
				s.Retriever.Params = rawJSON(`[1]`)
				s.GoldenSet.ConfigMapSelector = &metav1.LabelSelector{}
				s.Scoring.Betas = []string{"-1"}
			},
			want{ReasonInvalidSchedule, false, []string{"spec.schedule", "; spec.retriever.params", "; spec.goldenSet", "; spec.scoring"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := suiteOf(t)
			test.change(&s.Spec)
			test.want.check(t, Check(s))
		})
	}
}
