package secrets

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/operator"
)

// A database that refuses is spoken of everywhere, its password nowhere.
func TestNoPasswordOfTheDatabaseShows(t *testing.T) {
	ns := newNamespace(t)
	b := &bench{t: t, vault: &vault{}, namespace: ns, urls: map[string]string{}}
	password := b.vault.word("the database's password")
	registry := prometheus.NewRegistry()
	stop := start(t, operator.Options{Namespaces: []string{ns}, Registry: registry, History: "postgres://assay:" + password.value + "@127.0.0.1:1/history?password=" + password.value})
	b.newSuite("docs-bot").Spec.Retriever.URL = "http://127.0.0.1:1/search"
	must(t, cluster.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "golden"}, Data: map[string]string{"golden.yaml": goldenSet}}))
	must(t, cluster.Create(t.Context(), b.suites[0].DeepCopy()))
	b.settled(t)
	told := dump(t, b, &eventsv1.EventList{})
	if !strings.Contains(told, "StoreFailed") {
		t.Errorf("nothing is said of the database that refuses:\n%s", told)
	}
	stop()
	s := b.vault.search()
	s.in(t, "the log", logs.String())
	s.in(t, "an Event", told)
	s.in(t, "a suite or a run", dump(t, b, &v1alpha1.EvalSuiteList{}, &v1alpha1.EvalRunList{}))
	s.in(t, "a metric", scrape(registry))
	requireKeys(t, ns)
}

// camelCase is how keys of log lines are written.
var camelCase = regexp.MustCompile(`^[a-z][a-zA-Z]*$`)

// requireKeys holds the log lines of a namespace to what people search them by.
func requireKeys(t *testing.T, namespace string) {
	t.Helper()
	var said []string
	for line := range strings.Lines(logs.String()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) != nil {
			t.Fatalf("a line is no JSON: %s", line)
		}
		if fields["namespace"] != namespace || fields["reconcileID"] == nil {
			continue
		}
		// What the libraries say of their own requests comes at more verbose levels.
		if level := fields["level"]; level != "info" && level != "error" && level != "debug" {
			continue
		}
		want := []string{"ts", "msg", "controller", "namespace", "suite"}
		if fields["controller"] == "evalrun" {
			want = append(want, "run")
			said = append(said, fmt.Sprint(fields["level"], ": ", fields["msg"]))
		}
		for _, key := range want {
			if fields[key] == nil {
				t.Errorf("a line has no %s: %s", key, line)
			}
		}
		for key := range fields {
			if !camelCase.MatchString(key) {
				t.Errorf("the key %q is not in camelCase: %s", key, line)
			}
		}
	}
	for _, want := range []string{"info: run started", "info: run ended", "error: the run is not whole in the history"} {
		if !slices.Contains(said, want) {
			t.Errorf("no line %q; there are %q", want, said)
		}
	}
}
