package telemetry

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/assay-dev/assay/internal/judge"
)

var seriesName = regexp.MustCompile("`(assay_[a-z0-9_]+)`")

// docs/prometheus.md has every series, and no other.
func TestSeriesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/prometheus.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range seriesName.FindAllStringSubmatch(string(text), -1) {
		documented[m[1]] = true
	}
	families, err := everySeries().Gather()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, family := range families {
		known[family.GetName()] = true
		if !documented[family.GetName()] {
			t.Errorf("docs/prometheus.md does not have %s", family.GetName())
		}
	}
	for name := range documented {
		if !known[name] {
			t.Errorf("docs/prometheus.md has %s, which nothing exports", name)
		}
	}
}

// everySeries is a registry in which each series has a value.
func everySeries() *prometheus.Registry {
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(NewCollector(everything(), always))
	m := NewMetrics(reg)
	m.RunFinished("rag", "docs-bot", "Schedule", "Passed", time.Second, time.Second)
	m.ObserveRequest(StageJudge, OutcomeOK, 1)
	m.Judged("rag", "docs-bot", judge.Usage{Calls: 1})
	m.HistoryLost("rag", "docs-bot", 1)
	return reg
}
