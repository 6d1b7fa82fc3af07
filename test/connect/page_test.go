package connect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/internal/cli"
	"github.com/assay-dev/assay/test/docpage"
)

var root = filepath.Join("..", "..")

// page is one page of docs/connect.
type page struct {
	name, text string
}

func readPage(t *testing.T, name string) page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return page{name: name, text: string(text)}
}

// suite gives the manifest that the page has the reader write to suite.yaml, and
// holds it against the sample of that name.
func (p page) suite(t *testing.T, sample string) string {
	t.Helper()
	steps, err := docpage.Parse(p.text)
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	for _, s := range steps {
		if s.File == "suite.yaml" {
			want, err := os.ReadFile(filepath.Join(root, "config", "samples", sample))
			if err != nil {
				t.Fatal(err)
			}
			if s.Text != string(want) {
				t.Errorf("%s: suite.yaml is not config/samples/%s:\n%s", p.name, sample, s.Text)
			}
			return s.Text
		}
	}
	t.Fatalf("%s shows no suite.yaml", p.name)
	return ""
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// section gives the first YAML example under a heading.
func (p page) section(t *testing.T, heading string) string {
	t.Helper()
	_, text, found := strings.Cut(p.text, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no section %q", p.name, heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	m := yamlBlock.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%s: the section %q has no example", p.name, heading)
	}
	return m[1]
}

// code gives the first block of a language.
func (p page) code(t *testing.T, language string) string {
	t.Helper()
	_, text, found := strings.Cut(p.text, "```"+language+"\n")
	if !found {
		t.Fatalf("%s has no block of %s", p.name, language)
	}
	text, _, _ = strings.Cut(text, "```")
	return text
}

// sameAs holds what a page shows against the file that it is from.
func (p page) sameAs(t *testing.T, language, file string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	if p.code(t, language) != string(want) {
		t.Errorf("%s: the block of %s is not %s", p.name, language, file)
	}
}

// with puts the fields of a fragment (retriever, scoring, …) into the suite among
// the documents of a manifest; a field of a retriever that is given replaces what
// stands there, and any other block the whole block.
func with(t *testing.T, manifest, fragment string) string {
	t.Helper()
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(fragment), &fields); err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(manifest, "\n---\n")
	for i, d := range documents {
		if !strings.Contains(d, "kind: EvalSuite") {
			continue
		}
		var object map[string]any
		if err := yaml.Unmarshal([]byte(d), &object); err != nil {
			t.Fatal(err)
		}
		spec := object["spec"].(map[string]any)
		for field, value := range fields {
			inner, isMap := value.(map[string]any)
			there, was := spec[field].(map[string]any)
			if !isMap || !was || field != "retriever" {
				spec[field] = value
				continue
			}
			for k, v := range inner {
				there[k] = v
			}
		}
		data, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		documents[i] = string(data)
	}
	return strings.Join(documents, "\n---\n")
}

// at replaces the addresses of a page by those of this test. Every one must stand
// in the manifest.
func at(t *testing.T, manifest string, addresses map[string]string) string {
	t.Helper()
	for from, to := range addresses {
		if !strings.Contains(manifest, from) {
			t.Errorf("the manifest does not name %s", from)
		}
		manifest = strings.ReplaceAll(manifest, from, to)
	}
	return manifest
}

// output is what a command line printed.
type output struct {
	stdout, stderr string
	err            error
}

// assay runs the command line, with {} for a file that holds the manifest.
func assay(t *testing.T, manifest string, args ...string) output {
	t.Helper()
	file := filepath.Join(t.TempDir(), "suite.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "{}", file)
	}
	var stdout, stderr bytes.Buffer
	command := cli.NewRootCommand()
	command.SetArgs(args)
	command.SetOut(&stdout)
	command.SetErr(&stderr)
	err := command.ExecuteContext(t.Context())
	return output{stdout: stdout.String(), stderr: stderr.String(), err: err}
}

// found runs the suite and gives the retrieved ids of every case, best first. All
// of its cases must be scored.
func found(t *testing.T, manifest string) map[string][]string {
	t.Helper()
	d := document(t, manifest)
	ids := map[string][]string{}
	for _, c := range d.Cases {
		if c.Outcome != "Scored" {
			t.Fatalf("case %s: %s: %s", c.ID, c.Outcome, c.Message)
		}
		for _, r := range c.Retrieved {
			ids[c.ID] = append(ids[c.ID], r.ID)
		}
	}
	return ids
}

// result is what is read here of a run's document.
type result struct {
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Run     struct {
		CorpusVersion string `json:"corpusVersion"`
	} `json:"run"`
	Outcomes map[string]int `json:"outcomes"`
	Cases    []struct {
		ID        string `json:"id"`
		Outcome   string `json:"outcome"`
		Message   string `json:"message"`
		Rank      int    `json:"rank"`
		Retrieved []struct {
			ID   string `json:"id"`
			Text string `json:"text"`
		} `json:"retrieved"`
	} `json:"cases"`
}

func document(t *testing.T, manifest string) result {
	t.Helper()
	out := assay(t, manifest, "run", "-f", "{}", "-o", "json")
	var d result
	if err := json.Unmarshal([]byte(out.stdout), &d); err != nil {
		t.Fatalf("%v\n%s%s%v", err, out.stdout, out.stderr, out.err)
	}
	return d
}

// passes says that a suite as the page has it is planned without a call, that its
// golden set names ids that the store returns, and that it passes.
func passes(t *testing.T, manifest string) {
	t.Helper()
	for _, args := range [][]string{
		{"golden", "check", "-f", "{}", "--retriever"},
		{"run", "-f", "{}"},
	} {
		if out := assay(t, manifest, args...); out.err != nil {
			t.Errorf("assay %s: %v\n%s%s", strings.Join(args, " "), out.err, out.stdout, out.stderr)
		}
	}
}

// says holds a page to the messages that a command really prints: each must be
// printed, and stand in the page.
func (p page) says(t *testing.T, printed string, messages ...string) {
	t.Helper()
	for _, m := range messages {
		if !strings.Contains(printed, m) {
			t.Errorf("not printed: %s\n%s", m, printed)
		}
		if !strings.Contains(p.text, m) {
			t.Errorf("%s does not have the message: %s", p.name, m)
		}
	}
}

// failure gives the message of the suite's first case that was not scored.
func failure(t *testing.T, manifest string) string {
	t.Helper()
	for _, c := range document(t, manifest).Cases {
		if c.Outcome != "Scored" {
			return fmt.Sprintf("%s: %s", c.Outcome, c.Message)
		}
	}
	t.Fatal("no case failed")
	return ""
}

// filters runs the page's suite against an adapter, and the suite with the page's
// filter, which leaves out what belongs to the other tenant. It gives the suite.
func filters(t *testing.T, p page, name, url string) string {
	t.Helper()
	manifest := at(t, p.suite(t, "evalsuite_"+name+".yaml"), map[string]string{"http://" + name + "-retriever.rag.svc:8080": url})
	passes(t, manifest)
	filtered := with(t, manifest, p.section(t, "A filter for each case"))
	passes(t, filtered)
	if got := found(t, filtered)["rotate"]; slices.Contains(got, "billing-1") {
		t.Errorf("%v, want none of the other tenant", got)
	}
	return manifest
}
