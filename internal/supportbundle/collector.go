package supportbundle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/assay-dev/assay/api/v1alpha1"
)

const (
	// askWithin bounds one request.
	askWithin = 30 * time.Second
	// pageSize and maxObjects bound a list.
	pageSize   = 500
	maxObjects = 5000
)

// collector fills a bundle.
type collector struct {
	*Bundle
	from Sources
}

// resource names what is collected of Kubernetes' own, as the API server has it.
func resource(group, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: name}
}

func assay(name string) schema.GroupVersionResource {
	return v1alpha1.GroupVersion.WithResource(name)
}

// list gives the objects of a namespace, or of all; what could not be listed is
// noted.
func (c collector) list(ctx context.Context, of schema.GroupVersionResource, namespace string, options metav1.ListOptions) ([]unstructured.Unstructured, bool) {
	what := of.Resource + " in all namespaces"
	if namespace != "" {
		what = of.Resource + " in namespace " + namespace
	}
	var all []unstructured.Unstructured
	options.Limit = pageSize
	for {
		page, err := c.page(ctx, of, namespace, options)
		if err != nil {
			c.miss(what, err)
			return all, false
		}
		all = append(all, page.Items...)
		options.Continue = page.GetContinue()
		switch {
		case options.Continue == "":
			return all, true
		case len(all) >= maxObjects:
			c.miss("more "+what, fmt.Errorf("there are more than %d", maxObjects))
			return all, true
		}
	}
}

func (c collector) page(ctx context.Context, of schema.GroupVersionResource, namespace string, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	return c.from.Objects.Resource(of).Namespace(namespace).List(ctx, options)
}

func (c collector) get(ctx context.Context, of schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	if namespace == "" {
		return c.from.Objects.Resource(of).Get(ctx, name, metav1.GetOptions{})
	}
	return c.from.Objects.Resource(of).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

// namespaces to look into; the empty name means all.
func (c collector) namespaces() []string {
	if len(c.options.Namespaces) == 0 {
		return []string{""}
	}
	return c.options.Namespaces
}

// crds keeps the versions of the CRDs, without their schemas.
func (c collector) crds(ctx context.Context) {
	for _, name := range []string{"evalsuites.assay.dev", "evalruns.assay.dev"} {
		crd, err := c.get(ctx, resource("apiextensions.k8s.io", "customresourcedefinitions"), "", name)
		if err != nil {
			c.miss("CustomResourceDefinition "+name, err)
			continue
		}
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		for _, v := range versions {
			if v, ok := v.(map[string]any); ok {
				delete(v, "schema")
				delete(v, "additionalPrinterColumns")
			}
		}
		_ = unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")
		c.put(file("cluster", "crds", name+".yaml"), crd)
		stored, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
		if !slices.Contains(stored, v1alpha1.GroupVersion.Version) {
			c.find(Problem, "CustomResourceDefinition "+name, "no object is stored as %s, which this client reads: it is of another release; stored are %q", v1alpha1.GroupVersion.Version, stored)
		}
		if status, _ := condition(crd, "Established"); status != "True" {
			c.find(Problem, "CustomResourceDefinition "+name, "it is not established: the API server does not serve it")
		}
	}
}

// suites keeps the EvalSuites, and gives them as they are.
func (c collector) suites(ctx context.Context) []unstructured.Unstructured {
	var suites []unstructured.Unstructured
	for _, namespace := range c.namespaces() {
		found, _ := c.list(ctx, assay("evalsuites"), namespace, metav1.ListOptions{})
		for i := range found {
			if s := &found[i]; c.options.Suite == "" || s.GetName() == c.options.Suite {
				c.put(file("namespaces", s.GetNamespace(), "evalsuites", s.GetName()+".yaml"), s)
				c.examineSuite(s)
				suites = append(suites, *s)
			}
		}
	}
	if c.options.Suite != "" && len(suites) == 0 {
		c.miss("EvalSuite "+c.options.Suite, errors.New("there is none of this name where it was looked for"))
	}
	return suites
}

// runs keeps the newest EvalRuns of each suite.
func (c collector) runs(ctx context.Context, suites []unstructured.Unstructured) {
	kept := map[types.NamespacedName]int{}
	for _, namespace := range c.namespaces() {
		found, _ := c.list(ctx, assay("evalruns"), namespace, metav1.ListOptions{})
		slices.SortStableFunc(found, func(a, b unstructured.Unstructured) int {
			return b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time)
		})
		for i := range found {
			run := &found[i]
			suite, _, _ := unstructured.NestedString(run.Object, "spec", "suiteRef", "name")
			if c.options.Suite != "" && suite != c.options.Suite {
				continue
			}
			of := types.NamespacedName{Namespace: run.GetNamespace(), Name: suite}
			if kept[of]++; kept[of] > c.options.Runs {
				continue
			}
			c.put(file("namespaces", run.GetNamespace(), "evalruns", run.GetName()+".yaml"), run)
			c.examineRun(run, kept[of] == 1)
		}
	}
	for i := range suites {
		s := &suites[i]
		if kept[types.NamespacedName{Namespace: s.GetNamespace(), Name: s.GetName()}] == 0 {
			c.find(Notice, about(s), "it has no run")
		}
	}
}

