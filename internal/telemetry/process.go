package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/version"
)

// OutcomeOK is the outcome of a request that succeeded.
const OutcomeOK = "OK"

// outcomeOther stands for every outcome that is not in outcomes.
const outcomeOther = "Other"

// outcomes are the values that the label outcome may have. They are bounded so
// that no server can make up series.
var outcomes = map[string]bool{
	OutcomeOK:              true,
	"RetrieverTimeout":     true,
	"RetrieverUnreachable": true,
	"RetrieverHTTPError":   true,
	"RetrieverRateLimited": true,
	"RetrieverMalformed":   true,
	"RetrieverTooLarge":    true,
	"RetrieverError":       true,
	"AnswerTimeout":        true,
	"AnswerUnreachable":    true,
	"AnswerHTTPError":      true,
	"AnswerRateLimited":    true,
	"AnswerMalformed":      true,
	"AnswerTooLarge":       true,
	"AnswerError":          true,
	"JudgeTimeout":         true,
	"JudgeUnreachable":     true,
	"JudgeHTTPError":       true,
	"JudgeRateLimited":     true,
	"JudgeMalformed":       true,
	"JudgeTruncated":       true,
	"JudgeRefused":         true,
	"JudgeContextTooLong":  true,
	"JudgeQuotaExceeded":   true,
	"JudgeError":           true,
}

// Buckets in seconds: a request lasts milliseconds to minutes, a run or a wait
// for one seconds to hours.
var (
	requestBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
	runBuckets     = []float64{.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400}
	waitBuckets    = []float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400}
)

// Metrics are what this process has seen since it started.
type Metrics struct {
	runs          *prometheus.CounterVec
	runDuration   prometheus.Histogram
	runQueue      prometheus.Histogram
	scheduleDelay prometheus.Histogram
	requests      *prometheus.HistogramVec
	judgeTokens   *prometheus.CounterVec
	judgeCalls    *prometheus.CounterVec
	historyLost   *prometheus.CounterVec
	historyBytes  prometheus.Gauge
	historyRuns   prometheus.Gauge
	historyCases  prometheus.Gauge
}

// NewMetrics registers the metrics of the process with reg. It panics if they
// are registered there already.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	auto := promauto.With(reg)
	registerBuildInfo(auto, version.Get())
	return &Metrics{
		runs: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "assay_runs_total",
			Help: "Runs that ended since the operator started, by what triggered them and their verdict.",
		}, []string{"namespace", "suite", "trigger", "verdict"}),
		runDuration: auto.NewHistogram(histogram("assay_run_duration_seconds",
			"How long runs took from the first case to the last.", runBuckets)),
		runQueue: auto.NewHistogram(histogram("assay_run_queue_seconds",
			"How long runs waited from their creation to their first case.", waitBuckets)),
		scheduleDelay: auto.NewHistogram(histogram("assay_schedule_delay_seconds",
			"How long after their slot scheduled runs were created, jitter included.", waitBuckets)),
		requests: auto.NewHistogramVec(histogram("assay_request_duration_seconds",
			"How long requests took, each retry on its own, by stage and by how they ended.", requestBuckets),
			[]string{"stage", "outcome"}),
		judgeTokens: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "assay_judge_tokens_total",
			Help: "Tokens that the judge read (direction prompt) and wrote (direction completion), as its provider counted them.",
		}, []string{"namespace", "suite", "direction"}),
		judgeCalls: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "assay_judge_requests_total",
			Help: "Requests for a verdict that went to the model (source model, retries included) and that were known from earlier runs (source cache).",
		}, []string{"namespace", "suite", "source"}),
		historyLost: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "assay_history_lost_cases_total",
			Help: "Cases that could not be written into the history store and were given up.",
		}, []string{"namespace", "suite"}),
		historyBytes: auto.NewGauge(prometheus.GaugeOpts{
			Name: "assay_history_size_bytes",
			Help: "Size of the history store when it was last measured; 0 until then.",
		}),
		historyRuns: auto.NewGauge(prometheus.GaugeOpts{
			Name: "assay_history_runs",
			Help: "Runs in the history store when it was last measured.",
		}),
		historyCases: auto.NewGauge(prometheus.GaugeOpts{
			Name: "assay_history_cases",
			Help: "Cases in the history store when it was last measured.",
		}),
	}
}

// histogram has buckets for every Prometheus and, for one that asks for them,
// native ones with a relative error of about 5 %.
func histogram(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name:                            name,
		Help:                            help,
		Buckets:                         buckets,
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}
}

// RunFinished counts a run that ended. A duration or queue below 0 means that
// it is not known, as for a run that never started, and is not observed.
func (m *Metrics) RunFinished(namespace, suite, trigger, verdict string, duration, queue time.Duration) {
	m.runs.WithLabelValues(toLabel(namespace), toLabel(suite), toLabel(trigger), toLabel(verdict)).Inc()
	observe(m.runDuration, duration.Seconds())
	observe(m.runQueue, queue.Seconds())
}

// ScheduleDelayed observes how long after its slot a scheduled run was created.
func (m *Metrics) ScheduleDelayed(delay time.Duration) {
	observe(m.scheduleDelay, delay.Seconds())
}

// ObserveRequest observes a request of a stage that took some seconds. An
// outcome that is neither OK nor one of a stage's is counted as Other.
func (m *Metrics) ObserveRequest(stage, outcome string, seconds float64) {
	if !outcomes[outcome] {
		outcome = outcomeOther
	}
	observe(m.requests.WithLabelValues(stage, outcome), seconds)
}

// Judged counts what the judge of a run cost.
func (m *Metrics) Judged(namespace, suite string, u judge.Usage) {
	if u == (judge.Usage{}) {
		return
	}
	namespace, suite = toLabel(namespace), toLabel(suite)
	m.judgeTokens.WithLabelValues(namespace, suite, "prompt").Add(float64(u.PromptTokens))
	m.judgeTokens.WithLabelValues(namespace, suite, "completion").Add(float64(u.CompletionTokens))
	m.judgeCalls.WithLabelValues(namespace, suite, "model").Add(float64(u.Calls))
	m.judgeCalls.WithLabelValues(namespace, suite, "cache").Add(float64(u.CacheHits))
}

// HistoryLost counts cases of a suite that did not get into the history.
func (m *Metrics) HistoryLost(namespace, suite string, cases int) {
	m.historyLost.WithLabelValues(toLabel(namespace), toLabel(suite)).Add(float64(cases))
}

// HistorySize tells how large the history is.
func (m *Metrics) HistorySize(bytes, runs, cases int64) {
	m.historyBytes.Set(float64(bytes))
	m.historyRuns.Set(float64(runs))
	m.historyCases.Set(float64(cases))
}

// ForgetSuite removes the series of a suite that is gone. Call it after the
// suite's last run has ended: a later RunFinished brings them back.
func (m *Metrics) ForgetSuite(namespace, suite string) {
	of := prometheus.Labels{"namespace": toLabel(namespace), "suite": toLabel(suite)}
	m.runs.DeletePartialMatch(of)
	m.judgeTokens.DeletePartialMatch(of)
	m.judgeCalls.DeletePartialMatch(of)
	m.historyLost.DeletePartialMatch(of)
}

// observe leaves out what is below 0 or NaN, which would spoil the sum for good.
func observe(o prometheus.Observer, seconds float64) {
	if seconds >= 0 {
		o.Observe(seconds)
	}
}
