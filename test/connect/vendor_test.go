//go:build e2e

package connect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// exchange is one request and its reply, as they went over the wire.
type exchange struct{ request, reply string }

// tap gives a server in front of another, and what has gone through it.
func tap(t *testing.T, behind *httptest.Server) (*httptest.Server, *[]exchange) {
	t.Helper()
	var (
		mu  sync.Mutex
		all []exchange
	)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		recorder := httptest.NewRecorder()
		behind.Config.Handler.ServeHTTP(recorder, r)
		if recorder.Code == http.StatusOK {
			mu.Lock()
			all = append(all, exchange{string(body), recorder.Body.String()})
			mu.Unlock()
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes())
	}))
	t.Cleanup(s.Close)
	return s, &all
}

// assignable has TypeScript assign every request and reply to the vendor's types,
// and says that it would not do so with a field that is none.
func assignable(t *testing.T, head, requestType, replyType string, all []exchange) {
	t.Helper()
	if len(all) == 0 {
		t.Fatal("nothing went over the wire")
	}
	var b strings.Builder
	b.WriteString(head)
	for i, e := range all {
		fmt.Fprintf(&b, "export const request%d: %s = %s;\nexport const reply%d: %s = %s;\n", i, requestType, e.request, i, replyType, e.reply)
	}
	if said := typescript(t, b.String()); said != "" {
		t.Errorf("requests and replies are not of the vendor's types:\n%s", said)
	}
	wrong := strings.Replace(all[0].request, "{", `{"no_such_field": 1, `, 1)
	if said := typescript(t, head+fmt.Sprintf("export const wrong: %s = %s;\n", requestType, wrong)); !strings.Contains(said, "no_such_field") {
		t.Errorf("the vendor's types take any field: %s", said)
	}
}

// run gives what a script for node prints, as JSON.
func run(t *testing.T, script string, args ...string) []string {
	t.Helper()
	dir := workspace(t)
	if err := os.WriteFile(filepath.Join(dir, "client.mjs"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", append([]string{"client.mjs"}, args...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var ids []string
	if err := json.Unmarshal(out, &ids); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return ids
}

// Every manifest of the page goes over the wire once, and is of the vendor's types.
func TestOpenSearchSpeaksAsItsClient(t *testing.T) {
	p := readPage(t, "connect/opensearch.md")
	server, all := tap(t, openSearch(t, "chunk_id"))
	manifest := openSearchSuite(t, p, server.URL)
	ours := found(t, manifest)["rotate"]
	found(t, with(t, manifest, p.section(t, "A filter for each case")))
	hybrid := strings.NewReplacer("https://opensearch.search.svc:9200", server.URL, "http://vllm.models.svc:8000", embeddings(t).URL).Replace(p.section(t, "Hybrid and vectors"))
	found(t, with(t, manifest, hybrid))
	assignable(t, `import type { API } from "@opensearch-project/opensearch";
`, "NonNullable<API.Search_Request['body']>", "API.Search_ResponseBody", *all)

	theirs := run(t, `
import { Client } from "@opensearch-project/opensearch";
const client = new Client({ node: process.argv[2], auth: { username: "assay", password: "replace-me" } });
const { body } = await client.search({ index: "docs", body: JSON.parse(process.argv[3]) });
console.log(JSON.stringify(body.hits.hits.map((h) => h._source.chunk_id)));
`, server.URL, `{"size": 10, "_source": ["chunk_id", "body"], "query": {"match": {"body": "How do I rotate the signing key?"}}}`)
	if !slices.Equal(ours, theirs) {
		t.Errorf("Assay has %v, the client %v", ours, theirs)
	}
}

func TestQdrantSpeaksAsItsClient(t *testing.T) {
	p := readPage(t, "connect/qdrant.md")
	server, all := tap(t, qdrant(t))
	manifest := qdrantSuite(t, p, server.URL, embeddings(t).URL)
	ours := found(t, manifest)["rotate"]
	found(t, with(t, manifest, p.section(t, "A filter for each case")))
	found(t, with(t, manifest, p.section(t, "Named vectors and hybrid")))
	assignable(t, `import type { Schemas } from "@qdrant/js-client-rest";
interface Reply { time: number; status: string; result: Schemas["QueryResponse"] }
`, `Schemas["QueryRequest"]`, "Reply", *all)

	vector, err := json.Marshal(embed("How do I rotate the signing key?"))
	if err != nil {
		t.Fatal(err)
	}
	theirs := run(t, `
import { QdrantClient } from "@qdrant/js-client-rest";
const client = new QdrantClient({ url: process.argv[2], apiKey: "replace-me", checkCompatibility: false });
const { points } = await client.query("docs", { query: JSON.parse(process.argv[3]), limit: 10, with_payload: true });
console.log(JSON.stringify(points.map((p) => p.payload.chunk_id)));
`, server.URL, string(vector))
	if !slices.Equal(ours, theirs) {
		t.Errorf("Assay has %v, the client %v", ours, theirs)
	}
}
