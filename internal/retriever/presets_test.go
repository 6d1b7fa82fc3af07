package retriever

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/golden"
)

// The replies in testdata have the shape that the vendors document.
func TestPresets(t *testing.T) {
	params := map[string]any{"idField": "path", "textField": "body"}
	for name, test := range map[string]struct {
		preset, reply string
		request       string
		want          []Result
		err           string
	}{
		"OpenSearch": {
			preset: "OpenSearch", reply: "opensearch.json",
			request: `{"_source":["path","body"],"query":{"match":{"body":"How do I install it?"}},"size":10}`,
			want: []Result{
				{ID: "guide/install.md", Text: "Run the installer.", Score: score(4.7225013)},
				{ID: "9007199254740993", Score: score(2)},
				{ID: "가이드/설치.md", Text: "설치 프로그램을 실행합니다."},
			},
		},
		"OpenSearch, a shard failed": {preset: "OpenSearch", reply: "opensearch-partial.json", err: "1 of 5 shards failed and the hits are only a part"},
		"OpenSearch, timed out":      {preset: "OpenSearch", reply: "opensearch-timed-out.json", err: "the search timed out and its hits are only a part"},
		"Elasticsearch": {
			preset: "OpenSearch", reply: "elasticsearch.json",
			want: []Result{{ID: "a.md", Text: "A", Score: score(1.3862942)}},
		},
		"Qdrant": {
			preset: "Qdrant", reply: "qdrant.json",
			request: `{"limit":10,"query":[0.1,-0.25],"with_payload":true}`,
			want: []Result{
				{ID: "guide/install.md", Text: "Run the installer.", Score: score(0.81)},
				{ID: "18446744073709551615", Score: score(0.75)},
			},
		},
		"Weaviate": {
			preset: "Weaviate", reply: "weaviate.json",
			request: `{"limit":10,"query":"How do I install it?","returnMetadata":["score"],"returnProperties":["path","body"]}`,
			want: []Result{
				{ID: "guide/install.md", Text: "Run the installer.", Score: score(0.71)},
				{ID: "guide/update.md", Score: score(0.5)},
			},
		},
		"OpenAIVectorStore": {
			preset: "OpenAIVectorStore", reply: "openai.json",
			request: `{"max_num_results":10,"query":"How do I install it?","rewrite_query":false}`,
			want: []Result{
				{ID: "install.md", Document: "file-1a2b3c", Text: "Run the installer.\nThen restart.", Score: score(0.95)},
				{ID: "update.md", Document: "file-4d5e6f", Score: score(1)},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join("testdata", test.reply))
			if err != nil {
				t.Fatal(err)
			}
			p := mustCompile(t, Mappings{Preset: test.preset, HasEmbedding: true})
			q := &question{c: &golden.Case{ID: "q", Question: "How do I install it?"}, topK: 10, params: params, vector: []float64{0.1, -0.25}}
			if test.request != "" {
				request, err := p.encode(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.request, string(request.Body)); diff != "" {
					t.Error(diff)
				}
			}
			got, _, err := p.decode(t.Context(), q, nil, body)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || outcomeOf(err) != Failed {
					t.Fatalf("got %v, want %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A preset whose results are mapped otherwise still sees a failed shard.
func TestPresetKeepsItsErrorMapping(t *testing.T) {
	body, err := os.ReadFile(filepath.Join("testdata", "opensearch-partial.json"))
	if err != nil {
		t.Fatal(err)
	}
	p := mustCompile(t, Mappings{Preset: "OpenSearch", Results: `response.hits.hits.map(h, {"id": h._id})`})
	_, _, err = p.decode(t.Context(), &question{c: howTo, topK: 10}, nil, body)
	if err == nil || outcomeOf(err) != Failed {
		t.Errorf("got %v", err)
	}
}

func TestPresetTableIsWhole(t *testing.T) {
	for name := range presets {
		p := mustCompile(t, Mappings{Preset: name, HasEmbedding: true})
		if got, want := p.plainRequest, name == defaultPreset; got != want {
			t.Errorf("%s: plainRequest is %v", name, got)
		}
		if got, want := p.plainResults, name == defaultPreset; got != want {
			t.Errorf("%s: plainResults is %v", name, got)
		}
	}
}
