package call

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// sdk gives the client that a vendor's SDK would be given.
func sdk(t *testing.T, url string, change ...func(*HTTPConfig)) *http.Client {
	t.Helper()
	cfg := HTTPConfig{URL: url, Words: Words{Service: "the judge", Outcome: "Judge", Field: "judge", Root: "judge"}}
	for _, c := range change {
		c(&cfg)
	}
	client, err := NewHTTPClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func post(t *testing.T, client *http.Client, url string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"model":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("User-Agent", "sdk/1")
	request.Header.Set("Authorization", "Bearer sdks-own")
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func TestHTTPClient(t *testing.T) {
	var seen http.Header
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		seen, body = r.Header, string(sent)
		reply("ok")(w, r)
	}))
	defer server.Close()
	for name, test := range map[string]struct {
		change func(*HTTPConfig)
		want   map[string]string
	}{
		"nothing of its own": {func(*HTTPConfig) {}, map[string]string{"Authorization": "Bearer sdks-own", "User-Agent": "sdk/1", "Accept": ""}},
		"bearer":             {func(c *HTTPConfig) { c.Auth.BearerToken = "t0ken" }, map[string]string{"Authorization": "Bearer t0ken"}},
		"basic":              {func(c *HTTPConfig) { c.Auth.BasicUser, c.Auth.BasicPassword = "ada", "x" }, map[string]string{"Authorization": "Basic YWRhOng="}},
		"headers":            {func(c *HTTPConfig) { c.Header = http.Header{"x-tenant": {"docs"}, "user-agent": {"mine"}} }, map[string]string{"X-Tenant": "docs", "User-Agent": "mine", "Authorization": "Bearer sdks-own"}},
		"own authorization":  {func(c *HTTPConfig) { c.Header = http.Header{"authorization": {"ApiKey k"}} }, map[string]string{"Authorization": "ApiKey k"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := post(t, sdk(t, server.URL+"/v1", test.change), server.URL+"/v1/chat/completions")
			if err != nil || got != "ok" || body != `{"model":"m"}` {
				t.Fatalf("got %q, sent %q, %v", got, body, err)
			}
			for header, want := range test.want {
				if got := seen.Get(header); got != want {
					t.Errorf("%s: got %q, want %q", header, got, want)
				}
			}
		})
	}
}

func TestHTTPClientOAuth2(t *testing.T) {
	var given, asked atomic.Int32
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "token-" + string('0'+given.Add(1)), "expires_in": 3600})
	}))
	defer login.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked.Add(1) {
		case 1:
			w.WriteHeader(http.StatusUnauthorized)
		default:
			_, _ = io.WriteString(w, r.Header.Get("Authorization"))
		}
	}))
	defer server.Close()
	redactor := NewRedactor()
	client := sdk(t, server.URL, func(c *HTTPConfig) {
		c.Auth.OAuth2 = &OAuth2Config{TokenURL: login.URL, ClientID: "assay", ClientSecret: "hunter2!"}
		c.Secrets = redactor
	})
	for range 3 {
		if _, err := post(t, client, server.URL); err != nil {
			t.Fatal(err)
		}
	}
	if given.Load() != 2 {
		t.Errorf("%d tokens were fetched, want one more after the refusal", given.Load())
	}
	if got := redactor.Redact("token-2 hunter2! and token-1\n"); got != "[redacted] [redacted] and [redacted]\n" {
		t.Errorf("got %q", got)
	}

	login.Close()
	client = sdk(t, server.URL, func(c *HTTPConfig) {
		c.Auth.OAuth2 = &OAuth2Config{TokenURL: login.URL, ClientID: "assay", ClientSecret: "hunter2!"}
	})
	_, err := post(t, client, server.URL)
	if e := Explain(err, "judge.url", "judge.tls"); e.Kind != Unreachable || !strings.Contains(e.Message, "fetching an access token: POST 127.0.0.1") {
		t.Errorf("got %+v", e)
	}
}

func TestHTTPClientStaysWithItsHost(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other host was asked") }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/x?key=s3cret", http.StatusTemporaryRedirect))
	defer server.Close()
	client := sdk(t, server.URL)
	_, err := post(t, client, server.URL)
	if e := Explain(err, "judge.url", "judge.tls"); e.Kind != HTTPError || !strings.Contains(e.Message, "another host, which is not followed") || strings.Contains(e.Message, "s3cret") {
		t.Errorf("got %+v", e)
	}
	_, err = post(t, client, elsewhere.URL)
	if e := Explain(err, "judge.url", "judge.tls"); e.Kind != HTTPError || !strings.Contains(e.Message, "which is not the host of judge.url") {
		t.Errorf("got %+v", e)
	}
}

func TestHTTPClientBoundsBodies(t *testing.T) {
	size := maxBody
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("x"), size))
	}))
	defer server.Close()
	client := sdk(t, server.URL)
	if body, err := post(t, client, server.URL); err != nil || len(body) != maxBody {
		t.Errorf("got %d bytes, %v", len(body), err)
	}
	size++
	body, err := post(t, client, server.URL)
	if e := Explain(err, "judge.url", "judge.tls"); e.Kind != TooLarge || len(body) != maxBody {
		t.Errorf("got %d bytes, %+v", len(body), e)
	}
}

func TestExplain(t *testing.T) {
	gone := httptest.NewServer(reply(""))
	gone.Close()
	_, refused := post(t, sdk(t, gone.URL), gone.URL)

	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer hanging.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, hanging.URL+"?key=s3cret", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, late := sdk(t, hanging.URL).Do(request)

	for name, test := range map[string]struct {
		err   error
		kind  Kind
		want  string
		retry bool
	}{
		"refused": {refused, Unreachable, "nothing listens there: check judge.url", false},
		"late":    {late, Timeout, "context deadline exceeded", true},
		"other":   {errors.New("odd"), Unreachable, "odd", false},
		"cut":     {io.ErrUnexpectedEOF, Unreachable, "the connection was closed before the reply had ended", true},
	} {
		e := Explain(test.err, "judge.url", "judge.tls")
		if e.Kind != test.kind || e.Retry != test.retry || !strings.Contains(e.Message, test.want) || strings.Contains(e.Message, "s3cret") {
			t.Errorf("%s: got %+v", name, e)
		}
	}
}

func TestNewHTTPClientRefuses(t *testing.T) {
	for name, cfg := range map[string]HTTPConfig{
		"url: it must begin":        {URL: "judge"},
		"auth.oauth2.tokenURL: it":  {URL: "http://a", Auth: Auth{OAuth2: &OAuth2Config{}}},
		"headers[X-Key]: its value": {URL: "http://a", Header: http.Header{"X-Key": {"s3cret\n"}}},
	} {
		if _, err := NewHTTPClient(cfg); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("got %v, want %s", err, name)
		}
	}
}
