package retriever

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompileAccepts(t *testing.T) {
	for name, m := range map[string]Mappings{
		"nothing":     {},
		"Assay":       {Preset: "Assay"},
		"one own":     {Results: `response.hits.map(h, {"id": h.path, "text": h.body, "score": h.score})`},
		"root list":   {Results: `response.map(r, {"id": string(r.id), "text": r.content, "score": r.similarity})`},
		"mixed types": {Request: `{"a": 1, "b": [1, "two", 3.0, true, null], "c": {"d": topK}}`},
		"hybrid": {HasEmbedding: true, Request: `{"size": topK, "query": {"hybrid": {"queries": [
			{"match": {params.textField: question}}, {"knn": {"embedding": {"vector": vector, "k": topK}}}]}}}`},
		"nested chunks": {Results: `response.hits.hits.map(h, h.inner_hits.chunks.hits.hits.map(c,
			{"id": h._id + "#" + string(c._nested.offset), "document": h._id, "text": c._source.text, "score": c._score})).flatten()`},
		"three loops":     {Results: `response.groups.map(g, g.hits.map(h, {"id": h.id, "text": h.parts.map(p, string(p.text)).join("\n")})).flatten()`},
		"GET":             {Method: "GET", Query: `{"q": question, "k": topK, "tag": case.tags}`},
		"extensions":      {Request: `{"q": question.trim().lowerAscii(), "b": base64.encode(bytes(question)), "f": "%s".format([question])}`},
		"optionals":       {Results: `response.?items.orValue([])`},
		"a loop variable": {Results: `response.items.map(vector, {"id": vector.id})`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Compile(m); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCompileRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		mappings Mappings
		want     []string // one part of each problem, in order
	}{
		"unknown preset":      {Mappings{Preset: "Pinecone"}, []string{`retriever.preset: there is no preset "Pinecone": use one of Assay, OpenAIVectorStore, OpenSearch, Qdrant, Weaviate`}},
		"open bracket":        {Mappings{Results: `response.hits.map(h, h.id`}, []string{"retriever.results: 1:26: Syntax error: missing ')' at '<EOF>'; check brackets, commas and quotes"}},
		"second line":         {Mappings{Results: "response.hits\n.map(h, nope.id)"}, []string{"retriever.results: 2:9: undeclared reference to 'nope'; in scope are response, headers, question"}},
		"reply in request":    {Mappings{Request: `{"q": response.q}`}, []string{"retriever.request: 1:7: undeclared reference to 'response': there is no reply yet when the request is made; in scope are question, topK, case, params, vector"}},
		"vector":              {Mappings{Request: `{"q": vector}`}, []string{"retriever.request: it uses vector, but nothing makes one: add retriever.embedding"}},
		"Qdrant":              {Mappings{Preset: "Qdrant"}, []string{"retriever.request: it uses vector"}},
		"no such case field":  {Mappings{Request: `{"q": case.question}`}, []string{"retriever.request: case has no question, only id, tags, metadata, history"}},
		"types":               {Mappings{Request: `{"q": question + 1}`}, []string{"found no matching overload for '_+_' applied to '(string, int)'; check the types"}},
		"results are a text":  {Mappings{Results: `"x"`}, []string{`retriever.results: it gives string, but must give a list, for example`}},
		"query is a list":     {Mappings{Query: `[question]`}, []string{`retriever.query: it gives list(string), but must give a map of URL parameters`}},
		"error is a bool":     {Mappings{Error: `response.failed > 0`}, []string{`retriever.error: it gives bool, but must give a string, empty where all is well`}},
		"version is a list":   {Mappings{CorpusVersion: `[1]`}, []string{`retriever.corpusVersion: it gives list(int), but must give a string or a number`}},
		"bad regex":           {Mappings{Error: `"x".matches("[") ? "a" : ""`}, []string{"retriever.error: 1:13: invalid matches argument"}},
		"four loops":          {Mappings{Results: `response.a.map(a, response.a.map(b, response.a.map(c, response.a.map(d, d))))`}, []string{"retriever.results: it costs too much"}},
		"long known loops":    {Mappings{Results: `lists.range(1000).map(a, lists.range(1000).map(b, lists.range(1000).map(c, c)))`}, []string{"retriever.results: it costs too much"}},
		"GET with a body":     {Mappings{Method: "GET", Request: `{"q": question}`, Query: `{"q": question}`}, []string{"retriever.request: a GET has no body"}},
		"GET without a query": {Mappings{Method: "GET"}, []string{"retriever.query: a GET asks by URL parameters alone"}},
		"everything at once": {Mappings{Request: `{`, Query: `nope`, Results: `nope`, Error: `1`, CorpusVersion: `vector.size()`}, []string{
			"retriever.request: 1:", "retriever.query: 1:1: ", "retriever.results: 1:1: ", "retriever.error: it gives int", "retriever.corpusVersion: it uses vector",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(test.mappings)
			var all *CompileError
			if !errors.As(err, &all) {
				t.Fatalf("got %v, want a CompileError", err)
			}
			if len(all.Problems) != len(test.want) {
				t.Fatalf("got %d problems, want %d: %v", len(all.Problems), len(test.want), err)
			}
			for i, want := range test.want {
				if got := all.Problems[i].String(); !strings.Contains(got, want) {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
		})
	}
}

func TestCheckParams(t *testing.T) {
	for name, test := range map[string]struct {
		mappings Mappings
		params   map[string]any
		want     string
	}{
		"Assay needs none": {Mappings{}, nil, ""},
		"OpenSearch lacks both": {Mappings{Preset: "OpenSearch"}, nil,
			`retriever.params: "idField" is missing, which is read by retriever.request and retriever.results: add it, for example {"idField": "path"}; ` +
				`retriever.params: "textField" is missing, which is read by retriever.request and retriever.results: add it, for example {"textField": "body"}`},
		"OpenSearch has both":    {Mappings{Preset: "OpenSearch"}, map[string]any{"idField": "path", "textField": "body"}, ""},
		"an own name":            {Mappings{Request: `{"c": params.collection, "i": params["index"]}`}, map[string]any{"collection": "docs"}, `retriever.params: "index" is missing, which is read by retriever.request: add it, for example {"index": "body"}`},
		"asked for by has()":     {Mappings{Request: `{"c": has(params.collection) ? params.collection : "docs"}`}, nil, ""},
		"asked for by .?":        {Mappings{Request: `{"c": params.?collection.orValue("docs")}`}, nil, ""},
		"a loop variable called": {Mappings{Request: `case.tags.map(params, params.x)`}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Compile(test.mappings)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := p.CheckParams(test.params); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckTopK(t *testing.T) {
	store, err := Compile(Mappings{Preset: "OpenAIVectorStore"})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.CheckTopK(50); err != nil {
		t.Error(err)
	}
	if err := store.CheckTopK(51); err == nil || !strings.Contains(err.Error(), "at most 50 results") {
		t.Errorf("got %v", err)
	}
	plain, err := Compile(Mappings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.CheckTopK(1000); err != nil {
		t.Error(err)
	}
}

func TestUsesVector(t *testing.T) {
	for _, preset := range []string{"Assay", "Qdrant"} {
		p, err := Compile(Mappings{Preset: preset, HasEmbedding: true})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := p.UsesVector(), preset == "Qdrant"; got != want {
			t.Errorf("%s: got %v, want %v", preset, got, want)
		}
	}
}
