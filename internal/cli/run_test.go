package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/score"
)

// outcome is what a command left behind.
type outcome struct {
	code           int
	stdout, stderr string
}

// assay runs a command line in this process.
func assay(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	root := NewRootCommand()
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	code := execute(t.Context(), root)
	return outcome{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// want checks the exit code and what must stand on the two streams.
func (o outcome) want(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d", o.code, code)
	}
	if !strings.Contains(o.stdout, stdout) || stdout == "" && o.stdout != "" {
		t.Errorf("stdout lacks %q", stdout)
	}
	if !strings.Contains(o.stderr, stderr) || stderr == "" && o.stderr != "" {
		t.Errorf("stderr lacks %q", stderr)
	}
	if t.Failed() {
		t.Logf("stdout:\n%s\nstderr:\n%s", o.stdout, o.stderr)
	}
}

// stub is a retriever that speaks the Assay protocol.
type stub struct {
	*httptest.Server
	calls atomic.Int64

	mu     sync.Mutex
	topK   int
	header http.Header
}

// lists answers each question with ids, best first.
type lists map[string][]string

func newStub(t *testing.T, answers lists) *stub {
	t.Helper()
	return newStubFunc(t, func(w http.ResponseWriter, _ *http.Request, query string) {
		type item struct {
			ID    string  `json:"id"`
			Score float64 `json:"score"`
		}
		results := []item{}
		for i, id := range answers[query] {
			results = append(results, item{ID: id, Score: float64(10 - i)})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"results": results})
	})
}

