// Package supportbundle collects what somebody needs who is to find out what is
// wrong with an installation, without the secrets of it.
//
// What cannot be collected is listed with the reason. Of Secrets, only names and
// names of keys are looked at; from everything else, what may be a credential is
// removed, and what was certainly one is removed wherever it stands.
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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/version"
)

// Options say what is collected.
type Options struct {
	// Namespaces to collect suites and runs of; none: all.
	Namespaces []string
	// Suite keeps the suite of this name and its runs; empty: all suites.
	Suite string
	// OperatorNamespace is where the operator runs; empty: it is looked for.
	OperatorNamespace string
	// Runs of each suite, the newest.
	Runs int
	// LogBytes of each container, the newest.
	LogBytes int
	// GoldenSets has the content of the ConfigMaps that suites name collected.
	GoldenSets bool
	// Now is when it is collected.
	Now time.Time
}

// Logs reads the log of a container.
type Logs interface {
	Log(ctx context.Context, namespace, pod, container string, previous bool) (io.ReadCloser, error)
}

// Proxy asks pods and services through the API server.
type Proxy interface {
	// Get asks for a path, with a parameter where one is given.
	Get(ctx context.Context, path, parameter string) ([]byte, error)
}

// Sources are where everything comes from.
type Sources struct {
	Kube    kubernetes.Interface
	Objects dynamic.Interface
	Logs    Logs
	Proxy   Proxy
	// Secrets reads a Secret as JSON.
	Secrets func(ctx context.Context, namespace, name string) ([]byte, error)
}

// Missing is something that could not be collected.
type Missing struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// Finding is what a person should read first.
type Finding struct {
	// Severity is Problem or Notice.
	Severity string `json:"severity"`
	// About is the object, such as EvalSuite rag/docs-bot.
	About   string `json:"about"`
	Message string `json:"message"`
}

// The severities of a finding.
const (
	Problem = "Problem"
	Notice  = "Notice"
)

// Bundle is what was collected.
type Bundle struct {
	options  Options
	objects  map[string][]*unstructured.Unstructured
	text     map[string]string
	missing  []Missing
	findings []Finding
	secrets  *call.Redactor
	server   string
	operator []string
}

// Collect collects a bundle. It fails only where no cluster answers.
func Collect(ctx context.Context, from Sources, o Options) (*Bundle, error) {
	server, err := from.Kube.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("ask the cluster for its version: %w", err)
	}
	b := &Bundle{
		options: o, server: server.GitVersion,
		objects: map[string][]*unstructured.Unstructured{}, text: map[string]string{}, secrets: call.NewRedactor(),
	}
	c := collector{Bundle: b, from: from}
	c.crds(ctx)
	suites := c.suites(ctx)
	c.runs(ctx, suites)
	c.suiteEvents(ctx)
	c.references(ctx, suites)
	c.operators(ctx, suites)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("collect the support bundle: %w", context.Cause(ctx))
	}
	return b, nil
}

// Write writes the bundle as a tar.gz.
func (b *Bundle) Write(w io.Writer) error {
	files, err := b.files()
	if err != nil {
		return err
	}
	return writeArchive(w, files, b.options.Now)
}

// Summary is what a person reads first.
func (b *Bundle) Summary() string { return b.secrets.Redact(b.summary()) }

// files are everything in the bundle, without secrets. What was found to be one
// anywhere is removed from each.
func (b *Bundle) files() (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, objects := range b.objects {
		var text strings.Builder
		for i, o := range objects {
			if i > 0 {
				text.WriteString("---\n")
			}
			document, err := yaml.Marshal(texts(o.Object, b.secrets.Redact))
			if err != nil {
				return nil, fmt.Errorf("write %s %s: %w", o.GetKind(), o.GetName(), err)
			}
			text.Write(document)
		}
		files[name] = []byte(text.String())
	}
	for name, text := range b.text {
		files[name] = []byte(b.secrets.Redact(text))
	}
	index, err := yaml.Marshal(b.index())
	if err != nil {
		return nil, fmt.Errorf("write the index: %w", err)
	}
	files["index.yaml"] = []byte(b.secrets.Redact(string(index)))
	files["summary.txt"] = []byte(b.Summary())
	return files, nil
}

// index says what the bundle is, for programs.
func (b *Bundle) index() map[string]any {
	scope := strings.Join(b.options.Namespaces, ", ")
	return map[string]any{
		"collectedAt":        b.options.Now.UTC().Format(time.RFC3339),
		"client":             version.String(),
		"cluster":            b.server,
		"operatorNamespaces": b.operator,
		"namespaces":         cmp.Or(scope, "all"),
		"suite":              b.options.Suite,
		"goldenSets":         b.options.GoldenSets,
		"findings":           b.findings,
		"notCollected":       b.missing,
	}
}

// put keeps an object, without what may be a secret.
func (b *Bundle) put(name string, o *unstructured.Unstructured) {
	o = o.DeepCopy()
	clean(o, b.secret)
	b.objects[name] = append(b.objects[name], o)
}

// secret has a value removed wherever it stands.
func (b *Bundle) secret(value string) { b.secrets.Add(value) }

// miss notes what could not be collected.
func (b *Bundle) miss(what string, err error) {
	reason := err.Error()
	switch {
	case apierrors.IsForbidden(err):
		reason = "you may not: " + reason
	case errors.Is(err, context.DeadlineExceeded):
		reason = "no answer came in time: " + reason
	}
	b.missing = append(b.missing, Missing{What: what, Reason: scrub(reason)})
}

func (b *Bundle) find(severity, about, format string, args ...any) {
	b.findings = append(b.findings, Finding{Severity: severity, About: about, Message: scrub(fmt.Sprintf(format, args...))})
}

// Missing is what could not be collected.
func (b *Bundle) Missing() []Missing { return slices.Clone(b.missing) }
