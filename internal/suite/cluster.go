package suite

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// InCluster reads what a suite names from the API server. The reader should be
// one past the cache: the operator caches no ConfigMap's content and lists no
// Secret.
func InCluster(reader client.Reader, namespace string) Source {
	return cluster{reader, namespace}
}

type cluster struct {
	reader    client.Reader
	namespace string
}

func (s cluster) ConfigMap(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	cm := &corev1.ConfigMap{}
	return cm, s.reader.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: name}, cm)
}

func (s cluster) ConfigMaps(ctx context.Context, selector labels.Selector) ([]corev1.ConfigMap, error) {
	list := &corev1.ConfigMapList{}
	if err := s.reader.List(ctx, list, client.InNamespace(s.namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b corev1.ConfigMap) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, nil
}

func (s cluster) Secret(ctx context.Context, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, s.reader.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: name}, secret)
}
