package supportbundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/internal/version"
)

const (
	// ofOperator picks the objects of an operator, by chart or kustomize.
	ofOperator = "app.kubernetes.io/component=controller-manager"
	partOf     = "app.kubernetes.io/part-of"
	nameLabel  = "app.kubernetes.io/name"
	// usualNamespace is where it is looked for by those who may not look everywhere.
	usualNamespace = "assay-system"
	lease          = "operator.assay.dev"
	// defaultProbePort is where the operator serves /healthz and /readyz.
	defaultProbePort = 8081
)

// operators keeps what runs Assay: Deployments down to logs.
func (c collector) operators(ctx context.Context, suites []unstructured.Unstructured) {
	deployments := c.deployments(ctx)
	if len(deployments) == 0 {
		c.find(Problem, "operator", "no Deployment of the operator was found (label %s); where it is installed in another way, give --operator-namespace", ofOperator)
	}
	for i := range deployments {
		d := &deployments[i]
		namespace := d.GetNamespace()
		c.put(file("operator", namespace, "deployments.yaml"), d)
		c.examineDeployment(d)
		if slices.Contains(c.operator, namespace) {
			continue
		}
		c.operator = append(c.operator, namespace)
		c.operatorNamespace(ctx, namespace)
		c.access(ctx, d, suites)
	}
	if len(c.operator) > 1 {
		c.find(Notice, "operator", "there are operators in several namespaces: %s; each must have namespaces of its own (--namespaces)", strings.Join(c.operator, ", "))
	}
}

// deployments finds the operator: everywhere, or where this user may look.
func (c collector) deployments(ctx context.Context) []unstructured.Unstructured {
	of := resource("apps", "deployments")
	options := metav1.ListOptions{LabelSelector: ofOperator}
	var found []unstructured.Unstructured
	if namespace := c.options.OperatorNamespace; namespace != "" {
		found, _ = c.list(ctx, of, namespace, options)
	} else {
		var ok bool
		if found, ok = c.list(ctx, of, "", options); !ok {
			for _, namespace := range append([]string{usualNamespace}, c.options.Namespaces...) {
				more, _ := c.list(ctx, of, namespace, options)
				found = append(found, more...)
			}
		}
	}
	return slices.DeleteFunc(found, func(d unstructured.Unstructured) bool {
		labels := d.GetLabels()
		return labels[partOf] != "assay" && labels[nameLabel] != "assay"
	})
}

// operatorNamespace keeps what stands around the operator's Deployment.
func (c collector) operatorNamespace(ctx context.Context, namespace string) {
	options := metav1.ListOptions{LabelSelector: ofOperator}
	for _, of := range []struct{ group, resource string }{{"apps", "replicasets"}, {"", "pods"}} {
		found, _ := c.list(ctx, resource(of.group, of.resource), namespace, options)
		for i := range found {
			c.put(file("operator", namespace, of.resource+".yaml"), &found[i])
			if of.resource == "pods" {
				c.pod(ctx, &found[i])
			}
		}
	}
	c.lease(ctx, namespace)
	c.events(ctx, namespace, "operator", func(kind string) bool {
		return slices.Contains([]string{"Deployment", "ReplicaSet", "Pod", "Lease", "PersistentVolumeClaim"}, kind)
	})
	c.metrics(ctx, namespace)
}

func (c collector) examineDeployment(o *unstructured.Unstructured) {
	d, ok := typed[appsv1.Deployment](o)
	if !ok {
		return
	}
	if wanted := ptr.Deref(d.Spec.Replicas, 1); d.Status.AvailableReplicas < wanted {
		_, why := condition(o, "Available")
		c.find(Problem, about(o), "%d of %d replicas are available; %s", d.Status.AvailableReplicas, wanted, cmp.Or(why, "no controller has said why"))
	}
	for _, container := range d.Spec.Template.Spec.Containers {
		if tag := imageTag(container.Image); tag != "" && tag != version.Version && version.Version != "dev" {
			c.find(Notice, about(o), "the image %s is of another version than this client, %s", container.Image, version.Version)
		}
	}
}

// imageTag gives the tag of an image, if it has one.
func imageTag(image string) string {
	name, _, _ := strings.Cut(image, "@")
	_, tag, found := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	if !found {
		return ""
	}
	return tag
}

// pod keeps a pod's logs and what its probes say.
func (c collector) pod(ctx context.Context, o *unstructured.Unstructured) {
	pod, ok := typed[corev1.Pod](o)
	if !ok {
		return
	}
	for _, s := range pod.Status.ContainerStatuses {
		last := s.LastTerminationState.Terminated
		switch {
		case s.State.Waiting != nil:
			c.find(Problem, about(o), "the container %s waits: %s: %s", s.Name, s.State.Waiting.Reason, s.State.Waiting.Message)
		case !s.Ready:
			c.find(Problem, about(o), "the container %s is not ready", s.Name)
		}
		if last != nil {
			c.find(Notice, about(o), "the container %s was started again %d times, after it ended at %s: %s, exit code %d", s.Name, s.RestartCount, last.FinishedAt.UTC().Format(time.RFC3339), last.Reason, last.ExitCode)
		}
	}
	for _, container := range pod.Spec.Containers {
		name := file("operator", pod.Namespace, "logs", pod.Name, container.Name+".log")
		c.log(ctx, pod, container.Name, false, name)
		if restarted(pod, container.Name) {
			c.log(ctx, pod, container.Name, true, file("operator", pod.Namespace, "logs", pod.Name, container.Name+".previous.log"))
		}
	}
	port := probePort(pod)
	for _, path := range []string{"healthz", "readyz"} {
		at := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:%d/proxy/%s", pod.Namespace, pod.Name, port, path)
		reply, err := c.ask(ctx, at, "verbose")
		if err != nil {
			c.miss(path+" of pod "+pod.Namespace+"/"+pod.Name, err)
			continue
		}
		c.text[file("operator", pod.Namespace, "probes", pod.Name+"."+path+".txt")] = scrub(string(reply))
	}
}

