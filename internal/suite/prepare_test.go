package suite

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
)

// prepare makes a run ready and closes its client when the test ends.
func prepare(t *testing.T, spec string, o RunOptions, d Deps) (*Prepared, error) {
	t.Helper()
	p, err := Prepare(t.Context(), suiteOf(t, spec), o, &objects{configMaps: []*corev1.ConfigMap{golden3}}, d)
	if err == nil {
		t.Cleanup(p.Close)
	}
	return p, err
}

func mustPrepare(t *testing.T, spec string, o RunOptions, d Deps) *Prepared {
	t.Helper()
	p, err := prepare(t, spec, o, d)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPrepare(t *testing.T) {
	spec := `{retriever: {warmupRequests: 2, topK: 20}, scoring: {betas: ["2"], unit: Document, minCoverage: "0.5"}, execution: {parallelism: 3, timeoutSeconds: 60},
	  objectives: [{metric: hit_rate@5, min: "0.9", max: "1"}, {metric: mrr, tag: ` + decomposed + `, min: "0.5", maxDrop: "0.05"}]}`
	s := suiteOf(t, spec)
	p := mustPrepare(t, spec, RunOptions{}, Deps{})
	want := eval.Plan{
		Cases:       p.Golden.Cases,
		Score:       score.Spec{TopK: 20, K: []int{1, 3, 5, 10}, PrimaryK: 5, Betas: []string{"2"}, Unit: score.Document, Named: []string{"hit_rate@5", "mrr"}},
		Objectives:  []score.Objective{{Metric: "hit_rate@5", Min: "0.9", Max: "1"}, {Metric: "mrr", Tag: "한국어", Min: "0.5", MaxDrop: "0.05"}},
		MinCoverage: 0.5, Parallelism: 3, Timeout: time.Minute, WarmupRequests: 2,
		Head: compare.Side{Revision: NoTargetsRevision, GoldenSetDigest: p.Golden.Digest, EvaluationDigest: EvaluationDigest(s, "", Digests{})},
	}
	if diff := cmp.Diff(want, p.Plan, cmpopts.IgnoreFields(eval.Plan{}, "Redact")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"q1", "q2", "q3"}, ids(p.Golden)); diff != "" {
		t.Error(diff)
	}
	rest := Prepared{
		EvaluationDigest: EvaluationDigest(s, "", Digests{}), GoldenSetDigest: p.Golden.Digest, Revision: NoTargetsRevision,
		Full: true, TopK: 20, Unit: "Document", PrimaryK: 5, Cost: Cost{Calls: 5},
	}
	if diff := cmp.Diff(rest, *p, cmpopts.IgnoreFields(Prepared{}, "Plan", "Parties", "Golden"), cmpopts.IgnoreUnexported(Prepared{})); diff != "" {
		t.Error(diff)
	}
}

func TestServes(t *testing.T) {
	p := mustPrepare(t, `{}`, RunOptions{}, Deps{})
	targets := []report.Target{{Kind: "Deployment", Name: "bot", TemplateHash: "6d4cf56db6"}}
	p.Serves("r2", targets, map[string]string{"prompts": "sha256:1"})
	got := p.Meta(suiteOf(t), "uid", "docs-bot-1", v1alpha1.TriggerDeploy).Run
	want := report.Run{
		UID: "uid", Name: "docs-bot-1", Suite: "docs-bot", Namespace: "rag", Trigger: "Deploy", Revision: "r2", GoldenSetDigest: p.GoldenSetDigest,
		Targets: targets, ConfigMaps: map[string]string{"prompts": "sha256:1"},
	}
	if diff := cmp.Diff(want, got); diff != "" || p.Plan.Head.Revision != "r2" {
		t.Errorf("compared as revision %s: %s", p.Plan.Head.Revision, diff)
	}
}

