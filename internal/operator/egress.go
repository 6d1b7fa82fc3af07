package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apidiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/egress"
)

// egressFlags are the flags behind the fields of the egress policy.
var egressFlags = map[string]string{
	egress.FieldAllowedCIDRs:      "--egress-allowed-cidrs",
	egress.FieldAllowedHosts:      "--egress-allowed-hosts",
	egress.FieldDeniedCIDRs:       "--egress-denied-cidrs",
	egress.FieldDeniedHosts:       "--egress-denied-hosts",
	egress.FieldAllowedNamespaces: "--egress-allowed-namespaces",
	egress.FieldClusterDomain:     "--cluster-domain",
}

// checkEgress names the flags that cannot be read, all of them.
func checkEgress(cfg egress.Config) error {
	_, err := egress.New(cfg)
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	var all []error
	for _, problem := range joined.Unwrap() {
		if field, ok := errors.AsType[*egress.FieldError](problem); ok {
			problem = fmt.Errorf("%s: %w", egressFlags[field.Field], field.Err)
		}
		all = append(all, problem)
	}
	return errors.Join(all...)
}

// discoverWithin bounds the questions where the API server is.
const discoverWithin = 5 * time.Second

// newEgress gives the policy for the suites of each namespace. The cluster's API
// server is denied wherever it is known to listen.
func newEgress(ctx context.Context, config *rest.Config, cfg egress.Config, log logr.Logger) (func(namespace string) call.Egress, error) {
	ctx, cancel := context.WithTimeout(ctx, discoverWithin)
	defer cancel()
	cfg.APIServer = slices.Concat(cfg.APIServer, apiServer(ctx, config, os.Getenv, log))
	policy, err := egress.New(cfg)
	if err != nil {
		return nil, err
	}
	log.Info("suites may have the operator connect within this policy", "inCluster", cfg.InCluster, "allowedNamespaces", cfg.AllowedNamespaces,
		"allowedCIDRs", cfg.AllowedCIDRs, "allowedHosts", cfg.AllowedHosts, "deniedCIDRs", cfg.DeniedCIDRs, "deniedHosts", cfg.DeniedHosts, "apiServer", cfg.APIServer)
	if slices.ContainsFunc([]string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"}, func(name string) bool { return os.Getenv(name) != "" }) {
		log.Info("connections go through the proxy of the environment: of those, the policy sees the name and what it is resolved to here, and the proxy has the last word")
	}
	return func(namespace string) call.Egress { return policy.For(namespace) }, nil
}

// apiServer gives the addresses of the cluster's API server: the one that the
// operator itself uses, that of the Service kubernetes, and where the API server
// says that it listens, which everybody may ask.
func apiServer(ctx context.Context, config *rest.Config, getenv func(string) string, log logr.Logger) []netip.AddrPort {
	names := []string{net.JoinHostPort(getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT"))}
	if u, _, err := rest.DefaultServerUrlFor(config); err == nil {
		names = append(names, net.JoinHostPort(u.Hostname(), portOf(u)))
	}
	advertised, err := advertisedAddresses(ctx, config)
	if err != nil {
		log.Info("the API server does not say where it listens: until the next start, only the address that this operator uses is denied to suites; deny others by --egress-denied-cidrs", "error", err.Error())
	}
	var all []netip.AddrPort
	for _, name := range append(names, advertised...) {
		all = append(all, resolve(ctx, name)...)
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return slices.Compact(all)
}

// advertisedAddresses are where the API server tells its clients that it is.
func advertisedAddresses(ctx context.Context, config *rest.Config) ([]string, error) {
	client, err := apidiscovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	text, err := client.RESTClient().Get().AbsPath("/api").SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("ask the API server for its address: %w", err)
	}
	var versions metav1.APIVersions
	if err := json.Unmarshal(text, &versions); err != nil {
		return nil, fmt.Errorf("read the API server's address: %w", err)
	}
	var all []string
	for _, a := range versions.ServerAddressByClientCIDRs {
		all = append(all, a.ServerAddress)
	}
	return all, nil
}

// resolve gives the addresses of a host and port; what has none is left out.
func resolve(ctx context.Context, hostPort string) []netip.AddrPort {
	host, text, err := net.SplitHostPort(hostPort)
	if err != nil || host == "" {
		return nil
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	all := make([]netip.AddrPort, len(addresses))
	for i, a := range addresses {
		all[i] = netip.AddrPortFrom(a.Unmap(), uint16(port))
	}
	return all
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}
