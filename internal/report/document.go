// Package report gives a finished run as a document and writes it as JSON, as
// JUnit XML, as Markdown and as a table for a terminal.
package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/score"
)

// Document is one run, whole. Numbers are full precision; what was not measured
// is left out.
type Document struct {
	Run Run `json:"run"`
	// Verdict is left out while the run is open; Reason and Message are then what it
	// waits for.
	Verdict score.Verdict `json:"verdict,omitempty"`
	Reason  string        `json:"reason"`
	Message string        `json:"message"`
	// Total is how many cases the run asks.
	Total      int         `json:"total"`
	Metrics    []Metric    `json:"metrics"`
	Objectives []Objective `json:"objectives"`
	Coverage   Coverage    `json:"coverage"`
	// Evidence sets what was retrieved against what was answered.
	Evidence *Evidence      `json:"evidence,omitempty"`
	Outcomes map[string]int `json:"outcomes"`
	// Usage is what the judge cost; left out of a run without one.
	Usage    *judge.Usage `json:"usage,omitempty"`
	Settings Settings     `json:"settings"`
	// Comparison with the baseline; left out where the run has none.
	Comparison *compare.Document `json:"comparison,omitempty"`
	// Cases that ended, sorted by id.
	Cases []Case `json:"cases"`
	// Next is set where the document is a page of the HTTP API's, and another
	// follows.
	Next string `json:"next,omitempty"`

	// worst are the ids of the cases to look at.
	worst []string
}

// Run says which run it was.
type Run struct {
	UID             string `json:"uid"`
	Name            string `json:"name"`
	Suite           string `json:"suite"`
	Endpoint        string `json:"endpoint"`
	Namespace       string `json:"namespace"`
	Trigger         string `json:"trigger"`
	Revision        string `json:"revision"`
	GoldenSetDigest string `json:"goldenSetDigest"`
	// CorpusVersion is left out where the retriever reports none.
	CorpusVersion string `json:"corpusVersion,omitempty"`
	// Targets say what was measured, and ConfigMaps what these name by its digest:
	// a drop can be pinned on what changed. Left out of a suite without targets.
	Targets    []Target          `json:"targets,omitempty"`
	ConfigMaps map[string]string `json:"configMaps,omitempty"`
	// StartTime and CompletionTime are left out before.
	StartTime      time.Time `json:"startTime,omitzero"`
	CompletionTime time.Time `json:"completionTime,omitzero"`
}

// Target is a workload that was measured.
type Target struct {
	Kind         string `json:"kind"`
	Name         string `json:"name"`
	TemplateHash string `json:"templateHash"`
	// Images as the template has them, ImageIDs with the digests of what ran.
	Images   []string `json:"images"`
	ImageIDs []string `json:"imageIDs,omitempty"`
}

// Settings are what numbers of two runs must have in common to be compared. Those
// that are not known are left out.
type Settings struct {
	TopK int    `json:"topK,omitempty"`
	Unit string `json:"unit,omitempty"`
	// PrimaryK is the cut-off of the headline hit rate.
	PrimaryK         int    `json:"primaryK,omitempty"`
	EvaluationDigest string `json:"evaluationDigest,omitempty"`
	// BLEUTokenizer is how BLEU splits texts; left out where there is no BLEU.
	BLEUTokenizer string `json:"bleuTokenizer,omitempty"`
	// Judge is who judged; left out where nobody did.
	Judge *judge.Identity `json:"judge,omitempty"`
}

// Metric is one mean over the cases of a tag; the tag is empty for all cases.
type Metric struct {
	Name  string  `json:"name"`
	Tag   string  `json:"tag"`
	Value float64 `json:"value"`
	Count int     `json:"count"`
	// Low and High are the 95 % interval.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Baseline is the baseline's value over the cases that both runs have unchanged,
	// and Delta what this run's is above it there; left out where there is nothing to
	// compare with.
	Baseline *float64 `json:"baseline,omitempty"`
	Delta    *float64 `json:"delta,omitempty"`
	// DeltaLow and DeltaHigh are the 95 % interval of Delta.
	DeltaLow  *float64 `json:"deltaLow,omitempty"`
	DeltaHigh *float64 `json:"deltaHigh,omitempty"`
	// PValue of "no worse", and the smallest worsening that these cases could show.
	PValue       *float64 `json:"pValue,omitempty"`
	SmallestDrop *float64 `json:"smallestDrop,omitempty"`
	// ReferenceDelta is the difference from baseline.reference.
	ReferenceDelta *float64 `json:"referenceDelta,omitempty"`
}

// Objective is how one bound came out.
type Objective struct {
	Metric  string                 `json:"metric"`
	Tag     string                 `json:"tag"`
	Bound   string                 `json:"bound"`
	Value   *float64               `json:"value,omitempty"`
	Outcome score.ObjectiveOutcome `json:"outcome"`
	Message string                 `json:"message"`
}

