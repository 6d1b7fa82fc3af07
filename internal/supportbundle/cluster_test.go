package supportbundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/operator"
	"github.com/assay-dev/assay/internal/supportbundle"
)

// The tests share one API server, with the CRDs and with an installation in it.
var (
	environment *envtest.Environment
	admin       *rest.Config
	cluster     client.Client
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 0, errors.New("these tests need a real API server: run `make test`, or set KUBEBUILDER_ASSETS=$(go run ./hack/controlplane) first")
	}
	environment = &envtest.Environment{CRDDirectoryPaths: []string{filepath.Join("..", "..", "config", "crd", "bases")}, ErrorIfCRDPathMissing: true}
	// Without a network, kube-apiserver finds no address to advertise; nobody uses it.
	environment.ControlPlane.GetAPIServer().Configure().Set("advertise-address", "192.0.2.1")
	var err error
	if admin, err = environment.Start(); err != nil {
		return 0, fmt.Errorf("start the API server with the CRDs: %w", err)
	}
	defer func() { _ = environment.Stop() }()
	if cluster, err = client.New(admin, client.Options{Scheme: operator.Scheme()}); err != nil {
		return 0, err
	}
	if err := install(context.Background()); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// secrets stand all over the installation, each in a place of its own.
var secrets = map[string]string{
	"value of a Secret":              "zq-secret-data-A1",
	"literal header":                 "zq-literal-header-A2",
	"value of the environment":       "zq-environment-A3",
	"password of a DSN":              "zq-dsn-p@ss/word-A4",
	"last applied configuration":     "zq-last-applied-A5",
	"query of a URL":                 "zq-query-A6",
	"param":                          "zq-param-A7",
	"mapping":                        "zq-mapping-A8",
	"message of a condition":         "zq-condition-A9",
	"message of an Event":            "zq-event-B1",
	"log":                            "zq-log-bearer-B2",
	"previous log":                   "zq-log-json-B3",
	"ConfigMap":                      "zq-golden-set-B4",
	"packed ConfigMap":               "zq-golden-gzip-B5",
	"metrics":                        "zq-metrics-B6",
	"probe":                          "zq-probe-B7",
	"user and password of a proxy":   "zq-proxy-B8",
	"argument":                       "zq-argument-B9",
	"extra body":                     "zq-extra-body-C1",
	"annotation of a pod":            "zq-annotation-C2",
	"message of a run":               "zq-run-C3",
	"header of a probe":              "zq-probe-header-C4",
	"a secret with \"quotes\" in it": `zq-"quoted"-C5`,
}

var probes = intstr.FromString("probes")

const (
	operatorNamespace = "assay-system"
	namespace         = "rag"
)

func object(name string, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace}
}

