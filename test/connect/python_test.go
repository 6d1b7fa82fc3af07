package connect

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// myApp is an application with objects of the shapes that LangChain and
// LlamaIndex document, over the corpus.
const myApp = `
import json, os, re

chunks = [json.loads(line) for line in open(os.environ["CHUNKS"], encoding="utf-8")]


def words(text):
    return re.findall(r"\w+", text.lower())


def ranked(query, k, keep=lambda c: True):
    if query == "fail":
        raise ConnectionError("the store is away")
    scored = [(len(set(words(query)) & set(words(c["body"]))), c) for c in chunks if keep(c)]
    return sorted(scored, key=lambda s: -s[0])[:k]


class Document:
    def __init__(self, c):
        self.id = None
        self.page_content = c["body"]
        self.metadata = {"chunk_id": c["chunk_id"], "source": c["path"], "tenant": c["tenant"]}


class VectorStore:
    def similarity_search_with_score(self, query, k=4, filter=None):
        keep = lambda c: all(c[key] == value for key, value in (filter or {}).items())
        return [(Document(c), score) for score, c in ranked(query, k, keep)]


class Node:
    def __init__(self, c):
        self.node_id = "0c7c3d2e-1111-4222-8333-444455556666"
        self.metadata = {"chunk_id": c["chunk_id"], "path": c["path"]}
        self.text = c["body"]

    def get_content(self):
        return self.text


class NodeWithScore:
    def __init__(self, score, c):
        self.node, self.score = Node(c), score


class Retriever:
    def __init__(self, k):
        self.k = k

    def retrieve(self, query):
        return [NodeWithScore(score, c) for score, c in ranked(query, self.k)]


class Index:
    def as_retriever(self, similarity_top_k):
        return Retriever(similarity_top_k)


vector_store, index = VectorStore(), Index()
`

// python starts the adapter for Python with a search of the samples.
func python(t *testing.T, search string) string {
	t.Helper()
	needs(t, "the adapter for Python is not tested", "python3")
	dir := t.TempDir()
	samples, err := filepath.Abs(filepath.Join(root, "config", "samples", "connect"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "my_app.py"), []byte(myApp), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"server.py", search + ".py"} {
		text, err := os.ReadFile(filepath.Join(samples, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return adapter(t, dir, []string{"CHUNKS=" + filepath.Join(samples, "chunks.jsonl"), "PYTHONDONTWRITEBYTECODE=1"}, "python3", "server.py", search+":search")
}

func TestLangChainInPython(t *testing.T) {
	p := readPage(t, "connect/langchain.md")
	p.sameAs(t, "python", "config/samples/connect/langchain_search.py")
	url := python(t, "langchain_search")
	speaks(t, url)
	manifest := filters(t, p, "langchain", url)
	p.says(t, failure(t, strings.ReplaceAll(manifest, "How do I rotate the signing key?", "fail")), "RetrieverHTTPError", "ConnectionError: the store is away")

	noID := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"results": []map[string]any{{"text": "a"}}})
	}))
	t.Cleanup(noID.Close)
	p.says(t, failure(t, strings.ReplaceAll(manifest, url, noID.URL)), "RetrieverMalformed", `has no "id"`)
}

func TestLlamaIndexInPython(t *testing.T) {
	p := readPage(t, "connect/llamaindex.md")
	p.sameAs(t, "python", "config/samples/connect/llamaindex_search.py")
	url := python(t, "llamaindex_search")
	speaks(t, url)
	passes(t, at(t, p.suite(t, "evalsuite_llamaindex.yaml"), map[string]string{"http://llamaindex-retriever.rag.svc:8080": url}))
}
