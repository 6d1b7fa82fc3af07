package server

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/history"
)

// runDocument is the run document that `assay run -o json` writes, with its
// cases in pages. A run that is open has no verdict.
type runDocument struct {
	Run     runHead `json:"run"`
	Verdict string  `json:"verdict,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	Message string  `json:"message,omitempty"`
	// Total is how many cases the run asks.
	Total int `json:"total"`
	summary
	Cases []caseDocument `json:"cases"`
	// Next is the cursor of the next page of cases.
	Next string `json:"next,omitempty"`
}

// summary are the fields that the store keeps as they were written.
type summary struct {
	Metrics    json.RawMessage `json:"metrics"`
	Objectives json.RawMessage `json:"objectives"`
	Coverage   json.RawMessage `json:"coverage"`
	Outcomes   json.RawMessage `json:"outcomes"`
	Settings   json.RawMessage `json:"settings"`
}

type runHead struct {
	UID             string     `json:"uid"`
	Name            string     `json:"name"`
	Suite           string     `json:"suite"`
	Endpoint        string     `json:"endpoint"`
	Namespace       string     `json:"namespace"`
	Trigger         string     `json:"trigger"`
	Revision        string     `json:"revision"`
	GoldenSetDigest string     `json:"goldenSetDigest"`
	CorpusVersion   string     `json:"corpusVersion,omitempty"`
	StartTime       *time.Time `json:"startTime,omitempty"`
	CompletionTime  *time.Time `json:"completionTime,omitempty"`
}

type caseDocument struct {
	ID             string              `json:"id"`
	Digest         string              `json:"digest"`
	Question       string              `json:"question"`
	Tags           []string            `json:"tags"`
	Outcome        string              `json:"outcome"`
	Message        string              `json:"message"`
	Relevant       []history.Relevant  `json:"relevant"`
	Rank           int                 `json:"rank,omitempty"`
	Metrics        map[string]float64  `json:"metrics"`
	Retrieved      []retrievedDocument `json:"retrieved"`
	LatencySeconds *float64            `json:"latencySeconds,omitempty"`
}

type retrievedDocument struct {
	Rank     int      `json:"rank"`
	ID       string   `json:"id"`
	Score    *float64 `json:"score,omitempty"`
	Relevant bool     `json:"relevant"`
	Text     string   `json:"text,omitempty"`
}

// documentOfStored gives a run as the store has it, without its cases.
func documentOfStored(run history.Run) (*runDocument, error) {
	d := &runDocument{
		Run: runHead{
			UID: run.UID, Name: run.Name, Suite: run.Suite, Endpoint: run.Endpoint, Namespace: run.Namespace,
			Trigger: run.Trigger, Revision: run.Revision, GoldenSetDigest: run.GoldenSetDigest, CorpusVersion: run.CorpusVersion,
			StartTime: timeOf(run.StartTime), CompletionTime: run.CompletionTime,
		},
		Verdict: run.Verdict,
		Reason:  run.Reason,
		Message: run.Message,
		Total:   run.Total,
		Cases:   []caseDocument{},
	}
	if len(run.Document) > 0 {
		if err := json.Unmarshal(run.Document, &d.summary); err != nil {
			return nil, fmt.Errorf("read the document of run %s: %w", run.UID, err)
		}
	}
	d.fill()
	return d, nil
}

// fill gives what is absent its empty form, so that a reader finds every field.
func (s *summary) fill() {
	for field, empty := range map[*json.RawMessage]string{
		&s.Metrics: "[]", &s.Objectives: "[]", &s.Coverage: "{}", &s.Outcomes: "{}", &s.Settings: "{}",
	} {
		if len(*field) == 0 || string(*field) == "null" {
			*field = json.RawMessage(empty)
		}
	}
}

func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func casesOf(cases []history.Case) []caseDocument {
	docs := make([]caseDocument, len(cases))
	for i, c := range cases {
		docs[i] = caseOf(c)
	}
	return docs
}

func caseOf(c history.Case) caseDocument {
	d := caseDocument{
		ID: c.ID, Digest: c.Digest, Question: c.Question, Tags: append([]string{}, c.Tags...),
		Outcome: c.Outcome, Message: c.Message, Rank: c.Rank,
		Relevant:  append([]history.Relevant{}, c.Relevant...),
		Metrics:   make(map[string]float64, len(c.Metrics)),
		Retrieved: make([]retrievedDocument, len(c.Retrieved)),
	}
	for name, value := range c.Metrics {
		if finite(value) {
			d.Metrics[name] = value
		}
	}
	for i, r := range c.Retrieved {
		d.Retrieved[i] = retrievedDocument{Rank: r.Rank, ID: r.ID, Relevant: r.Relevant, Text: r.Text}
		if r.Score != nil && finite(*r.Score) {
			d.Retrieved[i].Score = r.Score
		}
	}
	if c.Called {
		d.LatencySeconds = ptr.To(c.LatencySeconds)
	}
	return d
}

// finite reports whether JSON can write the number.
func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// documentOfObject gives a run as its status tells it: without cases, rounded,
// and with at most 16 tags.
func documentOfObject(run *v1alpha1.EvalRun) *runDocument {
	st := &run.Status
	d := &runDocument{
		Run: runHead{
			UID: string(run.UID), Name: run.Name, Suite: run.Spec.SuiteRef.Name, Endpoint: run.Spec.Endpoint, Namespace: run.Namespace,
			Trigger: string(run.Spec.Trigger), Revision: run.Spec.Revision, GoldenSetDigest: st.GoldenSetDigest, CorpusVersion: st.CorpusVersion,
		},
		Verdict: string(st.Verdict),
		Reason:  st.Reason,
		Message: st.Message,
		Cases:   []caseDocument{},
	}
	if st.Revision != "" {
		d.Run.Revision = st.Revision
	}
	if st.StartTime != nil {
		d.Run.StartTime = timeOf(st.StartTime.UTC())
	}
	if st.CompletionTime != nil {
		d.Run.CompletionTime = timeOf(st.CompletionTime.UTC())
	}
	if st.Progress != nil {
		d.Total = int(ptr.Deref(st.Progress.Total, 0))
	}
	// A run that is open says in its condition what it waits for.
	if c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionComplete); st.Verdict == "" && c != nil {
		d.Reason, d.Message = c.Reason, c.Message
	}
	d.summary = summaryOfStatus(st)
	return d
}

type metricDocument struct {
	Name  string   `json:"name"`
	Tag   string   `json:"tag"`
	Value *float64 `json:"value"`
	Count int32    `json:"count"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
}

