package retriever

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stubReply is 10 results of 300 bytes.
func stubReply() string {
	items := make([]string, 10)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":"docs/page-%d.md","text":%q,"score":%g}`, i, strings.Repeat("word\n", 60), 1/float64(i+1))
	}
	return `{"results":[` + strings.Join(items, ",") + `]}`
}

const benchParallelism = 8

// BenchmarkRetrieve and BenchmarkBareHTTP ask the same local stub at the same
// parallelism; the client should reach 80 % of the bare loop.
func BenchmarkRetrieve(b *testing.B) {
	server := httptest.NewServer(reply(stubReply()))
	defer server.Close()
	client := newClient(b, server.URL, func(c *Config) { c.MaxIdle = benchParallelism * 4 })
	b.ReportAllocs()
	b.SetParallelism(benchParallelism)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if r, err := client.Retrieve(b.Context(), howTo, 10); err != nil || len(r.Results) != 10 {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkBareHTTP(b *testing.B) {
	server := httptest.NewServer(reply(stubReply()))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchParallelism * 4}}
	b.ReportAllocs()
	b.SetParallelism(benchParallelism)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			body, err := json.Marshal(map[string]any{"query": howTo.Question, "top_k": 10})
			if err != nil {
				b.Fatal(err)
			}
			response, err := client.Post(server.URL, "application/json", bytes.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			var decoded struct {
				Results []struct {
					ID    string   `json:"id"`
					Text  string   `json:"text"`
					Score *float64 `json:"score"`
				} `json:"results"`
			}
			if err := json.NewDecoder(response.Body).Decode(&decoded); err != nil || len(decoded.Results) != 10 {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	p := mustCompile(b, Mappings{})
	openSearch := mustCompile(b, Mappings{Preset: "OpenSearch"})
	hits, err := os.ReadFile(filepath.Join("testdata", "opensearch.json"))
	if err != nil {
		b.Fatal(err)
	}
	q := &question{c: howTo, topK: 10, params: map[string]any{"idField": "path", "textField": "body"}}
	for _, bench := range []struct {
		name string
		p    *Program
		body []byte
	}{{"plain", p, []byte(stubReply())}, {"CEL", slow(p), []byte(stubReply())}, {"OpenSearch", openSearch, hits}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := bench.p.decode(b.Context(), q, nil, bench.body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
