//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/model"
)

// watchedManifests are a suite that has everything that the dashboard shows: an
// answer service, a judge that is held against labels, tags, objectives, a schedule.
const watchedManifests = `
apiVersion: v1
kind: ConfigMap
metadata: {name: golden}
data:
  golden.yaml: |
    - {id: q1, question: where is a, relevant: a, reference_answer: It is at a., tags: [howto]}
    - {id: q2, question: where is b, relevant: b, reference_answer: It is at b., tags: [howto]}
    - {id: q3, question: where is c, relevant: c, reference_answer: It is at c.}
    - {id: q4, question: where is d, relevant: d, reference_answer: It is at d.}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: labels}
data:
  labels.jsonl: ""
---
apiVersion: assay.dev/v1alpha1
kind: EvalSuite
metadata: {name: docs-bot}
spec:
  goldenSet: {configMapRef: {name: golden}}
  retriever: {url: %[1]s/search, topK: 5}
  answer: {url: %[1]s/answer}
  judge:
    provider: OpenAI
    model: stub
    url: %[1]s/v1
    calibration: {configMapRef: {name: labels, key: labels.jsonl}, minKappa: "0.60"}
  objectives:
  - {metric: hit_rate@5, min: "0.70"}
  - {metric: hit_rate@5, tag: howto, min: "0.90"}
  - {metric: accuracy, min: "0.50"}
  schedule: "* * * * *"
`

// wrongAnswer is in every answer that the stub's judge finds wrong.
const wrongAnswer = "nowhere to be found"

// ragStub is a retriever, an answer service and a judge. While it is broken the
// retriever finds other documents of the same corpus.
type ragStub struct {
	*httptest.Server
	broken atomic.Bool
}

func newRAG(t *testing.T) *ragStub {
	t.Helper()
	s := &ragStub{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /search", s.search)
	mux.HandleFunc("POST /answer", s.answer)
	mux.HandleFunc("POST /v1/chat/completions", s.judge)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *ragStub) search(w http.ResponseWriter, r *http.Request) {
	var body struct{ Query string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id := body.Query[len(body.Query)-1:]
	if s.broken.Load() {
		id = map[string]string{"a": "b", "b": "c", "c": "d", "d": "a"}[id]
	}
	fmt.Fprintf(w, `{"results": [{"id": %q, "text": "It is at %s."}]}`, id, id)
}

func (*ragStub) answer(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Question string
		Contexts []string
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Contexts) == 0 {
		http.Error(w, "no contexts", http.StatusBadRequest)
		return
	}
	fmt.Fprintf(w, `{"answer": %q}`, body.Contexts[0])
}

// judge replies as OpenAI's API does.
func (*ragStub) judge(w http.ResponseWriter, r *http.Request) {
	var prompt bytes.Buffer
	if _, err := prompt.ReadFrom(r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	right := !bytes.Contains(prompt.Bytes(), []byte(wrongAnswer))
	verdict := fmt.Sprintf(`{"reason": "by rote", "correct": %t, "grounded": %t, "abstained": false}`, right, right)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": verdict}}},
		"usage":   map[string]int{"prompt_tokens": 400, "completion_tokens": 30},
	})
}

// labelled is a set of labels with which the judge agrees, or which say the opposite.
func labelled(agree bool) string {
	var b strings.Builder
	for i := range 6 {
		for answer, right := range map[string]bool{"It is at a.": true, "It is " + wrongAnswer + ".": false} {
			fmt.Fprintf(&b, `{"question": "where is %d", "reference_answer": "It is at a.", "contexts": ["It is at a."], "answer": %q, "correct": %t, "grounded": %t}`+"\n",
				i, answer, right == agree, right == agree)
		}
	}
	return b.String()
}

// watched is a suite that an operator runs and a Prometheus with the shipped rules watches.
type watched struct {
	namespace string
	rag       *ragStub
	prom      *promServer
	runs      int
}

func (w *watched) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return mustKubectl(t, append([]string{"-n", w.namespace}, args...)...)
}

