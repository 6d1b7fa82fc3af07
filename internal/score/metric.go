package score

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The families of metrics: a metric's name without cut-off and beta.
const (
	HitRate    = "hit_rate"
	Precision  = "precision"
	Recall     = "recall"
	F1         = "f1"
	FBeta      = "f_beta"
	NDCG       = "ndcg"
	MAP        = "map"
	MRR        = "mrr"
	RPrecision = "r_precision"

	// BLEU is of the answer stage.
	BLEU = "bleu"

	// The judge's.
	Accuracy           = "accuracy"
	HallucinationRate  = "hallucination_rate"
	ContextRelevance   = "context_relevance"
	AbstentionAccuracy = "abstention_accuracy"
	AbstentionRate     = "abstention_rate"

	// These come from Summarize and are no column of a case.
	ErrorRate        = "error_rate"
	LatencyP95       = "retrieval_latency_p95_seconds"
	AnswerLatencyP95 = "answer_latency_p95_seconds"
)

// Stage is what a run asks of a case, one after another.
type Stage string

// The stages of a run, in their order.
const (
	RetrievalStage Stage = "retrieval"
	AnswerStage    Stage = "answer"
	JudgeStage     Stage = "judge"
)

// Metric is one column of the values that a case gets, or what Summarize gives
// beside them.
type Metric struct {
	// Name as users see it: hit_rate@5, f0.5@3, mrr, accuracy.
	Name string
	// Family is the name without cut-off and beta: hit_rate, f_beta, f1, mrr.
	Family string
	// K is the cut-off; 0 where the name has none.
	K int
	// Beta of f_beta, else empty.
	Beta string
	// Binary is true where a case's value is 0 or 1 only.
	Binary bool
	// Stage that the values come from; empty for error_rate, which is of them all.
	Stage Stage
	// Tokenizer of the column bleu, else empty.
	Tokenizer Tokenizer
}

// LowerIsBetter says whether a rise is a worsening.
func (m Metric) LowerIsBetter() bool { return families[m.Family].lower }

// Range gives the lowest and the highest value that the metric can have.
func (m Metric) Range() (low, high float64) {
	switch m.Family {
	case ContextRelevance:
		return 1, 5
	case LatencyP95, AnswerLatencyP95:
		return 0, math.Inf(1)
	}
	return 0, 1
}

// family is what the metrics of one family have in common.
type family struct {
	stage Stage
	// binary is true where a case's value is 0 or 1 only.
	binary bool
	// lower is true where less is better.
	lower bool
	// beside is true of what is no column: it speaks for itself however few of
	// the cases got a result.
	beside bool
	cut    cutOff
}

// cutOff says whether a metric's name has one.
type cutOff int

const (
	cutNever cutOff = iota
	cutAlways
	cutMaybe
)

var families = map[string]family{
	HitRate:    {stage: RetrievalStage, cut: cutAlways, binary: true},
	Precision:  {stage: RetrievalStage, cut: cutAlways},
	Recall:     {stage: RetrievalStage, cut: cutAlways},
	F1:         {stage: RetrievalStage, cut: cutAlways},
	FBeta:      {stage: RetrievalStage, cut: cutAlways},
	NDCG:       {stage: RetrievalStage, cut: cutAlways},
	MAP:        {stage: RetrievalStage, cut: cutAlways},
	MRR:        {stage: RetrievalStage, cut: cutMaybe},
	RPrecision: {stage: RetrievalStage},

	BLEU: {stage: AnswerStage},

	Accuracy:           {stage: JudgeStage, binary: true},
	HallucinationRate:  {stage: JudgeStage, binary: true, lower: true},
	ContextRelevance:   {stage: JudgeStage},
	AbstentionAccuracy: {stage: JudgeStage, binary: true},
	AbstentionRate:     {stage: JudgeStage, binary: true, lower: true},

	ErrorRate:        {beside: true, binary: true, lower: true},
	LatencyP95:       {beside: true, stage: RetrievalStage, lower: true},
	AnswerLatencyP95: {beside: true, stage: AnswerStage, lower: true},
}

// metric makes one of a family without a cut-off.
func metric(name string) Metric {
	f := families[name]
	return Metric{Name: name, Family: name, Binary: f.binary, Stage: f.stage}
}

// metricAt makes one of a family with a cut-off.
func metricAt(name string, k int) Metric {
	m := metric(name)
	m.Name, m.K = atCut(name, k), k
	return m
}

// fBetaAt makes an F-beta.
func fBetaAt(beta string, k int) Metric {
	m := metric(FBeta)
	m.Name, m.K, m.Beta = atCut("f"+beta, k), k, beta
	return m
}

func atCut(name string, k int) string { return name + "@" + strconv.Itoa(k) }

var errUnknownMetric = errors.New("unknown metric: use hit_rate@k, precision@k, recall@k, f1@k, f2@k (any beta), ndcg@k, map@k or mrr@k with a number for k, or " +
	"mrr, r_precision, bleu, accuracy, hallucination_rate, context_relevance, abstention_accuracy, abstention_rate, error_rate, retrieval_latency_p95_seconds, answer_latency_p95_seconds")

// ParseMetric takes a metric's name apart. Only the canonical spelling is
// known: no leading zeros, and a beta in its shortest form.
func ParseMetric(name string) (Metric, error) {
	family, cut, hasCut := strings.Cut(name, "@")
	f, known := families[family]
	if !hasCut {
		if !known || f.cut == cutAlways {
			return Metric{}, fmt.Errorf("read metric name %q: %w", name, errUnknownMetric)
		}
		return metric(name), nil
	}
	k, err := strconv.Atoi(cut)
	if err != nil || k < 1 || strconv.Itoa(k) != cut {
		return Metric{}, fmt.Errorf("read metric name %q: the cut-off %q is no whole number from 1: write it like hit_rate@5", name, cut)
	}
	if known && f.cut != cutNever && family != FBeta {
		return metricAt(family, k), nil
	}
	beta, isF := strings.CutPrefix(family, "f")
	if !isF || known {
		return Metric{}, fmt.Errorf("read metric name %q: %w", name, errUnknownMetric)
	}
	if err := checkBeta(beta); err != nil {
		return Metric{}, fmt.Errorf("read metric name %q: %w; %w", name, err, errUnknownMetric)
	}
	return fBetaAt(beta, k), nil
}

// checkBeta checks the weight of an F-beta, which is above 0 and in its shortest
// form, so that one weight has one name.
func checkBeta(s string) error {
	b, err := strconv.ParseFloat(s, 64)
	if err != nil || b <= 0 || math.IsInf(b*b, 0) || b*b == 0 || math.IsNaN(b) {
		return fmt.Errorf("beta %q is no decimal number above 0: write it like 0.5 or 2", s)
	}
	if short := strconv.FormatFloat(b, 'f', -1, 64); short != s {
		return fmt.Errorf("beta %q is not in its shortest form: write %q", s, short)
	}
	return nil
}
