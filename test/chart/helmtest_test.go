package chart_test

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/assay-dev/assay/internal/cli"
	"github.com/assay-dev/assay/internal/samplerag"
)

// The suite of helm test passes against its own documents, asked as the chart's pod
// asks; against others it does not.
func TestSuiteOfHelmTest(t *testing.T) {
	data := into[corev1.ConfigMap](t, render(t, "").get(t, "ConfigMap assay-system/assay-test")).Data
	run := render(t, "").pods(t)["Pod assay-system/assay-test-retriever"].Spec.Containers[0].Args
	ask := func(t *testing.T, documents map[string]string) error {
		t.Helper()
		folder := t.TempDir()
		var names []string
		for name, text := range documents {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		index, err := samplerag.Build(t.Context(), names, samplerag.Options{Root: folder})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = index.Close() }()
		server := httptest.NewServer(index.Handler())
		defer server.Close()
		suite := strings.ReplaceAll(data["suite.yaml"], "http://assay-test.assay-system.svc:8090", server.URL)
		for name, text := range map[string]string{"suite.yaml": suite, "golden.yaml": data["golden.yaml"]} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		command := cli.NewRootCommand()
		var out bytes.Buffer
		command.SetOut(&out)
		command.SetErr(&out)
		var args []string
		for _, arg := range run {
			args = append(args, strings.ReplaceAll(arg, "/suite/", folder+"/"))
		}
		command.SetArgs(args)
		err = command.ExecuteContext(t.Context())
		t.Logf("assay %s\n%s", strings.Join(args, " "), out.String())
		return err
	}
	right := map[string]string{"assay.md": data["assay.md"], "canary.md": data["canary.md"]}
	if err := ask(t, right); err != nil {
		t.Errorf("the suite ends with %v", err)
	}
	swapped := map[string]string{"assay.md": data["canary.md"], "canary.md": data["assay.md"]}
	if err := ask(t, swapped); err == nil {
		t.Error("the suite passes on the wrong documents")
	}
}

// The suite that the cluster gets is the one that the first pod has asked.
func TestSuitesOfHelmTestAreEqual(t *testing.T) {
	for _, values := range []string{"", "namespaces: [rag]"} {
		all := render(t, values)
		inFile := decode(t, into[corev1.ConfigMap](t, all.get(t, "ConfigMap assay-system/assay-test")).Data["suite.yaml"])[0]
		for _, object := range all {
			if object.GetKind() == "EvalSuite" && asJSON(t, inFile.Object["spec"]) != asJSON(t, object.Object["spec"]) {
				t.Errorf("%s:\n%s\nis not that of the ConfigMap:\n%s", id(object), asJSON(t, object.Object["spec"]), asJSON(t, inFile.Object["spec"]))
			}
		}
	}
}

// The retriever is reached before the suite is there, and the suite is there
// before somebody waits for its verdict. All of it goes when the test has passed.
func TestOrderOfHelmTest(t *testing.T) {
	all := render(t, "")
	weight := func(name string) int {
		w, err := strconv.Atoi(all.get(t, name).GetAnnotations()["helm.sh/hook-weight"])
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	order := []int{
		weight("Deployment assay-system/assay-test"), weight("Pod assay-system/assay-test-retriever"),
		weight("EvalSuite assay-system/assay-test"), weight("Pod assay-system/assay-test-operator"),
	}
	if !slices.IsSorted(order) || len(slices.Compact(order)) != 4 {
		t.Errorf("weights %v", order)
	}
	hooks := 0
	for _, object := range all {
		if !isHook(object) {
			continue
		}
		hooks++
		if got := object.GetAnnotations()["helm.sh/hook"]; got != "test" {
			t.Errorf("%s is a hook of %s", id(object), got)
		}
		if got := object.GetAnnotations()["helm.sh/hook-delete-policy"]; got != "before-hook-creation,hook-succeeded" {
			t.Errorf("%s is deleted on %s", id(object), got)
		}
	}
	if hooks != 6 {
		t.Errorf("%d hooks", hooks)
	}

	// The Services lead to their own pods and to no others.
	pods := all.pods(t)
	for name, want := range map[string]string{"Service assay-system/assay-test": "Deployment assay-system/assay-test", metricsID: managerID, apiID: managerID} {
		selector := labels.SelectorFromSet(into[corev1.Service](t, all.get(t, name)).Spec.Selector)
		for pod, template := range pods {
			if got := selector.Matches(labels.Set(template.Labels)); got != (pod == want) {
				t.Errorf("%s leads to %s: %t", name, pod, got)
			}
		}
	}
	deployment := into[appsv1.Deployment](t, all.get(t, managerID))
	for pod, template := range pods {
		if pod != managerID && labels.SelectorFromSet(deployment.Spec.Selector.MatchLabels).Matches(labels.Set(template.Labels)) {
			t.Errorf("the operator's Deployment selects %s", pod)
		}
	}
}

// Every pod is as restricted as the operator's, helm test's too.
func TestPodsAreRestricted(t *testing.T) {
	for name, pod := range render(t, "").pods(t) {
		for _, c := range pod.Spec.Containers {
			s := c.SecurityContext
			if s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
				t.Errorf("%s can write to its root file system", name)
			}
			if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
				t.Errorf("%s has resources %+v", name, c.Resources)
			}
		}
		if token := pod.Spec.AutomountServiceAccountToken; pod.Spec.ServiceAccountName == "" && (token == nil || *token) {
			t.Errorf("%s has a token and no use for it", name)
		}
	}
}

// No two releases of one namespace share an object, CRDs aside.
func TestReleasesDoNotMeet(t *testing.T) {
	other, err := helm(t, "crds: {enabled: false}", "template", "second", chart, "--namespace", system, "--values", "-")
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]*unstructured.Unstructured{}
	for _, object := range render(t, "") {
		first[id(object)] = object
	}
	for _, object := range decode(t, other) {
		if first[id(object)] != nil {
			t.Errorf("both releases have %s", id(object))
		}
	}
}
