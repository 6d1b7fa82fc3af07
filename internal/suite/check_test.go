package suite

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// costly compiles and would take for ever.
const costly = `'{"x": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".split("").map(a, question.split("").map(b, question.split("").map(c, question.split("").map(d, question.split("").map(e, a + b + c + d + e)))))}'`

// withAnswers has answers and a judge with a model.
const withAnswers = `{answer: {url: "http://bot/answer"}, judge: {provider: OpenAI, model: m}}`

func TestCheckAccepts(t *testing.T) {
	for name, spec := range map[string]string{
		"the least":              `{}`,
		"much":                   full,
		"a header":               `{retriever: {headers: [{name: X-A, value: "a\tb é"}]}}`,
		"answers":                judged,
		"self-retrieving":        `{retriever: {url: null, topK: 3, warmupRequests: 1}, answer: {url: "http://bot/answer", results: 'response.found', corpusVersion: 'headers["x"]'}}`,
		"a lexical judge":        `{answer: {url: "http://bot/answer"}, judge: {provider: Lexical, contextRelevance: true, calibration: {configMapRef: {name: labels}, minKappa: "1"}}}`,
		"a model's own switches": `{answer: {url: "http://bot/answer"}, judge: {provider: Anthropic, model: m, temperature: "0", extraBody: {thinking: {type: disabled}}}}`,
		"suspended":              `{schedule: "0 */6 * * *", timeZone: Asia/Seoul, suspend: true}`,
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
		"vector":        {`{retriever: {request: '{"v": vector}'}}`, want{ReasonInvalidMapping, false, []string{"spec.retriever.request: ", "embedding"}}},
		"costly":        {`{retriever: {request: ` + costly + `}}`, want{ReasonInvalidMapping, false, []string{"spec.retriever.request: "}}},
		"params":        {`{retriever: {preset: OpenSearch, params: {idField: _id}}}`, want{ReasonInvalidMapping, false, []string{"spec.retriever.params: ", "textField"}}},
		"header": {`{retriever: {headers: [{name: X-A, value: fine}, {name: X-B, value: "two\nlines"}], embedding: {url: "http://e/v1", model: m, headers: [{name: X-C, value: "\u0007"}]}}}`,
			want{ReasonInvalidMapping, false, []string{"spec.retriever.headers[1].value", "spec.retriever.embedding.headers[0].value"}}},
		"nobody reads": {`{retriever: {url: null, preset: OpenSearch, params: {a: 1}, request: '{"q": question}', query: '{"q": question}', results: '[]', error: '""', corpusVersion: '""', embedding: {url: "http://e/v1", model: m},
		  headers: [{name: X-A, value: b}], auth: {bearerTokenSecretRef: {name: a, key: b}}, tls: {serverName: a}, requestsPerSecond: 1}, answer: {url: "http://bot/answer", results: 'response.found'}}`,
			want{ReasonInvalidMapping, false, []string{"nobody reads spec.retriever.preset, spec.retriever.params, spec.retriever.request, spec.retriever.query, spec.retriever.results, spec.retriever.error, " +
				"spec.retriever.corpusVersion, spec.retriever.embedding, spec.retriever.headers, spec.retriever.auth, spec.retriever.tls, spec.retriever.requestsPerSecond, for the answer service retrieves by itself: move what the service needs to spec.answer, or give retriever.url"}}},
		"all at once": {`{schedule: "0 0 * *", retriever: {results: "response."}}`, want{ReasonInvalidSchedule, false, []string{"spec.schedule: ", "; spec.retriever.results: "}}},
	} {
		t.Run(name, func(t *testing.T) {
			test.want.check(t, Check(suiteOf(t, test.spec)))
		})
	}
}

