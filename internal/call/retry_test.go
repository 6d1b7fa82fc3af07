package call

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

// script is a transport that answers with one reply after the other, the last
// one for ever, and remembers when it was asked.
type script struct {
	replies []step
	start   time.Time
	asked   []time.Duration
}

type step struct {
	status int
	// retryAfter is the header's value.
	retryAfter string
	body       string
	takes      time.Duration
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	next := s.replies[min(len(s.asked), len(s.replies)-1)]
	s.asked = append(s.asked, time.Since(s.start))
	if !sleep(r.Context(), next.takes) {
		return nil, r.Context().Err()
	}
	header := http.Header{}
	if next.retryAfter != "" {
		header.Set("Retry-After", next.retryAfter)
	}
	return &http.Response{
		StatusCode: next.status, Header: header, Request: r, ContentLength: -1,
		Body: io.NopCloser(strings.NewReader(next.body)),
	}, nil
}

func play(t *testing.T, replies []step, change ...func(*Config)) (*client, *script) {
	client := newClient(t, "http://docs-bot.rag.svc/search", change...)
	s := &script{replies: replies, start: time.Now()}
	client.http.Transport = s
	return client, s
}

// within checks when each request was made: [from, to] of seconds since the one before.
func within(t *testing.T, asked []time.Duration, gaps ...[2]float64) {
	t.Helper()
	if len(asked) != len(gaps)+1 {
		t.Fatalf("asked at %v, want %d times", asked, len(gaps)+1)
	}
	for i, gap := range gaps {
		if took := (asked[i+1] - asked[i]).Seconds(); took < gap[0] || took > gap[1] {
			t.Errorf("request %d came after %v s, want %v to %v", i+2, took, gap[0], gap[1])
		}
	}
}

func TestRetriesBackOff(t *testing.T) {
	for _, status := range []int{429, 502, 503, 504} {
		synctest.Test(t, func(t *testing.T) {
			client, s := play(t, []step{{status: status}, {status: status}, {status: status}, {status: 200, body: twoResults, takes: time.Second}}, retries(3))
			r, err := client.ask(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.Attempts != 4 || r.Latency != time.Second {
				t.Errorf("got %d attempts, the last took %s", r.Attempts, r.Latency)
			}
			// A quarter of a second, doubling, each give or take a half.
			within(t, s.asked, [2]float64{.125, .376}, [2]float64{.25, .751}, [2]float64{.5, 1.501})
		})
	}
}

func TestRetriesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, s := play(t, []step{{status: 429, body: "slow down"}}, retries(2))
		expect(t, fail(t, client), RateLimited, 3, "POST docs-bot.rag.svc/search: 429 Too Many Requests; it does not say how long to wait: set retriever.requestsPerSecond, or lower execution.parallelism: slow down (3 attempts)")
		if len(s.asked) != 3 {
			t.Errorf("asked %d times", len(s.asked))
		}
	})
}

func TestRateLimitedSaysWhatToLower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := play(t, []step{{status: 429}}, func(c *Config) { c.Limiter = rate.NewLimiter(1, 1) })
		expect(t, fail(t, client), RateLimited, 1, "wait: lower retriever.requestsPerSecond or execution.parallelism")
	})
	synctest.Test(t, func(t *testing.T) {
		client, _ := play(t, []step{{status: 429, retryAfter: "1"}})
		if e := fail(t, client); strings.Contains(e.Message, "parallelism") {
			t.Errorf("it said how long to wait: %s", e.Message)
		}
	})
}

func TestNoRetries(t *testing.T) {
	for _, status := range []int{400, 401, 404, 408, 500, 501} {
		synctest.Test(t, func(t *testing.T) {
			client, s := play(t, []step{{status: status}}, retries(5))
			if e := fail(t, client); e.Outcome != "RetrieverHTTPError" || len(s.asked) != 1 {
				t.Errorf("%d: asked %d times: %v", status, len(s.asked), e)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		client, s := play(t, []step{{status: 503}})
		if e := fail(t, client); e.Outcome != "RetrieverHTTPError" || len(s.asked) != 1 {
			t.Errorf("with maxRetries 0, asked %d times: %v", len(s.asked), e)
		}
	})
}

func TestRetryAfterIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, s := play(t, []step{{status: 429, retryAfter: "7"}, {status: 200, body: twoResults}}, retries(1))
		if _, err := client.ask(t.Context()); err != nil {
			t.Fatal(err)
		}
		within(t, s.asked, [2]float64{7, 7})
	})
	synctest.Test(t, func(t *testing.T) {
		date := time.Now().Add(9 * time.Second).UTC().Format(http.TimeFormat)
		client, s := play(t, []step{{status: 503, retryAfter: date}, {status: 200, body: twoResults}}, retries(1))
		if _, err := client.ask(t.Context()); err != nil {
			t.Fatal(err)
		}
		within(t, s.asked, [2]float64{8, 9})
	})
	// A shorter wait than the backoff's own does not bring the next request forward.
	synctest.Test(t, func(t *testing.T) {
		client, s := play(t, []step{{status: 503, retryAfter: "0"}, {status: 200, body: twoResults}}, retries(1))
		if _, err := client.ask(t.Context()); err != nil {
			t.Fatal(err)
		}
		within(t, s.asked, [2]float64{.125, .376})
	})
}

func TestRetryAfterIsBounded(t *testing.T) {
	for status, outcome := range map[int]Kind{429: RateLimited, 503: HTTPError} {
		synctest.Test(t, func(t *testing.T) {
			client, s := play(t, []step{{status: status, retryAfter: "3600"}}, retries(5))
			expect(t, fail(t, client), outcome, 1, "it asks to wait 1h0m0s, longer than the 1m0s that a call may wait")
			if took := time.Since(s.start); took > 0 {
				t.Errorf("gave up after %s", took)
			}
		})
	}
}