// install makes what an installation consists of, as far as it needs no kubelet.
func install(ctx context.Context) error {
	labels := map[string]string{"app.kubernetes.io/name": "assay", "app.kubernetes.io/part-of": "assay", "app.kubernetes.io/component": "controller-manager"}
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"example.com/api-token": secrets["annotation of a pod"]}},
		Spec: corev1.PodSpec{
			ServiceAccountName: "assay-controller-manager",
			Containers: []corev1.Container{{
				Name:  "manager",
				Image: "ghcr.io/assay-dev/assay:v0.1.0",
				Args: []string{
					"operator", "--leader-elect", "--history=postgres://assay:" + secrets["password of a DSN"] + "@db:5432/assay", "--some-token=" + secrets["argument"],
				},
				Env: []corev1.EnvVar{
					{Name: "GOMEMLIMIT", Value: "400MiB"},
					{Name: "OTEL_EXPORTER_OTLP_HEADERS", Value: "authorization=" + secrets["value of the environment"]},
					{Name: "SOME_TOKEN", Value: secrets[`a secret with "quotes" in it`]},
					{Name: "HTTPS_PROXY", Value: "http://me:" + secrets["user and password of a proxy"] + "@proxy:3128"},
				},
				LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
					Path: "/healthz", Port: probes, HTTPHeaders: []corev1.HTTPHeader{{Name: "X-Probe-Token", Value: secrets["header of a probe"]}},
				}}},
				Ports: []corev1.ContainerPort{{Name: "probes", ContainerPort: 8082}},
			}},
		},
	}
	running := &corev1.Pod{ObjectMeta: object("assay-controller-manager-abc", operatorNamespace), Spec: pod.Spec}
	running.Labels, running.Annotations = labels, pod.Annotations
	running.Spec.NodeName = "node-1" // which is not there
	suite, run := suiteWithSecrets()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	fmt.Fprintf(zip, `[{"question": "what?", "api_key": %q}]`, secrets["packed ConfigMap"])
	if err := zip.Close(); err != nil {
		return err
	}
	event := &corev1.Event{
		ObjectMeta: object("docs-bot.1", namespace), Reason: "SuiteStalled", Type: "Warning",
		InvolvedObject: corev1.ObjectReference{APIVersion: "assay.dev/v1alpha1", Kind: "EvalSuite", Name: "docs-bot", Namespace: namespace},
		Message:        "the retriever said: token=" + secrets["message of an Event"], LastTimestamp: metav1.Now(),
	}
	other := event.DeepCopy()
	other.Name, other.InvolvedObject = "other.1", corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Name: "theirs", Namespace: namespace}
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: object(operatorNamespace, "")},
		&corev1.Namespace{ObjectMeta: object(namespace, "")},
		&corev1.ServiceAccount{ObjectMeta: object("assay-controller-manager", operatorNamespace)},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "assay-controller-manager", Namespace: operatorNamespace, Labels: labels}, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pod,
		}},
		running,
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "assay-controller-manager-metrics", Namespace: operatorNamespace, Labels: labels}, Spec: corev1.ServiceSpec{
			Ports: []corev1.ServicePort{{Name: "https", Port: 8443}},
		}},
		&coordinationv1.Lease{ObjectMeta: object("operator.assay.dev", operatorNamespace), Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("assay-controller-manager-gone"), LeaseDurationSeconds: ptr.To(int32(15)), RenewTime: &metav1.MicroTime{Time: at.Add(-time.Hour)},
		}},
		&corev1.Secret{ObjectMeta: object("keys", namespace), StringData: map[string]string{"token": secrets["value of a Secret"], "other": "x"}},
		&corev1.ConfigMap{
			ObjectMeta: object("golden", namespace),
			Data:       map[string]string{"golden.yaml": "- {id: q1, question: what?, metadata: {token: " + secrets["ConfigMap"] + "}}"},
			BinaryData: map[string][]byte{"more.json.gz": packed.Bytes()},
		},
		suite, run, event, other,
	} {
		wanted := o.DeepCopyObject().(client.Object)
		if err := cluster.Create(ctx, o); err != nil {
			return fmt.Errorf("create %T %s: %w", o, o.GetName(), err)
		}
		if s, ok := wanted.(*v1alpha1.EvalSuite); ok {
			o.(*v1alpha1.EvalSuite).Status = s.Status
			if err := cluster.Status().Update(ctx, o); err != nil {
				return err
			}
		}
		if r, ok := wanted.(*v1alpha1.EvalRun); ok {
			o.(*v1alpha1.EvalRun).Status = r.Status
			if err := cluster.Status().Update(ctx, o); err != nil {
				return err
			}
		}
	}
	running.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "manager", RestartCount: 2,
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137, FinishedAt: metav1.NewTime(at)}},
	}}
	if err := cluster.Status().Update(ctx, running); err != nil {
		return err
	}
	return allow(ctx)
}

// allow gives the operator what config/rbac has, without the Secrets.
func allow(ctx context.Context) error {
	raw, err := os.ReadFile(filepath.Join("..", "..", "config", "rbac", "manager_role.yaml"))
	if err != nil {
		return err
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.Unmarshal(raw, role); err != nil {
		return err
	}
	for i := range role.Rules {
		if role.Rules[i].Resources[0] == "secrets" {
			role.Rules[i].Verbs = []string{"list"}
		}
	}
	if err := cluster.Create(ctx, role); err != nil {
		return err
	}
	return cluster.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: object("manager", ""),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: operatorNamespace, Name: "assay-controller-manager"}},
	})
}

