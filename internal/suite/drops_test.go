package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assay-dev/assay/internal/golden"
)

func TestFineDrops(t *testing.T) {
	// Twelve cases: eight with evidence, of which five have a reference and two carry
	// the tag; two that are answerable without evidence; two without an answer, of
	// which one has a reference all the same.
	var b strings.Builder
	for i := range 12 {
		fmt.Fprintf(&b, "- id: q%d\n  question: what is %d\n", i, i)
		if i < 8 {
			fmt.Fprintf(&b, "  relevant: d%d\n", i)
		}
		if i < 5 || i == 10 {
			b.WriteString("  reference_answer: it is so\n")
		}
		if i < 2 {
			b.WriteString("  tags: [howto]\n")
		}
		if i >= 10 {
			b.WriteString("  answerable: false\n")
		}
	}
	set, err := golden.Read(golden.File{Name: "golden.yaml", Data: []byte(b.String())})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"no bound on a drop":  {`objectives: [{metric: hit_rate@5, min: "0.9"}]`, nil},
		"as much as a case":   {`objectives: [{metric: hit_rate@5, maxDrop: "0.125"}]`, nil},
		"less than a case":    {`objectives: [{metric: hit_rate@5, maxDrop: "0.12"}]`, []string{"maxDrop 0.12 of hit_rate@5 is less than what one of its 8 cases weighs (0.1250)"}},
		"of a tag":            {`objectives: [{metric: hit_rate@5, tag: howto, maxDrop: "0.125"}]`, []string{"hit_rate@5 of tag howto is less than what one of its 2 cases"}},
		"no 0/1 metric":       {`objectives: [{metric: mrr, maxDrop: "0.001"}]`, nil},
		"failures are of all": {`objectives: [{metric: error_rate, maxDrop: "0.08"}]`, []string{"one of its 12 cases weighs (0.0833)"}},
		"judged": {`{answer: {url: "http://bot/answer"}, judge: {provider: Lexical}, objectives: [{metric: accuracy, maxDrop: "0.19"}, {metric: hallucination_rate, maxDrop: "0.08"},
			{metric: abstention_accuracy, maxDrop: "0.4"}, {metric: abstention_rate, maxDrop: "0.09"}, {metric: abstention_rate, tag: howto, maxDrop: "0.5"}]}`,
			[]string{"accuracy is less than what one of its 5 cases", "hallucination_rate is less than what one of its 12 cases", "abstention_accuracy is less than what one of its 2 cases", "abstention_rate is less than what one of its 10 cases"}},
		"compared with none": {`{objectives: [{metric: hit_rate@5, maxDrop: "0.01"}], baseline: {policy: None}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := FineDrops(suiteOf(t, tc.spec), set)
			if len(got) != len(tc.want) {
				t.Fatalf("%q, want %q", got, tc.want)
			}
			for i := range got {
				if !strings.Contains(got[i], tc.want[i]) {
					t.Errorf("%q, want %q", got[i], tc.want[i])
				}
			}
		})
	}
}
