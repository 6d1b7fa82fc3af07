package call

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-dev/assay/internal/egress"
)

// policy allows 127.0.0.1 of all the loopback addresses that listeners have here.
func policy(t *testing.T) Egress {
	t.Helper()
	p, err := egress.New(egress.Config{InCluster: true, AllowedNamespaces: []string{"*"}, AllowedCIDRs: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	return p.For("rag")
}

func guardedBy(e Egress) func(*Config) { return func(c *Config) { c.Egress = e } }

// nowhere allows no address.
type nowhere struct{}

func (nowhere) Host(host string) (string, error)     { return host, nil }
func (nowhere) Address(string, netip.AddrPort) error { return errors.New("nowhere to go") }

// victim is a server that must hear of nobody.
func victim(t *testing.T, address string) string {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{ConnState: func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			t.Errorf("%s was connected to", address)
		}
	}}}
	server.Start()
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestEgressAllows(t *testing.T) {
	client := serve(t, reply(twoResults), guardedBy(policy(t)))
	if a, err := client.ask(t.Context()); err != nil || a.results != 2 {
		t.Error(a, err)
	}
}

func TestEgressRefuses(t *testing.T) {
	port := victim(t, "0.0.0.0:0")
	for host, want := range map[string]string{
		"127.0.0.2":              "127.0.0.2 is a loopback address",
		"0.0.0.0":                "0.0.0.0 is an address of this host",
		"0":                      "0 is no host name",
		"127.2":                  "127.2 is no host name",
		"2130706434":             "2130706434 is no host name",
		"0177.0.0.2":             "0177.0.0.2 is no host name",
		"0x7f000002":             "0x7f000002 is no host name",
		"[::ffff:127.0.0.2]":     "is a loopback address",
		"[::ffff:7f00:2]":        "is a loopback address",
		"[64:ff9b::7f00:2]":      "is a loopback address",
		"169.254.169.254":        "169.254.169.254 is a link-local address",
		"[fe80::1]":              "is a link-local address",
		"kubernetes.default.svc": "is the cluster's API server",
		"１２７.0.0.2":              "127.0.0.2 is a loopback address",
	} {
		t.Run(host, func(t *testing.T) {
			client := newClient(t, "http://"+host+":"+port+"/search", guardedBy(policy(t)), retries(2))
			e := fail(t, client)
			expect(t, e, Unreachable, 1, "the operator's egress policy refuses it: ", want, "; use another retriever.url, or ask who runs the operator")
		})
	}
}

// Access tokens are fetched under the same policy.
func TestEgressOfTokens(t *testing.T) {
	port := victim(t, "127.0.0.2:0")
	client := newClient(t, "http://127.0.0.1:1/search", guardedBy(policy(t)), func(c *Config) {
		c.Auth.OAuth2 = &OAuth2Config{TokenURL: "http://127.0.0.2:" + port, ClientID: "assay-client", ClientSecret: "hunter2!"}
	})
	expect(t, fail(t, client), Unreachable, 1, "fetching an access token", "127.0.0.2 is a loopback address; use another retriever.auth.oauth2.tokenURL")
}

func TestEgressOfSDKs(t *testing.T) {
	port := victim(t, "127.0.0.2:0")
	target := "http://127.0.0.2:" + port
	_, err := post(t, sdk(t, target, func(c *HTTPConfig) { c.Egress = policy(t) }), target)
	if e := Explain(err, "judge.url", "judge.tls"); e.Kind != Unreachable || !strings.Contains(e.Message, "127.0.0.2 is a loopback address; use another judge.url") {
		t.Errorf("got %+v", e)
	}
}

// A redirect to the same name is dialled anew, and checked anew.
func TestEgressAfterARedirect(t *testing.T) {
	port := victim(t, "127.0.0.2:0")
	client := serve(t, http.RedirectHandler("http://127.0.0.2:"+port+"/x", http.StatusTemporaryRedirect).ServeHTTP, guardedBy(policy(t)))
	expect(t, fail(t, client), HTTPError, 1, "another host, which is not followed")
}

// nameServer answers every question for an IPv4 address with the next of a list of
// addresses, the last for ever.
func nameServer(t *testing.T, addresses ...string) (resolver *net.Resolver, asked func() int) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	var n atomic.Int32
	go func() {
		packet := make([]byte, 512)
		for {
			size, client, err := server.ReadFrom(packet)
			if err != nil {
				return
			}
			// RFC 1035, section 4.1: a header of 12 bytes and one question; what
			// comes after it, the options of EDNS, is left out.
			end := 12
			for end < size && packet[end] != 0 {
				end += int(packet[end]) + 1
			}
			end += 5
			answer := append([]byte{}, packet[:end]...)
			binary.BigEndian.PutUint16(answer[2:], 0x8180)
			clear(answer[6:12])
			if kind := binary.BigEndian.Uint16(packet[end-4:]); kind == 1 {
				i := min(int(n.Add(1)), len(addresses)) - 1
				answer[7] = 1
				answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				answer = append(answer, netip.MustParseAddr(addresses[i]).AsSlice()...)
			}
			_, _ = server.WriteTo(answer, client)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}, func() int { return int(n.Load()) }
}

