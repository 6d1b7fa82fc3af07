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

// egressError is a connection that the policy refuses.
type egressError struct{ err error }

func (e *egressError) Error() string {
	return "the operator's egress policy refuses it: " + e.err.Error()
}

func (e *egressError) Unwrap() error { return e.err }

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
		return nil, &egressError{err}
	}
	dialer := *d.dialer
	dialer.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(resolved)
		if err == nil {
			err = d.egress.Address(host, to)
		}
		if err != nil {
			return &egressError{err}
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
	if strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return &egressError{fmt.Errorf("the host %s is not ASCII: write it as the proxy will be asked for it, with xn--", host)}
	}
	to, err := strconv.ParseUint(port(u), 10, 16)
	if err != nil {
		return &egressError{fmt.Errorf("%s is no port", port(u))}
	}
	name, err := g.egress.Host(host)
	if err != nil {
		return &egressError{err}
	}
	var addresses []netip.Addr
	if literal, err := netip.ParseAddr(host); err == nil {
		addresses = append(addresses, literal)
	} else {
		addresses, _ = g.resolve(ctx, "ip", name)
	}
	for _, address := range addresses {
		if err := g.egress.Address(host, netip.AddrPortFrom(address, uint16(to))); err != nil {
			return &egressError{err}
		}
	}
	return nil
}

// CloseIdleConnections lets go of the connections that are kept open.
func (g *guarded) CloseIdleConnections() {
	g.direct.CloseIdleConnections()
	g.proxied.CloseIdleConnections()
}
