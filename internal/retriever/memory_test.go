package retriever

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
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

// hold takes all of what large replies or mappings may have.
func hold(t *testing.T) (release func()) {
	t.Helper()
	if !largeBodies.TryAcquire(maxLargeBodies) || !mappings.TryAcquire(maxMappings) {
		t.Fatal("something is held by an earlier test")
	}
	return func() {
		largeBodies.Release(maxLargeBodies)
		mappings.Release(maxMappings)
	}
}

func TestLargeRepliesWaitForMemory(t *testing.T) {
	large := `{"results":[{"id":"a","text":"` + strings.Repeat("x", 2*smallBody) + `"}]}`
	mapped := func(c *Config) { c.Program = mustCompile(t, Mappings{Results: `response.results.map(r, r)`}) }
	asked := func(c *Config) { c.Program = mustCompile(t, Mappings{Request: `{"q": question + "?"}`}) }
	for name, test := range map[string]struct {
		body   string
		change func(*Config)
		waits  time.Duration
	}{
		"small":           {twoResults, func(*Config) {}, 0},
		"large":           {large, func(*Config) {}, time.Minute},
		"small, mapped":   {twoResults, mapped, time.Minute},
		"request, mapped": {twoResults, asked, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, s := play(t, []step{{status: 200, body: test.body, takes: 3 * time.Second}}, timeout(10*time.Second), test.change)
				release := hold(t)
				freed := make(chan struct{})
				time.AfterFunc(time.Minute, func() { release(); close(freed) })
				r, err := client.Retrieve(t.Context(), howTo, 10)
				if err != nil {
					t.Fatal(err)
				}
				if r.Latency != 3*time.Second {
					t.Errorf("waiting counts as latency: %s", r.Latency)
				}
				if took := time.Since(s.start); took < max(test.waits, 3*time.Second) || test.waits == 0 && took > 3*time.Second {
					t.Errorf("took %s", took)
				}
				<-freed
			})
			hold(t)() // All was given back.
		})
	}
}

func TestWaitForMemoryEnds(t *testing.T) {
	large := strings.Repeat(" ", 2*smallBody)
	synctest.Test(t, func(t *testing.T) {
		release := hold(t)
		client, s := play(t, []step{{status: 200, body: large}}, timeout(10*time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, err := client.Retrieve(ctx, howTo, 10)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(s.start) != 30*time.Second {
			t.Errorf("got %v after %s", err, time.Since(s.start))
		}
		release()
	})
	hold(t)()
}

// slowBody gives its second half later than an attempt may take.
type slowBody struct {
	io.Reader
	ctx context.Context
}

func (b slowBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF && !sleep(b.ctx, time.Hour) {
		return n, b.ctx.Err()
	}
	return n, err
}

func (slowBody) Close() error { return nil }

// The clock goes on where it stood, and ends the attempt after the wait.
func TestTimeoutAfterAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, "http://docs-bot.rag.svc/search", timeout(10*time.Second))
		client.retriever.http.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			sleep(r.Context(), 4*time.Second)
			return &http.Response{
				StatusCode: 200, Header: http.Header{}, Request: r, ContentLength: -1,
				Body: slowBody{strings.NewReader(strings.Repeat(" ", 2*smallBody)), r.Context()},
			}, nil
		})
		time.AfterFunc(time.Minute, hold(t))
		start := time.Now()
		e := fail(t, client)
		expect(t, e, Timeout, 1, "the reply did not end within 10s")
		if took := time.Since(start); took != time.Minute+6*time.Second || e.Latency != 10*time.Second {
			t.Errorf("ended after %s, latency %s", took, e.Latency)
		}
	})
	hold(t)()
}

// However many calls there are, few large replies are held at the same time.
func TestManyLargeReplies(t *testing.T) {
	body := strings.Repeat(" ", maxBody-10) + `{}`
	var now, most atomic.Int64
	client := serve(t, reply(body))
	read := client.retriever.http.Transport
	client.retriever.http.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := read.RoundTrip(r)
		if err == nil {
			response.Body = &countedBody{ReadCloser: response.Body, now: &now, most: &most}
		}
		return response, err
	})
	done := make(chan error)
	for range 16 {
		go func() {
			_, err := client.Retrieve(t.Context(), howTo, 10)
			done <- err
		}()
	}
	for range 16 {
		if err := <-done; err == nil || !strings.Contains(err.Error(), "no such key: results") {
			t.Error(err)
		}
	}
	if n := most.Load(); n > maxLargeBodies/maxBody {
		t.Errorf("%d bodies of 8 MiB were held at the same time", n)
	}
	hold(t)()
}

// countedBody counts bodies of which more than the small part was read and that
// are not closed yet.
type countedBody struct {
	io.ReadCloser
	now, most *atomic.Int64
	read      int
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if before := b.read; before <= smallBody && before+n > smallBody {
		n := b.now.Add(1)
		for old := b.most.Load(); n > old && !b.most.CompareAndSwap(old, n); old = b.most.Load() {
		}
	}
	b.read += n
	return n, err
}

func (b *countedBody) Close() error {
	if b.read > smallBody {
		b.now.Add(-1)
	}
	return b.ReadCloser.Close()
}