func suiteWithSecrets() (*v1alpha1.EvalSuite, *v1alpha1.EvalRun) {
	suite := &v1alpha1.EvalSuite{ObjectMeta: object("docs-bot", namespace)}
	suite.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: `{"spec":{"retriever":{"headers":[{"name":"X-Key","value":"` + secrets["last applied configuration"] + `"}]}}}`}
	suite.Spec = v1alpha1.EvalSuiteSpec{
		GoldenSet: v1alpha1.GoldenSet{ConfigMapRef: &v1alpha1.GoldenConfigMapReference{Name: "golden"}},
		Retriever: v1alpha1.Retriever{
			URL:     "http://docs-bot.rag.svc:8080/search?key=" + secrets["query of a URL"],
			Headers: []v1alpha1.Header{{Name: "X-Api-Key", Value: ptr.To(secrets["literal header"])}, {Name: "Accept", Value: ptr.To("application/json")}},
			Params:  &apiextensionsv1.JSON{Raw: []byte(`{"collection":"docs","apiKey":"` + secrets["param"] + `"}`)},
			Request: `{"query": question, "api_key": "` + secrets["mapping"] + `"}`,
			Auth:    &v1alpha1.Auth{BearerTokenSecretRef: &v1alpha1.SecretKeySelector{Name: "keys", Key: "token"}},
			TLS:     &v1alpha1.TLS{CABundleRef: &v1alpha1.CABundleReference{Kind: v1alpha1.CABundleConfigMap, Name: "golden"}},
		},
		Answer: &v1alpha1.Answer{URL: "http://docs-bot.rag.svc:8080/ask"},
		Judge: &v1alpha1.Judge{
			Provider: v1alpha1.JudgeOpenAI, Model: "m", APIKeySecretRef: &v1alpha1.SecretKeySelector{Name: "no-such-secret", Key: "key"},
			ExtraBody: &apiextensionsv1.JSON{Raw: []byte(`{"access_token":"` + secrets["extra body"] + `"}`)},
		},
	}
	suite.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: "SecretNotFound", LastTransitionTime: metav1.Now(),
		Message: "the retriever said: Authorization: Bearer " + secrets["message of a condition"],
	}}
	run := &v1alpha1.EvalRun{ObjectMeta: object("docs-bot-1", namespace), Spec: v1alpha1.EvalRunSpec{SuiteRef: v1alpha1.SuiteReference{Name: "docs-bot"}}}
	meta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: "Complete", Status: metav1.ConditionTrue, Reason: "Ended"})
	run.Status.Verdict, run.Status.Reason = v1alpha1.VerdictInconclusive, "JudgeQuotaExceeded"
	run.Status.Message = `the judge said: {"api_key":"` + secrets["message of a run"] + `"}, and saw ` + secrets["literal header"] // which tells by nothing but where it also stands
	run.Status.CompletionTime = ptr.To(metav1.NowMicro())
	return suite, run
}

// kubelet plays what envtest has not: logs and proxies.
type kubelet struct{}

func (kubelet) Log(_ context.Context, _, pod, container string, previous bool) (io.ReadCloser, error) {
	line := "level=info msg=\"asked with Authorization: Bearer " + secrets["log"] + "\"\n" +
		"the DSN is postgres://assay:" + secrets["password of a DSN"] + "@db and the header " + secrets["literal header"] + ", encoded " +
		base64.StdEncoding.EncodeToString([]byte(secrets["literal header"])) + " " + url.QueryEscape(secrets["value of the environment"]) + "\n"
	if previous {
		line = `{"level":"error","msg":"panic","config":"{\"password\":\"` + secrets["previous log"] + `\"}"}` + "\n"
	}
	return io.NopCloser(strings.NewReader("log of " + pod + " " + container + "\n" + line)), nil
}

func (kubelet) Get(_ context.Context, path, _ string) ([]byte, error) {
	switch {
	case strings.HasSuffix(path, "/metrics"):
		return []byte(`assay_suite_info{token="` + secrets["metrics"] + `"} 1`), nil
	case strings.HasSuffix(path, ":8082/proxy/readyz"), strings.HasSuffix(path, ":8082/proxy/healthz"):
		return []byte("[+]cache ok\npassword: " + secrets["probe"] + "\n"), nil
	}
	return nil, errors.New("no such path " + path)
}

var at = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// bundle collects one and gives its files and its bytes.
func bundle(t *testing.T, from supportbundle.Sources, change ...func(*supportbundle.Options)) (map[string]string, []byte, *supportbundle.Bundle) {
	t.Helper()
	o := supportbundle.Options{Runs: 10, LogBytes: 1 << 20, Now: at}
	for _, c := range change {
		c(&o)
	}
	b, err := supportbundle.Collect(t.Context(), from, o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := b.Write(&out); err != nil {
		t.Fatal(err)
	}
	return unpack(t, out.Bytes()), out.Bytes(), b
}

// unpack reads an archive and checks that it is safe to unpack.
func unpack(t *testing.T, packed []byte) map[string]string {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	last := ""
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		name, inside := strings.CutPrefix(header.Name, "assay-support-bundle/")
		if !inside || !filepath.IsLocal(name) || header.Typeflag != tar.TypeReg || header.Mode != 0o600 || !header.ModTime.Equal(at) || header.Name <= last {
			t.Errorf("entry %+v", header)
		}
		last = header.Name
		files[name] = string(text)
	}
}

