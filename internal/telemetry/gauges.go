package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/assay-dev/assay/internal/score"
)

// suiteGauge describes a gauge of one suite; labels follow namespace and suite.
func suiteGauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("assay_"+name, help, append([]string{"namespace", "suite"}, labels...), nil)
}

// Gauges of what the last scored full run measured.
var (
	hitRate = suiteGauge("hit_rate",
		"Share of cases with a relevant id among the first k results, in the suite's last scored full run. An empty tag means all cases.", "k", "tag")
	precision = suiteGauge("precision",
		"Mean share of the first k results that are relevant, in the suite's last scored full run. An empty tag means all cases.", "k", "tag")
	recall = suiteGauge("recall",
		"Mean share of a case's relevant ids that are among the first k results, in the suite's last scored full run. An empty tag means all cases.", "k", "tag")
	f1 = suiteGauge("f1",
		"Mean harmonic mean of precision and recall at k, in the suite's last scored full run. An empty tag means all cases.", "k", "tag")
	fBeta = suiteGauge("f_beta",
		"Mean F-beta of precision and recall at k, in the suite's last scored full run. An empty tag means all cases.", "k", "beta", "tag")
	ndcg = suiteGauge("ndcg",
		"Mean normalized discounted cumulative gain at k, in the suite's last scored full run. An empty tag means all cases.", "k", "tag")
	meanAveragePrecision = suiteGauge("map",
		"Mean average precision at k, in the suite's last scored full run. An empty tag means all cases.", "k", "tag")
	mrr = suiteGauge("mrr",
		"Mean reciprocal rank of the first relevant id, in the suite's last scored full run. An empty k means all results that were asked for, an empty tag all cases.", "k", "tag")
	rPrecision = suiteGauge("r_precision",
		"Mean precision at the number of a case's relevant ids, in the suite's last scored full run. An empty tag means all cases.", "tag")
	errorRate = suiteGauge("error_rate",
		"Share of cases that failed after retries, in the suite's last scored full run. An empty tag means all cases.", "tag")
	retrievalLatencyP95 = suiteGauge("retrieval_latency_p95_seconds",
		"95th percentile of how long the retriever took to answer, in the suite's last scored full run. An empty tag means all cases.", "tag")
	answerLatencyP95 = suiteGauge("answer_latency_p95_seconds",
		"95th percentile of how long the answer service took to answer, in the suite's last scored full run. An empty tag means all cases.", "tag")
	bleu = suiteGauge("bleu",
		"Mean sentence BLEU of the answers against their references, in the suite's last scored full run. An empty tag means all cases.", "tag")
	accuracy = suiteGauge("accuracy",
		"Share of answers that the judge finds correct, over answerable cases with a reference, in the suite's last scored full run. An empty tag means all cases.", "tag")
	hallucinationRate = suiteGauge("hallucination_rate",
		"Share of answers that their contexts do not support, as the judge finds, in the suite's last scored full run. An empty tag means all cases.", "tag")
	contextRelevance = suiteGauge("context_relevance",
		"Mean relevance of the contexts to their question, from 1 to 5, as the judge finds, in the suite's last scored full run. An empty tag means all cases.", "tag")
	abstentionAccuracy = suiteGauge("abstention_accuracy",
		"Share of the cases without an answer in the corpus that were declined, in the suite's last scored full run. An empty tag means all cases.", "tag")
	abstentionRate = suiteGauge("abstention_rate",
		"Share of the answerable cases that were declined all the same, in the suite's last scored full run. An empty tag means all cases.", "tag")
	baselineDelta = suiteGauge("baseline_delta",
		"Difference of a metric from the baseline or from the reference run, on the cases that both have, in the suite's last scored full run.", "metric", "tag", "against")
	labelsStale = suiteGauge("labels_stale",
		"Whether the golden set's relevant ids no longer fit the corpus, in the suite's last scored full run: 1 if so, else 0.", "tag")
	judgeKappa = suiteGauge("judge_kappa",
		"Cohen's kappa of the judge with the labelled verdicts, by question (correct, grounded); absent where it is not known.", "question")

	judgeTrusted = suiteGauge("judge_trusted",
		"Whether the judge agrees with the labelled verdicts as far as the suite asks: 1 if it does, 0 if not; absent while that is not known.")

	coverage = suiteGauge("coverage",
		"Share of the cases that a stage was due for and that it gave a result for, in the suite's last scored full run.", "stage")
	objectiveMet = suiteGauge("objective_met",
		"Whether the suite's last scored full run kept to every bound on a metric: 1 if it did, 0 if it missed one; absent where a bound could not be decided.", "metric", "tag")
	lastRunTimestamp = suiteGauge("last_run_timestamp_seconds",
		"When the suite's last scored full run ended, in seconds since 1970.")
)

