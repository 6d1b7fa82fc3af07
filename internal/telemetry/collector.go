package telemetry

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/score"
)

// The stages of a run, as labels name them.
const (
	StageRetrieval = "retrieval"
	StageAnswer    = "answer"
	StageJudge     = "judge"
)

// What a difference is against, as the label against says.
const (
	againstBaseline  = "baseline"
	againstReference = "reference"
)

// listTimeout bounds how long a scrape waits for the suites, in less than the
// ten seconds that Prometheus waits by default.
const listTimeout = 5 * time.Second

// Lister gives all suites and runs as they are known now, from a cache.
type Lister interface {
	Suites(ctx context.Context) ([]v1alpha1.EvalSuite, error)
	Runs(ctx context.Context) ([]v1alpha1.EvalRun, error)
}

// NewCollector returns a collector that reads the suites and runs of l at every
// scrape and exports what their status says, and no more: what is absent there is
// absent here. It exports nothing while leading is false, so that of several
// replicas one alone speaks, nor what l fails to list, which is logged.
func NewCollector(l Lister, leading func() bool) prometheus.Collector {
	return &collector{lister: l, leading: leading}
}

type collector struct {
	lister  Lister
	leading func() bool
}

// Describe implements [prometheus.Collector].
func (*collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range suiteGauges {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	if !c.leading() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	suites, err := c.lister.Suites(ctx)
	if err != nil {
		// Failing the scrape would hide the process's own metrics as well.
		logf.Log.WithName("telemetry").Error(err, "listing the suites for a scrape; their gauges are left out of it")
		return
	}
	runs, err := c.lister.Runs(ctx)
	if err != nil {
		logf.Log.WithName("telemetry").Error(err, "listing the runs for a scrape; how many of them were undecided is left out of it")
	}
	undecided := countUndecided(runs)
	e, schedules := newEmitter(ch), periods{}
	for i := range suites {
		s := &suites[i]
		if !e.begin(s.Namespace, s.Name) {
			continue
		}
		e.sendSuite(&s.Status)
		if n, known := undecided[suiteKey{s.Namespace, s.Name}]; known {
			e.send(undecidedRuns, float64(n))
		}
		if period := schedules.of(&s.Status); period > 0 {
			e.send(schedulePeriod, period.Seconds())
		}
	}
}

// sendSuite sends everything that the status of a suite says.
func (e *emitter) sendSuite(status *v1alpha1.EvalSuiteStatus) {
	e.sendCondition(suitePassing, status.Conditions, v1alpha1.ConditionPassing)
	e.sendCondition(judgeTrusted, status.Conditions, v1alpha1.ConditionJudgeTrusted)
	e.sendInfo(status)
	if t := status.LastPassTime; t != nil {
		e.sendTime(lastPassTimestamp, t.Time)
	}
	if next, err := time.Parse(time.RFC3339, status.NextScheduleTime); err == nil {
		e.send(nextRunTimestamp, float64(next.Unix()))
	}
	if set := status.GoldenSet; set != nil && set.Cases != nil {
		e.send(caseCount, float64(*set.Cases), "")
	}
	if j := status.Judge; j != nil {
		e.sendDecimal(judgeKappa, j.KappaCorrect, "correct")
		e.sendDecimal(judgeKappa, j.KappaGrounded, "grounded")
	}
	if status.LastRun != nil {
		e.sendRun(status.LastRun)
		e.sendStale(status)
	}
}

// sendCondition sends 1 for a condition that is True, 0 for False, and nothing
// while it is not known.
func (e *emitter) sendCondition(gauge *prometheus.Desc, conditions []metav1.Condition, kind string) {
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil {
		return
	}
	switch c.Status {
	case metav1.ConditionTrue:
		e.send(gauge, 1)
	case metav1.ConditionFalse:
		e.send(gauge, 0)
	}
}

// sendInfo says what the numbers were measured on, so that they can be joined
// with it: a golden set that was read but not yet asked has no numbers.
func (e *emitter) sendInfo(status *v1alpha1.EvalSuiteStatus) {
	var revision, digest string
	switch {
	case status.LastRun != nil:
		revision, digest = status.LastRun.Revision, status.LastRun.GoldenSetDigest
	case status.GoldenSet != nil:
		digest = status.GoldenSet.Digest
	}
	e.send(suiteInfo, 1, revision, digest)
}

// sendRun sends what the last scored full run measured.
func (e *emitter) sendRun(run *v1alpha1.LastRun) {
	if t := run.CompletionTime; t != nil {
		e.sendTime(lastRunTimestamp, t.Time)
	}
	if run.Coverage != nil {
		e.sendDecimal(coverage, run.Coverage.Retrieval, StageRetrieval)
		e.sendDecimal(coverage, run.Coverage.Answer, StageAnswer)
		e.sendDecimal(coverage, run.Coverage.Judge, StageJudge)
	}
	for i := range run.Metrics {
		m := &run.Metrics[i]
		e.sendMetric(m)
		tag := ptr.Deref(m.Tag, "")
		e.sendDecimal(baselineDelta, m.Delta, m.Name, tag, againstBaseline)
		e.sendDecimal(baselineDelta, m.ReferenceDelta, m.Name, tag, againstReference)
	}
	e.sendObjectives(run.Objectives)
}

// sendStale says whether the last run found that the relevant ids no longer fit,
// where its result is still known.
func (e *emitter) sendStale(status *v1alpha1.EvalSuiteStatus) {
	for i := range status.Results {
		if r := &status.Results[i]; r.Run == status.LastRun.Name {
			stale := 0.0
			if r.Reason == score.ReasonLabelsStale {
				stale = 1
			}
			e.send(labelsStale, stale, "")
			return
		}
	}
}

func (e *emitter) sendMetric(m *v1alpha1.SuiteMetric) {
	name, err := score.ParseMetric(m.Name)
	if err != nil {
		return
	}
	value, ok := parseDecimal(m.Value)
	if !ok {
		return
	}
	family, ok := families[name.Family]
	if !ok {
		return
	}
	var labels []string
	if family.hasK {
		labels = append(labels, kLabel(name.K))
	}
	if name.Beta != "" {
		labels = append(labels, name.Beta)
	}
	tag := ptr.Deref(m.Tag, "")
	e.send(family.gauge, value, append(labels, tag)...)
	// Every case counts for the error rate: its count is the tag's cases.
	if name.Family == score.ErrorRate && tag != "" && m.Count != nil {
		e.send(caseCount, float64(*m.Count), tag)
	}
}

// kLabel is the label k: empty where a name has no cut-off.
func kLabel(k int) string {
	if k == 0 {
		return ""
	}
	return strconv.Itoa(k)
}

// sendObjectives combines the bounds on one metric and tag: one that is missed
// decides, else all must be met.
func (e *emitter) sendObjectives(results []v1alpha1.ObjectiveResult) {
	type target struct{ metric, tag string }
	combined := map[target]v1alpha1.ObjectiveOutcome{}
	for i := range results {
		t := target{toLabel(results[i].Metric), toLabel(results[i].Tag)}
		outcome, seen := combined[t]
		switch {
		case !seen || results[i].Outcome == v1alpha1.ObjectiveMissed:
			combined[t] = results[i].Outcome
		case outcome == v1alpha1.ObjectiveMet:
			combined[t] = results[i].Outcome
		}
	}
	for t, outcome := range combined {
		switch outcome {
		case v1alpha1.ObjectiveMet:
			e.send(objectiveMet, 1, t.metric, t.tag)
		case v1alpha1.ObjectiveMissed:
			e.send(objectiveMet, 0, t.metric, t.tag)
		}
	}
}

func (e *emitter) sendTime(gauge *prometheus.Desc, t time.Time) {
	if !t.IsZero() {
		e.send(gauge, float64(t.Unix()))
	}
}
