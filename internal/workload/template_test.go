package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func named(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }

func TestConfigMapRefs(t *testing.T) {
	env := func(cm string) corev1.EnvVar {
		return corev1.EnvVar{Name: "X", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: named(cm), Key: "k"}}}
	}
	for name, test := range map[string]struct {
		spec corev1.PodSpec
		want []string
	}{
		"none": {corev1.PodSpec{Containers: []corev1.Container{{Image: "app"}}}, nil},
		"a volume": {corev1.PodSpec{Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named("prompt")}}},
			{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		}}, []string{"prompt"}},
		"a projected volume": {corev1.PodSpec{Volumes: []corev1.Volume{{}, {VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("b")}},
			{Secret: &corev1.SecretProjection{LocalObjectReference: named("secret")}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("a")}},
		}}}}}}, []string{"a", "b"}},
		"envFrom": {corev1.PodSpec{Containers: []corev1.Container{{EnvFrom: []corev1.EnvFromSource{
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: named("env")}},
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named("secret")}},
		}}}}, []string{"env"}},
		"env": {corev1.PodSpec{Containers: []corev1.Container{{Env: []corev1.EnvVar{
			{Name: "PLAIN", Value: "x"},
			{Name: "SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named("secret"), Key: "k"}}},
			env("flags"),
		}}}}, []string{"flags"}},
		"initContainers": {corev1.PodSpec{InitContainers: []corev1.Container{
			{EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: named("init-env")}}}},
			{Env: []corev1.EnvVar{env("init")}},
		}}, []string{"init", "init-env"}},
		"each once": {corev1.PodSpec{
			Volumes:    []corev1.Volume{{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named("z")}}}},
			Containers: []corev1.Container{{Env: []corev1.EnvVar{env("z"), env("y")}}, {Env: []corev1.EnvVar{env("z")}}},
		}, []string{"y", "z"}},
		"without a name": {corev1.PodSpec{Containers: []corev1.Container{{Env: []corev1.EnvVar{env("")}}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, ConfigMapRefs(&corev1.PodTemplateSpec{Spec: test.spec})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestImages(t *testing.T) {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Image: "migrate:1"}, {Image: "app@sha256:aa"}},
		Containers:     []corev1.Container{{Image: "app@sha256:aa"}, {Image: "proxy:2"}, {}},
	}}
	if diff := cmp.Diff([]string{"app@sha256:aa", "migrate:1", "proxy:2"}, Images(template)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Images(&corev1.PodTemplateSpec{}); got != nil {
		t.Errorf("an empty template has %v", got)
	}
}
