package provider

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/judge/provider/providertest"
)

type step = providertest.Step

func TestRetries(t *testing.T) {
	for _, status := range []int{408, 429, 500, 502, 503, 504, 529} {
		synctest.Test(t, func(t *testing.T) {
			m, server := play(t, retries(2), step{Status: status}, step{Status: status}, step{Body: ok})
			response, err := m.Complete(t.Context(), judge.Request{})
			if err != nil || response.Calls != 3 {
				t.Fatalf("%d: got %+v, %v", status, response, err)
			}
			for i, wait := range waits(server) {
				most := firstBackoff * 3 / 2 << i
				if wait < firstBackoff/2<<i || wait > most {
					t.Errorf("%d: waited %s before retry %d", status, wait, i+1)
				}
			}
		})
	}
}

func TestNoRetry(t *testing.T) {
	for _, test := range []step{
		{Status: 400}, {Status: 401}, {Status: 404}, {Status: 422}, {Status: 402}, {Status: 413},
		{Status: 501}, {Body: "garbage"}, {Body: `{"text":7}`},
		{Status: 500, Header: map[string]string{"X-Should-Retry": "false"}},
		{Status: 400, Body: `{"error":{"code":"context_length_exceeded","message":"long"}}`},
		{Status: 429, Body: `{"error":{"code":"insufficient_quota"}}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, server := play(t, retries(5), test)
			if _, response := fail(t.Context(), t, m); response.Calls != 1 || len(server.Requests()) != 1 {
				t.Errorf("%+v is tried %d times", test, len(server.Requests()))
			}
		})
	}
}

func TestRetriesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, server := play(t, retries(2), step{Status: 503, Body: "down"})
		e, response := fail(t.Context(), t, m)
		if e.Outcome != judge.HTTPError || e.EndsRun || response.Calls != 3 || len(server.Requests()) != 3 {
			t.Errorf("got %s after %d calls", e.Outcome, response.Calls)
		}
		if want := "POST judge/ask: 503 Service Unavailable: down (3 attempts)"; e.Message != want {
			t.Errorf("got  %s\nwant %s", e.Message, want)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	for name, test := range map[string]struct {
		name, value string
		want        time.Duration
	}{
		"seconds":      {"Retry-After", "17", 17 * time.Second},
		"parts":        {"Retry-After", "2.5", 2500 * time.Millisecond},
		"milliseconds": {"Retry-After-Ms", "9500", 9500 * time.Millisecond},
		"the most":     {"Retry-After", "120", 2 * time.Minute},
		// The clock of synctest begins here.
		"date": {"Retry-After", "Sat, 01 Jan 2000 00:00:40 GMT", 40 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, server := play(t, retries(1), step{Status: 429, Header: map[string]string{test.name: test.value}}, step{Body: ok})
				if _, err := m.Complete(t.Context(), judge.Request{}); err != nil {
					t.Fatal(err)
				}
				if got := waits(server); !slices.Equal(got, []time.Duration{test.want}) {
					t.Errorf("waited %s, want %s", got, test.want)
				}
			})
		})
	}
}

func TestLongRetryAfter(t *testing.T) {
	for _, value := range []string{"121", "86400", "99999999999999999999", "Sat, 01 Jan 2000 09:00:00 GMT"} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			header := map[string]string{"Retry-After": value}
			m, _ := play(t, retries(3), step{Status: 429, Header: header})
			e, response := fail(t.Context(), t, m)
			if e.Outcome != judge.QuotaExceeded || !e.EndsRun || response.Calls != 1 {
				t.Errorf("after a 429 got %s (ends the run: %t) after %d calls: %s", e.Outcome, e.EndsRun, response.Calls, e.Message)
			}
			// A server that is down for long is no quota.
			m, _ = play(t, retries(3), step{Status: 503, Header: header})
			e, response = fail(t.Context(), t, m)
			if e.Outcome != judge.HTTPError || e.EndsRun || response.Calls != 1 || !strings.Contains(e.Message, "longer than the 2m0s that a call may wait") {
				t.Errorf("after a 503 got %s (ends the run: %t) after %d calls: %s", e.Outcome, e.EndsRun, response.Calls, e.Message)
			}
			if time.Since(start) != 0 {
				t.Errorf("waited %s", time.Since(start))
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := play(t, func(c *Config) { c.Timeout, c.MaxRetries = 5*time.Second, 1 }, step{Takes: time.Hour})
		start := time.Now()
		e, response := fail(t.Context(), t, m)
		if e.Outcome != judge.Timeout || response.Calls != 2 || !strings.Contains(e.Message, "no reply came within 5s (judge.timeoutSeconds) (2 attempts)") {
			t.Errorf("got %s after %d calls: %s", e.Outcome, response.Calls, e.Message)
		}
		if errors.Is(e, context.DeadlineExceeded) {
			t.Error("the run's time is said to be up")
		}
		if took := time.Since(start); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestDefaultTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := play(t, nil, step{Takes: time.Hour})
		start := time.Now()
		_, _ = fail(t.Context(), t, m)
		if took := time.Since(start); took != time.Minute {
			t.Errorf("took %s", took)
		}
	})
}

// A run that ends ends its calls: in a reply, in a wait, and at the limiter.
func TestRunEnds(t *testing.T) {
	limiter := rate.NewLimiter(rate.Every(time.Hour), 1)
	limiter.Allow()
	for name, test := range map[string]struct {
		change func(*Config)
		step   step
		calls  int64
	}{
		"in a reply": {retries(5), step{Takes: time.Hour}, 1},
		"in a wait":  {retries(5), step{Status: 429, Header: map[string]string{"Retry-After": "60"}}, 1},
		"in a queue": {func(c *Config) { c.Limiter = limiter }, step{Body: ok}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, _ := play(t, test.change, test.step)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(7*time.Second, cancel)
				start := time.Now()
				e, response := fail(ctx, t, m)
				if !errors.Is(e, context.Canceled) || e.Outcome != judge.Timeout || e.EndsRun || response.Calls != test.calls {
					t.Errorf("got %s (%v) after %d calls", e.Outcome, e.Err, response.Calls)
				}
				if !strings.Contains(e.Message, "the run was stopped before a reply came") || time.Since(start) != 7*time.Second {
					t.Errorf("after %s: %s", time.Since(start), e.Message)
				}
			})
		})
		t.Run(name+", with a deadline", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, _ := play(t, test.change, test.step)
				ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
				defer cancel()
				e, _ := fail(ctx, t, m)
				if name == "in a wait" {
					// No wait is begun that would not end in time.
					if e.Outcome != judge.RateLimited || !strings.Contains(e.Message, "there is no time left to try again") {
						t.Errorf("got %s: %s", e.Outcome, e.Message)
					}
					return
				}
				if !errors.Is(e, context.DeadlineExceeded) || e.Outcome != judge.Timeout {
					t.Errorf("got %s (%v): %s", e.Outcome, e.Err, e.Message)
				}
			})
		})
	}
}

func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := rate.NewLimiter(2, 1)
		shared := func(c *Config) { c.Limiter = limiter }
		one, first := play(t, shared, step{Body: ok})
		other, second := play(t, shared, step{Body: ok})
		start := time.Now()
		for range 2 {
			for _, m := range []judge.Model{one, other} {
				if _, err := m.Complete(t.Context(), judge.Request{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if took := time.Since(start); took.Round(time.Millisecond) != 1500*time.Millisecond || len(first.Requests()) != 2 || len(second.Requests()) != 2 {
			t.Errorf("four calls at two a second took %s", took)
		}
	})
}

// Retries wait for the rate as well.
func TestLimiterHoldsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, server := play(t, func(c *Config) {
			c.Limiter, c.MaxRetries = rate.NewLimiter(rate.Every(10*time.Second), 1), 1
		}, step{Status: 503}, step{Body: ok})
		if _, err := m.Complete(t.Context(), judge.Request{}); err != nil {
			t.Fatal(err)
		}
		// The limiter reckons in floating point.
		if got := waits(server); got[0].Round(time.Millisecond) != 10*time.Second {
			t.Errorf("waited %s", got)
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestConnectionThatIsClosedIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls int
		server := providertest.New(t, step{Body: ok})
		m, _ := play(t, func(c *Config) {
			c.MaxRetries = 1
			c.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				if calls++; calls == 1 {
					return nil, syscall.ECONNRESET
				}
				return server.RoundTrip(r)
			})}
		}, step{Body: ok})
		response, err := m.Complete(t.Context(), judge.Request{})
		if err != nil || response.Calls != 2 {
			t.Errorf("got %+v, %v", response, err)
		}
	})
}

func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		var seconds []float64
		m, _ := play(t, func(c *Config) {
			c.MaxRetries, c.Timeout = 3, 4*time.Second
			c.Observe = func(outcome string, s float64) { heard, seconds = append(heard, outcome), append(seconds, s) }
		}, step{Status: 429}, step{Takes: time.Hour}, step{Takes: 3 * time.Second, Body: ok})
		if _, err := m.Complete(t.Context(), judge.Request{}); err != nil {
			t.Fatal(err)
		}
		if want := []string{"JudgeRateLimited", "JudgeTimeout", "OK"}; !slices.Equal(heard, want) {
			t.Errorf("heard %q, want %q", heard, want)
		}
		if want := []float64{0, 4, 3}; !slices.Equal(seconds, want) {
			t.Errorf("heard %v seconds, want %v", seconds, want)
		}
	})
}

// A server that refuses a form with a status that is tried again otherwise is
// asked in another form at once.
func TestOtherFormComesBeforeARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, server := play(t, retries(3), step{Status: 500, Body: "no schema"}, step{Body: ok})
		response, err := m.Complete(t.Context(), judge.Request{})
		if err != nil || response.Calls != 2 || waits(server)[0] != 0 {
			t.Errorf("got %+v, %v after %s", response, err, waits(server))
		}
	})
}

func TestDeclineCosts(t *testing.T) {
	m, _ := play(t, nil, step{Body: `{"text":"decline"}`})
	e, response := fail(t.Context(), t, m)
	if e.Outcome != judge.ContextTooLong || response.PromptTokens != 7 || response.Calls != 1 {
		t.Errorf("got %s for %+v", e.Outcome, response)
	}
}

func TestRequestThatCannotBeMade(t *testing.T) {
	var heard int
	m, server := play(t, func(c *Config) { c.Observe = func(string, float64) { heard++ } }, step{Body: ok})
	model := m.(*model)
	model.protocol = broken{}
	e, response := fail(t.Context(), t, m)
	if e.Outcome != judge.Failed || response.Calls != 0 || heard != 0 || len(server.Requests()) != 0 || !strings.Contains(e.Message, "no request was made: cannot encode") {
		t.Errorf("got %s for %+v: %s", e.Outcome, response, e.Message)
	}
}

type broken struct{ echo }

func (broken) Send(context.Context, HTTPClient, *judge.Request, Form) (*judge.Response, error) {
	return nil, errors.New("cannot encode")
}
