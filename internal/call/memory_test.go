package call

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

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
	mapped := func(c *Config) { c.Mapped = true }
	for name, test := range map[string]struct {
		body   string
		change func(*Config)
		waits  time.Duration
	}{
		"small":         {twoResults, func(*Config) {}, 0},
		"large":         {large, func(*Config) {}, time.Minute},
		"small, mapped": {twoResults, mapped, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, s := play(t, []step{{status: 200, body: test.body, takes: 3 * time.Second}}, timeout(10*time.Second), test.change)
				release := hold(t)
				freed := make(chan struct{})
				time.AfterFunc(time.Minute, func() { release(); close(freed) })
				r, err := client.ask(t.Context())
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
		_, err := client.ask(ctx)
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
		client.http.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
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
	read := client.http.Transport
	client.http.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := read.RoundTrip(r)
		if err == nil {
			response.Body = &countedBody{ReadCloser: response.Body, now: &now, most: &most}
		}
		return response, err
	})
	done := make(chan error)
	for range 16 {
		go func() {
			_, err := client.ask(t.Context())
			done <- err
		}()
	}
	for range 16 {
		if err := <-done; err != nil {
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