func restarted(pod *corev1.Pod, container string) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == container && s.RestartCount > 0 })
}

func probePort(pod *corev1.Pod) int32 {
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.Name == "probes" {
				return port.ContainerPort
			}
		}
	}
	return defaultProbePort
}

// log keeps the end of a log.
func (c collector) log(ctx context.Context, pod *corev1.Pod, container string, previous bool, name string) {
	what := "log of container " + container + " of pod " + pod.Namespace + "/" + pod.Name
	if previous {
		what = "previous " + what
	}
	ctx, cancel := context.WithTimeout(ctx, 2*askWithin)
	defer cancel()
	from, err := c.from.Logs.Log(ctx, pod.Namespace, pod.Name, container, previous)
	if err != nil {
		c.miss(what, err)
		return
	}
	defer func() { _ = from.Close() }()
	text, err := tail(from, c.options.LogBytes)
	if err != nil {
		c.miss("the rest of the "+what, err)
	}
	lines := strings.SplitAfter(text, "\n")
	for i := range lines {
		for _, credential := range credentialsOf(lines[i]) {
			if len(credential) >= minSecret && !plainWord.MatchString(credential) {
				c.secret(credential)
			}
		}
		lines[i] = scrub(lines[i])
	}
	c.text[name] = strings.Join(lines, "")
}

// tail reads all and keeps the last bytes, from the beginning of a line.
func tail(from io.Reader, most int) (string, error) {
	var kept []byte
	buffer := make([]byte, 64<<10)
	cut := false
	for {
		n, err := from.Read(buffer)
		kept = append(kept, buffer[:n]...)
		if len(kept) > 2*most {
			kept, cut = append(kept[:0], kept[len(kept)-most:]...), true
		}
		if err == nil {
			continue
		}
		if len(kept) > most {
			kept, cut = kept[len(kept)-most:], true
		}
		text := string(kept)
		if cut {
			// Half a line may be half a secret.
			_, text, _ = strings.Cut(text, "\n")
			text = "[the beginning was cut]\n" + text
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return text, err
	}
}

// lease keeps who leads.
func (c collector) lease(ctx context.Context, namespace string) {
	o, err := c.get(ctx, resource("coordination.k8s.io", "leases"), namespace, lease)
	if err != nil {
		c.miss("Lease "+namespace+"/"+lease, err)
		return
	}
	c.put(file("operator", namespace, "lease.yaml"), o)
	l, ok := typed[coordinationv1.Lease](o)
	if !ok {
		return
	}
	holder := ptr.Deref(l.Spec.HolderIdentity, "")
	switch {
	case holder == "":
		c.find(Problem, about(o), "nobody holds it: no operator runs what is due")
	case l.Spec.RenewTime != nil && c.options.Now.Sub(l.Spec.RenewTime.Time) > 4*time.Duration(ptr.Deref(l.Spec.LeaseDurationSeconds, 15))*time.Second:
		c.find(Problem, about(o), "%s has not renewed it since %s", holder, l.Spec.RenewTime.UTC().Format(time.RFC3339))
	}
}

// metrics keeps a scrape, where the API server may make one.
func (c collector) metrics(ctx context.Context, namespace string) {
	services, ok := c.list(ctx, resource("", "services"), namespace, metav1.ListOptions{LabelSelector: partOf + "=assay"})
	if !ok {
		return
	}
	for i := range services {
		o := &services[i]
		service, ok := typed[corev1.Service](o)
		if !ok || !strings.HasSuffix(service.Name, "-metrics") || len(service.Spec.Ports) == 0 {
			continue
		}
		c.put(file("operator", namespace, "services.yaml"), o)
		port := service.Spec.Ports[0]
		scheme := ""
		if port.Name != "http" {
			scheme = "https:"
		}
		reply, err := c.ask(ctx, fmt.Sprintf("/api/v1/namespaces/%s/services/%s%s:%d/proxy/metrics", namespace, scheme, service.Name, port.Port), "")
		if err != nil {
			c.miss("metrics of service "+namespace+"/"+service.Name, fmt.Errorf("%w (metrics over HTTPS want a token, which the API server's proxy does not hand on: docs/prometheus.md says how to scrape them by hand)", err))
			continue
		}
		c.text[file("operator", namespace, "metrics.txt")] = scrub(string(reply))
	}
}

func (c collector) ask(ctx context.Context, path, parameter string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	return c.from.Proxy.Get(ctx, path, parameter)
}
