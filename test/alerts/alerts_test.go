// Package alerts_test holds the shipped rules and the dashboard to what is
// written about them, and to the series that there are. That the alerts fire and
// resolve is in the files beside it, which hack/verify-monitoring.sh gives to
// promtool.
package alerts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const (
	root    = "../.."
	runbook = "https://github.com/assay-dev/assay/blob/main/docs/alerts.md#"
)

// rule is a recording rule or an alert.
type rule struct {
	Record        string            `json:"record"`
	Alert         string            `json:"alert"`
	Expr          string            `json:"expr"`
	For           string            `json:"for"`
	KeepFiringFor string            `json:"keep_firing_for"`
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations"`
}

// readRules reads the rules that are shipped. A field that Prometheus does not
// know fails the test.
func readRules(t *testing.T) (alerts, records []rule) {
	t.Helper()
	var file struct {
		Groups []struct {
			Name     string `json:"name"`
			Interval string `json:"interval"`
			Rules    []rule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict(read(t, "charts/assay/files/alerts.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		for _, r := range group.Rules {
			if r.Alert != "" {
				alerts = append(alerts, r)
			} else {
				records = append(records, r)
			}
		}
	}
	if len(alerts) == 0 {
		t.Fatal("there are no alerts")
	}
	return alerts, records
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

var (
	alertName = regexp.MustCompile(`^Assay[A-Z][A-Za-z]+$`)
	heading   = regexp.MustCompile(`(?m)^### (\S+)$`)
)

func TestEveryAlertSaysWhatItNeeds(t *testing.T) {
	alerts, _ := readRules(t)
	for _, a := range alerts {
		t.Run(a.Alert, func(t *testing.T) {
			if !alertName.MatchString(a.Alert) {
				t.Error("the name does not begin with Assay, or is no CamelCase")
			}
			if s := a.Labels["severity"]; s != "critical" && s != "warning" {
				t.Errorf("severity is %q, want critical or warning", s)
			}
			if got, want := a.Annotations["runbook_url"], runbook+strings.ToLower(a.Alert); got != want {
				t.Errorf("runbook_url is %q, want %q", got, want)
			}
			for _, name := range []string{"summary", "description"} {
				text := a.Annotations[name]
				if text == "" {
					t.Errorf("there is no %s", name)
				}
				if strings.Contains(a.Expr, "by (namespace, suite") && (!strings.Contains(text, "$labels.namespace") || !strings.Contains(text, "$labels.suite")) {
					t.Errorf("the %s does not name the suite: %s", name, text)
				}
			}
			if strings.Contains(a.Expr, "metric, tag") && !strings.Contains(a.Annotations["description"], "$labels.metric") {
				t.Error("the description does not name the metric")
			}
		})
	}
}

// docs/alerts.md has a heading for every alert, and no other.
func TestAlertsAreDocumented(t *testing.T) {
	alerts, _ := readRules(t)
	var want, got []string
	for _, a := range alerts {
		want = append(want, a.Alert)
	}
	page := string(read(t, "docs/alerts.md"))
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		got = append(got, m[1])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headings of docs/alerts.md (-rules +page):\n%s", diff)
	}
	for _, a := range alerts {
		_, section, _ := strings.Cut(page, "\n### "+a.Alert+"\n")
		section, _, _ = strings.Cut(section, "\n### ")
		if a.For != "" && !strings.Contains(section, spoken(a.For)) {
			t.Errorf("docs/alerts.md does not say of %s that it waits for %s", a.Alert, spoken(a.For))
		}
		if !strings.Contains(section, "**First**") {
			t.Errorf("docs/alerts.md does not say of %s what to do first", a.Alert)
		}
		if got := strings.Contains(page, "| `"+a.Alert+"` | "+a.Labels["severity"]+" |"); !got {
			t.Errorf("the table of docs/alerts.md does not have %s as %s", a.Alert, a.Labels["severity"])
		}
	}
}

// spoken is a duration as the page writes it.
func spoken(d string) string {
	return map[string]string{"5m": "five minutes", "10m": "ten minutes", "15m": "15 minutes", "30m": "30 minutes", "1h": "an hour"}[d]
}

// unitTests are a file of promtool's tests.
type unitTests struct {
	Tests []struct {
		Name  string `json:"name"`
		Rules []struct {
			Alert  string `json:"alertname"`
			Alerts []any  `json:"exp_alerts"`
		} `json:"alert_rule_test"`
	} `json:"tests"`
}

// Each alert has a test in which it fires and resolves, and one in which it does
// not fire though little is missing.
func TestEveryAlertHasItsTests(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	resolves, stays := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var tests unitTests
		if err := yaml.Unmarshal(data, &tests); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, test := range tests.Tests {
			fired, last := map[string]bool{}, map[string]int{}
			for _, r := range test.Rules {
				fired[r.Alert] = fired[r.Alert] || len(r.Alerts) > 0
				last[r.Alert] = len(r.Alerts)
			}
			for alert, n := range last {
				resolves[alert] = resolves[alert] || fired[alert] && n == 0
				stays[alert] = stays[alert] || !fired[alert]
			}
		}
	}
	alerts, _ := readRules(t)
	for _, a := range alerts {
		if !resolves[a.Alert] {
			t.Errorf("no test has %s fire and resolve", a.Alert)
		}
		if !stays[a.Alert] {
			t.Errorf("no test has %s not fire", a.Alert)
		}
		delete(resolves, a.Alert)
		delete(stays, a.Alert)
	}
	for alert := range stays {
		t.Errorf("a test is about %s, which there is not", alert)
	}
}

var (
	seriesName  = regexp.MustCompile(`\b(?:assay|leader_election|controller_runtime|process)_[a-z0-9_]+`)
	documented  = regexp.MustCompile("`(assay_[a-z0-9_]+)`")
	ofHistogram = regexp.MustCompile(`_(bucket|count|sum)$`)
)

// ofOthers are the series that controller-runtime and client_golang export.
var ofOthers = []string{
	"leader_election_master_status", "controller_runtime_reconcile_errors_total", "process_resident_memory_bytes", "process_cpu_seconds_total",
}

// checkSeries checks that an expression asks for series that there are. What
// docs/prometheus.md has is held to what is exported elsewhere.
func checkSeries(t *testing.T, expr string) {
	t.Helper()
	var known []string
	for _, m := range documented.FindAllStringSubmatch(string(read(t, "docs/prometheus.md")), -1) {
		known = append(known, m[1])
	}
	_, records := readRules(t)
	for _, r := range records {
		// The expression has the recorded name's parts, of which one is the series.
		expr = strings.ReplaceAll(expr, r.Record, "")
	}
	for _, name := range seriesName.FindAllString(expr, -1) {
		if !slices.Contains(known, name) && !slices.Contains(known, ofHistogram.ReplaceAllString(name, "")) && !slices.Contains(ofOthers, name) {
			t.Errorf("nothing exports %s, which %s asks for", name, expr)
		}
	}
}

func TestRulesAskForWhatThereIs(t *testing.T) {
	alerts, records := readRules(t)
	for _, r := range append(alerts, records...) {
		checkSeries(t, r.Expr)
		for _, text := range r.Annotations {
			checkSeries(t, text)
		}
	}
	for _, r := range records {
		if !slices.ContainsFunc(alerts, func(a rule) bool { return strings.Contains(a.Expr, r.Record) }) {
			t.Errorf("nothing asks for %s, which is recorded", r.Record)
		}
	}
}