// What would end beyond the run's deadline is not waited for: the retriever's
// own words say more than a deadline.
func TestNoWaitBeyondTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, s := play(t, []step{{status: 429, retryAfter: "30"}}, retries(5))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := client.ask(ctx)
		var e *Error
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
		expect(t, e, RateLimited, 1, "429 Too Many Requests; there is no time left to try again")
		if took := time.Since(s.start); took > 0 {
			t.Errorf("gave up after %s", took)
		}
	})
}

func TestTimeoutsAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, s := play(t, []step{{status: 200, takes: time.Hour}, {status: 200, body: twoResults}}, retries(1), timeout(10*time.Second))
		r, err := client.ask(t.Context())
		if err != nil || r.Attempts != 2 {
			t.Fatal(r, err)
		}
		within(t, s.asked, [2]float64{10.125, 10.376})
	})
}

func TestStopWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, s := play(t, []step{{status: 429, retryAfter: "30"}}, retries(5))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		_, err := client.ask(ctx)
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if took := time.Since(s.start); took != 3*time.Second {
			t.Errorf("ended after %s", took)
		}
	})
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := NewLimits()
		limiter := limits.For("rag", "http://docs-bot.rag.svc/search", 2)
		client, s := play(t, []step{{status: 200, body: twoResults}}, func(c *Config) { c.Limiter = limiter })
		for range 5 {
			r, err := client.ask(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.Latency != 0 {
				t.Errorf("the wait counts as latency: %s", r.Latency)
			}
		}
		half := [2]float64{.499, .501}
		within(t, s.asked, half, half, half, half)
	})
	// Retries count as well.
	synctest.Test(t, func(t *testing.T) {
		client, s := play(t, []step{{status: 503}}, retries(2), func(c *Config) { c.Limiter = rate.NewLimiter(.1, 1) })
		expect(t, fail(t, client), HTTPError, 3)
		within(t, s.asked, [2]float64{9.99, 10.01}, [2]float64{9.99, 10.01})
	})
	synctest.Test(t, func(t *testing.T) {
		client, _ := play(t, []step{{status: 200, body: twoResults}}, func(c *Config) { c.Limiter = rate.NewLimiter(.01, 1) })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := client.ask(ctx); err != nil {
			t.Fatal(err)
		}
		_, err := client.ask(ctx)
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		expect(t, e, Timeout, 0, "there is no time left to wait for retriever.requestsPerSecond")
	})
}

func TestLimits(t *testing.T) {
	limits := NewLimits()
	first := limits.For("rag", "http://docs-bot.rag.svc/search", 50)
	if first.Limit() != 50 || first.Burst() != 5 {
		t.Errorf("got %v, burst %d", first.Limit(), first.Burst())
	}
	for _, same := range []string{"http://docs-bot.rag.svc:80/other?x=1", "http://DOCS-BOT.rag.svc/search"} {
		if limits.For("rag", same, 50) != first {
			t.Errorf("%s has a limit of its own", same)
		}
	}
	for _, other := range []struct{ namespace, url string }{
		{"other", "http://docs-bot.rag.svc/search"}, {"rag", "https://docs-bot.rag.svc/search"}, {"rag", "http://docs-bot.rag.svc:8080/search"},
	} {
		if limits.For(other.namespace, other.url, 50) == first {
			t.Errorf("%v shares the limit", other)
		}
	}
	if limits.For("rag", "http://docs-bot.rag.svc/search", 1) != first || first.Limit() != 1 || first.Burst() != 1 {
		t.Errorf("the rate that was named last does not hold: %v, burst %d", first.Limit(), first.Burst())
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                               0,
		"0":                              0,
		"120":                            2 * time.Minute,
		" 7 ":                            7 * time.Second,
		"1.25":                           1250 * time.Millisecond,
		"-1":                             0,
		"nan":                            0,
		"1e3":                            0,
		".":                              0,
		"soon":                           0,
		"86401":                          MostRetryAfter,
		"99999999999999999999999":        MostRetryAfter,
		"Mon, 30 Nov 2026 12:00:30 GMT":  30 * time.Second,
		"Monday, 30-Nov-26 12:00:30 GMT": 30 * time.Second,
		"Mon Nov 30 12:00:30 2026":       30 * time.Second,
		"Mon, 30 Nov 2026 11:00:00 GMT":  0,
		"Thu, 01 Jan 1970 00:00:00 GMT":  0,
		"Mon, 30 Nov 2099 12:00:00 GMT":  MostRetryAfter,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: got %s, want %s", value, got, want)
		}
	}
	if got := RetryAfter(http.Header{"Retry-After": {"9"}, "Retry-After-Ms": {"1500"}}, now); got != 1500*time.Millisecond {
		t.Errorf("in milliseconds: got %s", got)
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "0", "120", "1.5", "..", "1e9", "99999999999999999999", "Mon, 30 Nov 2026 12:00:30 GMT"} {
		f.Add(seed, "")
		f.Add("", seed)
	}
	f.Fuzz(func(t *testing.T, value, milliseconds string) {
		got := RetryAfter(http.Header{"Retry-After": {value}, "Retry-After-Ms": {milliseconds}}, time.Unix(1_800_000_000, 0))
		if got < 0 || got > MostRetryAfter {
			t.Errorf("%q, %q: %s", value, milliseconds, got)
		}
		if n, err := strconv.ParseUint(value, 10, 16); err == nil && milliseconds == "" && got != time.Duration(n)*time.Second {
			t.Errorf("%q: %s", value, got)
		}
	})
}
