package samplerag

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func TestWithLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := WithLatency(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
		}), 50*time.Millisecond)

		start := time.Now()
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/search", http.NoBody))
		if took := time.Since(start); took != 50*time.Millisecond || rec.Code != http.StatusTeapot {
			t.Errorf("answered %d after %s", rec.Code, took)
		}

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		start = time.Now()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, "/search", http.NoBody))
		if took := time.Since(start); took != 10*time.Millisecond {
			t.Errorf("a caller that went away was waited for: %s", took)
		}

		start = time.Now()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", http.NoBody))
		if took := time.Since(start); took != 0 {
			t.Errorf("the health check was delayed by %s", took)
		}
	})
}

func TestServeFinishesWhatIsGoing(t *testing.T) {
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	arrived, release := make(chan struct{}), make(chan struct{})
	served := make(chan error, 1)
	go func() {
		served <- Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(arrived)
			<-release
			_, _ = io.WriteString(w, "done")
		}))
	}()
	answer := make(chan string, 1)
	go func() {
		res, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			answer <- err.Error()
			return
		}
		defer func() { _ = res.Body.Close() }()
		body, _ := io.ReadAll(res.Body)
		answer <- string(body)
	}()
	<-arrived
	stop()
	untilClosed(t, l.Addr().String())
	close(release)
	if got := <-answer; got != "done" {
		t.Errorf("the request that was going got %q", got)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := http.Get("http://" + l.Addr().String()); err == nil {
		t.Error("it still serves")
	}
}

// untilClosed waits until nobody listens on the address any more.
func untilClosed(t *testing.T, addr string) {
	t.Helper()
	var dial net.Dialer
	for {
		c, err := dial.DialContext(t.Context(), "tcp", addr)
		if err != nil {
			return
		}
		_ = c.Close()
	}
}

func TestServeSaysWhyItEnded(t *testing.T) {
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), l, http.NotFoundHandler()); err == nil {
		t.Error("no error from a closed listener")
	}
}