// A name that means an allowed address once and another one the next time gets no
// further: the address that is dialled is the one that was checked.
func TestRebinding(t *testing.T) {
	server := httptest.NewServer(reply(twoResults))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	victim(t, "127.0.0.2:"+port)
	resolver, asked := nameServer(t, "127.0.0.1", "127.0.0.2")

	client := newClient(t, "http://rebind.example.:"+port+"/search", guardedBy(policy(t)))
	client.http.Transport.(*guarded).direct.DialContext = (&guardedDialer{dialer: &net.Dialer{Resolver: resolver, Timeout: 10 * time.Second}, egress: policy(t)}).dial
	if _, err := client.ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Kept open, the connection was checked; a new one is checked again.
	client.http.CloseIdleConnections()
	expect(t, fail(t, client), Unreachable, 1, "127.0.0.2, the address of rebind.example., is a loopback address")
	if asked() != 2 {
		t.Errorf("%d lookups", asked())
	}
}

// Of a request that a proxy makes, the name is checked, and its addresses as far
// as they are known here.
func TestEgressThroughAProxy(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Host)
		reply(twoResults)(w, r)
	}))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{"inside.example": "169.254.169.254", "outside.example": "203.0.113.7", "rebind.example": "10.96.0.1"}
	open, err := egress.New(egress.Config{
		InCluster: true, AllowedNamespaces: []string{"*"}, DeniedHosts: []string{"bad.example"},
		APIServer: []netip.AddrPort{netip.MustParseAddrPort("10.96.0.1:443")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"http://outside.example/x":       "",
		"http://unknown.example/x":       "",
		"http://203.0.113.9:8080/x":      "",
		"http://inside.example/x":        "169.254.169.254, the address of inside.example, is a link-local address",
		"http://169.254.169.254/x":       "a link-local address",
		"http://[::ffff:a9fe:a9fe]/x":    "a link-local address",
		"http://2852039166/x":            "is no host name",
		"http://bad.example/x":           "the host bad.example is denied",
		"http://kubernetes.default.svc/": "the cluster's API server",
		"https://rebind.example/x":       "the cluster's API server",
		"http://１６９.254.169.254/x":       "is not ASCII",
		"http://outside.example:99999/x": "99999 is no port",
	} {
		t.Run(target, func(t *testing.T) {
			asked = nil
			client := newClient(t, target, guardedBy(open.For("rag")))
			g := client.http.Transport.(*guarded)
			g.proxy = func(*http.Request) (*url.URL, error) { return at, nil }
			g.proxied.Proxy = http.ProxyURL(at)
			g.resolve = func(_ context.Context, _, host string) ([]netip.Addr, error) {
				if a, ok := known[host]; ok {
					return []netip.Addr{netip.MustParseAddr(a)}, nil
				}
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			if want == "" {
				if _, err := client.ask(t.Context()); err != nil || len(asked) != 1 {
					t.Errorf("asked %q, %v", asked, err)
				}
				return
			}
			expect(t, fail(t, client), Unreachable, 1, want)
			if len(asked) != 0 {
				t.Errorf("the proxy was asked for %q", asked)
			}
		})
	}
}

// elsewhere has every name resolved as another one.
type elsewhere struct{ name string }

func (e elsewhere) Host(string) (string, error)        { return e.name, nil }
func (elsewhere) Address(string, netip.AddrPort) error { return nil }

// The name that is resolved is the one that the policy gives.
func TestEgressNames(t *testing.T) {
	server := httptest.NewServer(reply(twoResults))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client := newClient(t, "http://docs-bot.rag.invalid:"+port, guardedBy(elsewhere{"127.0.0.1"}))
	if _, err := client.ask(t.Context()); err != nil {
		t.Error(err)
	}
}

// What is dialled directly is dialled to the address that was checked.
func TestDirectConnectionsHaveNoProxy(t *testing.T) {
	g := newClient(t, "http://docs-bot.rag.svc", guardedBy(nowhere{})).http.Transport.(*guarded)
	if g.direct.Proxy != nil || g.proxied.Proxy == nil {
		t.Error("the two transports are mixed up")
	}
}

// Without a policy there is nothing between the client and its connections.
func TestNoEgressPolicy(t *testing.T) {
	client := newClient(t, "http://docs-bot.rag.svc")
	if _, ok := client.http.Transport.(*http.Transport); !ok {
		t.Errorf("got a %T", client.http.Transport)
	}
	refused := serve(t, reply(twoResults), guardedBy(nowhere{}))
	expect(t, fail(t, refused), Unreachable, 1, "the operator's egress policy refuses it: nowhere to go")
}
