package suite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/golden"
)

func pinned(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// overHTTP gives a suite whose golden set is there.
func overHTTP(t *testing.T, url, sha string) *v1alpha1.EvalSuite {
	t.Helper()
	return suiteOf(t, fmt.Sprintf(`{goldenSet: {configMapRef: null, http: {url: %q, sha256: %q}}}`, url, sha))
}

// fetch loads the golden set at the URL.
func fetch(ctx context.Context, t *testing.T, network http.RoundTripper, url, sha string) (*golden.Set, error) {
	t.Helper()
	return LoadGolden(ctx, overHTTP(t, url, sha), &objects{}, Deps{network: network})
}

func TestGoldenSetOverHTTP(t *testing.T) {
	plain, packed := []byte(oneCase("a")), gzipped(t, oneCase("a"))
	mux := http.NewServeMux()
	mux.HandleFunc("/golden.yaml", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" && r.URL.RawQuery != "sig=s3cret" {
			http.Error(w, "another query", http.StatusForbidden)
			return
		}
		_, _ = w.Write(plain)
	})
	// As object stores serve a file that was stored packed: a client that asks
	// for it packed gets its bytes, and unpacks them unless it asked itself.
	mux.HandleFunc("/golden.yaml.gz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed)
	})
	mux.Handle("/moved.yaml", http.RedirectHandler("/golden.yaml", http.StatusFound))
	server := httptest.NewServer(mux)
	defer server.Close()
	for name, test := range map[string]struct{ path, sha string }{
		"plain":               {"/golden.yaml", pinned(plain)},
		"digest in capitals":  {"/golden.yaml", strings.ToUpper(pinned(plain))},
		"a signed query":      {"/golden.yaml?sig=s3cret", pinned(plain)},
		"gzip":                {"/golden.yaml.gz", pinned(packed)},
		"moved within a host": {"/moved.yaml", pinned(plain)},
	} {
		t.Run(name, func(t *testing.T) {
			s := overHTTP(t, server.URL+test.path, pinned(plain))
			s.Spec.GoldenSet.HTTP.SHA256 = test.sha
			set, err := LoadGolden(t.Context(), s, &objects{}, Deps{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"a"}, ids(set)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGoldenSetOverHTTPThatIsNotThere(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, oneCase("a")) }))
	defer other.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/golden.yaml", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, oneCase("b")) })
	mux.HandleFunc("/status/{code}/golden.yaml", func(w http.ResponseWriter, r *http.Request) {
		var code int
		_, _ = fmt.Sscan(r.PathValue("code"), &code)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, oneCase("a"))
	})
	mux.Handle("/elsewhere/golden.yaml", http.RedirectHandler(other.URL+"/golden.yaml?sig=s3cret", http.StatusFound))
	mux.HandleFunc("/round/golden.yaml", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/round/golden.yaml?n=s3cret", http.StatusFound)
	})
	mux.HandleFunc("/cut/golden.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, oneCase("a"))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	secure := httptest.NewTLSServer(http.RedirectHandler(server.URL+"/golden.yaml", http.StatusFound))
	defer secure.Close()
	gone := httptest.NewServer(nil)
	gone.Close()

	sha := pinned([]byte(oneCase("a")))
	host := strings.TrimPrefix(server.URL, "http://")
	for name, test := range map[string]struct {
		url  string
		want want
	}{
		"another content":  {server.URL + "/golden.yaml", want{ReasonGoldenSetNotFound, false, []string{host + "/golden.yaml", pinned([]byte(oneCase("b"))), "pins " + sha}}},
		"404":              {server.URL + "/status/404/golden.yaml", want{ReasonGoldenSetNotFound, false, []string{"there is no golden set at " + host, "404 Not Found", "spec.goldenSet.http.url"}}},
		"410":              {server.URL + "/status/410/golden.yaml", want{ReasonGoldenSetNotFound, false, []string{"410 Gone"}}},
		"401":              {server.URL + "/status/401/golden.yaml", want{ReasonGoldenSetNotFound, false, []string{"401 Unauthorized", "readable without credentials"}}},
		"403":              {server.URL + "/status/403/golden.yaml", want{ReasonGoldenSetNotFound, false, []string{"403 Forbidden"}}},
		"429":              {server.URL + "/status/429/golden.yaml", want{ReasonGoldenSetUnreadable, true, []string{"429 Too Many Requests"}}},
		"503":              {server.URL + "/status/503/golden.yaml", want{ReasonGoldenSetUnreadable, true, []string{"fetch the golden set from " + host, "503 Service Unavailable"}}},
		"206":              {server.URL + "/status/206/golden.yaml", want{ReasonGoldenSetUnreadable, true, []string{"206 Partial Content"}}},
		"another host":     {server.URL + "/elsewhere/golden.yaml", want{ReasonGoldenSetNotFound, false, []string{"redirects to another host, " + strings.TrimPrefix(other.URL, "http://")}}},
		"https to http":    {secure.URL + "/golden.yaml", want{ReasonGoldenSetNotFound, false, []string{"redirects from https to http"}}},
		"round and round":  {server.URL + "/round/golden.yaml", want{ReasonGoldenSetNotFound, false, []string{"redirects more than 5 times"}}},
		"cut off":          {server.URL + "/cut/golden.yaml", want{ReasonGoldenSetUnreadable, true, []string{"unexpected EOF"}}},
		"nobody listening": {gone.URL + "/golden.yaml", want{ReasonGoldenSetUnreadable, true, []string{"fetch the golden set from"}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fetch(t.Context(), t, secure.Client().Transport, test.url+"?sig=s3cret", sha)
			test.want.check(t, err)
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("it gives the query away: %s", err)
			}
		})
	}
}