func TestCheckRefusesAnswersAndJudges(t *testing.T) {
	for name, test := range map[string]struct {
		spec string
		want want
	}{
		"answer's output":        {`{answer: {output: "response."}}`, want{ReasonInvalidMapping, false, []string{"spec.answer.output: "}}},
		"answer's request":       {`{answer: {request: "nobody"}}`, want{ReasonInvalidMapping, false, []string{"spec.answer.request: ", "nobody"}}},
		"answer's params":        {`{answer: {request: '{"q": params.style}'}}`, want{ReasonInvalidMapping, false, []string{"spec.answer.params: ", "style"}}},
		"answer's header":        {`{answer: {headers: [{name: X-A, value: "two\nlines"}]}}`, want{ReasonInvalidMapping, false, []string{"spec.answer.headers[0].value"}}},
		"answer's corpusVersion": {`{answer: {corpusVersion: 'headers["x"]'}}`, want{ReasonInvalidMapping, false, []string{"spec.answer.corpusVersion is read by nobody", "move it to spec.retriever"}}},
		"judge's header":         {`{judge: {headers: [{name: X-A, value: "two\nlines"}]}}`, want{ReasonInvalidMapping, false, []string{"spec.judge.headers[0].value"}}},
		"a field of Assay's own": {`{judge: {extraBody: {messages: [], top_k: 20}}}`, want{ReasonInvalidJudge, false, []string{"spec.judge.extraBody: messages is Assay's own", "judge.promptRef"}}},
		"another of Anthropic's": {`{judge: {provider: Anthropic, extraBody: {output_config: {format: {}}}}}`, want{ReasonInvalidJudge, false, []string{"spec.judge.extraBody: output_config.format"}}},
	} {
		t.Run(name, func(t *testing.T) {
			test.want.check(t, Check(suiteOf(t, withAnswers, test.spec)))
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
		"a judge's temperature": {
			func(s *v1alpha1.EvalSuiteSpec) { s.Judge.Temperature = "warm" },
			want{ReasonInvalidJudge, false, []string{`spec.judge.temperature is "warm": it must be a decimal string from "0" to "2"`}},
		},
		"no number":          {func(s *v1alpha1.EvalSuiteSpec) { s.Judge.Temperature = "NaN" }, want{ReasonInvalidJudge, false, []string{"spec.judge.temperature"}}},
		"too warm":           {func(s *v1alpha1.EvalSuiteSpec) { s.Judge.Temperature = "2.1" }, want{ReasonInvalidJudge, false, []string{"spec.judge.temperature"}}},
		"no model":           {func(s *v1alpha1.EvalSuiteSpec) { s.Judge.Model = " " }, want{ReasonInvalidJudge, false, []string{"spec.judge.model: "}}},
		"a judge's url":      {func(s *v1alpha1.EvalSuiteSpec) { s.Judge.URL = "ftp://vllm?key=s3cret" }, want{ReasonInvalidJudge, false, []string{"spec.judge.url: "}}},
		"a judge's switches": {func(s *v1alpha1.EvalSuiteSpec) { s.Judge.ExtraBody = rawJSON(`[1]`) }, want{ReasonInvalidJudge, false, []string{"spec.judge.extraBody must be a map"}}},
		"an agreement": {
			func(s *v1alpha1.EvalSuiteSpec) { s.Judge.Calibration = &v1alpha1.Calibration{MinKappa: "1.5"} },
			want{ReasonInvalidJudge, false, []string{`spec.judge.calibration.minKappa is "1.5": it must be a decimal string from "0" to "1"`}},
		},
		"an agreement that is no number": {func(s *v1alpha1.EvalSuiteSpec) { s.Judge.Calibration = &v1alpha1.Calibration{MinKappa: "NaN"} }, want{ReasonInvalidJudge, false, []string{"minKappa"}}},
		"an agreement of Lexical": {
			func(s *v1alpha1.EvalSuiteSpec) {
				s.Judge = &v1alpha1.Judge{Provider: v1alpha1.JudgeLexical, Calibration: &v1alpha1.Calibration{MinKappa: "-1"}}
			},
			want{ReasonInvalidJudge, false, []string{"minKappa"}},
		},
		"answer's params": {func(s *v1alpha1.EvalSuiteSpec) { s.Answer.Params = rawJSON(`[1]`) }, want{ReasonInvalidMapping, false, []string{"spec.answer.params must be a map"}}},
		"a metric of nobody": {
			func(s *v1alpha1.EvalSuiteSpec) { s.Scoring.BLEUTokenizer = "Words" },
			want{ReasonInvalidObjective, false, []string{"spec.scoring: ", "Words"}},
		},
		"everything": {
			func(s *v1alpha1.EvalSuiteSpec) {
				s.Schedule = "* *"
				s.Retriever.Params = rawJSON(`[1]`)
				s.GoldenSet.ConfigMapSelector = &metav1.LabelSelector{}
				s.Scoring.Betas = []string{"-1"}
				s.Answer.Params = rawJSON(`[1]`)
				s.Judge.Temperature = "warm"
			},
			want{ReasonInvalidSchedule, false, []string{"spec.schedule", "; spec.retriever.params", "; spec.answer.params", "; spec.judge.temperature", "; spec.goldenSet", "; spec.scoring"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := suiteOf(t, withAnswers)
			test.change(&s.Spec)
			err := Check(s)
			test.want.check(t, err)
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("it gives a secret away: %s", err)
			}
		})
	}
}
