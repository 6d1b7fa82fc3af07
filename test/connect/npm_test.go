//go:build e2e

package connect

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// npmDir is the environment variable with a folder in which `npm ci` has been run
// on test/connect/npm, for machines without a registry.
const npmDir = "CONNECT_NPM_DIR"

// npm gives a folder with the packages of test/connect/npm below node_modules,
// which npm fetches once into the user's cache.
func npm(t *testing.T) string {
	t.Helper()
	needs(t, "the connect pages are not tested against LangChain, LlamaIndex, pgvector and the vendors' clients", "node", "npm")
	lock, err := os.ReadFile(filepath.Join("npm", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := cmp.Or(os.Getenv(npmDir), filepath.Join(cache, "assay-tools", fmt.Sprintf("connect-%x", sha256.Sum256(lock))[:20]))
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	// Beside its place, so that it is there whole or not at all.
	fresh, err := os.MkdirTemp(filepath.Dir(dir), ".connect-") //nolint:usetesting // it is renamed, which works within one file system
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(fresh) })
	if err := os.CopyFS(fresh, os.DirFS("npm")); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--prefix", fresh, "--ignore-scripts", "--no-audit", "--no-fund")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("install the packages of test/connect/npm by npm, or name a folder that has them in %s: %v\n%s", npmDir, err, out)
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// workspace is a folder with copies of the samples in which packages are found.
func workspace(t *testing.T) string {
	t.Helper()
	modules := filepath.Join(npm(t), "node_modules")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "config", "samples", "connect"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// node starts the adapter with a search of the samples.
func node(t *testing.T, search string, env ...string) string {
	t.Helper()
	dir := workspace(t)
	env = append([]string{"CHUNKS=chunks.jsonl", "EMBEDDINGS_URL=" + embeddings(t).URL + "/v1", "EMBEDDINGS_MODEL=BAAI/bge-m3", "OPENAI_API_KEY=replace-me"}, env...)
	return adapter(t, dir, env, "node", "server.mjs", "./"+search+".mjs")
}

// The packages that are tested are those that the samples name.
func TestSamplesNameTheTestedPackages(t *testing.T) {
	var sample, tested struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	for file, into := range map[string]any{
		filepath.Join(root, "config", "samples", "connect", "package.json"): &sample,
		filepath.Join("npm", "package.json"):                                &tested,
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatal(err)
		}
	}
	if len(sample.Dependencies) == 0 {
		t.Fatal("the samples need no package")
	}
	for name, version := range sample.Dependencies {
		if tested.Dependencies[name] != version {
			t.Errorf("%s: the sample has %s, the test %q", name, version, tested.Dependencies[name])
		}
	}
}

func TestLangChain(t *testing.T) {
	p := readPage(t, "connect/langchain.md")
	p.sameAs(t, "js", "config/samples/connect/langchain.mjs")
	url := node(t, "langchain")
	speaks(t, url)
	filters(t, p, "langchain", url)
}

func TestLlamaIndex(t *testing.T) {
	p := readPage(t, "connect/llamaindex.md")
	p.sameAs(t, "js", "config/samples/connect/llamaindex.mjs")
	url := node(t, "llamaindex")
	speaks(t, url)
	filters(t, p, "llamaindex", url)
}

func TestPgvector(t *testing.T) {
	p := readPage(t, "connect/pgvector.md")
	p.sameAs(t, "js", "config/samples/connect/pgvector.mjs")
	p.sameAs(t, "sql", "config/samples/connect/pgvector.sql")
	dir := workspace(t)
	var rows []map[string]any
	for _, c := range corpus {
		rows = append(rows, map[string]any{"chunk_id": c.ID, "path": c.Document, "tenant": c.Tenant, "body": c.Body, "embedding": embed(c.Body)})
	}
	data, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join("testdata", "postgres.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"rows.json": data, "postgres.mjs": script} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var server struct {
		Postgres string
		Rest     int
		Version  map[string]string
	}
	up := start(t, dir, nil, "ready ", "node", "postgres.mjs", "pgvector.sql", "rows.json")
	if err := json.Unmarshal([]byte(up), &server); err != nil {
		t.Fatalf("%s: %v", up, err)
	}
	t.Logf("%v", server.Version)
	host, port, _ := strings.Cut(server.Postgres, ":")

	env := []string{"PGHOST=" + host, "PGPORT=" + port, "PGDATABASE=postgres", "PGUSER=postgres", "PGSSLMODE=disable"}
	url := node(t, "pgvector", env...)
	speaks(t, url)
	manifest := at(t, p.suite(t, "evalsuite_pgvector.yaml"), map[string]string{"http://pgvector-retriever.rag.svc:8080": url})
	passes(t, manifest)
	filtered := with(t, manifest, p.section(t, "A filter for each case"))
	passes(t, filtered)
	if got := found(t, filtered)["rotate"]; slices.Contains(got, "billing-1") {
		t.Errorf("%v, want none of the other tenant", got)
	}
	small := node(t, "pgvector", append(env, "EMBEDDINGS_MODEL="+smallModel)...)
	p.says(t, failure(t, strings.ReplaceAll(manifest, url, small)), "RetrieverHTTPError", "different vector dimensions")

	t.Run("PostgREST", func(t *testing.T) {
		rest := fmt.Sprintf("http://127.0.0.1:%d", server.Rest)
		fragment := at(t, p.section(t, "Without a service: PostgREST"), map[string]string{
			"http://postgrest.rag.svc:3000": rest, "http://vllm.models.svc:8000": embeddings(t).URL})
		secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: postgrest}\nstringData: {jwt: replace-me}\n---\n"
		direct := secret + with(t, manifest, fragment)
		passes(t, direct)
		if got := found(t, direct)["rotate"]; slices.Contains(got, "billing-1") {
			t.Errorf("%v, want none of the other tenant", got)
		}
		p.says(t, failure(t, strings.ReplaceAll(direct, "/rpc/match_chunks", "/rpc/match_typo")), "RetrieverHTTPError", "does not exist")
		p.says(t, failure(t, strings.ReplaceAll(direct, "jwt: replace-me", "jwt: wrong")), "401")
	})
}

// typescript compiles text against the packages, strictly, and gives what the
// compiler says.
func typescript(t *testing.T, text string) string {
	t.Helper()
	dir := workspace(t)
	if err := os.WriteFile(filepath.Join(dir, "check.ts"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	tsc := exec.CommandContext(t.Context(), "node", filepath.Join("node_modules", "typescript", "bin", "tsc"), "--noEmit", "--strict", "--skipLibCheck",
		"--target", "es2022", "--module", "nodenext", "--moduleResolution", "nodenext", "check.ts")
	tsc.Dir, tsc.Stdout, tsc.Stderr = dir, &out, &out
	if err := tsc.Run(); err != nil && out.Len() == 0 {
		t.Fatal(err)
	}
	return out.String()
}
