//go:build e2e

package e2e

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// brokenTag is that of an image whose pods never run.
const brokenTag = "broken"

// startKubelet says of every pod in the namespace that it runs and is ready, as a
// kubelet would, and runs nothing. It ends with the test.
func startKubelet(t *testing.T, namespace string) {
	t.Helper()
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace))
	run := func(object any) {
		pod := object.(*corev1.Pod)
		if pod.Status.Phase != corev1.PodPending || strings.HasSuffix(pod.Spec.Containers[0].Image, ":"+brokenTag) {
			return
		}
		pod = pod.DeepCopy()
		setRunning(pod)
		_, err := clients.CoreV1().Pods(namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		// Of a pod that was changed or deleted meanwhile there is another event.
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !errors.Is(err, context.Canceled) {
			t.Errorf("mark pod %s ready: %v", pod.Name, err)
		}
	}
	_, err = factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    run,
		UpdateFunc: func(_, object any) { run(object) },
	})
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	t.Cleanup(func() {
		stop()
		factory.Shutdown()
	})
}

// setRunning gives a pod the status of one whose containers are all ready. An
// image's digest follows from its name.
func setRunning(pod *corev1.Pod) {
	now := metav1.Now()
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &now
	pod.Status.Conditions, pod.Status.ContainerStatuses = nil, nil
	for _, condition := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name:    container.Name,
			Image:   container.Image,
			ImageID: fmt.Sprintf("%s@sha256:%x", container.Image, sha256.Sum256([]byte(container.Image))),
			Ready:   true,
			Started: ptr.To(true),
			State:   corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
}
