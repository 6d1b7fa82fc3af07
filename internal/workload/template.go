package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// containers gives every container of a template, initContainers first.
func containers(template *corev1.PodTemplateSpec) []corev1.Container {
	all := make([]corev1.Container, 0, len(template.Spec.InitContainers)+len(template.Spec.Containers))
	return append(append(all, template.Spec.InitContainers...), template.Spec.Containers...)
}

// Images gives the images of a template's containers as it has them, sorted.
func Images(template *corev1.PodTemplateSpec) []string {
	var images []string
	for _, c := range containers(template) {
		if c.Image != "" {
			images = append(images, c.Image)
		}
	}
	return sorted(images)
}

// ConfigMapRefs gives the names of the ConfigMaps that a template's volumes and
// environments name, sorted. Whether they have to exist does not matter.
func ConfigMapRefs(template *corev1.PodTemplateSpec) []string {
	var names []string
	add := func(name string) {
		if name != "" {
			names = append(names, name)
		}
	}
	for _, v := range template.Spec.Volumes {
		if v.ConfigMap != nil {
			add(v.ConfigMap.Name)
		}
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.ConfigMap != nil {
				add(s.ConfigMap.Name)
			}
		}
	}
	for _, c := range containers(template) {
		for _, from := range c.EnvFrom {
			if from.ConfigMapRef != nil {
				add(from.ConfigMapRef.Name)
			}
		}
		for _, e := range c.Env {
			if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil {
				add(e.ValueFrom.ConfigMapKeyRef.Name)
			}
		}
	}
	return sorted(names)
}

// equalBut compares two templates without the label that a controller adds.
func equalBut(label string, a, b *corev1.PodTemplateSpec) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	delete(a.Labels, label)
	delete(b.Labels, label)
	return equality.Semantic.DeepEqual(a, b)
}

// of gives a workload what its newest template names.
func of(template *corev1.PodTemplateSpec, p pods) Workload {
	return Workload{Images: Images(template), ConfigMaps: ConfigMapRefs(template), pods: p}
}
