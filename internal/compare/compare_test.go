package compare

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/assay-dev/assay/internal/score"
)

// twelve cases at rank 1, of which the head loses two and has one at rank 2.
func twelve() (base, head Side) {
	cases := many(12, 1, "all")
	return side("before", cases...), side("after", with(cases, ranked(at(0), 0, "all"), ranked(at(1), 0, "all"), ranked(at(2), 2, "all"))...)
}

func TestDeltas(t *testing.T) {
	base, head := twelve()
	c := Compare(base, head, Options{})
	if !c.Comparable || c.Reason != ReasonComparable || c.Common != 12 || c.Total != 12 {
		t.Fatalf("%+v", c)
	}
	if want := "compared with before on 12 of 12 cases"; c.Message != want {
		t.Errorf("message %q, want %q", c.Message, want)
	}
	d, _ := c.Delta("hit_rate@5", "")
	want := Delta{Metric: "hit_rate@5", Count: 12, Base: 1, Head: 10.0 / 12, Delta: -2.0 / 12, P: ptr(0.25), SmallestDrop: ptr(5.0 / 12)}
	if diff := cmp.Diff(want, d, cmpopts.EquateApprox(0, 1e-12), cmpopts.IgnoreFields(Delta{}, "Low", "High")); diff != "" {
		t.Error(diff)
	}
	if !(*d.Low < d.Delta && d.Delta < *d.High) {
		t.Errorf("%v is not within [%v, %v]", d.Delta, *d.Low, *d.High)
	}
	d, _ = c.Delta(score.MRR, "all")
	// Three fell: of eight patterns of signs, one is as low.
	want = Delta{Metric: score.MRR, Tag: "all", Count: 12, Base: 1, Head: 9.5 / 12, Delta: -2.5 / 12, P: ptr(0.125)}
	if diff := cmp.Diff(want, d, cmpopts.EquateApprox(0, 1e-12), cmpopts.IgnoreFields(Delta{}, "Low", "High")); diff != "" {
		t.Error(diff)
	}
}

func ptr(v float64) *float64 { return &v }

// A mean that stands still can hide a tag that fell.
func TestDeltaOfATag(t *testing.T) {
	base := side("b", ranked("1", 1, "howto", "ko"), ranked("2", 1, "howto"), ranked("3", 0, "faq"), ranked("4", 0, "faq", "faq", ""))
	head := side("h", ranked("1", 0, "howto", "ko"), ranked("2", 0, "howto"), ranked("3", 1, "faq"), ranked("4", 1, "faq", "faq", ""))
	c := Compare(base, head, Options{})
	got := map[string]float64{}
	counts := map[string]int{}
	for _, d := range c.Deltas {
		if d.Metric == "hit_rate@5" {
			got[d.Tag], counts[d.Tag] = d.Delta, d.Count
		}
	}
	if diff := cmp.Diff(map[string]float64{"": 0, "faq": 1, "howto": -1, "ko": -1}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"": 4, "faq": 2, "howto": 2, "ko": 1}, counts); diff != "" {
		t.Error(diff)
	}
	if d, _ := c.Delta("hit_rate@5", "ko"); d.Low != nil || d.High != nil {
		t.Error("a single case has an interval")
	}
}

