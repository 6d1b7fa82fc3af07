package telemetry

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/assay-dev/assay/internal/version"
)

// The reference says what a scrape of everything says: names, types, help texts
// and labels.
func TestReferenceIsWhatIsScraped(t *testing.T) {
	families, err := everySeries().Gather()
	if err != nil {
		t.Fatal(err)
	}
	var want []Series
	for _, family := range families {
		s := Series{Name: family.GetName(), Type: strings.ToLower(family.GetType().String()), Help: family.GetHelp()}
		for _, label := range family.GetMetric()[0].GetLabel() {
			s.Labels = append(s.Labels, label.GetName())
		}
		want = append(want, s)
	}

	got, err := Reference()
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(a, b Series) int { return strings.Compare(a.Name, b.Name) })
	for i := range got {
		slices.Sort(got[i].Labels)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the reference (-scraped +reference):\n%s", diff)
	}
}

func TestDescribe(t *testing.T) {
	desc := prometheus.NewDesc("assay_x", `Says "so", in {braces}, variableLabels: {none}.`, []string{"b", "a"}, nil)
	got, err := describe(desc, "gauge")
	if err != nil {
		t.Fatal(err)
	}
	want := Series{Name: "assay_x", Type: "gauge", Help: `Says "so", in {braces}, variableLabels: {none}.`, Labels: []string{"b", "a"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("describe (-want +got):\n%s", diff)
	}
	if _, err := typeOf(prometheus.NewSummaryVec(prometheus.SummaryOpts{Name: "x"}, nil)); err == nil {
		t.Error("a summary has no type here, and got one")
	}
}

func TestBuildInfo(t *testing.T) {
	info := version.Get()
	reg := prometheus.NewPedanticRegistry()
	NewMetrics(reg)
	want := `assay_build_info{commit="` + info.Commit + `",goversion="` + info.Go + `",version="` + info.Version + `"} 1` + "\n"
	if got := exposition(t, reg); !strings.Contains(got, want) {
		t.Errorf("lacks %q:\n%s", want, got)
	}
}
