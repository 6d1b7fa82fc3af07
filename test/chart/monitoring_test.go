package chart_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// What is made for the Prometheus operator is what its own types can hold.
func TestMonitorsAreThePrometheusOperators(t *testing.T) {
	for _, row := range rows {
		all := render(t, row.values)
		for _, object := range all {
			switch object.GetKind() {
			case "ServiceMonitor":
				monitor := into[monitoringv1.ServiceMonitor](t, object)
				wantOne(t, all, "Service", monitor.Spec.Selector, metricsID)
				service := into[corev1.Service](t, all.get(t, metricsID))
				if got, want := monitor.Spec.Endpoints[0].Port, service.Spec.Ports[0].Name; got != want {
					t.Errorf("%s: the port is %s, want %s", row.name, got, want)
				}
			case "PodMonitor":
				monitor := into[monitoringv1.PodMonitor](t, object)
				selector, err := metav1.LabelSelectorAsSelector(&monitor.Spec.Selector)
				if err != nil {
					t.Fatal(err)
				}
				for name, pod := range all.pods(t) {
					if got, want := selector.Matches(labels.Set(pod.Labels)), name == managerID; got != want {
						t.Errorf("%s: %s is selected: %t", row.name, name, got)
					}
				}
			}
		}
	}
}

// wantOne checks that a selector finds one object of a kind.
func wantOne(t *testing.T, all objects, kind string, by metav1.LabelSelector, want string) {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(&by)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, object := range all {
		if object.GetKind() == kind && selector.Matches(labels.Set(object.GetLabels())) {
			found = append(found, id(object))
		}
	}
	if diff := cmp.Diff([]string{want}, found); diff != "" {
		t.Errorf("%v selects (-want +got):\n%s", by, diff)
	}
}

// The PrometheusRule is the chart's file of alerts, and no brace of an alert's
// text was taken for a template's.
func TestRules(t *testing.T) {
	data, err := os.ReadFile(chart + "/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := yaml.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	object := render(t, "metrics: {rules: {enabled: true}}").get(t, rulesID)
	if len(into[monitoringv1.PrometheusRule](t, object).Spec.Groups) == 0 {
		t.Error("there is no group of rules")
	}
	if diff := cmp.Diff(asJSON(t, want), asJSON(t, object.Object["spec"])); diff != "" {
		t.Errorf("the rules are not those of files/alerts.yaml (-file +rendered):\n%s", diff)
	}
}

// The dashboard is the chart's file, byte for byte.
func TestDashboard(t *testing.T) {
	want, err := os.ReadFile(chart + "/files/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	object := render(t, "metrics: {dashboard: {enabled: true}}").get(t, dashboardID)
	got, _, err := unstructured.NestedString(object.Object, "data", "assay.json")
	if err != nil || !json.Valid([]byte(got)) || !bytes.Equal(bytes.TrimSpace(want), bytes.TrimSpace([]byte(got))) {
		t.Errorf("assay.json is not files/dashboard.json: %v", err)
	}
	if object.GetLabels()["grafana_dashboard"] != "1" {
		t.Errorf("Grafana's sidecar does not find it by its labels %v", object.GetLabels())
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	data, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
