package suite

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/score"
)

// labelled10 are ten verdicts of people on answers that the bot's judge finds
// right, and on ones that it finds wrong. Where people disagree, with every one.
func labelled10(disagree bool) *corev1.ConfigMap {
	var lines strings.Builder
	for i := range 10 {
		right := i < 5
		answer := map[bool]string{true: "The fee is 3 percent.", false: "Day and night, on every day of the week."}[right]
		fmt.Fprintf(&lines, `{"question": "question %d", "reference_answer": "r", "contexts": ["c"], "answer": %q, "correct": %t, "grounded": %t}`+"\n", i, answer, right != disagree, right != disagree)
	}
	return configMap("labels", map[string]string{"labels.jsonl": lines.String()})
}

const calibrated = `{judge: {calibration: {configMapRef: {name: labels}, minKappa: "0.60"}}}`

func TestAJudgeIsHeldAgainstPeople(t *testing.T) {
	objectives := `{objectives: [{metric: hit_rate@5, min: "0.9"}, {metric: accuracy, min: "0.1"}, {metric: accuracy, tag: english, min: "0.1"}, {metric: bleu, min: "0.1"}]}`
	for name, test := range map[string]struct {
		patch   string
		labels  *corev1.ConfigMap
		verdict score.Verdict
		reason  string
		open    int // objectives
		want    v1alpha1.JudgeStatus
	}{
		"it agrees": {calibrated, labelled10(false), score.Passed, score.ReasonObjectivesMet, 0,
			v1alpha1.JudgeStatus{KappaCorrect: "1.0000", KappaGrounded: "1.0000", Labels: ptr.To[int32](10), Trust: "Trusted"}},
		"it does not": {calibrated, labelled10(true), score.Inconclusive, score.ReasonJudgeUntrusted, 2,
			v1alpha1.JudgeStatus{KappaCorrect: "-1.0000", KappaGrounded: "-1.0000", Labels: ptr.To[int32](10), Trust: "Untrusted"}},
		"it does not, and need not": {`{judge: {calibration: {configMapRef: {name: labels}}}}`, labelled10(true), score.Passed, score.ReasonObjectivesMet, 0,
			v1alpha1.JudgeStatus{KappaCorrect: "-1.0000", KappaGrounded: "-1.0000", Labels: ptr.To[int32](10), Trust: "Trusted"}},
		"nobody can tell": {calibrated, configMap("labels", map[string]string{"a.jsonl": `{"question": "q", "answer": "a", "contexts": ["c"], "grounded": true}`}), score.Passed, score.ReasonObjectivesMet, 0,
			v1alpha1.JudgeStatus{Labels: ptr.To[int32](1), Trust: "Unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBot(t)
			p, result, _ := run(t, b.answering(t, byOpenAI, test.patch, objectives), RunOptions{}, namespace4(test.labels), Deps{})
			if d := result.Decision; d.Verdict != test.verdict || d.Reason != test.reason {
				t.Errorf("%s (%s): %s", d.Verdict, d.Reason, d.Message)
			}
			open := 0
			for _, o := range result.Decision.Objectives {
				if o.Outcome == score.OutcomeInconclusive {
					open++
				} else if o.Outcome != score.Met {
					t.Errorf("%s of %s is %s: %s", o.Bound, o.Metric, o.Outcome, o.Message)
				}
			}
			if open != test.open {
				t.Errorf("%d objectives are open, want %d", open, test.open)
			}
			got := p.Calibrated()
			if got == nil || got.Digest == "" || got.Message == "" {
				t.Fatalf("the calibration says %+v", got)
			}
			test.want.Digest, test.want.Message = got.Digest, got.Message
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("calibration (-want +got):\n%s", diff)
			}
			if calls := b.total(); calls != p.Cost.Calls || int64(b.count(openAIPath)) != result.Usage.Calls {
				t.Errorf("%d calls, %d were said; usage is %+v", calls, p.Cost.Calls, result.Usage)
			}
		})
	}
}

