package call

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Egress says where connections may go. Its errors are for people. It is safe
// for concurrent use.
type Egress interface {
	// Host is asked before a name is resolved, with the host as a URL has it and
	// without brackets. It gives the name to resolve in its place: the same, or
	// one that means the same and that no search list completes.
	Host(host string) (string, error)
	// Address is asked of every address that a host was resolved to, before it is
	// dialled.
	Address(host string, address netip.AddrPort) error
}

// EgressError is a connection that the policy refuses.
type EgressError struct {
	// Err is the policy's own.
	Err error
}

// Error says who refuses, and why.
func (e *EgressError) Error() string {
	return "the operator's egress policy refuses it: " + e.Err.Error()
}

// Unwrap gives the policy's error.
func (e *EgressError) Unwrap() error { return e.Err }

// CheckURL says what a policy has against a URL before anybody connects: its host,
// and its address where it names one. What a name is resolved to shows only then,
// as does a name that is not written in ASCII. Its error is an *EgressError.
func CheckURL(policy Egress, rawURL string) error {
	u, err := url.Parse(rawURL)
	if policy == nil || err != nil || u.Host == "" || !isASCII(u.Hostname()) {
		return nil
	}
	host := u.Hostname()
	if _, err := policy.Host(host); err != nil {
		return &EgressError{err}
	}
	literal, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	to, err := strconv.ParseUint(port(u), 10, 16)
	if err != nil {
		return nil
	}
	if err := policy.Address(host, netip.AddrPortFrom(literal, uint16(to))); err != nil {
		return &EgressError{err}
	}
	return nil
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// guardedDialer dials what the policy allows. An address is checked after the
// name was resolved and right before the connection is made to this very
// address, so that a name that means another address the next time gains nothing.
type guardedDialer struct {
	dialer *net.Dialer
	egress Egress
}

func (d *guardedDialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	name, err := d.egress.Host(host)
	if err != nil {
		return nil, &EgressError{err}
	}
	dialer := *d.dialer
	dialer.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(resolved)
		if err == nil {
			err = d.egress.Address(host, to)
		}
		if err != nil {
			return &EgressError{err}
		}
		return nil
	}
	return dialer.DialContext(ctx, network, net.JoinHostPort(name, port))
}

// guarded is a transport with an egress policy. Connections to a proxy of the
// environment are the operator's own and not checked; what the proxy is asked
// for is, as far as it can be seen from here.
type guarded struct {
	egress          Egress
	proxy           func(*http.Request) (*url.URL, error)
	resolve         func(ctx context.Context, network, host string) ([]netip.Addr, error)
	direct, proxied *http.Transport
}

// RoundTrip sends a request by the way that the environment says.
func (g *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	proxy, err := g.proxy(r)
	switch {
	case err != nil:
		err = fmt.Errorf("read the proxy of the environment: %w", err)
	case proxy == nil:
		return g.direct.RoundTrip(r)
	default:
		err = g.check(r.Context(), r.URL)
	}
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	return g.proxied.RoundTrip(r)
}

// check is all that can be said of a request that a proxy will make: the name,
// and the addresses that the name has here. Where it has none, as in networks
// whose only way out is the proxy, the proxy's own rules are what is left.
func (g *guarded) check(ctx context.Context, u *url.URL) error {
	host := u.Hostname()
	if !isASCII(host) {
		return &EgressError{fmt.Errorf("the host %s is not ASCII: write it as the proxy will be asked for it, with xn--", host)}
	}
	to, err := strconv.ParseUint(port(u), 10, 16)
	if err != nil {
		return &EgressError{fmt.Errorf("%s is no port", port(u))}
	}
	name, err := g.egress.Host(host)
	if err != nil {
		return &EgressError{err}
	}
	var addresses []netip.Addr
	if literal, err := netip.ParseAddr(host); err == nil {
		addresses = append(addresses, literal)
	} else {
		addresses, _ = g.resolve(ctx, "ip", name)
	}
	for _, address := range addresses {
		if err := g.egress.Address(host, netip.AddrPortFrom(address, uint16(to))); err != nil {
			return &EgressError{err}
		}
	}
	return nil
}

// CloseIdleConnections lets go of the connections that are kept open.
func (g *guarded) CloseIdleConnections() {
	g.direct.CloseIdleConnections()
	g.proxied.CloseIdleConnections()
}
