package controllers

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/recorder"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/score"
	"github.com/assay-dev/assay/internal/suite"
)

// record makes the run's recorder, and has the plan take over what an
// interrupted process has kept; nil where there is no history. A history that
// cannot be read costs the checkpoint, not the run.
func (r *RunReconciler) record(ctx context.Context, run *v1alpha1.EvalRun, s *v1alpha1.EvalSuite, p *suite.Prepared) *recorder.Recorder {
	if r.History == nil {
		return nil
	}
	scorer, err := score.NewScorer(p.Plan.Score)
	if err != nil {
		return nil // the run says so itself
	}
	p.Plan.KeepText = ptr.Deref(s.Spec.History.StoreContent, true)
	row := rowOf(run, s)
	row.StartTime = r.Clock.Now()
	if run.Status.StartTime != nil {
		row.StartTime = run.Status.StartTime.Time
	}
	row.Revision, row.GoldenSetDigest, row.EvaluationDigest = p.Revision, p.GoldenSetDigest, p.EvaluationDigest
	row.Total = len(p.Plan.Cases)
	rec := recorder.New(r.History, row, p.Plan.Cases, scorer.Metrics())
	if run.Status.StartTime == nil {
		return rec
	}
	finished, corpus, err := rec.Resume(ctx)
	if err != nil {
		logf.FromContext(ctx).Error(err, "the run asks all of its cases again")
		return rec
	}
	digests := make(map[string]string, len(p.Plan.Cases))
	for i := range p.Plan.Cases {
		digests[p.Plan.Cases[i].ID] = p.Plan.Cases[i].Digest
	}
	maps.DeleteFunc(finished, func(id string, f eval.Finished) bool { return digests[id] != f.Digest })
	r.takeLists(ctx, string(run.UID), finished)
	p.Plan.Finished, p.Plan.CorpusVersion = finished, corpus
	if p.Budget != nil {
		for _, f := range finished {
			p.Budget.Spend(f.Usage)
		}
	}
	return rec
}

// takeLists adds to the cases that were asked already what they retrieved, which
// a comparison needs. Without it the comparison has less to go by.
func (r *RunReconciler) takeLists(ctx context.Context, uid string, finished map[string]eval.Finished) {
	if r.Baselines == nil || len(finished) == 0 {
		return
	}
	err := r.Baselines.CompareCases(ctx, uid, func(c history.CompareCase) error {
		f, ok := finished[c.ID]
		if !ok {
			return nil
		}
		for _, id := range c.Retrieved {
			f.Retrieved = append(f.Retrieved, eval.Retrieved{ID: id})
		}
		finished[c.ID] = f
		return nil
	})
	if err != nil {
		logf.FromContext(ctx).Error(err, "what the finished cases retrieved cannot be read")
	}
}

// giveBack takes back the attempt of runs that an orderly shutdown interrupted:
// they did not end the operator, and a run that outlives three upgrades is not
// to be given up for it.
func (r *RunReconciler) giveBack(ctx context.Context, keys []types.NamespacedName) {
	for _, key := range keys {
		run := &v1alpha1.EvalRun{}
		err := r.Live.Get(ctx, key, run)
		if err == nil && run.Status.Verdict == "" && ptr.Deref(run.Status.Attempts, 0) > 0 {
			base := run.DeepCopy()
			run.Status.Attempts = ptr.To(*run.Status.Attempts - 1)
			err = r.Status().Patch(ctx, run, client.MergeFrom(base))
		}
		if client.IgnoreNotFound(err) != nil {
			logf.FromContext(ctx).Error(err, "the attempt of an interrupted run stays counted", keyNamespace, key.Namespace, keyRun, key.Name)
		}
	}
}

// rowOf is what the history keeps of a run however it goes.
func rowOf(run *v1alpha1.EvalRun, s *v1alpha1.EvalSuite) history.Run {
	row := history.Run{
		UID:       string(run.UID),
		Namespace: run.Namespace,
		Suite:     run.Spec.SuiteRef.Name,
		Name:      run.Name,
		Trigger:   string(run.Spec.Trigger),
		Endpoint:  run.Spec.Endpoint,
		Revision:  run.Spec.Revision,
		Full:      suite.OptionsOf(&run.Spec).Full(),
	}
	if s != nil {
		row.SuiteUID = string(s.UID)
	}
	return row
}

// endedRow is the row of a run that was carried out.
func endedRow(run *v1alpha1.EvalRun, s *v1alpha1.EvalSuite, p *suite.Prepared, result *eval.Result, ended time.Time) history.Run {
	row := rowOf(run, s)
	row.Revision, row.GoldenSetDigest, row.EvaluationDigest = p.Revision, p.GoldenSetDigest, p.EvaluationDigest
	row.CorpusVersion = result.CorpusVersion
	row.StartTime = run.Status.StartTime.Time
	row.CompletionTime = &ended
	d := result.Decision
	row.Verdict, row.Reason, row.Message = string(d.Verdict), d.Reason, d.Message
	row.Total = result.Total
	row.HitRate = valueOf(result.Summary, suite.PrimaryMetric(p.PrimaryK))
	row.MRR = valueOf(result.Summary, score.MRR)
	row.Accuracy = valueOf(result.Summary, score.Accuracy)
	row.HallucinationRate = valueOf(result.Summary, score.HallucinationRate)
	meta := p.Meta(s, string(run.UID), run.Name, run.Spec.Trigger)
	meta.Run.StartTime, meta.Run.CompletionTime = row.StartTime, ended
	// A document holds numbers that JSON can write, and so this cannot fail.
	row.Document, _ = json.Marshal(report.Build(meta, result, nil))
	return row
}

// unmeasuredRow is the row of a run that ended before it began to ask.
func unmeasuredRow(run *v1alpha1.EvalRun, s *v1alpha1.EvalSuite) history.Run {
	st := &run.Status
	row := rowOf(run, s)
	row.StartTime = st.CompletionTime.Time
	if st.StartTime != nil {
		row.StartTime = st.StartTime.Time
	}
	row.CompletionTime = &st.CompletionTime.Time
	row.GoldenSetDigest, row.EvaluationDigest = st.GoldenSetDigest, st.SuiteEvaluationDigest
	row.Verdict, row.Reason, row.Message = string(st.Verdict), st.Reason, st.Message
	return row
}

func valueOf(s score.Summary, name string) *float64 {
	if m, ok := s.Mean(name, ""); ok {
		return &m.Value
	}
	return nil
}