// roundTrip is a server without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestGoldenSetOverHTTPThatIsTooLarge(t *testing.T) {
	chunk := make([]byte, 1<<20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	_, err := fetch(t.Context(), t, nil, server.URL+"/golden.yaml", pinned(nil))
	want{ReasonGoldenSetInvalid, false, []string{"/golden.yaml", "64 MiB"}}.check(t, err)
}

// hanging never answers, nor does its body end.
func hanging(header bool) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		wait := func() error { <-r.Context().Done(); return r.Context().Err() }
		if header {
			return nil, wait()
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(readFunc(func([]byte) (int, error) { return 0, wait() })), Request: r}, nil
	})
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestAServerThatHangsIsLeft(t *testing.T) {
	for name, header := range map[string]bool{"before its answer": true, "within its answer": false} {
		t.Run(name, func(t *testing.T) {
			s := overHTTP(t, "http://files/golden.yaml", pinned(nil))
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := LoadGolden(t.Context(), s, &objects{}, Deps{network: hanging(header)})
				want{ReasonGoldenSetUnreadable, true, []string{"files/golden.yaml", "took too long", "1m0s"}}.check(t, err)
				if took := time.Since(began); took != time.Minute {
					t.Errorf("it took %s, want the limit of 1m", took)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				began := time.Now()
				_, err := LoadGolden(ctx, s, &objects{}, Deps{network: hanging(header)})
				want{ReasonGoldenSetUnreadable, true, nil}.check(t, err)
				if took := time.Since(began); took != time.Second || !errors.Is(err, context.Canceled) {
					t.Errorf("it took %s (%v), want the caller's 1s", took, err)
				}
			})
		})
	}
}

func TestAURLThatIsNone(t *testing.T) {
	s := overHTTP(t, "http://files/golden.yaml", pinned(nil))
	s.Spec.GoldenSet.HTTP.URL = "http://files/%zz?sig=s3cret"
	_, err := LoadGolden(t.Context(), s, &objects{}, Deps{})
	want{ReasonGoldenSetInvalid, false, []string{"spec.goldenSet.http.url is no URL"}}.check(t, err)
	if strings.Contains(err.Error(), "s3cret") {
		t.Errorf("it gives the query away: %s", err)
	}
}
