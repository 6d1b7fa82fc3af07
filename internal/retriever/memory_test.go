package retriever

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// allocated gives about how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func repeat(item string, n int) string {
	return strings.TrimSuffix(strings.Repeat(item+",", n), ",")
}

func TestValuesAreBounded(t *testing.T) {
	p := mustCompile(t, Mappings{})
	for name, body := range map[string]string{
		"empty maps":  `{"results":[` + repeat(`{}`, 2_700_000) + `]}`,
		"small maps":  `{"results":[` + repeat(`{"":1}`, 1_100_000) + `]}`,
		"numbers":     `{"results":[],"x":[` + repeat(`0`, 4_000_000) + `]}`,
		"in metadata": `{"results":[{"id":"a","metadata":{"x":[` + repeat(`[]`, 2_700_000) + `]}}]}`,
		"nested":      `{"results":[],"x":` + repeat(strings.Repeat("[", 500)+strings.Repeat("]", 500), 1000) + `}`,
		"not JSON":    strings.Repeat("{", 8_000_000),
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range []*Program{p, slow(p)} {
				var err error
				took := allocated(func() {
					_, _, err = p.decode(t.Context(), &question{c: howTo, topK: 10}, nil, []byte(body))
				})
				if err == nil || !strings.Contains(err.Error(), "the body holds more than 400000 JSON values") {
					t.Errorf("got %v", err)
				}
				// The copy of the body that the test itself makes, and a little.
				if most := uint64(len(body) + 1<<20); took > most {
					t.Errorf("%d bytes were allocated of a body of %d", took, len(body))
				}
			}
		})
	}
	t.Run("embedding", func(t *testing.T) {
		_, err := readVector([]byte(`{"data":[{"embedding":[`+repeat("0", 4_000_000)+`]}]}`), 0)
		if err == nil || !strings.Contains(err.Error(), "JSON values") {
			t.Errorf("got %v", err)
		}
	})
}

// What stands in a text is no value, and a whole lot of metadata is none too many.
func TestLargeRepliesPass(t *testing.T) {
	fields := make([]string, 20)
	for i := range fields {
		fields[i] = fmt.Sprintf(`"field%d":%d`, i, i)
	}
	p := mustCompile(t, Mappings{})
	for name, test := range map[string]struct {
		item string
		n    int
	}{
		"metadata":   {`{"id":"a","text":"b","score":1,"metadata":{` + strings.Join(fields, ",") + `,"none":{}}}`, 10_000},
		"brackets":   {`{"id":"a","text":"` + strings.Repeat(`,[{\"`, 1000) + `"}`, 1000},
		"as many as": {`{"id":"a"}`, maxResults},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"results":[` + repeat(test.item, test.n) + `]}`
			for _, p := range []*Program{p, slow(p)} {
				got, _, err := p.decode(t.Context(), &question{c: howTo, topK: 10}, nil, []byte(body))
				if err != nil || len(got) != test.n {
					t.Errorf("got %d results, %v", len(got), err)
				}
			}
		})
	}
}

func TestResultsAreBounded(t *testing.T) {
	p := mustCompile(t, Mappings{})
	body := `{"results":[` + repeat(`{"id":"a"}`, maxResults+1) + `]}`
	for _, p := range []*Program{p, slow(p)} {
		_, _, err := p.decode(t.Context(), &question{c: howTo, topK: 10}, nil, []byte(body))
		if err == nil || !strings.Contains(err.Error(), "it gave 100001 results, but at most 100000 are read") {
			t.Errorf("got %v", err)
		}
	}
}

// What a mapping builds again and again, kept or not, must be bounded as a whole.
func TestMappingsTakeLittleMemory(t *testing.T) {
	items := make([]string, 10_000)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":"%d"}`, i)
	}
	body := `{"results":[` + strings.Join(items, ",") + `],"text":"` + strings.Repeat("x", 1<<19) + `"}`
	cost, work := "it cost more than the limit", "it builds more than 128 MiB in all"
	for name, test := range map[string]struct{ results, want string }{
		"ranges":          {`[{"id": string(response.results.map(a, lists.range(100000)).size())}]`, cost},
		"one large range": {`[{"id": string(lists.range(100001).size())}]`, "exceeds maximum allowed"},
		"texts":           {`[{"id": string(response.results.map(a, response.text.lowerAscii()).size())}]`, cost},
		"replaced texts":  {`[{"id": string(response.results.map(a, response.text.replace("x", "yy")).size())}]`, work},
		"dropped texts":   {`response.results.filter(a, response.text.upperAscii() == "")`, cost},
		"cut texts":       {`[{"id": string(response.results.map(a, response.text.substring(0, 1)).size())}]`, cost},
		"bytes":           {`[{"id": string(response.results.map(a, bytes(response.text)).size())}]`, cost},
		"slices":          {`[{"id": string(response.results.map(a, response.results.slice(0, 10000)).size())}]`, cost},
		"flattened":       {`[{"id": string(response.results.map(a, [response.results].flatten()).size())}]`, work},
		"shared values":   {`response.results.slice(0, 40).map(a, {"id": a.id, "metadata": {"r": response.text}})`, "cannot be read: it is too large"},
		"split":           {`[{"id": string(response.results.map(a, response.text.split("")).size())}]`, cost},
		"comparisons":     {`response.results.filter(a, response != response)`, cost},
		"searches":        {`response.results.filter(a, "nope" in response.results)`, cost},
		"shared metadata": {`response.results.map(a, {"id": a.id, "metadata": {"r": response.text, "s": response.results}})`, work},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Compile(Mappings{Results: test.results})
			if err != nil {
				t.Fatal(err)
			}
			took := allocated(func() {
				_, _, err = p.decode(t.Context(), &question{c: howTo, topK: 10}, nil, []byte(body))
			})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if took > 300<<20 {
				t.Errorf("%d MiB were allocated", took>>20)
			}
		})
	}
}

func TestRequestsAreBounded(t *testing.T) {
	client := newClient(t, "http://docs-bot.rag.svc/search", func(c *Config) {
		c.Program = mustCompile(t, Mappings{Request: `{"a": lists.range(70000)}`})
	})
	expect(t, fail(t, client), Malformed, 0, "no request was made: retriever.request: it is too large")
}

// A mapping must not go on for long after its deadline, whatever a step of it takes.
func TestMappingsLookAtTheClock(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, results := range map[string]string{
		"few large steps": `response.map(a, {"id": string(response == response)})`,
		"no loop at all":  `[` + strings.Repeat(`[response],`, 30) + `{"id": "a"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			p := mustCompile(t, Mappings{Results: results})
			_, _, err := p.decode(ctx, &question{c: howTo, topK: 10}, nil, []byte(`[`+repeat("1", 20)+`]`))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
}