type objectiveDocument struct {
	Metric  string   `json:"metric"`
	Tag     string   `json:"tag"`
	Bound   string   `json:"bound"`
	Value   *float64 `json:"value,omitempty"`
	Outcome string   `json:"outcome"`
	Message string   `json:"message"`
}

func summaryOfStatus(st *v1alpha1.EvalRunStatus) summary {
	metrics := []metricDocument{}
	for _, m := range st.Metrics {
		if value := number(m.Value); value != nil {
			metrics = append(metrics, metricDocument{Name: m.Name, Tag: ptr.Deref(m.Tag, ""), Value: value, Count: ptr.Deref(m.Count, 0), Low: number(m.Low), High: number(m.High)})
		}
	}
	objectives := []objectiveDocument{}
	for _, o := range st.Objectives {
		objectives = append(objectives, objectiveDocument{Metric: o.Metric, Tag: o.Tag, Bound: o.Bound, Value: number(o.Value), Outcome: string(o.Outcome), Message: o.Message})
	}
	coverage := map[string]*float64{}
	if st.Coverage != nil {
		if value := number(st.Coverage.Retrieval); value != nil {
			coverage["retrieval"] = value
		}
	}
	outcomes := map[string]int32{}
	for _, o := range st.Outcomes {
		outcomes[o.Type] = ptr.Deref(o.Count, 0)
	}
	settings := map[string]string{}
	if st.SuiteEvaluationDigest != "" {
		settings["evaluationDigest"] = st.SuiteEvaluationDigest
	}
	s := summary{Metrics: raw(metrics), Objectives: raw(objectives), Coverage: raw(coverage), Outcomes: raw(outcomes), Settings: raw(settings)}
	s.fill()
	return s
}

// raw writes what encoding/json can always write.
func raw(value any) json.RawMessage {
	text, _ := json.Marshal(value)
	return text
}

// number reads a status's decimal; nil where there is none.
func number(text string) *float64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !finite(f) {
		return nil
	}
	return &f
}
