package score

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// columns lists the metrics of a spec in their stable order: for each cut-off
// the families, then those over the whole list, then those of the answer and of
// the judge.
func columns(spec Spec) ([]Metric, error) {
	w, err := wants(spec)
	if err != nil {
		return nil, fmt.Errorf("plan metrics: %w", err)
	}
	out := w.list()
	if spec.Answer {
		m := metric(BLEU)
		m.Tokenizer = spec.tokenizer()
		out = append(out, m)
	}
	if !spec.Judge {
		return out, nil
	}
	for _, name := range []string{Accuracy, HallucinationRate, ContextRelevance, AbstentionAccuracy, AbstentionRate} {
		if name != ContextRelevance || spec.Relevance {
			out = append(out, metric(name))
		}
	}
	return out, nil
}

// wants checks a spec and collects the retrieval metrics that it asks for.
func wants(spec Spec) (*wanted, error) {
	switch {
	case spec.TopK < 1:
		return nil, fmt.Errorf("topK is %d: it must be at least 1", spec.TopK)
	case spec.PrimaryK < 0:
		return nil, fmt.Errorf("primaryK is %d: it must be at least 1", spec.PrimaryK)
	case spec.Judge && !spec.Answer:
		return nil, errors.New("there is a judge and no answer: nothing can be judged")
	case spec.Relevance && !spec.Judge:
		return nil, errors.New("contexts are to be graded and there is no judge")
	}
	if t := spec.tokenizer(); t != Whitespace && t != Char {
		return nil, fmt.Errorf("tokenizer %q is neither Whitespace nor Char", t)
	}
	w := &wanted{full: map[int]bool{}, named: map[string]bool{}}
	for _, k := range spec.K {
		if k < 1 || k > spec.TopK {
			return nil, fmt.Errorf("cut-off %d is not from 1 to topK, which is %d: results beyond topK are never seen", k, spec.TopK)
		}
		w.full[k] = true
		w.cut(k)
	}
	for _, beta := range spec.Betas {
		if err := checkBeta(beta); err != nil {
			return nil, err
		}
		if beta == "1" {
			return nil, errors.New(`beta "1" is F1, which is always computed: leave it out`)
		}
		w.beta(beta)
	}
	w.fullBetas = slices.Clone(w.betas)
	if spec.PrimaryK > 0 && spec.PrimaryK <= spec.TopK {
		w.cut(spec.PrimaryK)
		w.named[atCut(HitRate, spec.PrimaryK)] = true
	}
	for _, name := range spec.Named {
		m, err := ParseMetric(name)
		if err != nil {
			return nil, err
		}
		if m.K > spec.TopK {
			continue
		}
		w.named[name] = true
		if m.K > 0 {
			w.cut(m.K)
		}
		if m.Beta != "" {
			w.beta(m.Beta)
		}
	}
	return w, nil
}

// wanted collects the retrieval metrics that a spec asks for.
type wanted struct {
	cuts             []int
	full             map[int]bool
	betas, fullBetas []string
	named            map[string]bool
}

func (w *wanted) cut(k int) {
	if !slices.Contains(w.cuts, k) {
		w.cuts = append(w.cuts, k)
	}
}

func (w *wanted) beta(b string) {
	if !slices.Contains(w.betas, b) {
		w.betas = append(w.betas, b)
	}
}

func (w *wanted) list() []Metric {
	slices.Sort(w.cuts)
	slices.SortFunc(w.betas, func(a, b string) int {
		x, _ := strconv.ParseFloat(a, 64)
		y, _ := strconv.ParseFloat(b, 64)
		return cmp.Compare(x, y)
	})
	var out []Metric
	add := func(m Metric, always bool) {
		if always || w.named[m.Name] {
			out = append(out, m)
		}
	}
	for _, k := range w.cuts {
		full := w.full[k]
		for _, name := range []string{HitRate, Precision, Recall, F1} {
			add(metricAt(name, k), full)
		}
		for _, b := range w.betas {
			add(fBetaAt(b, k), full && slices.Contains(w.fullBetas, b))
		}
		for _, name := range []string{NDCG, MAP} {
			add(metricAt(name, k), full)
		}
	}
	add(metric(MRR), true)
	for _, k := range w.cuts {
		add(metricAt(MRR, k), false)
	}
	add(metric(RPrecision), true)
	return out
}