func TestPrepareByTheRunsOptions(t *testing.T) {
	spec := `{goldenSet: {tags: [howto, billing]}, endpoints: [{name: canary, retrieverURL: "http://canary/search"}], objectives: [{metric: hit_rate@5, min: "0.9"}]}`
	s := suiteOf(t, spec)
	whole := mustPrepare(t, spec, RunOptions{}, Deps{})
	file := golden.File{Name: "my.yaml", Data: []byte("- {id: mine, question: where is mine, relevant: x, tags: billing}")}
	type facts struct {
		Cases              []string
		Digest             string // of the suite, by endpoint
		Revision, Endpoint string
		Full               bool
		TopK, PrimaryK     int
		K                  []int
		Calls              int64
		OwnSet             bool
	}
	for name, test := range map[string]struct {
		options RunOptions
		want    facts
	}{
		"none":               {RunOptions{}, facts{[]string{"q1", "q2"}, "", "none", "", true, 10, 5, []int{1, 3, 5, 10}, 2, false}},
		"tags":               {RunOptions{Tags: []string{decomposed}}, facts{[]string{"q2"}, "", "none", "", false, 10, 5, []int{1, 3, 5, 10}, 1, false}},
		"topK":               {RunOptions{TopK: 3}, facts{[]string{"q1", "q2"}, "", "none", "", false, 3, 3, []int{1, 3}, 2, false}},
		"a larger topK":      {RunOptions{TopK: 50}, facts{[]string{"q1", "q2"}, "", "none", "", false, 50, 5, []int{1, 3, 5, 10}, 2, false}},
		"endpoint":           {RunOptions{Endpoint: "canary"}, facts{[]string{"q1", "q2"}, "canary", "none", "canary", false, 10, 5, []int{1, 3, 5, 10}, 2, false}},
		"endpoint, revision": {RunOptions{Endpoint: "canary", Revision: "v2"}, facts{[]string{"q1", "q2"}, "canary", "v2", "canary", false, 10, 5, []int{1, 3, 5, 10}, 2, false}},
		"another golden set": {RunOptions{Golden: []golden.File{file}}, facts{[]string{"mine"}, "", "none", "", true, 10, 5, []int{1, 3, 5, 10}, 1, true}},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustPrepare(t, spec, test.options, Deps{})
			got := facts{
				Cases: ids(&golden.Set{Cases: p.Plan.Cases}), Digest: test.want.Digest, Revision: p.Revision, Endpoint: p.Endpoint,
				Full: p.Full, TopK: p.TopK, PrimaryK: p.PrimaryK, K: p.Plan.Score.K, Calls: p.Cost.Calls, OwnSet: p.GoldenSetDigest != whole.GoldenSetDigest,
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if want := EvaluationDigest(s, test.want.Digest, Digests{}); p.EvaluationDigest != want {
				t.Errorf("the digest is %s, want that of endpoint %q", p.EvaluationDigest, test.want.Digest)
			}
			if p.Plan.Score.TopK != p.TopK || p.GoldenSetDigest != p.Golden.Digest {
				t.Errorf("the plan asks for %d of %s, and the run says %d of %s", p.Plan.Score.TopK, p.Golden.Digest, p.TopK, p.GoldenSetDigest)
			}
		})
	}
}

func TestRunsThatCannotBegin(t *testing.T) {
	store := `{retriever: {preset: OpenAIVectorStore}, scoring: {unit: Document}, endpoints: [{name: canary, retrieverURL: "http://c/s"}, {name: preview, retrieverURL: "http://p/s"}]}`
	for name, test := range map[string]struct {
		spec    string
		options RunOptions
		want    want
	}{
		"endpoint of none":   {`{}`, RunOptions{Endpoint: "canary"}, want{ReasonEndpointUnknown, false, []string{`the suite docs-bot has no endpoint "canary": it names none; add it to spec.endpoints`}}},
		"another endpoint":   {store, RunOptions{Endpoint: "green"}, want{ReasonEndpointUnknown, false, []string{`no endpoint "green"`, "it has canary, preview;"}}},
		"tags":               {`{}`, RunOptions{Tags: []string{"nobody", "never"}}, want{ReasonNoCases, false, []string{"the run's tags (nobody, never)", "the tags billing, howto, 한국어"}}},
		"topK":               {store, RunOptions{TopK: 51}, want{ReasonTopKTooLarge, false, []string{"the run's own topK is too large: ", "at most 50", "51"}}},
		"golden set":         {`{}`, RunOptions{Golden: []golden.File{{Name: "x.yaml", Data: []byte("- {}")}}}, want{ReasonGoldenSetInvalid, false, []string{"x.yaml:1"}}},
		"no golden set":      {`{goldenSet: {configMapRef: {name: other}}}`, RunOptions{}, want{ReasonGoldenSetNotFound, false, []string{`"other"`}}},
		"what Check refuses": {`{retriever: {results: "response."}}`, RunOptions{}, want{ReasonInvalidMapping, false, []string{"spec.retriever.results: "}}},
		"secret":             {`{retriever: {auth: {bearerTokenSecretRef: {name: bot, key: t}}}}`, RunOptions{}, want{ReasonSecretNotFound, false, []string{`"bot"`}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := prepare(t, test.spec, test.options, Deps{})
			test.want.check(t, err)
		})
	}
	for name, change := range map[string]struct {
		url, coverage string
		want          want
	}{
		"SERVER":   {"ftp://bot/search?key=s3cret", "0.95", want{ReasonInvalidMapping, false, []string{"spec.retriever.url: ", "http://"}}},
		"coverage": {"http://bot/search", "most", want{ReasonInvalidObjective, false, []string{"spec.scoring.minCoverage", `"0" to "1"`}}},
	} {
		t.Run("not by the CRD: "+name, func(t *testing.T) {
			s := suiteOf(t)
			s.Spec.Retriever.URL, s.Spec.Scoring.MinCoverage = change.url, change.coverage
			_, err := Prepare(t.Context(), s, RunOptions{}, &objects{configMaps: []*corev1.ConfigMap{golden3}}, Deps{})
			change.want.check(t, err)
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("it gives the query away: %s", err)
			}
		})
	}
}

