package suite

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/retriever"
)

// keyPair is a certificate of a client, signed by itself, in PEM.
func keyPair(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "assay"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		IsCA:        true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return pemOf("CERTIFICATE", der), pemOf("PRIVATE KEY", encoded), pool
}

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// quiet starts a TLS server that does not log the handshakes that tests make fail.
func quiet(t *testing.T, handler http.Handler, config *tls.Config) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = config
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// tokenPath is where the test's server gives out access tokens.
const tokenPath = "/token"

// guarded answers whom the check lets in, and gives tokens for id and secret.
func guarded(let func(*http.Request) bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(tokenPath, func(w http.ResponseWriter, r *http.Request) {
		if id, secret, _ := r.BasicAuth(); id != "id" || secret != "s3cret" || r.FormValue("scope") != "search" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token": "t0ken", "token_type": "Bearer", "expires_in": 3600}`)
	})
	mux.HandleFunc("/embed", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"data": [{"embedding": [0.5]}]}`)
	})
	mux.HandleFunc("/search", func(w http.ResponseWriter, r *http.Request) {
		if !let(r) {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"results": [{"id": "a"}]}`)
	})
	return mux
}

func header(name, value string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Header.Get(name) == value }
}

func basic(user, password string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		u, p, ok := r.BasicAuth()
		return ok && u == user && p == password
	}
}

// ask prepares a run of the suite and asks one question.
func ask(t *testing.T, spec string, src *objects) (*retriever.Reply, error) {
	t.Helper()
	src.configMaps = append(src.configMaps, golden3)
	p, err := Prepare(t.Context(), suiteOf(t, spec), RunOptions{}, src, Deps{})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return p.Parties.Retriever.Retrieve(t.Context(), &golden.Case{ID: "a", Question: "where is a"}, 1)
}

