// Package manifest reads Kubernetes manifests with no cluster. An EvalSuite is
// refused, defaulted and validated as the API server would, by the schema of
// the embedded CRD; ConfigMaps and Secrets are kept for what the suite refers to.
package manifest

import (
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// DefaultNamespace is the namespace of a suite whose manifest gives none.
const DefaultNamespace = "default"

// Manifests are the objects of some manifest files.
type Manifests struct {
	// Suites in the order of the files, defaulted and valid by the CRD.
	Suites []*v1alpha1.EvalSuite
	// Warnings are what was read but has no effect, for people.
	Warnings []string

	configMaps []corev1.ConfigMap
	secrets    []corev1.Secret
	seen       map[string]*document
}

// Load reads manifests from files, from the YAML and JSON files of folders, and
// from stdin where a file is "-". A document without a namespace belongs to
// every namespace, as kubectl would put it where it is told to. The error is an
// *Error with all problems.
func Load(files []string, stdin io.Reader) (*Manifests, error) {
	m := &Manifests{seen: map[string]*document{}}
	sources, problems := readSources(files, stdin)
	for _, src := range sources {
		for _, entry := range src.entries() {
			problems = append(problems, entry.problems...)
			if entry.doc != nil {
				problems = append(problems, m.add(entry.doc)...)
			}
		}
	}
	if len(problems) > 0 {
		return nil, &Error{Problems: problems}
	}
	return m, nil
}

// add takes one document in, or says what is wrong with it.
func (m *Manifests) add(doc *document) []Problem {
	apiVersion, kind := doc.typeMeta()
	if kind == "" || apiVersion == "" {
		if doc.fromFolder {
			m.warn(doc, "is no Kubernetes manifest (no apiVersion and kind) and is left out")
			return nil
		}
		return []Problem{doc.problem("", "no Kubernetes manifest: apiVersion and kind are missing; "+
			"a golden set as it stands is given with --golden")}
	}
	if items, ok := doc.items(); ok {
		var problems []Problem
		for _, item := range items {
			problems = append(problems, m.add(item)...)
		}
		return problems
	}
	switch {
	case kind == "EvalSuite":
		return m.addSuite(doc, apiVersion)
	case kind == "ConfigMap" && apiVersion == "v1":
		return m.addConfigMap(doc)
	case kind == "Secret" && apiVersion == "v1":
		return m.addSecret(doc)
	}
	m.warn(doc, "is left out: a run with no cluster reads EvalSuite, ConfigMap and Secret only")
	return nil
}

func (m *Manifests) addSuite(doc *document, apiVersion string) []Problem {
	if want := v1alpha1.GroupVersion.String(); apiVersion != want {
		return []Problem{doc.problem("apiVersion", fmt.Sprintf("an EvalSuite must have apiVersion %s, not %s", want, apiVersion))}
	}
	suite, problems := decodeSuite(doc)
	if len(problems) > 0 {
		return problems
	}
	if problem := m.once(doc, suite.Namespace, suite.Name); problem != nil {
		return []Problem{*problem}
	}
	if suite.Namespace == "" {
		suite.Namespace = DefaultNamespace
	}
	m.Suites = append(m.Suites, suite)
	return nil
}

func (m *Manifests) addConfigMap(doc *document) []Problem {
	cm, problems := decodeConfigMap(doc)
	if len(problems) > 0 {
		return problems
	}
	if problem := m.once(doc, cm.Namespace, cm.Name); problem != nil {
		return []Problem{*problem}
	}
	size := 0
	for key, value := range cm.Data {
		size += len(key) + len(value)
	}
	for key, value := range cm.BinaryData {
		size += len(key) + len(value)
	}
	if size > corev1.MaxSecretSize {
		m.warn(doc, "holds more than 1 MiB, which no cluster takes: spread it over several ConfigMaps and use goldenSet.configMapSelector")
	}
	m.configMaps = append(m.configMaps, *cm)
	return nil
}

func (m *Manifests) addSecret(doc *document) []Problem {
	secret, problems := decodeSecret(doc)
	if len(problems) > 0 {
		return problems
	}
	if problem := m.once(doc, secret.Namespace, secret.Name); problem != nil {
		return []Problem{*problem}
	}
	m.secrets = append(m.secrets, *secret)
	return nil
}

// once refuses a second object of the same kind, namespace and name: which one
// is meant cannot be known.
func (m *Manifests) once(doc *document, namespace, name string) *Problem {
	_, kind := doc.typeMeta()
	key := strings.Join([]string{kind, namespace, name}, "/")
	if first, ok := m.seen[key]; ok {
		problem := doc.problem("metadata.name", fmt.Sprintf("the same %s stands at %s already: remove one of the two", kind, first.place()))
		return &problem
	}
	m.seen[key] = doc
	return nil
}

func (m *Manifests) warn(doc *document, message string) {
	m.Warnings = append(m.Warnings, fmt.Sprintf("%s: %s %s", doc.place(), doc.describe(), message))
}

// Suite gives the suite that a run is of: the one of that name, which may be
// namespace/name, or, without a name, the only one.
func (m *Manifests) Suite(name string) (*v1alpha1.EvalSuite, error) {
	var names []string
	var found []*v1alpha1.EvalSuite
	for _, suite := range m.Suites {
		full := suite.Namespace + "/" + suite.Name
		names = append(names, full)
		if name == "" || name == suite.Name || name == full {
			found = append(found, suite)
		}
	}
	slices.Sort(names)
	list := strings.Join(names, ", ")
	switch {
	case len(m.Suites) == 0:
		return nil, fmt.Errorf("no EvalSuite in the files: give the suite's manifest with -f")
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return nil, fmt.Errorf("no EvalSuite %q in the files, which hold %s", name, list)
	case name == "":
		return nil, fmt.Errorf("%d EvalSuites in the files: pick one with --suite (%s)", len(found), list)
	}
	return nil, fmt.Errorf("%d EvalSuites are named %q: give --suite as namespace/name (%s)", len(found), name, list)
}