// runNow starts a run and waits until it has ended, and with it those before it.
func (w *watched) runNow(t *testing.T) {
	t.Helper()
	w.runs++
	token := strconv.Itoa(w.runs)
	w.kubectl(t, "annotate", "evs/docs-bot", "assay.dev/run-now="+token, "--overwrite")
	eventually(t, func(context.Context) error {
		if handled := w.kubectl(t, "get", "evs/docs-bot", "-o", "jsonpath={.status.lastHandledRunNow}"); handled != token {
			return fmt.Errorf("run-now is at %q, want %s", handled, token)
		}
		return nil
	})
	w.kubectl(t, "wait", "evr", "--all", "--for=condition=Complete", waitReady)
}

func (w *watched) label(t *testing.T, agree bool) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"data": map[string]string{"labels.jsonl": labelled(agree)}})
	if err != nil {
		t.Fatal(err)
	}
	w.kubectl(t, "patch", "configmap/labels", "-p", string(patch))
}

// waitForAlerts waits until these alerts fire, of this suite where they are of
// one, and no others.
func (w *watched) waitForAlerts(t *testing.T, want ...string) map[string][]model.LabelSet {
	t.Helper()
	var alerts map[string][]model.LabelSet
	eventually(t, func(ctx context.Context) (err error) {
		if alerts, err = w.prom.firing(ctx); err != nil {
			return err
		}
		if got := slices.Sorted(maps.Keys(alerts)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			return fmt.Errorf("%q fire, want %q", got, want)
		}
		return nil
	})
	for name, labels := range alerts {
		for _, l := range labels {
			if suite, found := l["suite"]; found && (suite != "docs-bot" || string(l["namespace"]) != w.namespace) {
				t.Errorf("%s is about %s", name, l)
			}
		}
	}
	return alerts
}

// TestAlertsAndDashboardOnRealPrometheus has the shipped rules tell what happens
// to a suite, and the shipped dashboard show it.
func TestAlertsAndDashboardOnRealPrometheus(t *testing.T) {
	w := &watched{namespace: newNamespace(t), rag: newRAG(t)}
	history := "sqlite://" + filepath.Join(t.TempDir(), "history.db")
	operator := startAssayOn(t, history)
	dir := t.TempDir()
	token := writeFile(t, dir, "token", []byte(scraperToken(t)))
	rules := writeFile(t, dir, "alerts.yaml", quicker(shipped(t, "alerts.yaml")))
	w.prom = startPrometheus(t, operator.metrics, "", token, rules)

	manifests := strings.Replace(fmt.Sprintf(watchedManifests, w.rag.URL), `labels.jsonl: ""`, "labels.jsonl: "+strconv.Quote(labelled(true)), 1)
	w.kubectl(t, "apply", "-f", writeFile(t, dir, "watched.yaml", []byte(manifests)))
	w.kubectl(t, "wait", "evs/docs-bot", "--for=condition=Passing", waitReady)
	reference := strings.TrimSpace(w.kubectl(t, "get", "evr", "-o", "jsonpath={.items[0].metadata.name}"))
	w.kubectl(t, "patch", "evs/docs-bot", "--type=merge", "-p", fmt.Sprintf(`{"spec": {"baseline": {"reference": %q}}}`, reference))
	w.runNow(t)
	w.waitForAlerts(t)
	t.Run("dashboard", func(t *testing.T) { checkDashboard(t, w) })

	w.rag.broken.Store(true)
	w.runNow(t)
	alerts := w.waitForAlerts(t, "AssayQualityDropped", "AssayObjectiveMissed")
	missed := map[model.LabelValue]bool{}
	for _, labels := range alerts["AssayObjectiveMissed"] {
		missed[labels["metric"]+" "+labels["tag"]] = true
	}
	if len(missed) != 2 || !missed["hit_rate@5 "] || !missed["hit_rate@5 howto"] {
		t.Errorf("the objectives that are missed are %v", missed)
	}
	w.rag.broken.Store(false)
	w.runNow(t)
	w.waitForAlerts(t)

	// The judge is the same, and people say otherwise: nothing is decided, and
	// nothing has dropped.
	w.label(t, false)
	w.runNow(t)
	w.prom.waitForValue(t, `assay_judge_trusted{suite="docs-bot"}`, 0)
	w.runNow(t)
	w.runNow(t)
	w.waitForAlerts(t, "AssayJudgeUntrusted", "AssayRunsInconclusive")
	w.label(t, true)
	w.runNow(t)
	w.waitForAlerts(t)

	operator.stop(syscall.SIGKILL)
	w.waitForAlerts(t, "AssayMetricsAbsent")
}