func TestOrderOfMetrics(t *testing.T) {
	values := map[string]float64{}
	for _, name := range []string{
		"retrieval_latency_p95_seconds", "answer_latency_p95_seconds", "mrr@3", "mrr", "map@10", "hit_rate@10", "hit_rate@1", "f0.5@1", "f10@1", "f2@1", "f1@1",
		"r_precision", "bleu", "abstention_rate", "accuracy", "no_metric", "hit_rate", "",
	} {
		values[name] = 0.5
	}
	one := Case{ID: "1", Digest: "d", Outcome: Scored, Values: values}
	s := side("s", one)
	s.Judge = "j"
	var got []string
	for _, d := range Compare(s, s, Options{}).Deltas {
		got = append(got, d.Metric)
	}
	want := []string{
		"hit_rate@1", "f1@1", "f0.5@1", "f2@1", "f10@1", "hit_rate@10", "map@10", "mrr", "mrr@3", "r_precision",
		"bleu", "accuracy", "abstention_rate", "error_rate", "retrieval_latency_p95_seconds", "answer_latency_p95_seconds",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestErrorRateAndLatency(t *testing.T) {
	timed := func(id string, seconds float64) Case {
		c := ranked(id, 1)
		c.Values[score.LatencyP95] = seconds
		return c
	}
	base := side("b", timed("1", 0.1), timed("2", 0.2), timed("3", 0.3), broken("4", ""), timed("5", 9))
	head := side("h", timed("1", 0.3), timed("2", 0.2), broken("3", "RetrieverTimeout"), broken("4", "RetrieverTimeout"), ranked("5", 1))
	c := Compare(base, head, Options{})
	d, _ := c.Delta(score.ErrorRate, "")
	// Case 4 was never asked in the base.
	if d.Count != 4 || d.Base != 0 || d.Head != 0.25 || !d.LowerIsBetter || d.Worsening() != 0.25 || *d.P != 0.5 {
		t.Errorf("error_rate: %+v, p %v", d, *d.P)
	}
	d, _ = c.Delta(score.LatencyP95, "")
	if d.Count != 2 || d.Base != 0.2 || d.Head != 0.3 || d.P != nil || d.Low != nil || d.SmallestDrop != nil {
		t.Errorf("latency: %+v", d)
	}
	d, _ = c.Delta(score.MRR, "")
	if d.Count != 3 {
		t.Errorf("mrr is over %d cases, want the 3 that both scored", d.Count)
	}
}

func TestLowerIsBetter(t *testing.T) {
	var base, head []Case
	for i := range 6 {
		base = append(base, answered(ranked(at(i), 1), true, true))
		head = append(head, answered(ranked(at(i), 1), true, false))
	}
	b, h := side("b", base...), side("h", head...)
	b.Judge, h.Judge = "j", "j"
	d, _ := Compare(b, h, Options{}).Delta(score.HallucinationRate, "")
	if d.Delta != 1 || d.Worsening() != 1 || !near(*d.P, 1.0/64, 1e-12) {
		t.Errorf("%+v, p %v", d, *d.P)
	}
	d, _ = Compare(h, b, Options{}).Delta(score.HallucinationRate, "")
	if d.Delta != -1 || d.Worsening() != -1 || *d.P != 1 {
		t.Errorf("the other way round: %+v, p %v", d, *d.P)
	}
}

func TestCommonCases(t *testing.T) {
	edited := func(c Case) Case {
		c.Digest += "-edited"
		return c
	}
	type counts struct {
		Comparable                            bool
		Reason                                string
		Common, Total, Added, Edited, Removed int
	}
	hundred := many(100, 1)
	for _, test := range []struct {
		name       string
		base, head []Case
		total      int
		want       counts
		message    string
	}{
		{"the same", hundred, hundred, 0, counts{true, ReasonComparable, 100, 100, 0, 0, 0}, "compared with b on 100 of 100 cases"},
		{"none of either", nil, nil, 0, counts{false, ReasonNothingInCommon, 0, 0, 0, 0, 0}, "none of 0 cases is the same in b"},
		{"other ids", hundred[:4], hundred[4:8], 0, counts{false, ReasonNothingInCommon, 0, 4, 4, 0, 4}, "none of 4 cases is the same in b"},
		{"just half", hundred[:50], hundred, 0, counts{true, ReasonComparable, 50, 100, 50, 0, 0}, "on 50 of 100 cases"},
		{"less than half of an odd number", hundred[:1], hundred[:3], 0, counts{false, ReasonTooFewInCommon, 1, 3, 2, 0, 0}, "only 1 of 3 cases are the same in b: at least 2 must be"},
		{"less than half", hundred[:49], hundred, 0, counts{false, ReasonTooFewInCommon, 49, 100, 51, 0, 0}, "only 49 of 100 cases are the same in b: at least 50 must be"},
		{"of the head's, not of the base's", hundred, hundred[:3], 0, counts{true, ReasonComparable, 3, 3, 0, 0, 97}, "on 3 of 3 cases"},
		{"another digest is another case", hundred[:2], []Case{hundred[0], edited(hundred[1])}, 0, counts{true, ReasonComparable, 1, 2, 0, 1, 0}, "0 added, 1 edited, 0 removed"},
		{"a head that ended early", hundred, hundred[:30], 100, counts{false, ReasonTooFewInCommon, 30, 100, 0, 0, 70}, "only 30 of 100 cases"},
		{"an id twice", hundred[:2], []Case{hundred[0], hundred[0], hundred[1]}, 0, counts{true, ReasonComparable, 2, 2, 0, 0, 0}, "on 2 of 2 cases"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, h := side("b", test.base...), side("h", test.head...)
			b.GoldenSetDigest, h.Total = "", test.total
			c := Compare(b, h, Options{})
			got := counts{c.Comparable, c.Reason, c.Common, c.Total, c.Added, c.Edited, c.Removed}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(c.Message, test.message) {
				t.Errorf("message %q does not say %q", c.Message, test.message)
			}
			if c.Comparable != (len(c.Deltas) > 0) {
				t.Errorf("comparable is %t with %d deltas", c.Comparable, len(c.Deltas))
			}
		})
	}
}

func TestWhatMoved(t *testing.T) {
	cases := many(4, 1)
	for _, test := range []struct {
		name             string
		golden, revision string
		head             []Case
		want             string
	}{
		{"neither", "g", "r", cases, ""},
		{"the revision", "g", "r2", cases, ""},
		{"the golden set", "g2", "r", cases[:3], "the golden set changed: 0 added, 0 edited, 1 removed"},
		{"both", "g2", "r2", cases[:3], "golden set (0 added, 0 edited, 1 removed) and revision changed together: the means of the two runs differ for both, the deltas over the unchanged cases for the revision alone"},
		{"both, with nothing in common", "g2", "r2", []Case{ranked("new", 1)}, "golden set (1 added, 0 edited, 4 removed) and revision changed together: what the revision changed cannot be told"},
		{"names only", "g2", "r", cases, "the golden set changed: 0 added, 0 edited, 0 removed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, h := side("b", cases...), side("h", test.head...)
			b.GoldenSetDigest, b.Revision, h.GoldenSetDigest, h.Revision = "g", "r", test.golden, test.revision
			c := Compare(b, h, Options{})
			if c.GoldenSetChanged != (test.golden != "g") || c.RevisionChanged != (test.revision != "r") {
				t.Errorf("golden set %t, revision %t", c.GoldenSetChanged, c.RevisionChanged)
			}
			if test.want == "" && strings.Contains(c.Message, "changed") || !strings.Contains(c.Message, test.want) {
				t.Errorf("message %q, want in it %q", c.Message, test.want)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	one := answered(ranked("1", 1), true, true)
	one.Values[score.BLEU], one.Values[score.LatencyP95] = 0.5, 0.1
	const hit, mrr, bleu, accuracy, made, errors, latency = "hit_rate@5", "mrr", "bleu", "accuracy", "hallucination_rate", "error_rate", "retrieval_latency_p95_seconds"
	for _, test := range []struct {
		name    string
		change  func(*Side)
		reason  string
		want    []string
		message string
	}{
		{"none", func(*Side) {}, ReasonComparable, []string{hit, mrr, bleu, accuracy, made, errors, latency}, ""},
		{"the defaults, named", func(s *Side) { s.Unit, s.Tokenizer = "Chunk", "Whitespace" }, ReasonComparable, []string{hit, mrr, bleu, accuracy, made, errors, latency}, ""},
		{"topK", func(s *Side) { s.TopK = 5 }, ReasonSettingsChanged, nil, "topK was 10 in b and is 5"},
		{"unit", func(s *Side) { s.Unit = "Document" }, ReasonSettingsChanged, []string{bleu, accuracy, made, errors, latency}, "unit was Chunk and is Document: hit_rate@5 and mrr are not compared"},
		{"tokenizer", func(s *Side) { s.Tokenizer = "Char" }, ReasonSettingsChanged, []string{hit, mrr, accuracy, made, errors, latency}, "tokenizer was Whitespace and is Char: bleu is not compared"},
		{"judge", func(s *Side) { s.Judge = "k" }, ReasonJudgeChanged, []string{hit, mrr, bleu, errors, latency}, "the judge is another (provider, model, parameters or prompt): accuracy and hallucination_rate are not compared"},
		{"an unknown judge", func(s *Side) { s.Judge = "" }, ReasonJudgeChanged, []string{hit, mrr, bleu, errors, latency}, "it is not known who judged"},
		{"judge and unit", func(s *Side) { s.Judge, s.Unit = "k", "Document" }, ReasonSettingsChanged, []string{bleu, errors, latency}, "unit was Chunk and is Document: hit_rate@5 and mrr are not compared; the judge is another"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, h := side("b", one), side("h", one)
			b.Judge, h.Judge = "j", "j"
			test.change(&h)
			c := Compare(b, h, Options{})
			var got []string
			for _, d := range c.Deltas {
				got = append(got, d.Metric)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if c.Reason != test.reason || !strings.Contains(c.Message, test.message) {
				t.Errorf("%s: %q", c.Reason, c.Message)
			}
		})
	}
}

// Verdicts of nobody knows whom are comparable with none.
func TestUnknownJudges(t *testing.T) {
	one := answered(ranked("1", 1), true, true)
	c := Compare(side("b", one), side("h", one), Options{})
	if _, ok := c.Delta(score.Accuracy, ""); ok || c.Reason != ReasonJudgeChanged {
		t.Errorf("%s: %q", c.Reason, c.Message)
	}
}

// A setting that no metric rests on is none to speak of.
func TestSettingsWithoutMetrics(t *testing.T) {
	b, h := side("b", ranked("1", 1)), side("h", ranked("1", 1))
	h.Judge, h.Tokenizer = "j", "Char"
	if c := Compare(b, h, Options{}); c.Reason != ReasonComparable || len(c.Differences) > 0 {
		t.Errorf("%s: %v", c.Reason, c.Differences)
	}
}

func TestCorrectedP(t *testing.T) {
	base, head := twelve()
	relative := []Relative{{"hit_rate@5", "", "0.05"}, {score.MRR, "", "0.05"}, {score.ErrorRate, "", ""}, {"hit_rate@5", "", "0.05"}, {"hit_rate@5", "no such tag", "0.05"}}
	c := Compare(base, head, Options{Relative: relative})
	got := map[string]float64{}
	for _, d := range c.Deltas {
		if d.Corrected != nil {
			got[d.Metric+d.Tag] = *d.Corrected
		}
	}
	// 0.25 and 0.125: twice the smaller, and then no less.
	if diff := cmp.Diff(map[string]float64{"hit_rate@5": 0.25, score.MRR: 0.25}, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
	if d, _ := c.Delta(score.MRR, ""); *d.PValue() != *d.Corrected || *d.P == *d.Corrected {
		t.Errorf("p is %v, corrected %v, reported %v", *d.P, *d.Corrected, *d.PValue())
	}
	if d, _ := c.Delta(score.MRR, "all"); d.PValue() != d.P {
		t.Error("what no bound is on is corrected")
	}
}

func TestChanges(t *testing.T) {
	shifted := ranked("j-shifted", 1)
	shifted.Values["recall@5"] = 1
	less := ranked("j-shifted", 1)
	less.Values["recall@5"] = 0.5
	base := side("b",
		ranked("a-same", 1), ranked("b-lost", 5), answered(ranked("c-wrong", 1), true, true), ranked("d-failed", 1), ranked("e-down", 1), ranked("f-down-less", 2),
		ranked("g-found", 0), broken("h-works", "RetrieverTimeout"), ranked("i-up", 3), shifted, broken("k-unasked", ""), ranked("l-lost-more", 1))
	head := side("h",
		ranked("a-same", 1), ranked("b-lost", 0), answered(ranked("c-wrong", 1), false, true), broken("d-failed", "RetrieverTimeout"), ranked("e-down", 2), ranked("f-down-less", 3),
		ranked("g-found", 4), ranked("h-works", 1), ranked("i-up", 2), less, broken("k-unasked", "RetrieverTimeout"), ranked("l-lost-more", 0))
	base.Judge, head.Judge = "j", "j"
	c := Compare(base, head, Options{})
	ids := func(changes []Change) (all []string) {
		for _, change := range changes {
			all = append(all, change.ID)
		}
		return all
	}
	if diff := cmp.Diff([]string{"l-lost-more", "b-lost", "c-wrong", "d-failed", "e-down", "f-down-less", "j-shifted"}, ids(c.Worse)); diff != "" {
		t.Error("worse", diff)
	}
	if diff := cmp.Diff([]string{"g-found", "h-works", "i-up"}, ids(c.Better)); diff != "" {
		t.Error("better", diff)
	}
	if c.WorseCount != 7 || c.BetterCount != 3 || c.SameCount != 2 {
		t.Errorf("%d worse, %d better, %d same", c.WorseCount, c.BetterCount, c.SameCount)
	}
	want := Change{
		ID: "b-lost", Rank: 0, BaseRank: 5, Outcome: Scored, BaseOutcome: Scored, Gain: -0.6,
		Values: []ValueChange{{"hit_rate@5", 1, 0}, {score.MRR, 0.2, 0}},
	}
	if diff := cmp.Diff(want, c.Worse[1], cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
	capped := Compare(base, head, Options{MaxCases: 2})
	if diff := cmp.Diff([]string{"l-lost-more", "b-lost"}, ids(capped.Worse)); diff != "" {
		t.Error(diff)
	}
	if capped.WorseCount != 7 {
		t.Errorf("of %d worse", capped.WorseCount)
	}
	// The other way round, worse is better.
	back := Compare(head, base, Options{})
	if diff := cmp.Diff(ids(c.Worse), ids(back.Better)); diff != "" {
		t.Error("the other way round", diff)
	}
}

// The rank in another unit is another thing, and rounding is no change.
func TestNoChanges(t *testing.T) {
	b, h := side("b", ranked("1", 1)), side("h", ranked("1", 3))
	h.Unit = "Document"
	b.Cases[0].Values[score.BLEU], h.Cases[0].Values[score.BLEU] = 0.5, 0.5
	if c := Compare(b, h, Options{}); c.SameCount != 1 {
		t.Errorf("%d are the same", c.SameCount)
	}
	h = side("h", ranked("1", 1))
	h.Cases[0].Values[score.MRR] -= 1e-16
	if c := Compare(b, h, Options{}); c.SameCount != 1 || len(c.Worse) > 0 {
		t.Errorf("worse: %v", c.Worse)
	} else if d, _ := c.Delta(score.MRR, ""); *d.P != 1 {
		t.Errorf("rounding has p %v", *d.P)
	}
	// One metric rose by what another fell, but for rounding.
	b, h = side("b", ranked("1", 1)), side("h", ranked("1", 1))
	b.Cases[0].Values["recall@5"], b.Cases[0].Values["ndcg@5"] = 0.1, 0.3
	h.Cases[0].Values["recall@5"], h.Cases[0].Values["ndcg@5"] = 0.2, 0.2
	if c := Compare(b, h, Options{}); c.SameCount != 1 {
		t.Errorf("worse: %v, better: %v", c.Worse, c.Better)
	}
}

// Within a grade, the greater loss comes first, and then the longer step.
func TestOrderOfChanges(t *testing.T) {
	plain := func(id string, rank int, recall float64) Case {
		return Case{ID: id, Digest: "d", Outcome: Scored, Rank: rank, Values: map[string]float64{"recall@5": recall}}
	}
	base := side("b", plain("a", 1, 0.5), plain("b", 1, 1), plain("c", 3, 1), plain("d", 1, 1))
	head := side("h", plain("a", 0, 0), plain("b", 0, 0), plain("c", 4, 1), plain("d", 2, 1))
	var got []string
	for _, change := range Compare(base, head, Options{}).Worse {
		got = append(got, change.ID)
	}
	if diff := cmp.Diff([]string{"b", "a", "d", "c"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheOrderOfCasesDoesNotMatter(t *testing.T) {
	base, head := largeRun(1, 200, 2), largeRun(2, 200, 2)
	first := Compare(base, head, Options{})
	slices.Reverse(base.Cases)
	slices.Reverse(head.Cases)
	second := Compare(base, head, Options{})
	if diff := cmp.Diff(first.Document(), second.Document()); diff != "" {
		t.Error(diff)
	}
}

// aSide draws a run with little sense in it.
func aSide(t *rapid.T, name string) Side {
	s := side(name)
	s.TopK = rapid.SampledFrom([]int{10, 10, 10, 0}).Draw(t, "topK")
	s.Judge = rapid.SampledFrom([]string{"", "j", "j"}).Draw(t, "judge")
	value := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1, 0.5, math.NaN(), math.Inf(1), math.Inf(-1), -7, math.MaxFloat64, -math.MaxFloat64}))
	metric := rapid.SampledFrom([]string{"hit_rate@5", "mrr", "bleu", "accuracy", "hallucination_rate", "context_relevance", "error_rate", "retrieval_latency_p95_seconds", "no_metric", "f@", ""})
	id := rapid.SampledFrom([]string{"", "a", "b", "c", "d/a", "d/b", "e/a", "e/b", "가", "\u1100\u1161", "\xff", "/", "//"})
	for range rapid.IntRange(0, 12).Draw(t, "cases") {
		s.Cases = append(s.Cases, Case{
			ID: id.Draw(t, "id"), Digest: rapid.SampledFrom([]string{"", "", "x"}).Draw(t, "digest"),
			Tags:    rapid.SliceOfN(rapid.SampledFrom([]string{"", "t", "u"}), 0, 3).Draw(t, "tags"),
			Outcome: rapid.SampledFrom([]string{"", Scored, Scored, "RetrieverTimeout"}).Draw(t, "outcome"), Rank: rapid.IntRange(-1, 4).Draw(t, "rank"),
			Values:    rapid.MapOfN(metric, value, 0, 6).Draw(t, "values"),
			Retrieved: rapid.SliceOfN(id, 0, 4).Draw(t, "retrieved"), Relevant: rapid.SliceOfN(id, 0, 3).Draw(t, "relevant"),
			Texts: rapid.SliceOfN(rapid.SampledFrom([]string{"", " ", "one", "two", "one "}), 0, 5).Draw(t, "texts"),
		})
	}
	return s
}

func TestAnyTwoRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, head := aSide(t, "b"), aSide(t, "h")
		o := Options{Relative: []Relative{{"hit_rate@5", "", "0.05"}, {"mrr", "t", "0.05"}}}
		c := Compare(base, head, o)
		if c.Common+c.Added+c.Edited != len(byID(head.Cases)) || c.Message == "" || c.Reason == "" {
			t.Errorf("%+v", c)
		}
		if c.Comparable && c.WorseCount+c.BetterCount+c.SameCount != c.Common {
			t.Errorf("%d worse, %d better and %d same are not %d", c.WorseCount, c.BetterCount, c.SameCount, c.Common)
		}
		for _, d := range c.Deltas {
			for _, p := range []*float64{d.P, d.Corrected} {
				if p != nil && !isProbability(*p) {
					t.Errorf("%s: p = %v", d.Metric, *p)
				}
			}
			if d.Count < 1 || d.Count > c.Common || d.SmallestDrop != nil && !(*d.SmallestDrop > 0) {
				t.Errorf("%+v", d)
			}
			if d.Low != nil && !(*d.Low <= *d.High) {
				t.Errorf("%s: [%v, %v]", d.Metric, *d.Low, *d.High)
			}
		}
		if len(byID(head.Cases)) == len(head.Cases) && len(byID(base.Cases)) == len(base.Cases) {
			slices.Reverse(head.Cases)
			slices.Reverse(base.Cases)
			again := Compare(base, head, o)
			if diff := cmp.Diff(c.Deltas, again.Deltas, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("in another order: %s", diff)
			}
		}
		if _, err := json.Marshal(c.Document()); err != nil {
			t.Error(err)
		}
		_, _ = StaleLabels(&base, head)
		_, _ = StaleLabels(nil, head)
		Judge(o.Relative, c, Policy{MinConfidence: "0.95"})
	})
}
