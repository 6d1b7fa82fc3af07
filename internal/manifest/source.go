package manifest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Source gives the ConfigMaps and Secrets of one namespace. It is for one
// goroutine.
type Source struct {
	namespace string
	manifests *Manifests
	missing   []string
}

// Missing says of every object that was asked for in vain how to give it.
func (s *Source) Missing() []string { return s.missing }

// Source gives the objects that a suite of the namespace can refer to.
// Documents that give no namespace belong to every one; those of the very
// namespace go first.
func (m *Manifests) Source(namespace string) *Source {
	return &Source{namespace: namespace, manifests: m}
}

// ConfigMap gives the ConfigMap of that name; its error is NotFound.
func (s *Source) ConfigMap(_ context.Context, name string) (*corev1.ConfigMap, error) {
	return find(s, "ConfigMap", name, s.manifests.configMaps, func(cm *corev1.ConfigMap) *metav1.ObjectMeta { return &cm.ObjectMeta })
}

// Secret gives the Secret of that name; its error is NotFound.
func (s *Source) Secret(_ context.Context, name string) (*corev1.Secret, error) {
	return find(s, "Secret", name, s.manifests.secrets, func(secret *corev1.Secret) *metav1.ObjectMeta { return &secret.ObjectMeta })
}

// ConfigMaps gives the ConfigMaps whose labels match, sorted by name.
func (s *Source) ConfigMaps(ctx context.Context, selector labels.Selector) ([]corev1.ConfigMap, error) {
	byName := map[string]bool{}
	var found []corev1.ConfigMap
	for _, cm := range s.manifests.configMaps {
		if byName[cm.Name] || cm.Namespace != "" && cm.Namespace != s.namespace {
			continue
		}
		byName[cm.Name] = true
		chosen, err := s.ConfigMap(ctx, cm.Name)
		if err != nil {
			return nil, err
		}
		if selector.Matches(labels.Set(chosen.Labels)) {
			found = append(found, *chosen)
		}
	}
	slices.SortFunc(found, func(a, b corev1.ConfigMap) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// find gives a copy of the object of the name, in the namespace.
func find[T any](s *Source, kind, name string, objects []T, meta func(*T) *metav1.ObjectMeta) (*T, error) {
	var anywhere *T
	var elsewhere []string
	for i := range objects {
		m := meta(&objects[i])
		switch {
		case m.Name != name:
		case m.Namespace == s.namespace:
			found := objects[i]
			return &found, nil
		case m.Namespace == "":
			anywhere = &objects[i]
		default:
			elsewhere = append(elsewhere, m.Namespace)
		}
	}
	if anywhere != nil {
		found := *anywhere
		meta(&found).Namespace = s.namespace
		return &found, nil
	}
	message := fmt.Sprintf("%s %q is not in the files: add its manifest with -f", kind, name)
	if len(elsewhere) > 0 {
		slices.Sort(elsewhere)
		message = fmt.Sprintf("%s %q stands in the files for namespace %s only, and the suite is in namespace %s: change metadata.namespace of one of the two",
			kind, name, strings.Join(elsewhere, ", "), s.namespace)
	}
	if !slices.Contains(s.missing, message) {
		s.missing = append(s.missing, message)
	}
	notFound := apierrors.NewNotFound(corev1.Resource(strings.ToLower(kind)+"s"), name)
	notFound.ErrStatus.Message = message
	return nil, notFound
}
