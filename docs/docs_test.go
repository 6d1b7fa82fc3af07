// Package docs_test holds the pages to what the project does: their examples
// are accepted, their links lead somewhere, their flags are there.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/cli"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/manifest"
	"github.com/assay-dev/assay/internal/suite"
	"github.com/assay-dev/assay/test/docpage"
)

// pages gives every page by its path from this folder.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names := []string{"../README.md", "../CONTRIBUTING.md"}
	err := filepath.WalkDir(".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(p) == ".md" {
			names = append(names, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(data)
	}
	return all
}

var (
	link     = regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)
	codeSpan = regexp.MustCompile("`[^`\n]+`")
)

func TestLinks(t *testing.T) {
	for page, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(text, "`"), -1) { // what is in code is no link
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", page, m[1])
			}
		}
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// base is what a fragment of a suite stands in.
const base = `
apiVersion: assay.dev/v1alpha1
kind: EvalSuite
metadata: {name: example}
spec:
  goldenSet: {configMapRef: {name: golden}}
  retriever: {url: "http://retriever:8080/search"}
`

// pageSuite is the suite that a page has the reader write, the last document of
// suite.yaml: what the page's fragments stand in.
var pageSuite = regexp.MustCompile("(?s)<!-- test: file suite.yaml -->\n```yaml\n(?:[^`]*?\n---\n)?(apiVersion: assay.dev/v1alpha1\nkind: EvalSuite\n[^`]*)```")

// foreign are fields by which the files of other tools are known: Prometheus,
// GitHub Actions, GitLab.
var foreign = []string{"scrape_configs", "jobs", "stages"}

func TestExamples(t *testing.T) {
	kinds := map[string]int{}
	for page, text := range pages(t) {
		around := base
		if m := pageSuite.FindStringSubmatch(text); m != nil {
			around = m[1]
		}
		for _, m := range yamlBlock.FindAllStringSubmatch(text, -1) {
			for document := range strings.SplitSeq(m[1], "---\n") {
				kind := checkExample(t, around, document)
				kinds[kind]++
				if t.Failed() {
					t.Fatalf("%s: this example is not accepted:\n%s", page, document)
				}
			}
		}
	}
	for _, kind := range []string{"EvalSuite", "EvalRun", "ConfigMap", "cases", "fragment"} {
		if kinds[kind] == 0 {
			t.Errorf("no example of %s was found", kind)
		}
	}
}

// checkExample checks one example and says what it is of. A fragment of a suite
// stands in the one around it.
func checkExample(t *testing.T, around, document string) string {
	t.Helper()
	if strings.HasPrefix(document, "- id:") {
		checkCases(t, "golden.yaml", document)
		return "cases"
	}
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal([]byte(document), &head); err != nil {
		// A list of another tool.
		return "other"
	}
	switch head.Kind {
	case "EvalSuite":
		checkSuite(t, document)
	case "EvalRun":
		var run v1alpha1.EvalRun
		unmarshal(t, document, &run)
	case "ConfigMap":
		var cm corev1.ConfigMap
		unmarshal(t, document, &cm)
		for key, text := range cm.Data {
			checkCases(t, key, text)
		}
	case "":
		return checkFragment(t, around, document)
	}
	return head.Kind
}

// checkFragment puts fields of a suite into a whole one.
func checkFragment(t *testing.T, around, document string) string {
	t.Helper()
	var fragment, whole map[string]any
	unmarshal(t, document, &fragment)
	unmarshal(t, around, &whole)
	if inner, ok := fragment["spec"].(map[string]any); ok {
		fragment = inner
	}
	spec := whole["spec"].(map[string]any)
	for field, value := range fragment {
		if slices.Contains(foreign, field) {
			return "other"
		}
		if inner, ok := value.(map[string]any); ok && spec[field] != nil {
			for k, v := range inner {
				spec[field].(map[string]any)[k] = v
			}
			continue
		}
		spec[field] = value
	}
	data, err := yaml.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	checkSuite(t, string(data))
	return "fragment"
}

func checkSuite(t *testing.T, document string) {
	t.Helper()
	manifests, err := manifest.Load([]string{"-"}, strings.NewReader(document))
	if err != nil {
		t.Error(err)
		return
	}
	for _, s := range manifests.Suites {
		if err := suite.Check(s); err != nil {
			t.Error(err)
		}
	}
}

func checkCases(t *testing.T, name, text string) {
	t.Helper()
	set, err := golden.Read(golden.File{Name: name, Data: []byte(text)})
	if err != nil {
		t.Error(err)
		return
	}
	for _, w := range set.Warnings {
		t.Errorf("warning: %s", w)
	}
}

func unmarshal(t *testing.T, document string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
		t.Error(err)
	}
}

// Every page can be typed by test/e2e/docs, which needs a cluster.
func TestPagesCanBeRead(t *testing.T) {
	for page, text := range pages(t) {
		if _, err := docpage.Parse(text); err != nil {
			t.Errorf("%s: %v", page, err)
		}
	}
}

var flagName = regexp.MustCompile("`(--?[a-z][-a-z]*)")

func TestFlags(t *testing.T) {
	text := pages(t)["cli.md"]
	for _, name := range []string{"run", "compare", "gate", "judge calibrate", "judge label", "golden check", "golden import", "golden add", "sample-rag", "operator", "version"} {
		_, section, found := strings.Cut(text, "\n## `assay "+name+"`\n")
		if !found {
			t.Errorf("cli.md has no section on assay %s", name)
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		documented := map[string]bool{}
		for _, m := range flagName.FindAllStringSubmatch(section, -1) {
			documented[m[1]] = true
		}
		cmd, _, err := cli.NewRootCommand().Find(strings.Fields(name))
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			known["--"+f.Name], known["-"+f.Shorthand] = true, true
			// zap brings more of its own; the level is what people set.
			if strings.HasPrefix(f.Name, "zap-") {
				return
			}
			if !documented["--"+f.Name] && !documented["-"+f.Shorthand] {
				t.Errorf("cli.md says nothing of assay %s --%s", name, f.Name)
			}
		})
		for flag := range documented {
			if !known[flag] {
				t.Errorf("cli.md says that assay %s has %s", name, flag)
			}
		}
	}
}
