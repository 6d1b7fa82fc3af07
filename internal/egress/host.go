package egress

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"
)

// Host says whether a host may be asked for at all, and gives the name to resolve
// in its place. Where namespaces are kept apart that is an absolute name, which no
// search list of the operator's own pod turns into a Service.
func (g *Guard) Host(host string) (string, error) {
	name := canonical(host)
	if _, err := netip.ParseAddr(name); err == nil {
		return host, nil
	}
	switch {
	case name == "":
		return "", fmt.Errorf("the host is empty")
	case !isASCII(name):
		return "", fmt.Errorf("the host %s is not ASCII: write it with xn--", host)
	case endsInNumber(name):
		return "", fmt.Errorf("%s is no host name: write an address as four decimal numbers", host)
	}
	p := g.policy
	if matches(p.deniedHosts, name) {
		return "", fmt.Errorf("the host %s is denied", host)
	}
	service, namespace, inCluster := g.service(name)
	switch {
	case inCluster && p.inCluster && service == "kubernetes" && namespace == "default":
		return "", fmt.Errorf("%s is the cluster's API server", host)
	case inCluster && !g.reaches(namespace):
		return "", fmt.Errorf("%s is a Service of namespace %s, which is not among the allowed namespaces", host, namespace)
	case inCluster && p.allNamespaces:
		return host, nil
	case inCluster:
		return g.absolute(name), nil
	}
	if p.limited() && len(p.allowed) == 0 && !matches(p.allowedHosts, name) {
		// Not even the name is asked for.
		return "", fmt.Errorf("the host %s is not among the allowed ones", host)
	}
	switch {
	case p.allNamespaces:
		return host, nil
	case !strings.Contains(name, "."):
		return "", fmt.Errorf("%s has no namespace: write %s.%s.svc", host, name, g.namespace)
	}
	return name + ".", nil
}

// service gives the Service that a name means in a cluster, and its namespace:
// docs-bot.rag.svc, with or without the cluster's domain. Where a name of two parts
// ends in a namespace that is allowed, it is taken for one. The name of a pod,
// 10-0-0-7.rag.pod, is none: a DNS server may answer it with the address that it
// spells, whoever has that (CoreDNS, "pods insecure").
func (g *Guard) service(name string) (service, namespace string, ok bool) {
	name, domain := g.split(name)
	labels := strings.Split(name, ".")
	n := len(labels)
	switch {
	case n >= 3 && labels[n-1] == "svc":
		return labels[n-3], labels[n-2], true
	case n == 2 && domain == "" && !g.policy.allNamespaces && g.reaches(labels[1]):
		return labels[0], labels[1], true
	}
	return "", "", false
}

// split gives a name without the cluster's domain, and the domain, if it has it.
func (g *Guard) split(name string) (rest, domain string) {
	for _, domain := range g.policy.domains {
		if rest, found := strings.CutSuffix(name, "."+domain); found {
			return rest, domain
		}
	}
	return name, ""
}

// absolute gives the full name of a Service. A search list would try it below other
// domains too, such as those of the node.
func (g *Guard) absolute(name string) string {
	name, domain := g.split(name)
	if domain == "" {
		domain = g.policy.domains[0]
	}
	if strings.Count(name, ".") == 1 {
		name += ".svc"
	}
	return name + "." + domain + "."
}

// reaches says whether the Services of a namespace are reached.
func (g *Guard) reaches(namespace string) bool {
	return namespace == g.namespace || g.policy.allNamespaces || slices.Contains(g.policy.namespaces, namespace)
}

// canonical gives a host in lower case and without the dot of an absolute name.
func canonical(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// endsInNumber says whether a name would be read as an IPv4 address by whoever is
// lax: 2130706433, 0177.0.0.1, 0x7f.1, 127.1 (WHATWG URL, "ends in a number").
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// matches says whether one of the patterns is a name or a *. over it.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if above, ok := strings.CutPrefix(pattern, "*"); ok {
			return len(name) > len(above) && strings.HasSuffix(name, above)
		}
		return name == pattern
	})
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
