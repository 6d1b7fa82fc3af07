package supportbundle

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// right is what the operator must be allowed to.
type right struct {
	group, resource, subresource string
	verbs                        []string
}

// rights that the operator needs where suites are: those of config/rbac.
var rights = []right{
	{"assay.dev", "evalsuites", "", []string{"get", "list", "watch"}},
	{"assay.dev", "evalruns", "", []string{"get", "list", "watch", "create", "update", "patch", "delete"}},
	{"assay.dev", "evalsuites", "status", []string{"update", "patch"}},
	{"assay.dev", "evalruns", "status", []string{"update", "patch"}},
	{"assay.dev", "evalsuites", "finalizers", []string{"update"}},
	{"", "configmaps", "", []string{"get", "list", "watch"}},
	{"", "secrets", "", []string{"get"}},
	{"apps", "deployments", "", []string{"get", "list", "watch"}},
	{"apps", "statefulsets", "", []string{"get", "list", "watch"}},
	{"apps", "daemonsets", "", []string{"get", "list", "watch"}},
	{"apps", "replicasets", "", []string{"get", "list"}},
	{"apps", "controllerrevisions", "", []string{"get", "list"}},
	{"argoproj.io", "rollouts", "", []string{"get", "list", "watch"}},
	{"", "pods", "", []string{"list"}},
	{"events.k8s.io", "events", "", []string{"create", "patch"}},
}

// maxChecked is how many namespaces the rights are checked in.
const maxChecked = 10

// access asks what the operator's ServiceAccount may do in the namespaces with
// suites.
func (c collector) access(ctx context.Context, o *unstructured.Unstructured, suites []unstructured.Unstructured) {
	d, ok := typed[appsv1.Deployment](o)
	if !ok {
		return
	}
	account := cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default")
	user := "system:serviceaccount:" + d.Namespace + ":" + account
	var namespaces []string
	for i := range suites {
		namespaces = append(namespaces, suites[i].GetNamespace())
	}
	slices.Sort(namespaces)
	namespaces = slices.Compact(namespaces)
	if len(namespaces) > maxChecked {
		c.miss("rights of "+user+" in all namespaces with suites", fmt.Errorf("there are %d, and %d are checked", len(namespaces), maxChecked))
		namespaces = namespaces[:maxChecked]
	}
	var text strings.Builder
	fmt.Fprintf(&text, "What %s may do, as the API server answers.\n", user)
	for _, namespace := range namespaces {
		fmt.Fprintf(&text, "\nnamespace %s\n", namespace)
		for _, r := range rights {
			for _, verb := range r.verbs {
				allowed, err := c.allowed(ctx, user, d.Namespace, namespace, r, verb)
				if err != nil {
					c.miss("rights of "+user, err)
					return
				}
				answer := "yes"
				if !allowed {
					answer = "NO "
					c.find(Problem, "ServiceAccount "+d.Namespace+"/"+account, "it may not %s %s in namespace %s: the operator needs that", verb, r, namespace)
				}
				fmt.Fprintf(&text, "  %s  %-6s  %s\n", answer, verb, r)
			}
		}
	}
	if len(namespaces) > 0 {
		c.text[file("operator", d.Namespace, "rights.txt")] = text.String()
	}
}

// String names the resource as kubectl auth can-i does.
func (r right) String() string {
	name := r.resource
	if r.group != "" {
		name += "." + r.group
	}
	if r.subresource != "" {
		name += "/" + r.subresource
	}
	return name
}

func (c collector) allowed(ctx context.Context, user, own, namespace string, r right, verb string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	review, err := c.from.Kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:   user,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + own, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: r.group, Resource: r.resource, Subresource: r.subresource,
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask whether it may %s %s: %w", verb, r, err)
	}
	return review.Status.Allowed, nil
}
