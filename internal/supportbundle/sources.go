package supportbundle

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// logLines of a container that are asked for, at most.
const logLines = 20000

// Connect gives the sources of a cluster.
func Connect(cfg *rest.Config) (Sources, error) {
	cfg = rest.CopyConfig(cfg)
	// A bundle is many small requests of one person.
	cfg.QPS, cfg.Burst = 50, 100
	kube, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return Sources{}, fmt.Errorf("reach the cluster: %w", err)
	}
	objects, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return Sources{}, fmt.Errorf("reach the cluster: %w", err)
	}
	c := clusterSource{kube}
	return Sources{Kube: kube, Objects: objects, Logs: c, Proxy: c, Secrets: c.secret}, nil
}

// clusterSource reads what is no object.
type clusterSource struct{ kube kubernetes.Interface }

// Log reads a log through the API server.
func (c clusterSource) Log(ctx context.Context, namespace, pod, container string, previous bool) (io.ReadCloser, error) {
	return c.kube.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{
		Container: container, Previous: previous, Timestamps: true, TailLines: ptr.To(int64(logLines)),
	}).Stream(ctx)
}

// Get asks a pod or a service through the API server.
func (c clusterSource) Get(ctx context.Context, path, parameter string) ([]byte, error) {
	request := c.kube.CoreV1().RESTClient().Get().AbsPath(path)
	if parameter != "" {
		request = request.Param(parameter, "true")
	}
	return request.DoRaw(ctx)
}

// secret reads a Secret as the API server writes it.
func (c clusterSource) secret(ctx context.Context, namespace, name string) ([]byte, error) {
	return c.kube.CoreV1().RESTClient().Get().Namespace(namespace).Resource("secrets").Name(name).
		SetHeader("Accept", "application/json").DoRaw(ctx)
}
