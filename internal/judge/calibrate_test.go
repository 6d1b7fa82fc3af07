package judge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/golden"
)

// Values by hand: κ = (p_o − p_e) / (1 − p_e).
func TestKappa(t *testing.T) {
	for _, tt := range []struct {
		name  string
		table Confusion // both true, both false, judge alone, people alone
		kappa float64
		known bool
	}{
		// p_o = 35/50 = 0.7; p_e = (25·30 + 25·20)/2500 = 0.5; κ = 0.2/0.5.
		{"a textbook's", Confusion{20, 15, 10, 5}, 0.4, true},
		// p_o = 60/100; p_e = (60·70 + 40·30)/10000 = 0.54; κ = 0.06/0.46.
		{"the same agreement, skewed", Confusion{45, 15, 25, 15}, 0.06 / 0.46, true},
		// p_o = 60/100; p_e = (60·30 + 40·70)/10000 = 0.46; κ = 0.14/0.54.
		{"the same agreement, skewed the other way", Confusion{25, 35, 5, 35}, 0.14 / 0.54, true},
		{"full", Confusion{5, 5, 0, 0}, 1, true},
		{"none", Confusion{0, 0, 5, 5}, -1, true},
		// The judge says true to everything: p_o = p_e = 0.5.
		{"a judge that always says true", Confusion{5, 0, 5, 0}, 0, true},
		// p_o = 0.9; p_e = (95·85+5·15)/10000 = 0.815; κ = 0.085/0.185.
		{"high agreement, few wrong answers", Confusion{85, 5, 0, 10}, 0.085 / 0.185, true},
		{"four labels of true", Confusion{4, 50, 0, 0}, 0, false},
		{"four labels of false", Confusion{50, 3, 1, 0}, 0, false},
		{"five of false by people, whatever the judge says", Confusion{50, 0, 5, 0}, 0, true},
		{"none at all", Confusion{}, 0, false},
	} {
		got, known := tt.table.Kappa()
		if known != tt.known || math.Abs(got-tt.kappa) > 1e-12 {
			t.Errorf("%s: κ %v (%t), want %v", tt.name, got, known, tt.kappa)
		}
	}
	if share, ok := (Confusion{20, 15, 10, 5}).Agreement(); !ok || share != 0.7 {
		t.Errorf("agreement %v", share)
	}
	if _, ok := (Confusion{}).Agreement(); ok {
		t.Error("agreement over nothing is known")
	}
}

// byAnswer is a judge that does what the answer says.
type byAnswer struct {
	mu    sync.Mutex
	asked int
}

func (j *byAnswer) Grade(ctx context.Context, in Input) (Verdict, Usage, error) {
	j.mu.Lock()
	j.asked++
	j.mu.Unlock()
	usage := Usage{Calls: 1}
	if ctx.Err() != nil {
		return Verdict{}, Usage{}, interrupted(ctx)
	}
	switch in.Answer {
	case "timeout":
		return Verdict{}, usage, &Error{Outcome: Timeout}
	case "untyped":
		return Verdict{}, usage, errors.New("boom")
	case "quota":
		return Verdict{}, usage, &Error{Outcome: QuotaExceeded, EndsRun: true}
	case "unjudged":
		return Verdict{Grounded: true}, usage, nil
	}
	return Verdict{Correct: new(strings.Contains(in.Answer, "C")), Grounded: strings.Contains(in.Answer, "G")}, usage, nil
}

func (*byAnswer) Relevance(context.Context, string, []golden.Turn, []string) (Relevance, Usage, error) {
	panic("contexts are not calibrated")
}

// labelled gives so many equal labels.
func labelled(n int, answer string, correct, grounded *bool) []Label {
	labels := make([]Label, n)
	for i := range labels {
		labels[i] = Label{Question: fmt.Sprint(i), Answer: answer, Answerable: true, Correct: correct, Grounded: grounded}
	}
	return labels
}

func concat(parts ...[]Label) (all []Label) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func TestCalibrate(t *testing.T) {
	yes, no := new(true), new(false)
	labels := concat(
		labelled(6, "CG", yes, yes), labelled(5, "-", no, no), labelled(2, "C", no, nil), labelled(1, "G", yes, no),
		labelled(3, "timeout", yes, yes), labelled(1, "untyped", no, no), labelled(2, "unjudged", yes, yes),
	)
	for _, parallelism := range []int{0, 1, 4} {
		c, err := Calibrate(t.Context(), &byAnswer{}, labels, parallelism)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Verdicts) != 20 || c.Verdicts[0] == nil || !*c.Verdicts[0].Correct || c.Verdicts[14] != nil || c.Verdicts[18] == nil {
			t.Errorf("verdicts %v", c.Verdicts)
		}
		c.Verdicts = nil
		want := &Calibration{
			Labels: 20, Digest: LabelsDigest(labels),
			Correct:  Confusion{TruePositives: 6, TrueNegatives: 5, FalsePositives: 2, FalseNegatives: 1},
			Grounded: Confusion{TruePositives: 8, TrueNegatives: 5, FalsePositives: 1},
			Ungraded: map[Outcome]int{Timeout: 3, Failed: 1},
			Usage:    Usage{Calls: 20},
		}
		if diff := cmp.Diff(want, c); diff != "" {
			t.Error(diff)
		}
	}
}