// The labels are judged again when judge, labels or bound have changed, and not
// for every run.
func TestWhatIsKnownOfAJudgeIsNotAskedAgain(t *testing.T) {
	b := newBot(t)
	s := b.answering(t, byOpenAI, calibrated)
	first, _, _ := run(t, s, RunOptions{}, namespace4(labelled10(false)), Deps{})
	known := first.Calibrated()

	prompt := configMap("prompt", map[string]string{"system.txt": "Be strict."})
	for name, test := range map[string]struct {
		patch  string
		labels *corev1.ConfigMap
		known  *v1alpha1.JudgeStatus
		again  bool
	}{
		"nothing changed":     {`{}`, labelled10(false), known, false},
		"another threshold":   {`{objectives: [{metric: accuracy, min: "0.5"}]}`, labelled10(false), known, false},
		"nothing known":       {`{}`, labelled10(false), nil, true},
		"other labels":        {`{}`, labelled10(true), known, true},
		"another bound":       {`{judge: {calibration: {minKappa: "0.70"}}}`, labelled10(false), known, true},
		"another model":       {`{judge: {model: gpt-5}}`, labelled10(false), known, true},
		"another temperature": {`{judge: {temperature: "0"}}`, labelled10(false), known, true},
		"other switches":      {`{judge: {extraBody: {reasoning_effort: low}}}`, labelled10(false), known, true},
		"another limit":       {`{judge: {maxOutputTokens: 1024}}`, labelled10(false), known, true},
		"another prompt":      {`{judge: {promptRef: {name: prompt}}}`, labelled10(false), known, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := b.count(openAIPath)
			s := b.answering(t, byOpenAI, calibrated, test.patch)
			s.Status.Judge = test.known
			p, result, _ := run(t, s, RunOptions{}, namespace4(test.labels, prompt), Deps{})
			calls := b.count(openAIPath) - before
			if again := calls == 14; again != test.again || !again && calls != 4 || result.Usage.Calls != int64(calls) {
				t.Errorf("%d calls to the judge, want the labels judged: %t; usage %+v", calls, test.again, result.Usage)
			}
			if got := p.Calibrated(); (got.Digest == known.Digest) == test.again && test.known != nil {
				t.Errorf("the digest is %s, was %s", got.Digest, known.Digest)
			}
			if diff := cmp.Diff(known, p.Calibrated()); !test.again && diff != "" {
				t.Error(diff)
			}
		})
	}

	// What is known of a judge that is not trusted still holds.
	distrusted, _, _ := run(t, s, RunOptions{}, namespace4(labelled10(true)), Deps{})
	s = b.answering(t, byOpenAI, calibrated, `{objectives: [{metric: accuracy, min: "0.1"}]}`)
	s.Status.Judge = distrusted.Calibrated()
	if _, result, _ := run(t, s, RunOptions{}, namespace4(labelled10(true)), Deps{}); result.Decision.Reason != score.ReasonJudgeUntrusted || result.Usage.Calls != 4 {
		t.Errorf("a judge that is known not to be trusted decides: %+v", result.Decision)
	}
}

// A judge that fails on labels is asked about them again by the next run, and its
// failures are no disagreement.
func TestLabelsWithoutAVerdict(t *testing.T) {
	b := newBot(t)
	b.fails[openAIPath] = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no GPU", http.StatusInternalServerError) }
	p, result, _ := run(t, b.answering(t, byOpenAI, calibrated), RunOptions{}, namespace4(labelled10(true)), Deps{})
	got := p.Calibrated()
	if got == nil || got.Digest != "" || got.Trust != "Unknown" || !strings.Contains(got.Message, "no verdict on 10 of 10 labels (JudgeHTTPError 10)") || result.Trust.Untrusted != "" {
		t.Errorf("the calibration says %+v, and the run %+v", got, result.Trust)
	}
}

