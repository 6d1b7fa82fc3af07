package score

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
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
	// ErrorRate and LatencyP95 come from Summarize and are no column of a case.
	ErrorRate  = "error_rate"
	LatencyP95 = "retrieval_latency_p95_seconds"
)

var errUnknownMetric = errors.New("unknown metric: use hit_rate@k, precision@k, recall@k, f1@k, f2@k (any beta), ndcg@k, map@k or mrr@k with a number for k, or mrr, r_precision, error_rate, retrieval_latency_p95_seconds")

// ParseMetric takes a metric's name apart. Only the canonical spelling is
// known: no leading zeros, and a beta in its shortest form.
func ParseMetric(name string) (Metric, error) {
	family, cut, hasCut := strings.Cut(name, "@")
	m := Metric{Name: name, Family: family}
	switch {
	case !hasCut && (name == MRR || name == RPrecision || name == LatencyP95):
		return m, nil
	case !hasCut && name == ErrorRate:
		m.Binary = true
		return m, nil
	case !hasCut:
		return Metric{}, fmt.Errorf("read metric name %q: %w", name, errUnknownMetric)
	}
	k, err := strconv.Atoi(cut)
	if err != nil || k < 1 || strconv.Itoa(k) != cut {
		return Metric{}, fmt.Errorf("read metric name %q: the cut-off %q is no whole number from 1: write it like hit_rate@5", name, cut)
	}
	m.K = k
	switch family {
	case HitRate:
		m.Binary = true
	case Precision, Recall, F1, NDCG, MAP, MRR:
	default:
		beta, ok := strings.CutPrefix(family, "f")
		if !ok {
			return Metric{}, fmt.Errorf("read metric name %q: %w", name, errUnknownMetric)
		}
		if err := checkBeta(beta); err != nil {
			return Metric{}, fmt.Errorf("read metric name %q: %w; %w", name, err, errUnknownMetric)
		}
		m.Family, m.Beta = FBeta, beta
	}
	return m, nil
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

// columns lists the metrics of a spec in their stable order: for each cut-off
// the families, then those over the whole list.
func columns(spec Spec) ([]Metric, error) {
	if spec.TopK < 1 {
		return nil, fmt.Errorf("plan metrics: topK is %d: it must be at least 1", spec.TopK)
	}
	w := wanted{full: map[int]bool{}, named: map[string]bool{}}
	for _, k := range spec.K {
		if k < 1 || k > spec.TopK {
			return nil, fmt.Errorf("plan metrics: cut-off %d is not from 1 to topK, which is %d: results beyond topK are never seen", k, spec.TopK)
		}
		w.full[k] = true
		w.cut(k)
	}
	for _, beta := range spec.Betas {
		if err := checkBeta(beta); err != nil {
			return nil, fmt.Errorf("plan metrics: %w", err)
		}
		if beta == "1" {
			return nil, errors.New(`plan metrics: beta "1" is F1, which is always computed: leave it out`)
		}
		w.beta(beta)
	}
	w.fullBetas = slices.Clone(w.betas)
	if spec.PrimaryK < 0 {
		return nil, fmt.Errorf("plan metrics: primaryK is %d: it must be at least 1", spec.PrimaryK)
	}
	if spec.PrimaryK > 0 && spec.PrimaryK <= spec.TopK {
		w.cut(spec.PrimaryK)
		w.named[atCut(HitRate, spec.PrimaryK)] = true
	}
	for _, name := range spec.Named {
		m, err := ParseMetric(name)
		if err != nil {
			return nil, fmt.Errorf("plan metrics: %w", err)
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
	return w.list(), nil
}

// wanted collects what a spec asks for.
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
		for _, family := range []string{HitRate, Precision, Recall, F1} {
			add(Metric{Name: atCut(family, k), Family: family, K: k, Binary: family == HitRate}, full)
		}
		for _, b := range w.betas {
			add(Metric{Name: atCut("f"+b, k), Family: FBeta, K: k, Beta: b}, full && slices.Contains(w.fullBetas, b))
		}
		for _, family := range []string{NDCG, MAP} {
			add(Metric{Name: atCut(family, k), Family: family, K: k}, full)
		}
	}
	add(Metric{Name: MRR, Family: MRR}, true)
	for _, k := range w.cuts {
		add(Metric{Name: atCut(MRR, k), Family: MRR, K: k}, false)
	}
	add(Metric{Name: RPrecision, Family: RPrecision}, true)
	return out
}

func atCut(family string, k int) string { return family + "@" + strconv.Itoa(k) }
