package server

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := stopAPIServer(); err != nil && code == 0 {
		code = 1
	}
	os.Exit(code)
}

// problemOf checks that the answer is an error as every error is, and gives it.
func problemOf(t *testing.T, w *httptest.ResponseRecorder, status int, path string) problem {
	t.Helper()
	if w.Code != status {
		t.Fatalf("the answer is %d, want %d: %s", w.Code, status, w.Body)
	}
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("the error is %q", got)
	}
	if got := w.Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("the error may be kept: %q", got)
	}
	var p problem
	decode(t, w, &p)
	if p.Type != "about:blank" || p.Title == "" || p.Status != status || p.Detail == "" || p.Instance != path {
		t.Errorf("the error is %+v", p)
	}
	return p
}

// refused checks an error and that it says the words.
func refused(t *testing.T, w *httptest.ResponseRecorder, status int, path string, words ...string) {
	t.Helper()
	p := problemOf(t, w, status, path)
	for _, word := range words {
		if !strings.Contains(p.Detail, word) {
			t.Errorf("the error does not say %q: %s", word, p.Detail)
		}
	}
}

func decode(t *testing.T, w *httptest.ResponseRecorder, into any) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		t.Fatalf("the answer %q: %v", w.Body, err)
	}
}