// As many labels are judged at once as cases are asked.
func TestLabelsAreJudgedInParallel(t *testing.T) {
	b := newBot(t)
	meet := make(chan struct{})
	b.meets = func(r *http.Request) {
		select { // with the other one that goes at the same time
		case meet <- struct{}{}:
		case <-meet:
		case <-r.Context().Done():
		}
	}
	p, result, _ := run(t, b.answering(t, byOpenAI, calibrated, `{judge: {timeoutSeconds: 5}, execution: {parallelism: 2}}`), RunOptions{}, namespace4(labelled10(false)), Deps{})
	if got := p.Calibrated(); got == nil || got.Trust != "Trusted" || result.Errored > 0 {
		t.Errorf("the calibration says %+v, the run %v", got, result.Outcomes)
	}
}

// A quota that is used up in the middle of the labels ends the run, and says
// nothing of the judge.
func TestACalibrationBeyondTheBudget(t *testing.T) {
	b := newBot(t)
	p, result, _ := run(t, b.answering(t, byOpenAI, calibrated, `{judge: {maxCallsPerRun: 3}, execution: {parallelism: 1}}`), RunOptions{}, namespace4(labelled10(false)), Deps{})
	if d := result.Decision; d.Verdict != score.Inconclusive || d.Reason != string(judge.BudgetExceeded) || p.Calibrated() != nil || result.Usage.Calls != 3 {
		t.Errorf("%s (%s), calibrated %+v, usage %+v", d.Verdict, d.Reason, p.Calibrated(), result.Usage)
	}
	if (&Prepared{}).Calibrated() != nil {
		t.Error("a run without a judge is calibrated")
	}
}

func TestPrepareGrader(t *testing.T) {
	b := newBot(t)
	own := []judge.Label{{Question: "q", Answer: "The fee is 3 percent.", Answerable: true, Contexts: []string{"c"}, Grounded: ptr.To(true)}}
	for name, test := range map[string]struct {
		patches []string
		labels  []judge.Label
		have    *objects
		count   int
		kappa   float64
	}{
		"the suite's labels":        {[]string{byOpenAI, calibrated}, nil, namespace4(labelled10(false)), 10, 0.6},
		"labels in their place":     {[]string{byOpenAI, calibrated}, own, namespace4(), 1, 0.6},
		"labels of a suite without": {[]string{byOpenAI}, own, namespace4(), 1, noMinimum},
		"no model":                  {[]string{byLexical}, own, &objects{}, 1, noMinimum},
	} {
		t.Run(name, func(t *testing.T) {
			s := b.answering(t, test.patches...)
			before := s.DeepCopy()
			g, err := PrepareGrader(t.Context(), s, test.labels, test.have, Deps{})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			if len(g.Labels) != test.count || g.MinKappa != test.kappa || g.Parallelism != 2 || g.Identity.Provider != string(s.Spec.Judge.Provider) {
				t.Errorf("%d labels, minKappa %v, parallelism %d, by %+v", len(g.Labels), g.MinKappa, g.Parallelism, g.Identity)
			}
			if verdict, _, err := g.Judge.Grade(t.Context(), g.Labels[0].Input()); err != nil || verdict.Reason == "" {
				t.Errorf("the judge says %+v, %v", verdict, err)
			}
			if diff := cmp.Diff(before, s); diff != "" {
				t.Errorf("the suite was changed: %s", diff)
			}
		})
	}
	for name, test := range map[string]struct {
		suite *v1alpha1.EvalSuite
		have  *objects
		want  want
	}{
		"no judge":   {b.answering(t), namespace4(), want{ReasonInvalidJudge, false, []string{"docs-bot has no judge", "add spec.judge"}}},
		"no labels":  {b.answering(t, byOpenAI), namespace4(), want{ReasonLabelsInvalid, false, []string{"no labelled verdicts", "--labels", "judge.calibration"}}},
		"no Secret":  {b.answering(t, byOpenAI, calibrated), &objects{configMaps: []*corev1.ConfigMap{labelled10(false)}}, want{ReasonSecretNotFound, false, []string{`"keys" of spec.judge.apiKeySecretRef`}}},
		"no such":    {b.answering(t, byOpenAI, calibrated), namespace4(), want{ReasonConfigMapNotFound, false, []string{`"labels"`}}},
		"no mapping": {b.answering(t, byOpenAI, calibrated, `{answer: {output: "response."}}`), namespace4(labelled10(false)), want{ReasonInvalidMapping, false, []string{"spec.answer.output"}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := PrepareGrader(t.Context(), test.suite, nil, test.have, Deps{})
			test.want.check(t, err)
		})
	}
}

