package compare

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"math"
	"testing"
)

//go:embed testdata/compare.json
var vectors []byte

func TestConformance(t *testing.T) {
	var rows []struct {
		Test          string
		Worse, Better int
		Deltas        []float64
		P             json.RawMessage
		Adjusted      []float64
	}
	d := json.NewDecoder(bytes.NewReader(vectors))
	d.DisallowUnknownFields()
	if err := d.Decode(&rows); err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for i, row := range rows {
		ran[row.Test]++
		var p []float64
		if err := json.Unmarshal(row.P, &p); err != nil {
			p = make([]float64, 1)
			if err := json.Unmarshal(row.P, &p[0]); err != nil {
				t.Fatal(err)
			}
		}
		var got, want []float64
		switch row.Test {
		case "mcnemar":
			got, want = []float64{McNemar(row.Worse, row.Better)}, p
		case "signflip":
			got, want = []float64{SignFlip(row.Deltas)}, p
		case "holm":
			got, want = Holm(p), row.Adjusted
		default:
			t.Fatalf("row %d: no test is called %q", i, row.Test)
		}
		if len(got) != len(want) {
			t.Fatalf("row %d: %v, want %v", i, got, want)
		}
		for j := range want {
			if math.Abs(got[j]-want[j]) > 0.5000001e-6 {
				t.Errorf("row %d (%s): %v, want %v", i, row.Test, got, want)
			}
		}
	}
	for test, least := range map[string]int{"mcnemar": 8, "signflip": 5, "holm": 3} {
		if ran[test] < least {
			t.Errorf("only %d rows of %s", ran[test], test)
		}
	}
}