// maxEvents of a namespace, the newest.
const maxEvents = 500

// suiteEvents keeps the Events of suites and runs.
func (c collector) suiteEvents(ctx context.Context) {
	for _, namespace := range c.namespaces() {
		c.events(ctx, namespace, "namespaces", func(kind string) bool { return kind == "EvalSuite" || kind == "EvalRun" })
	}
}

// events keeps the Events of a namespace about some kinds of objects.
func (c collector) events(ctx context.Context, namespace, folder string, wanted func(kind string) bool) {
	found, _ := c.list(ctx, resource("", "events"), namespace, metav1.ListOptions{})
	slices.SortStableFunc(found, func(a, b unstructured.Unstructured) int { return -compareTimes(&a, &b) })
	kept := map[string]int{}
	for i := range found {
		event := &found[i]
		kind, _, _ := unstructured.NestedString(event.Object, "involvedObject", "kind")
		if !wanted(kind) {
			continue
		}
		if kept[event.GetNamespace()]++; kept[event.GetNamespace()] <= maxEvents {
			c.put(file(folder, event.GetNamespace(), "events.yaml"), event)
		}
	}
}

// compareTimes orders Events by when they were last seen.
func compareTimes(a, b *unstructured.Unstructured) int {
	return seen(a).Compare(seen(b))
}

func seen(event *unstructured.Unstructured) time.Time {
	for _, path := range [][]string{{"series", "lastObservedTime"}, {"lastTimestamp"}, {"eventTime"}} {
		text, _, _ := unstructured.NestedString(event.Object, path...)
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return at
		}
	}
	return event.GetCreationTimestamp().Time
}

// typed reads an object that the API server wrote.
func typed[T any](o *unstructured.Unstructured) (*T, bool) {
	var t T
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &t)
	return &t, err == nil
}

// condition gives a condition's status, and its reason with the message.
func condition(o *unstructured.Unstructured, kind string) (status, why string) {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, entry := range list {
		if c, ok := entry.(map[string]any); ok && c["type"] == kind {
			status, _ = c["status"].(string)
			reason, _ := c["reason"].(string)
			message, _ := c["message"].(string)
			return status, reason + ": " + message
		}
	}
	return "", ""
}

// about names an object in a finding.
func about(o metav1.Object) string {
	kind := "object"
	if k, ok := o.(interface{ GetKind() string }); ok {
		kind = k.GetKind()
	}
	if o.GetNamespace() == "" {
		return kind + " " + o.GetName()
	}
	return kind + " " + o.GetNamespace() + "/" + o.GetName()
}