// Whatever the services say, no credential gets into what a run leaves behind.
func TestNoRunHoldsASecret(t *testing.T) {
	gossip := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := fmt.Sprint(r.Header, r.URL.RawQuery)
		http.Error(w, fmt.Sprintf(`{"error": {"message": %q, "type": "invalid_request_error"}}`, said), http.StatusUnauthorized)
	}))
	defer gossip.Close()
	b := newBot(t)
	const everywhere = `headers: [{name: X-Key, valueFrom: {secretKeyRef: {name: keys, key: answer}}}], auth: {bearerTokenSecretRef: {name: keys, key: retriever}}`
	for name, patches := range map[string][]string{
		"retriever":      {byLexical, `{retriever: {url: "GOSSIP/search", ` + everywhere + `}}`},
		"answer service": {byLexical, `{answer: {url: "GOSSIP/answer", ` + everywhere + `}}`},
		"OpenAI":         {byOpenAI, `{judge: {url: "GOSSIP/v1", headers: [{name: X-Key, valueFrom: {secretKeyRef: {name: keys, key: answer}}}]}}`},
		"Anthropic":      {byAnthropic, `{judge: {url: "GOSSIP", headers: [{name: X-Key, valueFrom: {secretKeyRef: {name: keys, key: answer}}}]}}`},
		"a bearer token": {byOpenAI, `{judge: {url: "GOSSIP/v1", apiKeySecretRef: null, ` + everywhere + `}}`},
		"a calibration":  {byOpenAI, calibrated, `{judge: {url: "GOSSIP/v1"}}`},
		"basic auth":     {byOpenAI, `{judge: {url: "GOSSIP/v1", apiKeySecretRef: null, auth: {basicAuth: {usernameSecretRef: {name: keys, key: answer}, passwordSecretRef: {name: keys, key: judge}}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range patches {
				patches[i] = strings.ReplaceAll(patches[i], "GOSSIP", gossip.URL)
			}
			s := b.answering(t, append(patches, `{retriever: {maxRetries: 0}, answer: {maxRetries: 0}, objectives: [{metric: accuracy, min: "0.5"}]}`)...)
			p, result, cases := run(t, s, RunOptions{}, namespace4(labelled10(false)), Deps{})
			if result.Errored == 0 {
				t.Fatal("nothing failed")
			}
			left := everythingOf(t, p, s, result, cases)
			if !strings.Contains(left, "[redacted]") {
				t.Errorf("nothing was there to redact:\n%s", left)
			}
			basic := base64.StdEncoding.EncodeToString([]byte("hush-answer:sk-hush-judge"))
			for _, value := range []string{"hush-answer", "hush-retriever", "sk-hush-judge", basic} {
				if strings.Contains(left, value) {
					t.Errorf("%s is in:\n%s", value, left)
				}
			}
		})
	}
}

// everythingOf is all that a run leaves behind.
func everythingOf(t *testing.T, p *Prepared, s *v1alpha1.EvalSuite, result *eval.Result, cases []eval.CaseResult) string {
	t.Helper()
	var all strings.Builder
	for _, part := range []any{p.Calibrated(), p.Meta(s, "", "", ""), result.Decision, result.Trust, result.Outcomes} {
		fmt.Fprintf(&all, "%+v\n", part)
	}
	for _, c := range cases {
		fmt.Fprintln(&all, c.Outcome, c.Message)
	}
	return all.String()
}