func TestCalibrationEndsWithTheQuota(t *testing.T) {
	labels := concat(labelled(2, "CG", new(true), nil), labelled(1, "quota", new(true), nil), labelled(50, "CG", new(true), nil))
	j := &byAnswer{}
	c, err := Calibrate(t.Context(), j, labels, 1)
	if outcomeOf(err) != QuotaExceeded || c == nil || c.Usage.Calls != 3 || j.asked != 3 {
		t.Errorf("%v, %+v after %d calls", err, c, j.asked)
	}
}

func TestCalibrationEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, err := Calibrate(ctx, &byAnswer{}, labelled(3, "CG", new(true), nil), 2)
	if !errors.Is(err, context.Canceled) || len(c.Ungraded) != 0 {
		t.Errorf("%v, %+v", err, c)
	}
}

// A label whose verdict was interrupted is not one that the judge failed on.
func TestCalibrationInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	model := &scripted{reply: func(context.Context, int, Request) (*Response, error) {
		cancel()
		return &Response{Calls: 1, PromptTokens: 9}, &Error{Outcome: Failed, Message: "interrupted"}
	}}
	c, err := Calibrate(ctx, New(model, Options{}), labelled(3, "CG", new(true), nil), 1)
	if !errors.Is(err, context.Canceled) || len(c.Ungraded) != 0 || c.Usage.PromptTokens != 9 {
		t.Errorf("%v, %+v", err, c)
	}
}

func TestCalibrateLexical(t *testing.T) {
	set, err := ReadLabels(labelFiles["yaml"])
	if err != nil {
		t.Fatal(err)
	}
	c, err := Calibrate(t.Context(), NewLexical(), set.Labels, 2)
	if err != nil || c.Correct.Count() != 2 || c.Grounded.Count() != 2 || c.Usage != (Usage{}) {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestTrusted(t *testing.T) {
	high, textbook, few := Confusion{50, 48, 1, 1}, Confusion{20, 15, 10, 5}, Confusion{9, 4, 0, 0}
	for _, tt := range []struct {
		name              string
		correct, grounded Confusion
		min               float64
		want              Trust
		message           string
	}{
		{"both", high, high, 0.6, Trusted, "the judge agrees with people; correct: κ 0.96 is at least 0.60 (98 of 100 agree); grounded: κ 0.96 is at least 0.60 (98 of 100 agree)"},
		{"one short", high, textbook, 0.6, Untrusted, "the judge does not agree with people; correct: κ 0.96 is at least 0.60 (98 of 100 agree); grounded: κ 0.40 is below 0.60 (35 of 50 agree)"},
		{"the other short", textbook, high, 0.6, Untrusted, ""},
		{"at the bound", textbook, textbook, 0.4, Trusted, ""},
		{"just below", textbook, textbook, 0.4004, Untrusted, "κ 0.4000 is below 0.4004"},
		{"few", high, few, 0.6, TrustUnknown, "too few labels tell how far the judge agrees with people; correct: κ 0.96 is at least 0.60 (98 of 100 agree); grounded: κ is unknown, for people said true 9 times and false 4 times, and at least 5 of each are needed"},
		{"few, and one short", few, textbook, 0.6, Untrusted, ""},
		{"one short, and few", textbook, few, 0.6, Untrusted, ""},
		{"no labels of one question", high, Confusion{}, 0.6, TrustUnknown, ""},
		{"no bound", high, textbook, -1, Trusted, "grounded: κ 0.40 (35 of 50 agree)"},
		{"no bound, and few", few, few, -1, TrustUnknown, ""},
	} {
		c := &Calibration{Labels: 100, Correct: tt.correct, Grounded: tt.grounded}
		trust, message := c.Trusted(tt.min)
		if trust != tt.want || !strings.Contains(message, tt.message) {
			t.Errorf("%s: %s: %s", tt.name, trust, message)
		}
	}
	c := &Calibration{Labels: 110, Correct: high, Grounded: high, Ungraded: map[Outcome]int{Timeout: 8, Malformed: 2}}
	if _, message := c.Trusted(0.6); !strings.HasSuffix(message, "; no verdict on 10 of 110 labels (JudgeMalformed 2, JudgeTimeout 8)") {
		t.Error(message)
	}
}