// Coverage is the share of the cases that a stage was due for that got a result.
type Coverage struct {
	Retrieval *float64 `json:"retrieval,omitempty"`
	Answer    *float64 `json:"answer,omitempty"`
	Judge     *float64 `json:"judge,omitempty"`
}

// Evidence counts cases by whether a relevant id was among the first primaryK
// and whether the answer is correct.
type Evidence struct {
	HitRight  int `json:"hitRight"`
	HitWrong  int `json:"hitWrong"`
	MissRight int `json:"missRight"`
	MissWrong int `json:"missWrong"`
}

// Case is how one case came out.
type Case struct {
	ID       string `json:"id"`
	Digest   string `json:"digest"`
	Question string `json:"question"`
	// History is the earlier turns, left out where there are none.
	History []golden.Turn `json:"history,omitempty"`
	// ReferenceAnswer is left out where the golden set gives none.
	ReferenceAnswer string `json:"referenceAnswer,omitempty"`
	// Answerable is false where the corpus has no answer, and left out otherwise.
	Answerable *bool             `json:"answerable,omitempty"`
	Tags       []string          `json:"tags"`
	Outcome    string            `json:"outcome"`
	Message    string            `json:"message"`
	Relevant   []golden.Relevant `json:"relevant"`
	// Rank of the first relevant result; left out where none was found.
	Rank           int                `json:"rank,omitempty"`
	Metrics        map[string]float64 `json:"metrics"`
	Retrieved      []Retrieved        `json:"retrieved"`
	LatencySeconds *float64           `json:"latencySeconds,omitempty"`
	// Answer is left out where there is none, it is empty, or its text is not kept.
	Answer *string `json:"answer,omitempty"`
	// Contexts that the answer was made of, and was judged by.
	Contexts []string `json:"contexts,omitempty"`
	// AnswerLatencySeconds is there also where the answer failed.
	AnswerLatencySeconds *float64         `json:"answerLatencySeconds,omitempty"`
	Verdict              *judge.Verdict   `json:"verdict,omitempty"`
	Relevance            *judge.Relevance `json:"relevance,omitempty"`
}

// Retrieved is one result of a case, in the order that was scored.
type Retrieved struct {
	Rank     int      `json:"rank"`
	ID       string   `json:"id"`
	Score    *float64 `json:"score,omitempty"`
	Relevant bool     `json:"relevant"`
	// Text is left out where the retriever gave none, or none is kept.
	Text string `json:"text,omitempty"`
}

// Meta is what a document says beside the result.
type Meta struct {
	Run      Run
	Settings Settings
}

// Build makes the document of a run from its result and its cases, which may
// come in any order.
func Build(meta Meta, result *eval.Result, cases []eval.CaseResult) *Document {
	d := &Document{
		Run:      meta.Run,
		Total:    result.Total,
		Verdict:  result.Decision.Verdict,
		Reason:   result.Decision.Reason,
		Message:  result.Decision.Message,
		Outcomes: result.Outcomes,
		Settings: meta.Settings,
	}
	d.Run.CorpusVersion = result.CorpusVersion
	for _, m := range result.Summary.Means {
		d.Metrics = append(d.Metrics, metricOf(m, result))
	}
	for _, o := range result.Decision.Objectives {
		d.Objectives = append(d.Objectives, Objective(o))
	}
	for stage, field := range map[score.Stage]**float64{
		score.RetrievalStage: &d.Coverage.Retrieval, score.AnswerStage: &d.Coverage.Answer, score.JudgeStage: &d.Coverage.Judge,
	} {
		if ratio, due := result.Summary.Coverage(stage, "").Ratio(); due {
			*field = &ratio
		}
	}
	if e := result.Summary.Evidence; e != nil {
		d.Evidence = (*Evidence)(e)
	}
	if result.Comparison != nil {
		d.Comparison = result.Comparison.Document()
	}
	if result.Usage != (judge.Usage{}) {
		d.Usage = &result.Usage
	}
	for _, c := range cases {
		d.Cases = append(d.Cases, buildCase(result.Metrics, c))
	}
	slices.SortFunc(d.Cases, func(a, b Case) int { return cmp.Compare(a.ID, b.ID) })
	for _, w := range result.Worst {
		d.worst = append(d.worst, w.ID)
	}
	d.Normalize()
	return d
}