func shipped(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "charts", "assay", "files", file))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

var (
	howLong = regexp.MustCompile(`(?m)^( +(?:for|keep_firing_for|interval): )(\d+)m$`)
	hours   = regexp.MustCompile(`(?m)^( +for: )(\d+)h$`)
)

// quicker makes a minute a second in for, keep_firing_for and interval, and
// changes nothing else: expressions, their windows among them, are those that are
// shipped.
func quicker(rules []byte) []byte {
	rules = howLong.ReplaceAll(rules, []byte("${1}${2}s"))
	return hours.ReplaceAll(rules, []byte("${1}${2}m"))
}

// checkDashboard runs every query of the dashboard, with the variables as Grafana
// puts them in, and wants data from each.
func checkDashboard(t *testing.T, w *watched) {
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ RefID, Expr string }
		}
		Templating struct {
			List []struct {
				Name  string
				Type  string
				Query json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(shipped(t, "dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	// A run that the schedule started, so that there is a delay to show.
	w.prom.waitFor(t, `assay_schedule_delay_seconds_count > 0`, func(v model.Vector) bool { return len(v) == 1 })

	for name, variables := range map[string]map[string]string{
		// Where All is chosen, its own value is put in; a choice of several is a
		// regular expression.
		"All":       {"namespace": ".+", "suite": ".+", "tag": "^$", "k": "5"},
		"one suite": {"namespace": w.namespace, "suite": "docs-bot", "tag": "^$", "k": "5"},
		"two":       {"namespace": "(" + w.namespace + "|other)", "suite": "(docs-bot|other)", "tag": "^$", "k": "5"},
		"a tag":     {"namespace": w.namespace, "suite": "docs-bot", "tag": "howto", "k": "5"},
	} {
		queries := 0
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				queries++
				expr := interpolate(target.Expr, variables)
				if variableName.MatchString(expr) {
					t.Errorf("%s %s: a variable is left in %s", panel.Title, target.RefID, expr)
					continue
				}
				// A rate wants two scrapes with something between them.
				w.prom.waitFor(t, expr, hasData)
			}
		}
		if queries < 40 {
			t.Errorf("%s: the dashboard has %d queries", name, queries)
		}
		for _, v := range dashboard.Templating.List {
			if v.Type == "query" {
				checkVariable(t, w, v.Name, v.Query, variables)
			}
		}
	}
}

// hasData says whether there is a number to show.
func hasData(v model.Vector) bool {
	return slices.ContainsFunc(v, func(s *model.Sample) bool { return !math.IsNaN(float64(s.Value)) })
}

// interpolate puts values in for variables, the longest name first.
func interpolate(expr string, variables map[string]string) string {
	all := maps.Clone(variables)
	all["__rate_interval"] = "15s"
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return len(b) - len(a) })
	for _, name := range names {
		expr = strings.ReplaceAll(strings.ReplaceAll(expr, "${"+name+"}", all[name]), "$"+name, all[name])
	}
	return expr
}

// variableName finds a variable; the $ of a regular expression is none.
var variableName = regexp.MustCompile(`\$[{\w]`)

var labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)

// checkVariable asks what a variable may be, as Grafana does.
func checkVariable(t *testing.T, w *watched, name string, raw json.RawMessage, variables map[string]string) {
	t.Helper()
	var query struct{ Query string }
	if err := json.Unmarshal(raw, &query); err != nil {
		t.Fatal(err)
	}
	m := labelValues.FindStringSubmatch(interpolate(query.Query, variables))
	if m == nil {
		t.Errorf("%s asks %s, which is no label_values", name, query.Query)
		return
	}
	want := map[string]string{"namespace": w.namespace, "suite": "docs-bot", "tag": "howto", "k": "5"}[name]
	now := time.Now()
	values, _, _, err := w.prom.api.LabelValues(t.Context(), m[2], []string{m[1]}, now.Add(-time.Hour), now)
	if err != nil || !slices.Contains(values, model.LabelValue(want)) {
		t.Errorf("%s may be %v, %v; want %s among them", name, values, err, want)
	}
}