func newStubFunc(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, query string)) *stub {
	t.Helper()
	s := &stub{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		var body struct {
			Query string `json:"query"`
			TopK  int    `json:"top_k"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.topK, s.header = body.TopK, r.Header.Clone()
		s.mu.Unlock()
		answer(w, r, body.Query)
	}))
	t.Cleanup(s.Close)
	return s
}

// file writes a file into a new folder and gives its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// suiteYAML is a suite that asks url; more are further lines of its spec.
func suiteYAML(url string, more ...string) string {
	text := fmt.Sprintf(`apiVersion: assay.dev/v1alpha1
kind: EvalSuite
metadata: {name: docs-bot, namespace: rag}
spec:
  goldenSet: {configMapRef: {name: golden, key: golden.yaml}}
  execution: {parallelism: 1}
  retriever:
    url: %s/search
    maxRetries: 0
`, url)
	for _, line := range more {
		text += "  " + line + "\n"
	}
	return text
}

const goldenYAML = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: golden}
data:
  golden.yaml: |
    - {id: q1, question: how do I install it, relevant: install.md, tags: [howto]}
    - {id: q2, question: 설치는 어떻게 하나요, relevant: [install.md, guide.md], tags: [korean]}
    - {id: q3, question: who wrote it, relevant: authors.md}
`

const objective = `objectives: [{metric: hit_rate@5, min: "0.60"}]`

// found answers all three questions, the second one at rank 2.
var found = lists{
	"how do I install it": {"install.md", "x.md"},
	"설치는 어떻게 하나요":         {"x.md", "guide.md", "install.md"},
	"who wrote it":        {"authors.md"},
}

// half answers one of three.
var half = lists{"how do I install it": {"install.md"}, "who wrote it": {"x.md"}}

func TestRunExitsWithTheVerdict(t *testing.T) {
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	for _, test := range []struct {
		name    string
		answers lists
		spec    string
		code    int
		stdout  string
	}{
		{"Passed", found, objective, 0, "docs-bot: Passed (ObjectivesMet)"},
		{"Failed", half, objective, 1, "docs-bot: Failed (ObjectivesMissed)\nhit_rate@5 is 0.3333 (3 of 3 cases scored), below min 0.60\n"},
		{"Inconclusive", found, "suspend: true", 2, "docs-bot: Inconclusive (NoObjectives)"},
		{"Error", nil, objective, 3, "docs-bot: Error (NothingScored)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			url := down.URL
			if test.answers != nil {
				url = newStub(t, test.answers).URL
			}
			path := file(t, "suite.yaml", suiteYAML(url, test.spec)+goldenYAML)
			assay(t, "", "run", "-f", path).want(t, test.code, test.stdout, "")
		})
	}
}

func TestRunPrintsTheDocument(t *testing.T) {
	s := newStub(t, found)
	path := file(t, "suite.yaml", suiteYAML(s.URL, objective, "scoring: {k: [1, 5]}")+goldenYAML)
	got := assay(t, "", "run", "-f", path, "-o", "json")
	got.want(t, 0, `"verdict": "Passed"`, "docs-bot: Passed (ObjectivesMet): hit_rate@5 is 1.0000")

	var d report.Document
	if err := json.Unmarshal([]byte(got.stdout), &d); err != nil {
		t.Fatalf("stdout is no JSON: %v", err)
	}
	if !strings.HasPrefix(d.Run.Name, "docs-bot-local-") || len(d.Run.UID) != 36 || d.Run.StartTime.IsZero() || d.Run.CompletionTime.Before(d.Run.StartTime) {
		t.Errorf("run = %+v", d.Run)
	}
	if !strings.HasPrefix(d.Run.GoldenSetDigest, "sha256:") || d.Settings.EvaluationDigest == "" || d.Cases[0].Digest == "" {
		t.Errorf("digests %q, %q, %q", d.Run.GoldenSetDigest, d.Settings.EvaluationDigest, d.Cases[0].Digest)
	}
	if latency := d.Cases[0].LatencySeconds; latency == nil || *latency <= 0 {
		t.Errorf("latencySeconds = %v", latency)
	}
	want := report.Document{
		Run:        report.Run{Suite: "docs-bot", Namespace: "rag", Trigger: "Manual", Revision: "none"},
		Verdict:    score.Passed,
		Reason:     "ObjectivesMet",
		Total:      3,
		Message:    "hit_rate@5 is 1.0000 (3 of 3 cases scored), meets min 0.60",
		Objectives: []report.Objective{{Metric: "hit_rate@5", Bound: "min 0.60", Value: ptr.To(1.0), Outcome: score.Met, Message: "hit_rate@5 is 1.0000 (3 of 3 cases scored), meets min 0.60"}},
		Coverage:   report.Coverage{Retrieval: ptr.To(1.0)},
		Outcomes:   map[string]int{"Scored": 3},
		Settings:   report.Settings{TopK: 10, Unit: "Chunk", PrimaryK: 5},
	}
	ignore := cmp.Options{
		cmpopts.IgnoreUnexported(report.Document{}), cmpopts.IgnoreFields(report.Document{}, "Metrics", "Cases"),
		cmpopts.IgnoreFields(report.Run{}, "UID", "Name", "StartTime", "CompletionTime", "GoldenSetDigest"),
		cmpopts.IgnoreFields(report.Settings{}, "EvaluationDigest"),
	}
	if diff := cmp.Diff(want, d, ignore); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
	second := report.Case{
		ID: "q2", Question: "설치는 어떻게 하나요", Tags: []string{"korean"}, Outcome: "Scored", Rank: 2,
		Relevant: []golden.Relevant{{ID: "install.md", Grade: 1}, {ID: "guide.md", Grade: 1}},
		Retrieved: []report.Retrieved{
			{Rank: 1, ID: "x.md", Score: ptr.To(10.0)}, {Rank: 2, ID: "guide.md", Score: ptr.To(9.0), Relevant: true}, {Rank: 3, ID: "install.md", Score: ptr.To(8.0), Relevant: true},
		},
	}
	if diff := cmp.Diff(second, d.Cases[1], cmpopts.IgnoreFields(report.Case{}, "Digest", "LatencySeconds", "Metrics")); diff != "" {
		t.Errorf("case q2 (-want +got):\n%s", diff)
	}
	for name, want := range map[string]float64{"hit_rate@1": 0, "hit_rate@5": 1, "mrr": 0.5, "recall@5": 1} {
		if got, ok := d.Cases[1].Metrics[name]; !ok || got != want {
			t.Errorf("%s of q2 = %v, %v; want %v", name, got, ok, want)
		}
	}
}

func TestRunPrintsJUnitAndMarkdown(t *testing.T) {
	s := newStub(t, half)
	path := file(t, "suite.yaml", suiteYAML(s.URL, objective)+goldenYAML)

	junit := assay(t, "", "run", "-f", path, "-o", "junit")
	junit.want(t, 1, `<failure type="Missed" message="hit_rate@5 is 0.3333`, "docs-bot: Failed")
	if err := xml.Unmarshal([]byte(junit.stdout), new(struct{})); err != nil {
		t.Errorf("stdout is no XML: %v", err)
	}
	assay(t, "", "run", "-f", path, "-o", "markdown").
		want(t, 1, "| **Missed** | `hit_rate@5` |  | min 0.60 |", "docs-bot: Failed")
}

func TestRunTakesManifestsFromEverywhere(t *testing.T) {
	s := newStub(t, found)
	suite := suiteYAML(s.URL, objective)
	folder := filepath.Dir(file(t, "suite.yaml", suite+goldenYAML))
	const passed = "docs-bot: Passed"
	assay(t, "", "run", "-f", folder).want(t, 0, passed, "")
	assay(t, suite+goldenYAML, "run", "-f", "-").want(t, 0, passed, "")
	assay(t, goldenYAML, "run", "-f", file(t, "suite.yaml", "\uFEFF"+suite), "-f", "-").want(t, 0, passed, "")
	assay(t, "", "run", "-f", file(t, "suite.yaml", suite+goldenYAML+"---\n{apiVersion: v1, kind: Service, metadata: {name: bot}}\n")).
		want(t, 0, passed, "suite.yaml:21: Service bot is left out")
}

func TestRunTakesAnotherGoldenSet(t *testing.T) {
	s := newStub(t, found)
	path := file(t, "suite.yaml", suiteYAML(s.URL, objective))
	jsonl := file(t, "g.jsonl", "\uFEFF"+`{"query_id": "007", "question": "who wrote it", "relevant_doc_ids": ["authors.md"]}`+"\n")
	csv := file(t, "more.csv", "id,question,relevant,colour\n9007199254740993,how do I install it,install.md;x.md,red\n")
	got := assay(t, "", "run", "-f", path, "--golden", jsonl, "--golden", csv, "-o", "json")
	got.want(t, 0, `"id": "007"`, "colour")
	if !strings.Contains(got.stdout, `"id": "9007199254740993"`) || !strings.Contains(got.stderr, "warning: ") {
		t.Errorf("stdout %s\nstderr %s", got.stdout, got.stderr)
	}

	latin1 := file(t, "l.csv", "id,question,relevant\n1,caf\xe9,a\n")
	assay(t, "", "run", "-f", path, "--golden", latin1).want(t, 3, "", "l.csv")
	assay(t, "", "run", "-f", path, "--golden", "missing.csv").want(t, 3, "", "error: reading the file of --golden: open missing.csv: no such file or directory")
	assay(t, "", "run", "-f", path, "--golden", "-").want(t, 3, "", "standard input has no name")
}

func TestRunAsksWhatTheFlagsSay(t *testing.T) {
	own, canary := newStub(t, half), newStub(t, found)
	path := file(t, "suite.yaml", suiteYAML(own.URL, objective, "endpoints: [{name: canary, retrieverURL: "+canary.URL+"/search}]")+goldenYAML)

	assay(t, "", "run", "-f", path, "--tags", "howto,korean", "--endpoint", "canary", "--top-k", "7").
		want(t, 0, "docs-bot at canary: Passed", "")
	if own.calls.Load() != 0 || canary.calls.Load() != 2 || canary.topK != 7 {
		t.Errorf("%d calls to the suite's own URL, %d to canary with topK %d; want 0, 2 and 7", own.calls.Load(), canary.calls.Load(), canary.topK)
	}
	assay(t, "", "run", "-f", path, "--endpoint", "preview").want(t, 3, "", `no endpoint "preview"`)
	assay(t, "", "run", "-f", path, "--tags", "smoke").want(t, 3, "", "howto, korean")
}

func TestRunPicksTheSuite(t *testing.T) {
	s := newStub(t, found)
	two := suiteYAML(s.URL, objective) + "---\n" + strings.Replace(suiteYAML(s.URL), "docs-bot", "shop-bot", 1)
	path := file(t, "suites.yaml", two+goldenYAML)
	assay(t, "", "run", "-f", path).want(t, 3, "", "error: 2 EvalSuites in the files: pick one with --suite (rag/docs-bot, rag/shop-bot)")
	assay(t, "", "run", "-f", path, "--suite", "shop-bot").want(t, 2, "shop-bot: Inconclusive", "")
}

func TestPlanSendsNothing(t *testing.T) {
	s := newStub(t, found)
	path := file(t, "suite.yaml", strings.Replace(suiteYAML(s.URL, objective), "maxRetries: 0", "warmupRequests: 2", 1)+
		goldenYAML+"    - {id: q4, question: unanswerable, answerable: false}\n")
	table := assay(t, "", "run", "-f", path, "--plan")
	table.want(t, 0, "CALLS       5 before retries, at most 1 at a time\n", "")
	for _, line := range []string{
		"SUITE       rag/docs-bot\n", "RETRIEVER   POST " + s.URL + "/search\n", "GOLDEN SET  4 cases, 3 of them asked, 2 tags, sha256:",
		"SETTINGS    topK 10, unit Chunk\n", "METRICS     hit_rate@{1,3,5,10}, precision@{1,3,5,10}, ", "OBJECTIVES  hit_rate@5, min 0.60\n", "\nNothing was sent.\n",
	} {
		if !strings.Contains(table.stdout, line) {
			t.Errorf("the plan lacks %q:\n%s", line, table.stdout)
		}
	}
	var p plan
	if err := json.Unmarshal([]byte(assay(t, "", "run", "-f", path, "--plan", "-o", "json").stdout), &p); err != nil {
		t.Fatal(err)
	}
	want := plan{Suite: "docs-bot", Namespace: "rag", Method: "POST", URL: s.URL + "/search", Cases: 4, Asked: 3, Tags: 2, Calls: 5, Parallelism: 1,
		Objectives: []string{"hit_rate@5, min 0.60"}, Settings: report.Settings{TopK: 10, Unit: "Chunk", PrimaryK: 5}}
	if diff := cmp.Diff(want, p, cmpopts.IgnoreFields(plan{}, "GoldenSetDigest", "Metrics"), cmpopts.IgnoreFields(report.Settings{}, "EvaluationDigest")); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	assay(t, "", "run", "-f", path, "--plan", "-o", "junit").want(t, 3, "", "a plan has no junit form")
	broken := file(t, "broken.yaml", strings.Replace(suiteYAML(s.URL), "maxRetries: 0", "results: 'response.hits.map('", 1)+goldenYAML)
	assay(t, "", "run", "-f", broken, "--plan").want(t, 3, "", "spec.retriever.results")
	if n := s.calls.Load(); n != 0 {
		t.Errorf("%d calls to the retriever, want none", n)
	}
}

func TestRunSendsSecretsAndKeepsThem(t *testing.T) {
	const token = "hunter2-hunter2"
	s := newStubFunc(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		http.Error(w, "you sent "+r.Header.Get("Authorization"), http.StatusForbidden)
	})
	suite := strings.Replace(suiteYAML(s.URL, objective), "maxRetries: 0", "auth: {bearerTokenSecretRef: {name: bot, key: token}}", 1)
	path := file(t, "suite.yaml", suite+goldenYAML)

	missing := assay(t, "", "run", "-f", path)
	missing.want(t, 3, "", `spec.retriever.auth.bearerTokenSecretRef`)
	missing.want(t, 3, "", `Secret "bot" is not in the files: add its manifest with -f`)

	secret := file(t, "secret.yaml", "{apiVersion: v1, kind: Secret, metadata: {name: bot}, stringData: {token: "+token+"}}")
	for _, format := range runFormats {
		got := assay(t, "", "run", "-f", path, "-f", secret, "-o", format)
		if got.code != 3 || strings.Contains(got.stdout+got.stderr, token) {
			t.Errorf("-o %s: exit code %d, want 3 and no token in\n%s%s", format, got.code, got.stdout, got.stderr)
		}
	}
	if got := s.header.Get("Authorization"); got != "Bearer "+token {
		t.Errorf("Authorization = %q", got)
	}
	assay(t, "", "run", "-f", path, "-f", file(t, "s.yaml", "{apiVersion: v1, kind: Secret, metadata: {name: bot}, data: {token: "+token+"}}")).
		want(t, 3, "", "Secret bot: data[token]: is not base64: write plain text under stringData")
}

func TestRunRefusesBadManifests(t *testing.T) {
	s := newStub(t, found)
	for _, test := range []struct{ name, text, stderr string }{
		{"min without quotes", suiteYAML(s.URL, "objectives:", "- metric: hit_rate@5", "  min: 0.9"),
			`suite.yaml:12: EvalSuite docs-bot: spec.objectives[0].min: must be a string, but 0.9 is a number: put it in quotes, min: "0.9"`},
		{"unknown field", suiteYAML(s.URL, "answers: {}"), "error: suite.yaml:10: EvalSuite docs-bot: spec.answers: unknown field"},
		{"CEL rule", suiteYAML(s.URL, "timeZone: Asia/Seoul"), "timeZone has no meaning without schedule"},
		{"schedule", suiteYAML(s.URL, "schedule: every day") + goldenYAML, "spec.schedule"},
		{"several", suiteYAML(s.URL, "answers: {}", "judges: {}"), "error: 2 problems in the manifests:\nsuite.yaml:10: "},
		{"no ConfigMap", suiteYAML(s.URL), `ConfigMap "golden" is not in the files: add its manifest with -f; a golden set as it stands is given with --golden`},
		{"ConfigMap of another namespace", suiteYAML(s.URL) + strings.Replace(goldenYAML, "{name: golden}", "{name: golden, namespace: dev}", 1),
			`ConfigMap "golden" stands in the files for namespace dev only, and the suite is in namespace rag`},
		{"a tag that no case carries", suiteYAML(s.URL, `objectives: [{metric: mrr, tag: smoke, min: "0.1"}]`) + goldenYAML, `no case carries the tag "smoke"`},
		{"an empty golden set", suiteYAML(s.URL) + strings.SplitAfter(goldenYAML, "golden.yaml: |\n")[0] + "    []\n", "golden.yaml"},
		{"nothing", "", "no EvalSuite in the files"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(filepath.Dir(file(t, "suite.yaml", test.text)))
			if err := os.WriteFile("suite.yaml", []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			assay(t, "", "run", "-f", "suite.yaml").want(t, 3, "", test.stderr)
		})
	}
	if n := s.calls.Load(); n != 0 {
		t.Errorf("%d calls to the retriever, want none", n)
	}
}

func TestWrongUseIsNoVerdict(t *testing.T) {
	for _, test := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"run"}, "error: no manifest: give the suite's with -f FILE\n"},
		{[]string{"run", "suite.yaml"}, `takes no argument "suite.yaml": files are given with -f; see assay run --help`},
		{[]string{"run", "-f", "x", "-o", "yaml"}, `unknown output format "yaml": use table, json, junit, markdown`},
		{[]string{"run", "-f", "x", "--top-k", "-1"}, "--top-k is -1: give a number from 1 to 1000"},
		{[]string{"run", "-f", "x", "--up-to", "verdict"}, `--up-to is "verdict": use retrieval, answer, judge`},
		{[]string{"run", "-f", "x", "--top-k", "x"}, "see assay run --help"},
		{[]string{"run", "--threshold", "x"}, "unknown flag: --threshold; see assay run --help"},
		{[]string{"rnu"}, `unknown command "rnu"`},
		{[]string{"run", "-f", "missing.yaml"}, "error: missing.yaml: no such file or directory\n"},
	} {
		assay(t, "", test.args...).want(t, 3, "", test.stderr)
	}
}