// Gauges of the suite as it stands.
var (
	suitePassing = suiteGauge("suite_passing",
		"Whether the newest result for what runs now is a pass that has not expired: 1 if it is, 0 if it failed; absent while that is not known.")
	suiteInfo = suiteGauge("suite_info",
		"Always 1 for a suite; the labels say which revision and golden set the suite's numbers are of, or which golden set was read before there are numbers.",
		"revision", "golden_set_digest")
	lastPassTimestamp = suiteGauge("last_pass_timestamp_seconds",
		"When a full run of the suite ended with the verdict Passed last, in seconds since 1970.")
	nextRunTimestamp = suiteGauge("next_run_timestamp_seconds",
		"When the suite's schedule starts the next run, in seconds since 1970.")
	schedulePeriod = suiteGauge("schedule_period_seconds",
		"How far apart the suite's slots lie: the longer of the last two gaps up to its next run; absent without a schedule and while the suite is suspended.")
	undecidedRuns = suiteGauge("undecided_runs",
		"Full runs of the suite that ended without a verdict since the last one that passed or failed, of those that are kept.")
	caseCount = suiteGauge("case_count",
		"Cases of the golden set as it was read last; with a tag, the cases that carry it, in the suite's last scored full run.", "tag")
)

// suiteGauges are all gauges of a suite.
var suiteGauges = []*prometheus.Desc{
	hitRate, precision, recall, f1, fBeta, ndcg, meanAveragePrecision, mrr, rPrecision, errorRate, retrievalLatencyP95,
	answerLatencyP95, bleu, accuracy, hallucinationRate, contextRelevance, abstentionAccuracy, abstentionRate,
	baselineDelta, labelsStale, judgeKappa, judgeTrusted,
	coverage, objectiveMet, lastRunTimestamp,
	suitePassing, suiteInfo, lastPassTimestamp, nextRunTimestamp, schedulePeriod, undecidedRuns, caseCount,
}

// families maps the family of a metric in status to its gauge.
var families = map[string]struct {
	gauge *prometheus.Desc
	hasK  bool // whether the gauge has the label k
}{
	score.HitRate:    {hitRate, true},
	score.Precision:  {precision, true},
	score.Recall:     {recall, true},
	score.F1:         {f1, true},
	score.FBeta:      {fBeta, true},
	score.NDCG:       {ndcg, true},
	score.MAP:        {meanAveragePrecision, true},
	score.MRR:        {mrr, true},
	score.RPrecision: {rPrecision, false},
	score.ErrorRate:  {errorRate, false},
	score.LatencyP95: {retrievalLatencyP95, false},

	score.AnswerLatencyP95:   {answerLatencyP95, false},
	score.BLEU:               {bleu, false},
	score.Accuracy:           {accuracy, false},
	score.HallucinationRate:  {hallucinationRate, false},
	score.ContextRelevance:   {contextRelevance, false},
	score.AbstentionAccuracy: {abstentionAccuracy, false},
	score.AbstentionRate:     {abstentionRate, false},
}
