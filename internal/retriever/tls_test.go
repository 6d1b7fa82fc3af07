package retriever

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net/http/httptest"
	"testing"
	"time"
)

// authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t), pool: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert = a.sign(t, template, template, &a.key.PublicKey)
	a.pool.AddCert(a.cert)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) sign(t *testing.T, template, parent *x509.Certificate, public *ecdsa.PublicKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, a.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// issue gives a certificate for 127.0.0.1 and one name.
func (a *authority) issue(t *testing.T, name string, until time.Duration) tls.Certificate {
	t.Helper()
	key := newKey(t)
	cert := a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(until),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, &key.PublicKey)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func serveTLS(t *testing.T, config *tls.Config) string {
	t.Helper()
	server := httptest.NewUnstartedServer(reply(twoResults))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = config
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL + "/search"
}

func TestTLS(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	const name = "docs-bot.rag.svc"
	server := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{ours.issue(t, name, time.Hour)}})
	expired := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{ours.issue(t, name, -time.Hour)}})
	mutual := serveTLS(t, &tls.Config{
		Certificates: []tls.Certificate{ours.issue(t, name, time.Hour)},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: ours.pool,
	})
	with := func(c *tls.Config) func(*Config) { return func(cfg *Config) { cfg.TLS = c } }
	trust := &tls.Config{RootCAs: ours.pool, ServerName: name}

	for what, test := range map[string]struct {
		url    string
		config *tls.Config
	}{
		"private authority":  {server, trust},
		"client certificate": {mutual, &tls.Config{RootCAs: ours.pool, ServerName: name, Certificates: []tls.Certificate{ours.issue(t, "operator", time.Hour)}}},
	} {
		t.Run(what, func(t *testing.T) {
			r, err := newClient(t, test.url, with(test.config)).Retrieve(t.Context(), howTo, 10)
			if err != nil || len(r.Results) != 2 {
				t.Error(r, err)
			}
		})
	}
	for what, test := range map[string]struct {
		url    string
		config *tls.Config
		want   string
	}{
		"unknown authority":      {server, &tls.Config{RootCAs: theirs.pool, ServerName: name}, "signed by nobody that is trusted: set retriever.tls.caBundleRef"},
		"the system's":           {server, &tls.Config{ServerName: name}, "set retriever.tls.caBundleRef"},
		"another name":           {server, &tls.Config{RootCAs: ours.pool, ServerName: "other.rag.svc"}, "the server's certificate is for another name: check retriever.url, or set retriever.tls.serverName"},
		"expired":                {expired, trust, "the server's certificate is not valid: renew it"},
		"no client certificate":  {mutual, trust, "set retriever.tls.clientCertSecretRef"},
		"a client unknown to it": {mutual, &tls.Config{RootCAs: ours.pool, ServerName: name, Certificates: []tls.Certificate{theirs.issue(t, "operator", time.Hour)}}, "set retriever.tls.clientCertSecretRef"},
	} {
		t.Run(what, func(t *testing.T) {
			expect(t, fail(t, newClient(t, test.url, with(test.config), retries(3))), Unreachable, 1, test.want)
		})
	}
	t.Run("no TLS there", func(t *testing.T) {
		plain := httptest.NewServer(reply(twoResults))
		defer plain.Close()
		client := newClient(t, "https"+plain.URL[len("http"):], with(trust))
		expect(t, fail(t, client), Unreachable, 1, "the server does not speak TLS: use http:// in retriever.url")
	})
}
