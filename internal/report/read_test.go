package report

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/eval"
)

func TestReadGivesWhatWasWritten(t *testing.T) {
	all := cases()
	all[0].Answer, all[0].AnswerLatency = &eval.AnswerResult{Text: "그렇습니다", Contexts: []string{"a"}}, 5
	want := Build(meta(), result(failing...), all)
	got, err := Read(render(t, func(w io.Writer) error { return WriteJSON(w, want) }))
	if err != nil {
		t.Fatal(err)
	}
	want.worst = nil
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Document{})); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	if got.Total != 5 || got.Side().Total != 5 {
		t.Errorf("of 5 cases, of which 4 ended, it reads %d", got.Total)
	}
}

// TestReadTakesWhatOlderVersionsWrote: they had no total.
func TestReadTakesWhatOlderVersionsWrote(t *testing.T) {
	d, err := Read([]byte(`{"run": {"suite": "s"}, "settings": {"evaluationDigest": "e"}, "cases": [{"id": "a"}, {"id": "b"}], "colour": "blue"}`))
	if err != nil || d.Total != 2 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, word := range map[string]string{
		"":             "no JSON",
		"{":            "no JSON",
		"[]":           "no run document",
		"{}":           "run.suite",
		`{"cases": 5}`: "cases is a number",
		`{"run": {"suite": "s"}, "settings": {"evaluationDigest": "e"}} {}`: "more behind",
		"\xff\xfe": "no JSON",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %v, want %q", text, err, word)
		}
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := WriteJSON(&b, Build(meta(), result(failing...), cases())); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"run": {"suite": "s"}, "settings": {"evaluationDigest": "e", "judge": null}, "total": -1, "cases": [{"retrieved": null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Read(data)
		if err != nil {
			return
		}
		side := d.Side()
		if len(side.Cases) != len(d.Cases) || side.Total < len(d.Cases) {
			t.Errorf("%d cases of %d, from %d", len(side.Cases), side.Total, len(d.Cases))
		}
		if err := WriteJSON(io.Discard, d); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}

// TestMetricsSayHowTheyStandAgainstTheBaseline: as the status does.
func TestMetricsSayHowTheyStandAgainstTheBaseline(t *testing.T) {
	r := result()
	name := r.Summary.Means[0].Name
	r.Comparison = &compare.Comparison{Deltas: []compare.Delta{
		{Metric: name, Base: 1, Head: 0.5, Delta: -0.5, Low: ptr.To(-0.9), High: ptr.To(0.1), P: ptr.To(0.25), Corrected: ptr.To(0.5), SmallestDrop: ptr.To(0.4)},
		{Metric: name, Tag: "nobody", Delta: 1},
	}}
	r.ReferenceComparison = &compare.Comparison{Deltas: []compare.Delta{{Metric: name, Delta: -0.125}}}
	d := Build(meta(), r, nil)
	want := d.Metrics[0]
	want.Baseline, want.Delta, want.DeltaLow, want.DeltaHigh = ptr.To(1.0), ptr.To(-0.5), ptr.To(-0.9), ptr.To(0.1)
	want.PValue, want.SmallestDrop, want.ReferenceDelta = ptr.To(0.5), ptr.To(0.4), ptr.To(-0.125)
	if diff := cmp.Diff(want, d.Metrics[0]); diff != "" || math.IsNaN(want.Value) {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, m := range d.Metrics[1:] {
		if m.Baseline != nil || m.Delta != nil || m.ReferenceDelta != nil {
			t.Errorf("%s %q is compared with nothing, and says %+v", m.Name, m.Tag, m)
		}
	}
}
