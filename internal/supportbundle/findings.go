package supportbundle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/version"
)

// examineSuite finds what keeps a suite from its work, and what it says.
func (c collector) examineSuite(s *unstructured.Unstructured) {
	if status, why := condition(s, v1alpha1.ConditionStalled); status == "True" {
		c.find(Problem, about(s), "Stalled: %s", why)
	} else if status, why := condition(s, v1alpha1.ConditionReady); status == "False" {
		c.find(Problem, about(s), "not Ready: %s", why)
	} else if status == "" {
		c.find(Problem, about(s), "it has no condition: no operator has looked at it")
	}
	switch status, why := condition(s, v1alpha1.ConditionPassing); status {
	case "False":
		c.find(Notice, about(s), "not Passing: %s", why)
	case "Unknown":
		c.find(Notice, about(s), "Passing is Unknown: %s", why)
	}
	if generation, ok, _ := unstructured.NestedInt64(s.Object, "status", "observedGeneration"); ok && generation < s.GetGeneration() {
		c.find(Problem, about(s), "generation %d is not looked at yet: the status is that of generation %d", s.GetGeneration(), generation)
	}
}

// examineRun finds what a run came to that says nothing of the retriever.
func (c collector) examineRun(run *unstructured.Unstructured, newest bool) {
	if !newest {
		return
	}
	verdict, _, _ := unstructured.NestedString(run.Object, "status", "verdict")
	reason, _, _ := unstructured.NestedString(run.Object, "status", "reason")
	message, _, _ := unstructured.NestedString(run.Object, "status", "message")
	switch v1alpha1.Verdict(verdict) {
	case v1alpha1.VerdictInconclusive, v1alpha1.VerdictError:
		c.find(Problem, about(run), "the newest run of its suite is %s: %s: %s", verdict, reason, message)
	case "":
		c.find(Notice, about(run), "it has not ended: %s %s", reason, message)
	}
}

// summary is for people.
func (b *Bundle) summary() string {
	var text strings.Builder
	fmt.Fprintf(&text, "Assay support bundle of %s\n\nclient    %s\ncluster   %s\noperator  %s\nsuites    %d\nruns      %d\n",
		b.options.Now.UTC().Format(time.RFC3339), version.String(), b.server, cmp.Or(strings.Join(b.operator, ", "), "not found"),
		b.count("evalsuites"), b.count("evalruns"))
	for _, severity := range []string{Problem, Notice} {
		found := slices.DeleteFunc(slices.Clone(b.findings), func(f Finding) bool { return f.Severity != severity })
		if len(found) == 0 {
			continue
		}
		fmt.Fprintf(&text, "\n%ss\n", severity)
		for _, f := range found {
			fmt.Fprintf(&text, "  %s: %s\n", f.About, f.Message)
		}
	}
	if len(b.findings) == 0 {
		text.WriteString("\nNothing stands out.\n")
	}
	if len(b.missing) > 0 {
		text.WriteString("\nNot collected\n")
		for _, m := range b.missing {
			fmt.Fprintf(&text, "  %s: %s\n", m.What, m.Reason)
		}
	}
	text.WriteString("\nSecrets are removed as far as they can be told: look through the files before you hand them on.\n")
	return text.String()
}

// count gives how many objects are in the folders of a kind.
func (b *Bundle) count(folder string) int {
	n := 0
	for name, objects := range b.objects {
		if strings.Contains(name, "/"+folder+"/") {
			n += len(objects)
		}
	}
	return n
}