// Normalize gives what is absent its empty form, so that a reader of the JSON
// finds every list.
func (d *Document) Normalize() {
	d.Metrics, d.Objectives, d.Cases = notNil(d.Metrics), notNil(d.Objectives), notNil(d.Cases)
	if d.Outcomes == nil {
		d.Outcomes = map[string]int{}
	}
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// metricOf gives a mean, and how it stands against the baseline and the reference.
func metricOf(m score.Mean, result *eval.Result) Metric {
	out := Metric{Name: m.Name, Tag: m.Tag, Value: m.Value, Count: m.Count, Low: m.Low, High: m.High}
	if c := result.Comparison; c != nil {
		if d, ok := c.Delta(m.Name, m.Tag); ok {
			out.Baseline, out.Delta, out.DeltaLow, out.DeltaHigh = &d.Base, &d.Delta, d.Low, d.High
			out.PValue, out.SmallestDrop = d.PValue(), d.SmallestDrop
		}
	}
	if c := result.ReferenceComparison; c != nil {
		if d, ok := c.Delta(m.Name, m.Tag); ok {
			out.ReferenceDelta = &d.Delta
		}
	}
	return out
}

func buildCase(metrics []score.Metric, r eval.CaseResult) Case {
	c := Case{
		ID:        r.Case.ID,
		Digest:    r.Case.Digest,
		Question:  r.Case.Question,
		Tags:      append([]string{}, r.Case.Tags...),
		Outcome:   r.Outcome,
		Message:   r.Message,
		Relevant:  append([]golden.Relevant{}, r.Case.Relevant...),
		Rank:      r.Rank,
		Metrics:   make(map[string]float64, len(r.Values)),
		Retrieved: make([]Retrieved, len(r.Retrieved)),
	}
	c.History, c.ReferenceAnswer = r.Case.History, r.Case.ReferenceAnswer
	if !r.Case.Answerable {
		c.Answerable = &r.Case.Answerable
	}
	for i, value := range r.Values {
		if !math.IsNaN(value) {
			c.Metrics[metrics[i].Name] = value
		}
	}
	for i, item := range r.Retrieved {
		c.Retrieved[i] = Retrieved{Rank: i + 1, ID: item.ID, Score: finite(item.Score), Relevant: item.Relevant, Text: item.Text}
	}
	if r.Called {
		seconds := r.Latency.Seconds()
		c.LatencySeconds = &seconds
	}
	// An answer whose text is not kept is not an empty one.
	if a := r.Answer; a != nil && a.Text != "" {
		c.Answer, c.Contexts = &a.Text, a.Contexts
	}
	if r.Answer != nil || r.AnswerLatency > 0 {
		seconds := r.AnswerLatency.Seconds()
		c.AnswerLatencySeconds = &seconds
	}
	c.Verdict, c.Relevance = r.Verdict, r.Relevance
	return c
}

// finite drops a score that JSON cannot write; a mapping may compute one.
func finite(score *float64) *float64 {
	if score == nil || math.IsInf(*score, 0) || math.IsNaN(*score) {
		return nil
	}
	return score
}

// metric finds a mean.
func (d *Document) metric(name, tag string) (Metric, bool) {
	for _, m := range d.Metrics {
		if m.Name == name && m.Tag == tag {
			return m, true
		}
	}
	return Metric{}, false
}

// overall gives the means over all cases, those of one family together: all
// cut-offs of hit_rate, then all of precision.
func (d *Document) overall() []Metric {
	var families []string
	byFamily := map[string][]Metric{}
	for _, m := range d.Metrics {
		if m.Tag != "" {
			continue
		}
		family, _, _ := strings.Cut(m.Name, "@")
		if byFamily[family] == nil {
			families = append(families, family)
		}
		byFamily[family] = append(byFamily[family], m)
	}
	var all []Metric
	for _, family := range families {
		all = append(all, byFamily[family]...)
	}
	return all
}

// notAsked is how many cases the run ended without.
func (d *Document) notAsked() int { return max(0, d.Total-len(d.Cases)) }

// WriteJSON writes the document as indented JSON, case by case: encoding/json
// holds the text of a value until it is whole, and a run may have 100,000 cases.
func WriteJSON(w io.Writer, d *Document) error {
	out := bufio.NewWriter(w)
	head := *d
	head.Cases = []Case{}
	text, err := encode(head, "")
	if err != nil {
		return err
	}
	// Cases are the last field: a document that is written is whole.
	end := []byte("]\n}")
	_, _ = out.Write(bytes.TrimSuffix(text, end))
	for i := range d.Cases {
		separator := ",\n    "
		if i == 0 {
			separator = separator[1:]
		}
		if text, err = encode(d.Cases[i], "    "); err != nil {
			return err
		}
		_, _ = out.WriteString(separator)
		_, _ = out.Write(text)
	}
	if len(d.Cases) > 0 {
		_, _ = out.WriteString("\n  ")
	}
	_, _ = out.Write(append(end, '\n'))
	return out.Flush() // bufio keeps the first error
}

// encode gives a value as JSON, every line but the first behind the prefix.
func encode(value any, prefix string) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent(prefix, "  ")
	err := encoder.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