func connect(t *testing.T, cfg *rest.Config) supportbundle.Sources {
	t.Helper()
	from, err := supportbundle.Connect(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return from
}

func withKubelet(t *testing.T) supportbundle.Sources {
	t.Helper()
	from := connect(t, admin)
	from.Logs, from.Proxy = kubelet{}, kubelet{}
	return from
}

// No secret is in a bundle, in any spelling, whatever is asked for.
func TestNoSecretIsInIt(t *testing.T) {
	for name, change := range map[string]func(*supportbundle.Options){
		"everything": func(o *supportbundle.Options) { o.GoldenSets = true },
		"a suite":    func(o *supportbundle.Options) { o.Namespaces, o.Suite = []string{namespace}, "docs-bot" },
	} {
		t.Run(name, func(t *testing.T) {
			files, _, b := bundle(t, withKubelet(t), change)
			files["printed"] = b.Summary()
			for where, secret := range secrets {
				quoted := fmt.Sprintf("%q", secret)
				for _, form := range []string{
					secret, base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
					url.QueryEscape(secret), url.PathEscape(secret), quoted[1 : len(quoted)-1],
				} {
					for name, text := range files {
						if strings.Contains(text, form) {
							t.Errorf("%s holds the secret of the %s as %s", name, where, form)
						}
					}
				}
			}
			for name, text := range files {
				if strings.Contains(text, "zq-") {
					t.Errorf("%s holds a part of a secret:\n%s", name, text)
				}
			}
		})
	}
}

// What a maintainer needs is there.
func TestWhatIsInIt(t *testing.T) {
	files, _, b := bundle(t, withKubelet(t), func(o *supportbundle.Options) { o.GoldenSets = true })
	for name, words := range map[string][]string{
		"cluster/crds/evalsuites.assay.dev.yaml":                                       {"storedVersions:\n  - v1alpha1", "served: true"},
		"operator/assay-system/deployments.yaml":                                       {"image: ghcr.io/assay-dev/assay:v0.1.0", "value: 400MiB", "--history=postgres://[removed]", "http://[removed]@proxy:3128", "name: SOME_TOKEN"},
		"operator/assay-system/pods.yaml":                                              {"reason: OOMKilled"},
		"operator/assay-system/logs/assay-controller-manager-abc/manager.log":          {"log of assay-controller-manager-abc manager\nlevel=info"},
		"operator/assay-system/logs/assay-controller-manager-abc/manager.previous.log": {`"msg":"panic"`},
		"operator/assay-system/probes/assay-controller-manager-abc.readyz.txt":         {"[+]cache ok"},
		"operator/assay-system/metrics.txt":                                            {"assay_suite_info"},
		"operator/assay-system/lease.yaml":                                             {"holderIdentity: assay-controller-manager-gone"},
		"operator/assay-system/rights.txt":                                             {"yes  get     configmaps", "NO   get     secrets", "namespace rag"},
		"operator/assay-system/services.yaml":                                          {"port: 8443"},
		"namespaces/rag/evalsuites/docs-bot.yaml":                                      {"http://docs-bot.rag.svc:8080/search?key=[removed]", "collection: docs", "apiKey: '[removed]'", "name: keys", "reason: SecretNotFound", "[removed: "},
		"namespaces/rag/evalruns/docs-bot-1.yaml":                                      {"verdict: Inconclusive"},
		"namespaces/rag/events.yaml":                                                   {"reason: SuiteStalled"},
		"namespaces/rag/configmaps.yaml":                                               {"name: golden", "name: golden.yaml", "bytes: ", "sha256: ", "field: spec.retriever.tls.caBundleRef", "missingKeys:\n    - ca.crt"},
		"namespaces/rag/secrets.yaml":                                                  {"found: false\n  name: no-such-secret", "found: true\n  keys:\n  - name: other\n  - name: token\n  name: keys"},
		"namespaces/rag/configmaps/golden/golden.yaml":                                 {"question: what?"},
		"namespaces/rag/configmaps/golden/more.json":                                   {`"question": "what?"`},
		"index.yaml": {"collectedAt: \"2026-11-30T09:00:00Z\"", "operatorNamespaces:\n- assay-system"},
		"summary.txt": {
			"EvalSuite rag/docs-bot: Stalled: SecretNotFound", `the Secret "no-such-secret" of spec.judge.apiKeySecretRef does not exist in namespace "rag"`,
			`the ConfigMap "golden" of spec.retriever.tls.caBundleRef lacks the key "ca.crt"`,
			"EvalRun rag/docs-bot-1: the newest run of its suite is Inconclusive: JudgeQuotaExceeded",
			"it may not get secrets in namespace rag", "0 of 1 replicas are available", "OOMKilled, exit code 137", "has not renewed it since",
		},
	} {
		text, ok := files[name]
		if !ok {
			t.Errorf("there is no %s", name)
		}
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("%s lacks %q:\n%s", name, word, text)
			}
		}
	}
	if strings.Contains(files["namespaces/rag/events.yaml"], "theirs") {
		t.Error("Events of other people's pods are collected")
	}
	if missing := b.Missing(); len(missing) > 0 {
		t.Errorf("not collected: %v", missing)
	}
	for name := range files {
		if strings.Contains(files[name], "managedFields") {
			t.Errorf("%s has managedFields", name)
		}
	}
}

