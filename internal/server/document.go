package server

import (
	"math"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/score"
	"github.com/assay-dev/assay/internal/stored"
)

func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func casesOf(cases []history.Case) []report.Case {
	docs := make([]report.Case, len(cases))
	for i := range cases {
		docs[i] = stored.Case(&cases[i])
	}
	return docs
}

// documentOfObject gives a run as its status tells it: without cases, rounded,
// and with at most 16 tags.
func documentOfObject(run *v1alpha1.EvalRun) *report.Document {
	st := &run.Status
	d := &report.Document{
		Run: report.Run{
			UID: string(run.UID), Name: run.Name, Suite: run.Spec.SuiteRef.Name, Endpoint: run.Spec.Endpoint, Namespace: run.Namespace,
			Trigger: string(run.Spec.Trigger), Revision: run.Spec.Revision, GoldenSetDigest: st.GoldenSetDigest, CorpusVersion: st.CorpusVersion,
		},
		Verdict:  score.Verdict(st.Verdict),
		Reason:   st.Reason,
		Message:  st.Message,
		Settings: report.Settings{TopK: int(ptr.Deref(run.Spec.TopK, 0)), EvaluationDigest: st.SuiteEvaluationDigest},
	}
	if st.Revision != "" {
		d.Run.Revision = st.Revision
	}
	if st.StartTime != nil {
		d.Run.StartTime = st.StartTime.UTC()
	}
	if st.CompletionTime != nil {
		d.Run.CompletionTime = st.CompletionTime.UTC()
	}
	if st.Progress != nil {
		d.Total = int(ptr.Deref(st.Progress.Total, 0))
	}
	// A run that is open says in its condition what it waits for.
	if c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionComplete); st.Verdict == "" && c != nil {
		d.Reason, d.Message = c.Reason, c.Message
	}
	measured(d, st)
	d.Normalize()
	return d
}

// complete adds to what the store has of a run what the cluster knows of it.
func complete(d *report.Document, run *v1alpha1.EvalRun) {
	live := documentOfObject(run)
	d.Verdict, d.Reason, d.Message = live.Verdict, live.Reason, live.Message
	d.Total = max(d.Total, live.Total)
	if live.Verdict != "" {
		d.Run.CompletionTime = live.Run.CompletionTime
		measured(d, &run.Status)
		d.Normalize()
	}
}

// measured writes what the status says was measured.
func measured(d *report.Document, st *v1alpha1.EvalRunStatus) {
	d.Metrics, d.Objectives, d.Outcomes = nil, nil, map[string]int{}
	for _, m := range st.Metrics {
		if value := number(m.Value); value != nil {
			d.Metrics = append(d.Metrics, metricOf(m, *value))
		}
	}
	for _, o := range st.Objectives {
		d.Objectives = append(d.Objectives, report.Objective{
			Metric: o.Metric, Tag: o.Tag, Bound: o.Bound, Value: number(o.Value), Outcome: score.ObjectiveOutcome(o.Outcome), Message: o.Message,
		})
	}
	for _, o := range st.Outcomes {
		d.Outcomes[o.Type] = int(ptr.Deref(o.Count, 0))
	}
	d.Coverage = report.Coverage{}
	if c := st.Coverage; c != nil {
		d.Coverage = report.Coverage{Retrieval: number(c.Retrieval), Answer: number(c.Answer), Judge: number(c.Judge)}
	}
	if e := st.Evidence; e != nil {
		count := func(n *int32) int { return int(ptr.Deref(n, 0)) }
		d.Evidence = &report.Evidence{HitRight: count(e.HitRight), HitWrong: count(e.HitWrong), MissRight: count(e.MissRight), MissWrong: count(e.MissWrong)}
	}
	if u := st.Usage; u != nil && u.JudgeCalls != nil {
		d.Usage = &judge.Usage{
			Calls: *u.JudgeCalls, PromptTokens: ptr.Deref(u.PromptTokens, 0), CompletionTokens: ptr.Deref(u.CompletionTokens, 0), CacheHits: ptr.Deref(u.CacheHits, 0),
		}
	}
}

func metricOf(m v1alpha1.RunMetric, value float64) report.Metric {
	return report.Metric{
		Name: m.Name, Tag: ptr.Deref(m.Tag, ""), Value: value, Count: int(ptr.Deref(m.Count, 0)), Low: number(m.Low), High: number(m.High),
		Baseline: number(m.Baseline), Delta: number(m.Delta), DeltaLow: number(m.DeltaLow), DeltaHigh: number(m.DeltaHigh),
		PValue: number(m.PValue), SmallestDrop: number(m.SmallestDrop), ReferenceDelta: number(m.ReferenceDelta),
	}
}

// number reads a status's decimal; nil where there is none.
func number(text string) *float64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}