// TestInterruptKeepsWhatWasScored sends the process the signal of Ctrl-C while
// the second of three cases is asked.
func TestInterruptKeepsWhatWasScored(t *testing.T) {
	var calls atomic.Int64
	s := newStubFunc(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		if calls.Add(1) == 2 {
			if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
				t.Errorf("SIGINT: %v", err)
			}
			select {
			case <-r.Context().Done():
			case <-time.After(time.Minute):
				t.Error("the call was not canceled")
			}
			return
		}
		_, _ = w.Write([]byte(`{"results": [{"id": "install.md"}]}`))
	})
	path := file(t, "suite.yaml", suiteYAML(s.URL, objective)+goldenYAML)
	got := assay(t, "", "run", "-f", path)
	got.want(t, 2, "docs-bot: Inconclusive (Canceled)\nthe run was interrupted when 1 of 3 cases were done\n", "")
	got.want(t, 2, "OUTCOMES  Scored 1, not asked 2\n", "")
}

// TestMain lets the test binary be the command line of another process.
func TestMain(m *testing.M) {
	if os.Getenv("ASSAY_TEST_EXECUTE") != "" {
		os.Exit(Execute())
	}
	os.Exit(m.Run())
}

// TestInterruptWhileReading: with nothing scored there is nothing to print, and
// the first Ctrl-C ends a command that waits for its manifests.
func TestInterruptWhileReading(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "run", "-f", "-")
	cmd.Env = append(os.Environ(), "ASSAY_TEST_EXECUTE=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// More than a pipe holds: once it is written, the command is reading.
	if _, err := stdin.Write(bytes.Repeat([]byte("# a comment\n"), 100_000)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGINT {
		t.Errorf("the command ended with %v, want by the interrupt", cmd.ProcessState)
	}
}

func TestByFamily(t *testing.T) {
	const want = "hit_rate@{1,5}, mrr, f0.5@3"
	if got := byFamily([]string{"hit_rate@1", "mrr", "f0.5@3", "hit_rate@5"}); got != want {
		t.Errorf("byFamily = %q, want %q", got, want)
	}
}

func TestDisplayName(t *testing.T) {
	for program, want := range map[string]string{
		"/usr/local/bin/assay": "assay", "kubectl-assay": "kubectl assay", "/x/kubectl-assay.exe": "kubectl assay", "cli.test": "assay",
	} {
		if got := displayName(program); got != want {
			t.Errorf("displayName(%q) = %q, want %q", program, got, want)
		}
	}
}

func TestVersionAndHelp(t *testing.T) {
	assay(t, "", "version").want(t, 0, "assay dev", "")
	assay(t, "", "--version").want(t, 0, "assay version dev", "")
	assay(t, "", "completion", "bash").want(t, 0, "bash completion", "")
	help := assay(t, "", "--help")
	for _, command := range []string{"run", "operator", "sample-rag", "version", "completion"} {
		help.want(t, 0, "\n  "+command+" ", "")
	}
}
