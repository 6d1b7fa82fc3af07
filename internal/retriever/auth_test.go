package retriever

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-dev/assay/internal/call"
)

func TestCredentialsAreSent(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"none":           {func(*Config) {}, ""},
		"bearer":         {func(c *Config) { c.BearerToken = "t0ken" }, "Bearer t0ken"},
		"basic":          {func(c *Config) { c.BasicUser, c.BasicPassword = "ada", "l0velace" }, "Basic " + base64.StdEncoding.EncodeToString([]byte("ada:l0velace"))},
		"no password":    {func(c *Config) { c.BasicUser = "ada" }, "Basic " + base64.StdEncoding.EncodeToString([]byte("ada:"))},
		"auth wins":      {func(c *Config) { c.BearerToken, c.Header = "t0ken", http.Header{"authorization": {"other"}} }, "Bearer t0ken"},
		"a header's own": {func(c *Config) { c.Header = http.Header{"authorization": {"ApiKey x"}} }, "ApiKey x"},
	} {
		t.Run(name, func(t *testing.T) {
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Authorization"); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
				reply(twoResults)(w, r)
			}, test.change)
			if _, err := client.Retrieve(t.Context(), howTo, 10); err != nil {
				t.Error(err)
			}
		})
	}
}

// tokenServer gives out tokens t1, t2, … for the client assay-client.
type tokenServer struct {
	given atomic.Int32
	// expiresIn is in seconds.
	expiresIn int
}

func (s *tokenServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, secret, ok := r.BasicAuth()
	if secret, _ = url.QueryUnescape(secret); !ok {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	w.Header().Set("Content-Type", "application/json")
	if id != "assay-client" || secret != "hunter2!" || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "search read" {
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": "invalid_client", "error_description": fmt.Sprintf("no %s with %s", id, secret)})
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": fmt.Sprintf("t%d-access", s.given.Add(1)), "token_type": "bearer", "expires_in": s.expiresIn})
}

func withOAuth2(tokenURL, secret string) func(*Config) {
	return func(c *Config) {
		c.OAuth2 = &OAuth2Config{TokenURL: tokenURL, ClientID: "assay-client", ClientSecret: secret, Scopes: []string{"search", "read"}}
	}
}

func TestOAuth2(t *testing.T) {
	tokens := &tokenServer{expiresIn: 3600}
	login := httptest.NewServer(tokens)
	defer login.Close()
	var mu sync.Mutex
	seen := map[string]int{}
	revoked := "none"
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		token := r.Header.Get("Authorization")
		seen[token]++
		if token == "Bearer "+revoked {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, "the token "+token+" is revoked")
			return
		}
		reply(twoResults)(w, r)
	}, withOAuth2(login.URL+"/token", "hunter2!"))

	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := client.Retrieve(t.Context(), howTo, 10); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if seen["Bearer t1-access"] != 8 || tokens.given.Load() != 1 {
		t.Errorf("got %v, and %d tokens", seen, tokens.given.Load())
	}

	mu.Lock()
	revoked = "t1-access"
	mu.Unlock()
	e := fail(t, client)
	expect(t, e, HTTPError, 1, "401 Unauthorized; check retriever.auth: the token Bearer [redacted] is revoked")
	if _, err := client.Retrieve(t.Context(), howTo, 10); err != nil {
		t.Errorf("no new token was fetched: %v", err)
	}
}

func TestOAuth2TokensAreRenewed(t *testing.T) {
	// A token counts as run out some seconds beforehand.
	tokens := &tokenServer{expiresIn: 5}
	login := httptest.NewServer(tokens)
	defer login.Close()
	client := serve(t, reply(twoResults), withOAuth2(login.URL, "hunter2!"))
	for range 2 {
		if _, err := client.Retrieve(t.Context(), howTo, 10); err != nil {
			t.Fatal(err)
		}
	}
	if n := tokens.given.Load(); n != 2 {
		t.Errorf("%d tokens were fetched, want 2", n)
	}
}

