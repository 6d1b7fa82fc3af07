// Package egress says where suites may have the operator connect to: by the host
// that a URL names, and by the address that the host turns out to have. A policy
// plugs into the clients of package call.
//
// Addresses are checked right before they are dialled. What a policy cannot see:
// where a proxy connects to, beyond the name and the addresses that it has here,
// and where the cluster's network takes a connection to a Service whose endpoints
// somebody wrote by hand. For both, a NetworkPolicy is the second fence.
package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Config is what the operator's administrator allows.
type Config struct {
	// DeniedCIDRs and DeniedHosts are never reached. A host is a name or, for all
	// names below one, *.example.com; a CIDR may be a single address.
	DeniedCIDRs, DeniedHosts []string
	// AllowedCIDRs and AllowedHosts are, where there are any, all that is reached
	// outside the cluster. A CIDR within a range that is denied in a cluster is an
	// exception to that, and nothing else.
	AllowedCIDRs, AllowedHosts []string
	// InCluster denies what only the node itself and its cloud should hear of:
	// loopback, link-local and multicast addresses, metadata services, and the
	// Service kubernetes.
	InCluster bool
	// APIServer is where the cluster's API server listens, which is denied.
	APIServer []netip.AddrPort
	// AllowedNamespaces are those whose Services suites of other namespaces reach,
	// "*" all. A suite reaches the Services of its own namespace in any case.
	// Without "*", private addresses are reached only as such Services, as allowed
	// hosts, or in allowed CIDRs: an address says nothing of its namespace.
	AllowedNamespaces []string
	// ClusterDomain is what names of Services end in; empty: cluster.local.
	ClusterDomain string
}

// Policy is a configuration that was read.
type Policy struct {
	denied, allowed []netip.Prefix
	// exceptions are allowed CIDRs within a range of builtin.
	exceptions                []netip.Prefix
	deniedHosts, allowedHosts []string
	inCluster                 bool
	apiServer                 []netip.AddrPort
	allNamespaces             bool
	namespaces                []string
	domains                   []string
}

// The fields of a Config, as errors call them.
const (
	FieldDeniedCIDRs       = "deniedCIDRs"
	FieldDeniedHosts       = "deniedHosts"
	FieldAllowedCIDRs      = "allowedCIDRs"
	FieldAllowedHosts      = "allowedHosts"
	FieldAllowedNamespaces = "allowedNamespaces"
	FieldClusterDomain     = "clusterDomain"
)

// FieldError is an entry of a Config that cannot be.
type FieldError struct {
	// Field is one of the fields above.
	Field string
	// Err says what is wrong with which entry.
	Err error
}

// Error names the field.
func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap gives what is wrong.
func (e *FieldError) Unwrap() error { return e.Err }

// New reads a configuration. Its error joins a *FieldError for each entry that is
// wrong.
func New(cfg Config) (*Policy, error) {
	domain := strings.Trim(strings.ToLower(cfg.ClusterDomain), ".")
	if domain == "" {
		domain = defaultDomain
	}
	p := &Policy{
		inCluster:     cfg.InCluster,
		allNamespaces: slices.Contains(cfg.AllowedNamespaces, "*"),
		namespaces:    cfg.AllowedNamespaces,
		domains:       []string{domain, "clusterset.local"},
	}
	for _, a := range cfg.APIServer {
		p.apiServer = append(p.apiServer, netip.AddrPortFrom(plain(a.Addr()), a.Port()))
	}
	problems := checkNames(cfg.AllowedNamespaces, domain)
	read := func(field string, list []string, to func(netip.Prefix)) {
		for _, text := range list {
			prefix, err := parseCIDR(text)
			if err != nil {
				problems = append(problems, &FieldError{field, err})
				continue
			}
			to(prefix)
		}
	}
	read(FieldDeniedCIDRs, cfg.DeniedCIDRs, func(c netip.Prefix) { p.denied = append(p.denied, c) })
	read(FieldAllowedCIDRs, cfg.AllowedCIDRs, func(c netip.Prefix) {
		if p.inCluster && slices.ContainsFunc(builtin, func(r forbidden) bool { return within(c, r.prefix) }) {
			p.exceptions = append(p.exceptions, c)
			return
		}
		p.allowed = append(p.allowed, c)
	})
	hosts := func(field string, list []string) []string {
		var patterns []string
		for _, text := range list {
			pattern := strings.TrimSuffix(strings.ToLower(text), ".")
			if err := checkPattern(pattern); err != nil {
				problems = append(problems, &FieldError{field, err})
			}
			patterns = append(patterns, pattern)
		}
		return patterns
	}
	p.deniedHosts = hosts(FieldDeniedHosts, cfg.DeniedHosts)
	p.allowedHosts = hosts(FieldAllowedHosts, cfg.AllowedHosts)
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return p, nil
}

const defaultDomain = "cluster.local"

// checkNames holds namespaces and the cluster's domain to what Kubernetes takes.
func checkNames(namespaces []string, domain string) (problems []error) {
	for _, name := range namespaces {
		if name != "*" && len(validation.IsDNS1123Label(name)) > 0 {
			problems = append(problems, &FieldError{FieldAllowedNamespaces, fmt.Errorf("%q is no namespace: write a name, or * for all", name)})
		}
	}
	if len(validation.IsDNS1123Subdomain(domain)) > 0 {
		problems = append(problems, &FieldError{FieldClusterDomain, fmt.Errorf("%q is no domain: write for example %s", domain, defaultDomain)})
	}
	return problems
}

// parseCIDR reads a range, or a single address.
func parseCIDR(text string) (netip.Prefix, error) {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		if inner := prefix.Addr().Unmap(); inner != prefix.Addr() {
			return netip.Prefix{}, fmt.Errorf("%q is an IPv4 range written as IPv6: write %s and the length", text, inner)
		}
		return prefix.Masked(), nil
	}
	address, err := netip.ParseAddr(text)
	if err != nil || address.Zone() != "" {
		return netip.Prefix{}, fmt.Errorf("%q is no CIDR: write for example 10.0.0.0/8 or 192.0.2.7", text)
	}
	address = address.Unmap()
	return netip.PrefixFrom(address, address.BitLen()), nil
}

// within says whether a range lies in another.
func within(inner, outer netip.Prefix) bool {
	return inner.Bits() >= outer.Bits() && outer.Contains(inner.Addr())
}

func checkPattern(pattern string) error {
	name := strings.TrimPrefix(pattern, "*.")
	switch _, err := netip.ParseAddr(name); {
	case err == nil:
		return fmt.Errorf("%q is an address: list it among the CIDRs", pattern)
	case name == "", strings.ContainsAny(name, "*/: "), strings.Contains(name, ".."), strings.HasPrefix(name, "."):
		return fmt.Errorf("%q is no host: write for example api.example.com or *.example.com", pattern)
	case !isASCII(name):
		return fmt.Errorf("%q is not ASCII: write it with xn--", pattern)
	}
	return nil
}

// For gives the policy for the suites of a namespace.
func (p *Policy) For(namespace string) *Guard { return &Guard{policy: p, namespace: namespace} }

// Guard is a policy for the suites of one namespace. It is safe for concurrent use.
type Guard struct {
	policy    *Policy
	namespace string
}
