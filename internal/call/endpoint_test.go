package call

import (
	"crypto/tls"
	"net"
	"net/http"
	"testing"
)

func TestUnknownHost(t *testing.T) {
	for name, test := range map[string]struct {
		dns      net.DNSError
		attempts int
	}{
		"no such host":       {net.DNSError{Err: "no such host", IsNotFound: true}, 1},
		"a resolver's fault": {net.DNSError{Err: "server misbehaving", IsTemporary: true}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			client := newClient(t, "http://docs-bot.rag.invalid/search", retries(1))
			client.http.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &test.dns}
			})
			expect(t, fail(t, client), Unreachable, test.attempts, "POST docs-bot.rag.invalid/search: the host's name is not known: check retriever.url", test.dns.Err)
		})
	}
}

func TestANameWithoutItsNamespace(t *testing.T) {
	client := newClient(t, "http://docs-bot:8080/search")
	client.http.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "docs-bot", IsNotFound: true}}
	})
	expect(t, fail(t, client), Unreachable, 1, "check retriever.url; a Service is found under its namespace too, docs-bot.NAMESPACE.svc")
}

func TestTLSConfigIsNotTheCallers(t *testing.T) {
	trust := &tls.Config{ServerName: "docs-bot.rag.svc"}
	client := newClient(t, "https://docs-bot.rag.svc", func(c *Config) { c.TLS = trust })
	if client.http.Transport.(*http.Transport).TLSClientConfig == trust {
		t.Error("shared")
	}
}