func TestCredentialsReachTheRetriever(t *testing.T) {
	cert, key, clients := keyPair(t)
	bot := secret("bot", map[string]string{"token": "s3cret", "user": "ann", "id": "id", "line": "s3cret\r\n"})
	for name, test := range map[string]struct {
		auth string
		let  func(*http.Request) bool
	}{
		"bearer":           {`auth: {bearerTokenSecretRef: {name: bot, key: token}}`, header("Authorization", "Bearer s3cret")},
		"trailing newline": {`auth: {bearerTokenSecretRef: {name: bot, key: line}}`, header("Authorization", "Bearer s3cret")},
		"basic":            {`auth: {basicAuth: {usernameSecretRef: {name: bot, key: user}, passwordSecretRef: {name: bot, key: token}}}`, basic("ann", "s3cret")},
		"oauth2":           {`auth: {oauth2: {tokenURL: "SERVER` + tokenPath + `", clientIDSecretRef: {name: bot, key: id}, clientSecretSecretRef: {name: bot, key: token}, scopes: [search]}}`, header("Authorization", "Bearer t0ken")},
		"header":           {`headers: [{name: X-Key, valueFrom: {secretKeyRef: {name: bot, key: token}}}]`, header("X-Key", "s3cret")},
		"plain header":     {`headers: [{name: X-Tenant, value: docs}]`, header("X-Tenant", "docs")},
		"empty header":     {`headers: [{name: X-Tenant, value: ""}]`, func(r *http.Request) bool { _, sent := r.Header["X-Tenant"]; return sent }},
		"embedding": {`embedding: {url: "SERVER/embed", model: m, auth: {bearerTokenSecretRef: {name: bot, key: token}}}, request: '{"v": vector}'`,
			func(r *http.Request) bool { return r.Header.Get("Authorization") == "" }},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(guarded(test.let))
			defer server.Close()
			spec := fmt.Sprintf(`{retriever: {url: "SERVER/search", %s}}`, test.auth)
			reply, err := ask(t, strings.ReplaceAll(spec, "SERVER", server.URL), &objects{secrets: []*corev1.Secret{bot}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]retriever.Result{{ID: "a"}}, reply.Results); diff != "" {
				t.Error(diff)
			}
		})
	}

	anybody := func(*http.Request) bool { return true }
	server := quiet(t, guarded(anybody), nil)
	mutual := quiet(t, guarded(anybody), &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients})
	bundle := pemOf("CERTIFICATE", server.Certificate().Raw)
	src := func() *objects {
		packed := configMap("packed", nil)
		packed.BinaryData = map[string][]byte{"ca.crt": []byte(bundle)}
		return &objects{
			configMaps: []*corev1.ConfigMap{configMap("ca", map[string]string{"ca.crt": bundle, "other.pem": bundle}), packed},
			secrets:    []*corev1.Secret{secret("ca", map[string]string{"ca.crt": bundle}), secret("client", map[string]string{"tls.crt": cert, "tls.key": key})},
		}
	}
	for name, test := range map[string]struct {
		url, tls string
		fails    bool
	}{
		"no bundle":               {server.URL, `{}`, true},
		"bundle in a ConfigMap":   {server.URL, `{tls: {caBundleRef: {name: ca}}}`, false},
		"another key":             {server.URL, `{tls: {caBundleRef: {name: ca, key: other.pem}}}`, false},
		"binaryData":              {server.URL, `{tls: {caBundleRef: {name: packed}}}`, false},
		"bundle in a Secret":      {server.URL, `{tls: {caBundleRef: {kind: Secret, name: ca}}}`, false},
		"another server's name":   {server.URL, `{tls: {caBundleRef: {name: ca}, serverName: example.com}}`, false},
		"a name that it has not":  {server.URL, `{tls: {caBundleRef: {name: ca}, serverName: bot.rag.svc}}`, true},
		"no client certificate":   {mutual.URL, `{tls: {caBundleRef: {name: ca}}}`, true},
		"with client certificate": {mutual.URL, `{tls: {caBundleRef: {name: ca}, clientCertSecretRef: {name: client}}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			spec := fmt.Sprintf(`{retriever: {url: "%s/search", maxRetries: 0}}`, test.url)
			s := suiteOf(t, spec, `{retriever: `+test.tls+`}`)
			objects := src()
			objects.configMaps = append(objects.configMaps, golden3)
			p, err := Prepare(t.Context(), s, RunOptions{}, objects, Deps{})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			_, err = p.Parties.Retriever.Retrieve(t.Context(), &golden.Case{ID: "a", Question: "a"}, 1)
			if (err != nil) != test.fails {
				t.Errorf("fails is %t, got %v", test.fails, err)
			}
		})
	}
}

// every field that can name a Secret or a ConfigMap, beside the golden set
const everything = `{retriever: {
  headers: [{name: X-Key, valueFrom: {secretKeyRef: {name: head, key: k}}}],
  auth: {basicAuth: {usernameSecretRef: {name: bot, key: user}, passwordSecretRef: {name: bot, key: password}}},
  tls: {caBundleRef: {name: ca}, clientCertSecretRef: {name: client}},
  embedding: {url: "http://e/v1", model: m,
    headers: [{name: X-Key, value: plain}, {name: X-Other, valueFrom: {secretKeyRef: {name: head, key: other}}}],
    auth: {oauth2: {tokenURL: "http://login/token", clientIDSecretRef: {name: oauth, key: id}, clientSecretSecretRef: {name: oauth, key: secret}}},
    tls: {caBundleRef: {kind: Secret, name: ca}}}}}`

func TestEverythingThatIsMissingIsSaidAtOnce(t *testing.T) {
	src := &objects{configMaps: []*corev1.ConfigMap{golden3}}
	missing := []string{
		`the Secret "bot" of spec.retriever.auth.basicAuth.usernameSecretRef does not exist in namespace "rag": create it; `,
		`the Secret "bot" of spec.retriever.auth.basicAuth.passwordSecretRef does not exist`,
		`the Secret "head" of spec.retriever.headers[0].valueFrom.secretKeyRef does not exist`,
		`the ConfigMap "ca" of spec.retriever.tls.caBundleRef does not exist`,
		`the Secret "client" of spec.retriever.tls.clientCertSecretRef does not exist`,
		`the Secret "oauth" of spec.retriever.embedding.auth.oauth2.clientIDSecretRef does not exist`,
		`the Secret "oauth" of spec.retriever.embedding.auth.oauth2.clientSecretSecretRef does not exist`,
		`the Secret "head" of spec.retriever.embedding.headers[1].valueFrom.secretKeyRef does not exist`,
		`the Secret "ca" of spec.retriever.embedding.tls.caBundleRef does not exist`,
	}
	s := suiteOf(t, everything)
	want{ReasonSecretNotFound, false, missing}.check(t, CheckCredentials(t.Context(), s, src))
	if diff := cmp.Diff([]string{"bot", "head", "ca", "client", "oauth", "ca"}, src.reads); diff != "" {
		t.Errorf("each object is read once: %s", diff)
	}
	_, err := Prepare(t.Context(), s, RunOptions{}, src, Deps{})
	want{ReasonSecretNotFound, false, missing}.check(t, err)

	src.secrets = []*corev1.Secret{secret("bot", nil), secret("head", nil), secret("client", nil), secret("oauth", nil), secret("ca", nil)}
	src.configMaps = append(src.configMaps, configMap("ca", nil))
	want{ReasonSecretNotFound, false, []string{
		`the Secret "bot" of spec.retriever.auth.basicAuth.usernameSecretRef has no key "user": add it; `,
		`has no key "password": add it`,
		`has no key "k": add it`,
		`the ConfigMap "ca" of spec.retriever.tls.caBundleRef has no key "ca.crt": add it`,
		`the Secret "client" of spec.retriever.tls.clientCertSecretRef holds no certificate and key that fit (tls.crt, tls.key)`,
		`has no key "id"`, `has no key "secret"`, `has no key "other"`,
		`the Secret "ca" of spec.retriever.embedding.tls.caBundleRef has no key "ca.crt"`,
	}}.check(t, CheckCredentials(t.Context(), s, src))
}

func TestWhatNeedsNoCredentialsLacksNone(t *testing.T) {
	src := &objects{}
	if err := CheckCredentials(t.Context(), suiteOf(t, `{retriever: {headers: [{name: X-A, value: b}], tls: {serverName: bot}}}`), src); err != nil || len(src.reads) > 0 {
		t.Errorf("got %v after reading %v", err, src.reads)
	}
}

// Whatever is wrong with a Secret, its content stays out of the message, which
// everybody who may read the suite can read.
func TestNoErrorHoldsASecret(t *testing.T) {
	cert, key, _ := keyPair(t)
	_, otherKey, _ := keyPair(t)
	bearer := `{retriever: {auth: {bearerTokenSecretRef: {name: bot, key: v}}}}`
	client := `{retriever: {tls: {clientCertSecretRef: {name: bot}}}}`
	bundle := `{retriever: {tls: {caBundleRef: {kind: Secret, name: bot, key: v}}}}`
	for name, test := range map[string]struct {
		spec string
		data map[string]string
		want want
	}{
		"empty":            {bearer, map[string]string{"v": ""}, want{ReasonSecretInvalid, false, []string{`the key "v" of the Secret "bot" of spec.retriever.auth.bearerTokenSecretRef is empty: fill it`}}},
		"newline alone":    {bearer, map[string]string{"v": "\n"}, want{ReasonSecretInvalid, false, []string{"is empty"}}},
		"embedded newline": {bearer, map[string]string{"v": "s3cret\ns3cret\n"}, want{ReasonSecretInvalid, false, []string{`the key "v" of the Secret "bot"`, "line break", "one line"}}},
		"control":          {bearer, map[string]string{"v": "s3cret\x01"}, want{ReasonSecretInvalid, false, []string{"control character"}}},
		"endless":          {bearer, map[string]string{"v": strings.Repeat("s3cret", 3<<10)}, want{ReasonSecretInvalid, false, []string{`the key "v" of the Secret "bot"`, "holds 18 KiB: a credential has at most 16"}}},
		"zero byte":        {bearer, map[string]string{"v": "s3cret\x00"}, want{ReasonSecretInvalid, false, []string{"control character"}}},
		"no certificate":   {client, map[string]string{"tls.crt": "s3cret", "tls.key": "s3cret"}, want{ReasonInvalidTLS, false, []string{`the Secret "bot" of spec.retriever.tls.clientCertSecretRef`, "kubectl create secret tls"}}},
		"no key":           {client, map[string]string{"tls.crt": cert}, want{ReasonInvalidTLS, false, nil}},
		"key of another":   {client, map[string]string{"tls.crt": cert, "tls.key": otherKey}, want{ReasonInvalidTLS, false, nil}},
		"broken key":       {client, map[string]string{"tls.crt": cert, "tls.key": pemOf("s3cret", []byte("s3cret"))}, want{ReasonInvalidTLS, false, nil}},
		"no bundle":        {bundle, map[string]string{"v": "s3cret"}, want{ReasonInvalidTLS, false, []string{`the key "v" of the Secret "bot" of spec.retriever.tls.caBundleRef`, "-----BEGIN CERTIFICATE-----"}}},
		"a key as bundle":  {bundle, map[string]string{"v": key}, want{ReasonInvalidTLS, false, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckCredentials(t.Context(), suiteOf(t, test.spec), &objects{secrets: []*corev1.Secret{secret("bot", test.data)}})
			test.want.check(t, err)
			for line := range strings.Lines(key + otherKey + "s3cret") {
				if !strings.HasPrefix(line, "-----") && strings.Contains(err.Error(), strings.TrimSpace(line)) {
					t.Errorf("%q holds %q", err, line)
				}
			}
		})
	}
}

func TestAnErrorOfTheRetrieverHoldsNoSecret(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "bad token "+r.Header.Get("Authorization")+" and key "+r.Header.Get("X-Key"), http.StatusUnauthorized)
	}))
	defer server.Close()
	_, err := ask(t, fmt.Sprintf(`{retriever: {url: %q, headers: [{name: X-Key, valueFrom: {secretKeyRef: {name: bot, key: k}}}], auth: {bearerTokenSecretRef: {name: bot, key: v}}}}`, server.URL),
		&objects{secrets: []*corev1.Secret{secret("bot", map[string]string{"v": "s3cret\n", "k": "hush-hush"})}})
	if err == nil || !strings.Contains(err.Error(), "bad token") || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "hush-hush") {
		t.Errorf("got %v", err)
	}
}

func TestAnOutageIsNoMistake(t *testing.T) {
	for name, test := range map[string]struct {
		broken string
		want   want
	}{
		"Secret":    {"head", want{ReasonSecretUnreadable, true, []string{`read Secret "head" of spec.retriever.headers[0]`, "etcd is away"}}},
		"ConfigMap": {"ca", want{ReasonConfigMapUnreadable, true, []string{`read ConfigMap "ca" of spec.retriever.tls.caBundleRef`, "etcd is away"}}},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckCredentials(t.Context(), suiteOf(t, `{retriever: {headers: [{name: X-Key, valueFrom: {secretKeyRef: {name: head, key: k}}}], tls: {caBundleRef: {name: ca}}}}`),
				&objects{broken: test.broken, secrets: []*corev1.Secret{secret("head", map[string]string{"k": "v"})}, configMaps: []*corev1.ConfigMap{configMap("ca", map[string]string{"ca.crt": func() string { c, _, _ := keyPair(t); return c }()})}})
			test.want.check(t, err)
		})
	}
	both := suiteOf(t, `{retriever: {auth: {basicAuth: {usernameSecretRef: {name: broken, key: a}, passwordSecretRef: {name: absent, key: b}}}}}`)
	want{ReasonSecretNotFound, false, []string{"etcd is away", `"absent"`}}.check(t, CheckCredentials(t.Context(), both, &objects{broken: "broken"}))
}
