package egress

import (
	"fmt"
	"net/netip"
	"slices"
)

// forbidden is a range that nobody but the node and its cloud should hear of.
type forbidden struct {
	prefix netip.Prefix
	what   string
}

// builtin is denied in a cluster. The single addresses are metadata and host
// services of clouds that are not link-local.
var builtin = []forbidden{
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},
	{netip.MustParsePrefix("::1/128"), "a loopback address"},
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of this host"},
	{netip.MustParsePrefix("::/128"), "an address of this host"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
	{netip.MustParsePrefix("255.255.255.255/32"), "the broadcast address"},
	{netip.MustParsePrefix("fd00:ec2::/64"), "a service of the cloud's own (AWS)"},
	{netip.MustParsePrefix("fd20:ce::254/128"), "a service of the cloud's own (Google Cloud)"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a service of the cloud's own (Azure)"},
	{netip.MustParsePrefix("100.100.100.200/32"), "a service of the cloud's own (Alibaba Cloud)"},
	{netip.MustParsePrefix("192.0.0.192/32"), "a service of the cloud's own (Oracle Cloud)"},
}

// unrouted are ranges beside RFC 1918 and RFC 4193 that the internet does not route
// and that networks use for themselves, clusters for pods and Services among them.
var unrouted = []netip.Prefix{
	netip.MustParsePrefix("100.64.0.0/10"), // shared address space, RFC 6598
	netip.MustParsePrefix("198.18.0.0/15"), // benchmarks, RFC 2544
	netip.MustParsePrefix("240.0.0.0/4"),   // reserved, RFC 1112
	netip.MustParsePrefix("fec0::/10"),     // site-local, RFC 3879
}

// Address says whether an address that a host was resolved to may be dialled.
func (g *Guard) Address(host string, address netip.AddrPort) error {
	p := g.policy
	refuse := func(what string) error {
		if host == address.Addr().String() {
			return fmt.Errorf("%s is %s", host, what)
		}
		return fmt.Errorf("%s, the address of %s, is %s", address.Addr(), host, what)
	}
	all := forms(address.Addr())
	for _, a := range all {
		if contains(p.denied, a) {
			return refuse("denied")
		}
		if slices.Contains(p.apiServer, netip.AddrPortFrom(a, address.Port())) {
			return refuse("the cluster's API server")
		}
		if !p.inCluster || contains(p.exceptions, a) {
			continue
		}
		for _, r := range builtin {
			if r.prefix.Contains(a) {
				return refuse(r.what)
			}
		}
	}

	name := canonical(host)
	listed := matches(p.allowedHosts, name) || containsAny(p.allowed, all) || containsAny(p.exceptions, all)
	_, namespace, inCluster := g.service(name)
	private := slices.ContainsFunc(all, isPrivate)
	switch {
	case listed:
		return nil
	case inCluster && g.reaches(namespace) && private:
		// One with a public address is an ExternalName or an endpoint that
		// somebody wrote, and counts as what it is.
		return nil
	case p.limited():
		return refuse("not among the allowed ones")
	case private && !p.allNamespaces:
		return refuse("a private address: name the Service by <name>." + g.namespace + ".svc")
	}
	return nil
}

// limited says whether there is a list of all that is reached outside the cluster.
func (p *Policy) limited() bool { return len(p.allowed) > 0 || len(p.allowedHosts) > 0 }

func contains(prefixes []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
}

func containsAny(prefixes []netip.Prefix, all []netip.Addr) bool {
	return slices.ContainsFunc(all, func(a netip.Addr) bool { return contains(prefixes, a) })
}

func isPrivate(a netip.Addr) bool { return a.IsPrivate() || contains(unrouted, a) }

// plain gives an address without its zone, and an IPv4 address as such.
func plain(a netip.Addr) netip.Addr { return a.WithZone("").Unmap() }

// carriers are the ranges of IPv6 that hold an IPv4 address from some byte on, and
// hand packets over to it where a translator or a tunnel stands.
var carriers = []struct {
	prefix netip.Prefix
	from   int
}{
	{netip.MustParsePrefix("::/96"), 12},           // IPv4-compatible, RFC 4291
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // IPv4-translated, RFC 7915
	{netip.MustParsePrefix("64:ff9b::/96"), 12},    // NAT64, RFC 6052
	{netip.MustParsePrefix("2002::/16"), 2},        // 6to4, RFC 3056
}

// forms gives an address and the IPv4 address that it carries, if it does.
func forms(a netip.Addr) []netip.Addr {
	a = plain(a)
	all := []netip.Addr{a}
	for _, c := range carriers {
		if c.prefix.Contains(a) && a != netip.IPv6Unspecified() && a != netip.IPv6Loopback() {
			raw := a.As16()
			all = append(all, netip.AddrFrom4([4]byte(raw[c.from:c.from+4])))
		}
	}
	return all
}