// Without being asked to, it takes no golden set along.
func TestGoldenSetsAreLeftOut(t *testing.T) {
	files, _, _ := bundle(t, withKubelet(t))
	for name, text := range files {
		if strings.Contains(text, "what?") || strings.Contains(name, "configmaps/") {
			t.Errorf("%s has a question", name)
		}
	}
}

// The same cluster at the same time gives the same bytes.
func TestDeterministic(t *testing.T) {
	_, first, _ := bundle(t, withKubelet(t))
	for range 3 {
		if _, again, _ := bundle(t, withKubelet(t)); !bytes.Equal(first, again) {
			t.Fatal("two bundles of one cluster differ")
		}
	}
}

// Who may read little gets what that is, and is told of the rest.
func TestPartial(t *testing.T) {
	viewer, err := environment.AddUser(envtest.User{Name: "viewer"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	nobody, err := environment.AddUser(envtest.User{Name: "nobody"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.Role{ObjectMeta: object("viewer", namespace), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"assay.dev"}, Resources: []string{"evalsuites", "evalruns"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: object("viewer", namespace), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "viewer"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "viewer"}},
	}
	for _, o := range []client.Object{role, binding} {
		if err := cluster.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		user    *rest.Config
		has     []string
		lacks   string
		reasons []string
	}{
		"viewer of a namespace": {
			viewer.Config(), []string{"namespaces/rag/evalsuites/docs-bot.yaml", "namespaces/rag/evalruns/docs-bot-1.yaml", "namespaces/rag/configmaps.yaml"}, "operator/",
			[]string{"Secret rag/keys: you may not", "events in namespace rag: you may not", "CustomResourceDefinition evalsuites.assay.dev: you may not", "deployments in namespace assay-system: you may not"},
		},
		"nobody": {nobody.Config(), nil, "namespaces/", []string{"evalsuites in namespace rag: you may not", "evalruns in namespace rag: you may not"}},
	} {
		t.Run(name, func(t *testing.T) {
			files, _, b := bundle(t, connect(t, test.user), func(o *supportbundle.Options) { o.Namespaces = []string{namespace} })
			for _, want := range append(test.has, "summary.txt", "index.yaml") {
				if files[want] == "" {
					t.Errorf("there is no %s", want)
				}
			}
			for name := range files {
				if strings.HasPrefix(name, test.lacks) {
					t.Errorf("there is %s", name)
				}
			}
			for _, reason := range test.reasons {
				if !strings.Contains(files["summary.txt"], reason) || !strings.Contains(b.Summary(), reason) {
					t.Errorf("it does not say %q:\n%s", reason, files["summary.txt"])
				}
			}
		})
	}
}

// What has no kubelet behind it is told of, as is a suite that is not there.
func TestWithoutAKubelet(t *testing.T) {
	files, _, _ := bundle(t, connect(t, admin), func(o *supportbundle.Options) { o.Suite = "other" })
	for _, reason := range []string{
		"log of container manager of pod assay-system/assay-controller-manager-abc: ", "previous log of container manager", "readyz of pod", "metrics of service assay-system/assay-controller-manager-metrics",
		"EvalSuite other: there is none of this name",
	} {
		if !strings.Contains(files["summary.txt"], reason) {
			t.Errorf("it does not say %q:\n%s", reason, files["summary.txt"])
		}
	}
	for name := range files {
		if strings.HasPrefix(name, "namespaces/rag/evalsuites") {
			t.Errorf("there is %s", name)
		}
	}
}

// No cluster, no bundle.
func TestNoCluster(t *testing.T) {
	from := connect(t, &rest.Config{Host: "http://127.0.0.1:1"})
	if _, err := supportbundle.Collect(t.Context(), from, supportbundle.Options{Runs: 1, Now: at}); err == nil || !strings.Contains(err.Error(), "ask the cluster for its version") {
		t.Errorf("got %v", err)
	}
}
