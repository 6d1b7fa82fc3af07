//go:build e2e

package connect

import (
	"encoding/xml"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/yaml"
)

// ciService answers from the corpus, as a new version of a service does.
type ciService struct {
	*httptest.Server
	asked atomic.Int64
	// wrong says that it has lost a chunk; down, that every call fails; flaky, that
	// every third does.
	wrong, down, flaky atomic.Bool
}

func newCIService(t *testing.T) *ciService {
	t.Helper()
	s := &ciService{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Query string `json:"query"`
			TopK  int    `json:"top_k"`
		}
		if !decode(t, w, r, &request) {
			return
		}
		n := s.asked.Add(1)
		if s.down.Load() || s.flaky.Load() && n%3 == 0 {
			http.Error(w, "away", http.StatusNotImplemented) // no status that is tried again
			return
		}
		results := []map[string]any{}
		for _, h := range best(func(c chunk) (float64, bool) {
			n := overlap(request.Query, c.Body)
			return n, n > 0 && (!s.wrong.Load() || c.ID != "keys-2")
		}, request.TopK) {
			results = append(results, map[string]any{"id": h.ID, "text": h.Body})
		}
		reply(w, http.StatusOK, map[string]any{"results": results})
	}))
	t.Cleanup(s.Close)
	return s
}

// ciFolder is a checkout with the suite of the page on LangChain, whose endpoint
// ci is the service.
func ciFolder(t *testing.T, url string) string {
	t.Helper()
	p := readPage(t, "gate-ci.md")
	endpoint := at(t, p.section(t, "The suite"), map[string]string{"http://127.0.0.1:8080/search": url})
	manifest := with(t, readPage(t, "connect/langchain.md").suite(t, "evalsuite_langchain.yaml"),
		endpoint+"\nobjectives:\n- {metric: hit_rate@5, min: \"0.90\", maxDrop: \"0.10\"}\n- {metric: mrr, maxDrop: \"0.10\"}\n")
	golden, suite, found := strings.Cut(manifest, "\n---\n")
	if !found {
		t.Fatal("the suite's file has one document")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"golden.yaml": golden, "suite.yaml": suite} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// shell runs a script as a CI does, and gives its exit code and what it printed.
func shell(t *testing.T, dir, script string) (code int, printed string) {
	t.Helper()
	binary := os.Getenv("ASSAY_BIN")
	if binary == "" {
		t.Fatal("ASSAY_BIN does not name the binary: run make e2e")
	}
	bin := t.TempDir()
	if err := os.Symlink(binary, filepath.Join(bin, "assay")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// pipelines gives the command of each sample that runs the suite.
func pipelines(t *testing.T) map[string]string {
	t.Helper()
	read := func(name string, into any) {
		data, err := os.ReadFile(filepath.Join(root, "config", "samples", "ci", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(data, into); err != nil {
			t.Fatal(err)
		}
	}
	var github struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Run string }
		}
	}
	read("github-actions.yml", &github)
	commands := map[string]string{}
	for _, s := range github.Jobs["assay"].Steps {
		if s.Name == "Run the suite" {
			commands["GitHub"] = s.Run
		}
	}
	var gitlab struct {
		Assay struct{ Script []string }
	}
	read("gitlab-ci.yml", &gitlab)
	commands["GitLab"] = strings.Join(gitlab.Assay.Script, "\n")
	script, err := filepath.Abs(filepath.Join(root, "config", "samples", "ci", "compare.sh"))
	if err != nil {
		t.Fatal(err)
	}
	commands["shell"] = script
	return commands
}

func TestPipelines(t *testing.T) {
	page := readPage(t, "gate-ci.md")
	for _, name := range []string{"github-actions.yml", "gitlab-ci.yml", "compare.sh"} {
		text, err := os.ReadFile(filepath.Join(root, "config", "samples", "ci", name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page.text, string(text)) {
			t.Errorf("the page does not show config/samples/ci/%s", name)
		}
	}
	service := newCIService(t)
	dir := ciFolder(t, service.URL+"/search")
	for name, command := range pipelines(t) {
		if command == "" {
			t.Errorf("%s: no command runs the suite", name)
			continue
		}
		for _, state := range []struct {
			name               string
			wrong, down, flaky bool
			code               int
		}{
			{"good", false, false, false, 0},
			{"bad", true, false, false, 1},
			{"flaky", false, false, true, 2},
			{"down", false, true, false, 3},
		} {
			t.Run(name+"/"+state.name, func(t *testing.T) {
				service.asked.Store(1)
				service.wrong.Store(state.wrong)
				service.down.Store(state.down)
				service.flaky.Store(state.flaky)
				code, printed := shell(t, dir, command)
				if code != state.code {
					t.Errorf("exit code %d, want %d:\n%s", code, state.code, printed)
				}
				if name == "shell" {
					return
				}
				var report struct {
					XMLName xml.Name `xml:"testsuites"`
				}
				data, err := os.ReadFile(filepath.Join(dir, "assay.xml"))
				if err != nil || xml.Unmarshal(data, &report) != nil {
					t.Errorf("the report of a run that ended with %d: %v %s", code, err, data)
				}
			})
		}
	}
	t.Run("a wrong manifest", func(t *testing.T) {
		broken := t.TempDir()
		for name, command := range pipelines(t) {
			if code, printed := shell(t, broken, command); code != 3 {
				t.Errorf("%s: exit code %d, want 3:\n%s", name, code, printed)
			}
		}
	})
	t.Run("against the main branch", func(t *testing.T) {
		service.wrong.Store(false)
		service.down.Store(false)
		service.flaky.Store(false)
		if code, printed := shell(t, dir, "assay run -f suite.yaml -f golden.yaml --endpoint ci -o json > main.json"); code != 0 {
			t.Fatalf("%d: %s", code, printed)
		}
		service.wrong.Store(true)
		code, printed := shell(t, dir, pipelines(t)["shell"])
		comment, err := os.ReadFile(filepath.Join(dir, "comment.txt"))
		if code != 1 || err != nil || !strings.Contains(string(comment), "rotate") {
			t.Errorf("exit code %d, %v\n%s\n%s", code, err, printed, comment)
		}
	})
}