func TestCalls(t *testing.T) {
	cases := func(questions ...string) *golden.Set {
		set := &golden.Set{}
		for _, q := range questions {
			c := golden.Case{Question: q, Answerable: q != "unanswerable"}
			if q != "no relevant id" {
				c.Relevant = []golden.Relevant{{ID: "x", Grade: 1}}
			}
			set.Cases = append(set.Cases, c)
		}
		return set
	}
	const embedding = `{retriever: {embedding: {url: "http://e/v1", model: m}, request: '{"v": vector}'}}`
	for name, test := range map[string]struct {
		spec  string
		cases *golden.Set
		want  int64
	}{
		"one a case":                      {`{}`, cases("a", "b", "c"), 3},
		"cases that are not asked":        {`{}`, cases("a", "unanswerable", "no relevant id"), 1},
		"warm-up":                         {`{retriever: {warmupRequests: 10}}`, cases("a", "b"), 12},
		"nothing to ask, nothing to warm": {`{retriever: {warmupRequests: 10}}`, cases("unanswerable"), 0},
		"vectors":                         {embedding, cases("a", "b", "unanswerable"), 4},
		"one vector a question":           {embedding, cases("a", "a", "b"), 5},
		"the warm-up's vectors are kept":  {`{retriever: {warmupRequests: 2, embedding: {url: "http://e/v1", model: m}, request: '{"v": vector}'}}`, cases("a", "b"), 6},
		"vectors that nobody reads":       {`{retriever: {embedding: {url: "http://e/v1", model: m}}}`, cases("a", "b"), 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CostOf(suiteOf(t, test.spec), RunOptions{}, test.cases, Referenced{}).Calls; got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// What is said before a run is what it then does.
func TestCallsAreThoseOfARun(t *testing.T) {
	var mu sync.Mutex
	counts := map[string]int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		counts[r.URL.Path]++
		mu.Unlock()
		_, _ = io.WriteString(w, map[string]string{"/embed": `{"data": [{"embedding": [0.5]}]}`, "/search": `{"results": []}`}[r.URL.Path])
	}))
	defer server.Close()
	spec := strings.ReplaceAll(`{retriever: {url: "SERVER/search", warmupRequests: 2, embedding: {url: "SERVER/embed", model: m}, request: '{"v": vector}'}, execution: {parallelism: 1}}`, "SERVER", server.URL)
	var attempts []string
	p := mustPrepare(t, spec, RunOptions{}, Deps{Observe: func(_, outcome string, _ float64) { attempts = append(attempts, outcome) }})
	result := eval.Run(t.Context(), p.Plan, p.Parties, nil)
	if diff := cmp.Diff(map[string]int64{"/embed": 3, "/search": 5}, counts); diff != "" || p.Cost.Calls != 8 || result.Done != 3 {
		t.Errorf("%d calls were said, %d cases done: %s", p.Cost.Calls, result.Done, diff)
	}
	if want := slices.Repeat([]string{retriever.OK}, 5); !slices.Equal(attempts, want) {
		t.Errorf("the observer heard of %v", attempts)
	}
}

// Suites of one namespace share the rate against a host; other namespaces,
// other hosts and suites without a bound have nothing to do with it.
func TestRunsShareTheRateOfAHost(t *testing.T) {
	server := httptest.NewServer(guarded(func(*http.Request) bool { return true }))
	defer server.Close()
	limits := retriever.NewLimits()
	// Somebody has taken an hour's worth.
	limiter := limits.For("rag", server.URL, 1)
	for range 3600 {
		limiter.Reserve()
	}
	for name, test := range map[string]struct {
		namespace, spec string
		endpoint        string
		limits          *retriever.Limits
		waits           bool
	}{
		"the same host":       {"rag", `{retriever: {url: "SERVER/search", requestsPerSecond: 1}}`, "", limits, true},
		"as an endpoint":      {"rag", `{retriever: {url: "http://bot/search", requestsPerSecond: 1}, endpoints: [{name: canary, retrieverURL: "SERVER/search"}]}`, "canary", limits, true},
		"another namespace":   {"web", `{retriever: {url: "SERVER/search", requestsPerSecond: 1}}`, "", limits, false},
		"no bound":            {"rag", `{retriever: {url: "SERVER/search"}}`, "", limits, false},
		"limits of one's own": {"rag", `{retriever: {url: "SERVER/search", requestsPerSecond: 1}}`, "", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := suiteOf(t, strings.ReplaceAll(test.spec, "SERVER", server.URL))
			s.Namespace = test.namespace
			p, err := Prepare(t.Context(), s, RunOptions{Endpoint: test.endpoint}, &objects{configMaps: []*corev1.ConfigMap{golden3}}, Deps{Limits: test.limits})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err = p.Parties.Retriever.Retrieve(ctx, &golden.Case{ID: "a", Question: "a"}, 1)
			if waits := err != nil && strings.Contains(err.Error(), "requestsPerSecond"); waits != test.waits || !waits && err != nil {
				t.Errorf("waits is %t, want %t (%v)", waits, test.waits, err)
			}
		})
	}
}