func TestOAuth2Fails(t *testing.T) {
	never := func(http.ResponseWriter, *http.Request) { t.Error("the retriever was asked") }
	login := httptest.NewServer(&tokenServer{})
	defer login.Close()
	t.Run("wrong secret", func(t *testing.T) {
		e := fail(t, serve(t, never, withOAuth2(login.URL+"/token?tenant=t3nant", "wrong-secret"), retries(2)))
		expect(t, e, HTTPError, 1, "/search: fetching an access token: POST 127.0.0.1:", "/token: 401 Unauthorized: invalid_client no [redacted] with", "check retriever.auth.oauth2")
		for _, secret := range []string{"wrong-secret", "assay-client", "t3nant"} {
			if strings.Contains(e.Message, secret) {
				t.Error(e.Message)
			}
		}
	})
	answer := func(t *testing.T, handler http.HandlerFunc, change ...func(*Config)) *Error {
		server := httptest.NewServer(handler)
		defer server.Close()
		return fail(t, serve(t, never, append(change, withOAuth2(server.URL, "hunter2!"))...))
	}
	t.Run("down", func(t *testing.T) {
		server := httptest.NewServer(http.NotFoundHandler())
		server.Close()
		e := fail(t, serve(t, never, withOAuth2(server.URL, "hunter2!")))
		expect(t, e, Unreachable, 1, "fetching an access token", "nothing listens there")
	})
	t.Run("not JSON", func(t *testing.T) {
		expect(t, answer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "<html>")
		}), Malformed, 1, "check retriever.auth.oauth2.tokenURL")
	})
	t.Run("503", func(t *testing.T) {
		e := answer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, retries(1))
		expect(t, e, HTTPError, 2, "503 Service Unavailable")
	})
	t.Run("429", func(t *testing.T) {
		e := answer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7200")
			w.WriteHeader(429)
		}, retries(1))
		expect(t, e, RateLimited, 1, "429 Too Many Requests", "it asks to wait 2h0m0s")
	})
	t.Run("hangs", func(t *testing.T) {
		e := answer(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, timeout(50*time.Millisecond))
		expect(t, e, Timeout, 1, "no token came within 50ms")
	})
	t.Run("redirects", func(t *testing.T) {
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the secret went to another host") }))
		defer other.Close()
		e := answer(t, http.RedirectHandler(other.URL+"/steal", http.StatusTemporaryRedirect).ServeHTTP)
		expect(t, e, HTTPError, 1, "/steal, another host, which is not followed")
	})
}

// No error may show a secret, in whatever form a server gives it back.
func TestSecretsAreRemoved(t *testing.T) {
	secrets := map[string]string{
		"bearer": "tök/en+1&x=\"2\"", "password": "pass word", "user": "adalovelace", "header": "h3ader-key", "query": "qu3ry/key", "listed": "l1sted",
	}
	echo := func(r *http.Request) string {
		all := []string{"echo:"}
		for name, values := range r.Header {
			all = append(all, name+"="+strings.Join(values, ","))
		}
		for _, s := range secrets {
			quoted, _ := json.Marshal(s)
			all = append(all, s, url.QueryEscape(s), url.PathEscape(s), string(quoted), fmt.Sprintf("%q", s),
				base64.StdEncoding.EncodeToString([]byte(s)), r.RequestURI)
		}
		return strings.Join(all, "\n")
	}
	for what, handler := range map[string]http.HandlerFunc{
		"status": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			_, _ = io.WriteString(w, echo(r))
		},
		"not JSON": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", secrets["header"])
			_, _ = io.WriteString(w, echo(r))
		},
		"reported": func(w http.ResponseWriter, r *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]any{"error": echo(r)})
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.example/"+url.PathEscape(secrets["bearer"])+"?k="+url.QueryEscape(secrets["listed"]), http.StatusTemporaryRedirect)
		},
		"mapping": func(w http.ResponseWriter, r *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{}, "echo": echo(r)})
		},
	} {
		for name, change := range map[string]func(*Config){
			"bearer": func(c *Config) { c.BearerToken = secrets["bearer"] },
			"basic":  func(c *Config) { c.BasicUser, c.BasicPassword = secrets["user"], secrets["password"] },
		} {
			t.Run(what+" "+name, func(t *testing.T) {
				server := httptest.NewServer(handler)
				defer server.Close()
				all := []string{}
				for _, s := range secrets {
					all = append(all, s)
				}
				client := newClient(t, server.URL+"/search/"+url.PathEscape(secrets["listed"])+"?key="+url.QueryEscape(secrets["query"]), change, func(c *Config) {
					c.Header = http.Header{"X-Key": {secrets["header"]}}
					c.Secrets = call.NewRedactor(secrets["header"], secrets["listed"], secrets["bearer"], secrets["password"], secrets["user"])
					c.Program = mustCompile(t, Mappings{Error: `response.error`})
				})
				e := fail(t, client)
				for _, s := range all {
					quoted, _ := json.Marshal(s)
					for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s), strings.Trim(string(quoted), `"`), base64.StdEncoding.EncodeToString([]byte(s))} {
						if strings.Contains(e.Message, form) {
							t.Errorf("%q is shown: %s", form, e.Message)
						}
					}
				}
				basic := base64.StdEncoding.EncodeToString([]byte(secrets["user"] + ":" + secrets["password"]))
				if strings.Contains(e.Message, basic) {
					t.Errorf("the Authorization header is shown: %s", e.Message)
				}
			})
		}
	}
}
