package egress

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/assay-dev/assay/internal/call"
)

var _ call.Egress = (*Guard)(nil)

func mustNew(t testing.TB, cfg Config) *Policy {
	t.Helper()
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// check gives what the policy says of a host of the namespace rag that has an
// address, be it of the host or of the address.
func check(g *Guard, host, address string) error {
	if _, err := g.Host(host); err != nil {
		return err
	}
	if address == "" {
		return nil
	}
	return g.Address(host, netip.MustParseAddrPort(address))
}

var (
	open       = Config{InCluster: true, AllowedNamespaces: []string{"*"}, APIServer: []netip.AddrPort{netip.MustParseAddrPort("10.96.0.1:443"), netip.MustParseAddrPort("192.0.2.10:6443")}}
	tenants    = Config{InCluster: true, AllowedNamespaces: []string{"models"}}
	outside    = Config{}
	listed     = Config{InCluster: true, AllowedNamespaces: []string{"*"}, AllowedHosts: []string{"api.example.com", "*.Search.example."}}
	ranges     = Config{InCluster: true, AllowedNamespaces: []string{"*"}, AllowedCIDRs: []string{"198.51.100.0/24", "127.0.0.1"}, DeniedCIDRs: []string{"198.51.100.66"}, DeniedHosts: []string{"*.bad.example", "worse.example"}}
	everything = Config{InCluster: true, AllowedNamespaces: []string{"*"}, AllowedCIDRs: []string{"0.0.0.0/0", "::/0"}}
)

func TestPolicy(t *testing.T) {
	for name, test := range map[string]struct {
		cfg           Config
		host, address string
		want          string // a part of the refusal; empty: allowed
	}{
		// By default in a cluster.
		"a Service":                {open, "docs-bot.rag.svc", "10.96.7.7:8080", ""},
		"another namespace's":      {open, "docs-bot.other.svc.cluster.local", "10.96.7.8:8080", ""},
		"the internet":             {open, "api.example.com", "203.0.113.7:443", ""},
		"a private address":        {open, "10.1.2.3", "10.1.2.3:80", ""},
		"metadata":                 {open, "169.254.169.254", "169.254.169.254:80", "169.254.169.254 is a link-local address"},
		"a name for metadata":      {open, "metadata.evil.example", "169.254.169.254:80", "169.254.169.254, the address of metadata.evil.example, is a link-local address"},
		"mapped metadata":          {open, "::ffff:169.254.169.254", "[::ffff:169.254.169.254]:80", "a link-local address"},
		"mapped, in hex":           {open, "::ffff:a9fe:a9fe", "[::ffff:a9fe:a9fe]:80", "a link-local address"},
		"NAT64 metadata":           {open, "64:ff9b::a9fe:a9fe", "[64:ff9b::a9fe:a9fe]:80", "a link-local address"},
		"6to4 metadata":            {open, "x.example", "[2002:a9fe:a9fe::1]:80", "a link-local address"},
		"compatible metadata":      {open, "x.example", "[::a9fe:a9fe]:80", "a link-local address"},
		"translated metadata":      {open, "x.example", "[::ffff:0:a9fe:a9fe]:80", "a link-local address"},
		"AWS over IPv6":            {open, "fd00:ec2::254", "[fd00:ec2::254]:80", "a service of the cloud's own (AWS)"},
		"Google over IPv6":         {open, "x.example", "[fd20:ce::254]:80", "Google Cloud"},
		"Azure":                    {open, "x.example", "168.63.129.16:80", "Azure"},
		"Alibaba":                  {open, "x.example", "100.100.100.200:80", "Alibaba"},
		"loopback":                 {open, "localhost", "127.0.0.1:10250", "a loopback address"},
		"any loopback":             {open, "127.8.9.10", "127.8.9.10:80", "a loopback address"},
		"loopback, IPv6":           {open, "::1", "[::1]:80", "a loopback address"},
		"loopback, mapped":         {open, "x.example", "[::ffff:127.0.0.1]:80", "a loopback address"},
		"link-local, IPv6":         {open, "fe80::1%eth0", "[fe80::1%eth0]:80", "a link-local address"},
		"zero":                     {open, "0.0.0.0", "0.0.0.0:80", "an address of this host"},
		"zero, IPv6":               {open, "::", "[::]:80", "an address of this host"},
		"multicast":                {open, "x.example", "224.0.0.1:80", "a multicast address"},
		"broadcast":                {open, "x.example", "255.255.255.255:80", "the broadcast address"},
		"decimal":                  {open, "2130706433", "", "2130706433 is no host name: write an address as four decimal numbers"},
		"octal":                    {open, "0177.0.0.1", "", "is no host name"},
		"hexadecimal":              {open, "0x7f000001", "", "is no host name"},
		"hexadecimal parts":        {open, "0x7F.0.0.0X1", "", "is no host name"},
		"short":                    {open, "127.1", "", "is no host name"},
		"decimal, absolute":        {open, "2130706433.", "", "is no host name"},
		"a number before a name":   {open, "1.example", "203.0.113.7:443", ""},
		"not ASCII":                {open, "１２７.0.0.1", "", "is not ASCII: write it with xn--"},
		"empty":                    {open, "", "", "the host is empty"},
		"the API server":           {open, "kubernetes.default.svc", "", "kubernetes.default.svc is the cluster's API server"},
		"the API server, in full":  {open, "KUBERNETES.default.svc.cluster.local.", "", "is the cluster's API server"},
		"the API server, short":    {open, "kubernetes.default", "10.96.0.1:443", "10.96.0.1, the address of kubernetes.default, is the cluster's API server"},
		"the API server's address": {open, "x.example", "[::ffff:10.96.0.1]:443", "is the cluster's API server"},
		"its node":                 {open, "192.0.2.10", "192.0.2.10:6443", "192.0.2.10 is the cluster's API server"},
		"another port of its node": {open, "192.0.2.10", "192.0.2.10:30080", ""},

		// With tenants that are kept apart.
		"its own Service":              {tenants, "docs-bot.rag.svc", "10.96.7.7:80", ""},
		"its own, absolute":            {tenants, "docs-bot.rag.svc.cluster.local.", "10.96.7.7:80", ""},
		"its own, short":               {tenants, "docs-bot.rag", "10.96.7.7:80", ""},
		"its own, headless":            {tenants, "docs-bot-0.docs-bot.rag.svc", "10.244.1.2:80", ""},
		"a pod that a name spells":     {tenants, "10-244-9-9.rag.pod.cluster.local", "10.244.9.9:6379", "10.244.9.9, the address of 10-244-9-9.rag.pod.cluster.local, is a private address"},
		"an allowed one":               {tenants, "vllm.models.svc.cluster.local", "10.96.7.9:80", ""},
		"an allowed one, multi":        {tenants, "vllm.models.svc.clusterset.local", "10.96.7.9:80", ""},
		"a stranger's":                 {tenants, "docs-bot.other.svc", "", "docs-bot.other.svc is a Service of namespace other, which is not among the allowed namespaces"},
		"a stranger's, in capitals":    {tenants, "docs-bot.OTHER.SVC.cluster.local.", "", "is a Service of namespace other, which"},
		"a stranger's, headless":       {tenants, "docs-bot-0.docs-bot.other.svc", "", "is not among the allowed namespaces"},
		"a stranger's pod":             {tenants, "10-244-1-3.other.pod.cluster.local", "10.244.1.3:80", "is a private address"},
		"a stranger's, by address":     {tenants, "10.96.7.8", "10.96.7.8:80", "10.96.7.8 is a private address: name the Service by <name>.rag.svc"},
		"a stranger's, by a name":      {tenants, "x.evil.example", "10.96.7.8:80", "10.96.7.8, the address of x.evil.example, is a private address"},
		"a stranger's, shared space":   {tenants, "x.evil.example", "100.64.7.8:80", "a private address"},
		"a stranger's, reserved space": {tenants, "x.evil.example", "240.10.7.8:80", "a private address"},
		"a stranger's, benchmarks":     {tenants, "x.evil.example", "198.19.7.8:80", "a private address"},
		"a stranger's, site-local":     {tenants, "x.evil.example", "[fec0::1]:80", "a private address"},
		"its own, reserved space":      {tenants, "docs-bot.rag.svc", "240.10.7.7:80", ""},
		"a stranger's, NAT64":          {tenants, "x.evil.example", "[64:ff9b::a60:708]:80", "a private address"},
		"a stranger's, IPv6":           {tenants, "x.evil.example", "[fd12::1]:80", "a private address"},
		"no namespace":                 {tenants, "docs-bot", "", "docs-bot has no namespace: write docs-bot.rag.svc"},
		"the internet, with tenants":   {tenants, "example.com", "203.0.113.7:443", ""},
		"metadata by its own Service":  {tenants, "docs-bot.rag.svc", "169.254.169.254:80", "a link-local address"},

		// Where not all of the internet is allowed.
		"an allowed host":               {listed, "api.example.com", "203.0.113.7:443", ""},
		"in capitals, absolute":         {listed, "API.example.com.", "203.0.113.7:443", ""},
		"below an allowed host":         {listed, "eu.search.example", "203.0.113.7:443", ""},
		"the host itself is not below":  {listed, "search.example", "", "the host search.example is not among the allowed ones"},
		"a name that ends alike":        {listed, "evilapi.example.com", "", "is not among the allowed ones"},
		"a name that begins alike":      {listed, "api.example.com.evil.example", "", "is not among the allowed ones"},
		"an address":                    {listed, "203.0.113.7", "203.0.113.7:443", "203.0.113.7 is not among the allowed ones"},
		"an allowed host, rebound":      {listed, "api.example.com", "169.254.169.254:443", "a link-local address"},
		"an address that a name spells": {ranges, "192-168-1-1.rag.pod.cluster.local", "192.168.1.1:80", "is not among the allowed ones"},
		"a Service all the same":        {listed, "docs-bot.rag.svc", "10.96.7.7:80", ""},
		"an ExternalName":               {listed, "docs-bot.rag.svc", "203.0.113.9:80", "203.0.113.9, the address of docs-bot.rag.svc, is not among the allowed ones"},

		// CIDRs.
		"in a range":                        {ranges, "x.example", "198.51.100.7:443", ""},
		"out of it":                         {ranges, "x.example", "203.0.113.7:443", "not among the allowed ones"},
		"denied in it":                      {ranges, "x.example", "198.51.100.66:443", "198.51.100.66, the address of x.example, is denied"},
		"denied, mapped":                    {ranges, "x.example", "[::ffff:198.51.100.66]:443", "is denied"},
		"denied host":                       {ranges, "worse.example", "", "the host worse.example is denied"},
		"below a denied host":               {ranges, "a.b.bad.example", "", "is denied"},
		"an exception":                      {ranges, "127.0.0.1", "127.0.0.1:80", ""},
		"beside the exception":              {ranges, "127.0.0.2", "127.0.0.2:80", "a loopback address"},
		"a wide range is no exception":      {everything, "x.example", "169.254.169.254:80", "a link-local address"},
		"a wide range, and the internet":    {everything, "x.example", "203.0.113.7:80", ""},
		"a wide range, and IPv6's internet": {everything, "x.example", "[2001:db8::1]:80", ""},

		// Out of a cluster, where the user's own machine asks.
		"loopback at home": {outside, "localhost.example", "127.0.0.1:80", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := check(mustNew(t, test.cfg).For("rag"), test.host, test.address)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// An exception alone leaves the rest of the world as it is.
func TestExceptionIsNoList(t *testing.T) {
	g := mustNew(t, Config{InCluster: true, AllowedNamespaces: []string{"*"}, AllowedCIDRs: []string{"127.0.0.0/8"}}).For("rag")
	for _, address := range []string{"127.0.0.1:80", "203.0.113.7:80"} {
		if err := check(g, "x.example", address); err != nil {
			t.Error(err)
		}
	}
}

// With namespaces apart, a name must not be completed by the pod's search list:
// example.com could be the Service example of the namespace com, and db.rag the host
// db.rag.corp.example of the node's own domain.
func TestNamesAreAbsolute(t *testing.T) {
	apart, together := mustNew(t, tenants).For("rag"), mustNew(t, open).For("rag")
	for host, want := range map[string]string{
		"example.com": "example.com.", "a.b.other": "a.b.other.", "example.com.": "example.com.",
		"docs-bot.rag": "docs-bot.rag.svc.cluster.local.", "docs-bot.rag.svc": "docs-bot.rag.svc.cluster.local.",
		"0.docs-bot.RAG.svc.cluster.local": "0.docs-bot.rag.svc.cluster.local.", "vllm.models.svc.clusterset.local.": "vllm.models.svc.clusterset.local.",
		"docs-bot.rag.cluster.local": "docs-bot.rag.cluster.local.", "203.0.113.7": "203.0.113.7",
	} {
		if got, err := apart.Host(host); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", host, got, err, want)
		}
		if got, err := together.Host(host); err != nil || got != host {
			t.Errorf("%s: got %q, %v", host, got, err)
		}
	}
}

func TestClusterDomain(t *testing.T) {
	g := mustNew(t, Config{InCluster: true, ClusterDomain: ".corp.example."}).For("rag")
	if err := check(g, "docs-bot.other.svc.corp.example", ""); err == nil {
		t.Error("a Service of another namespace was not known as one")
	}
	if err := check(g, "docs-bot.rag.svc.corp.example", "10.96.7.7:80"); err != nil {
		t.Error(err)
	}
}

func TestNewRefuses(t *testing.T) {
	_, err := New(Config{
		AllowedCIDRs: []string{"10.0.0.0/33", "api.example.com", "fe80::1%eth0"}, DeniedCIDRs: []string{"::ffff:10.0.0.0/104"},
		AllowedHosts: []string{"10.0.0.1", "https://api.example.com", "a.*.example", "*"}, DeniedHosts: []string{"", "bücher.example"},
		AllowedNamespaces: []string{"rag", "models.svc", "", "*"}, ClusterDomain: "cluster_local",
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		`allowedCIDRs: "10.0.0.0/33" is no CIDR`, `allowedCIDRs: "api.example.com" is no CIDR`, `"fe80::1%eth0" is no CIDR`,
		`deniedCIDRs: "::ffff:10.0.0.0/104" is an IPv4 range written as IPv6`,
		`allowedHosts: "10.0.0.1" is an address: list it among the CIDRs`, `"https://api.example.com" is no host`, `"a.*.example" is no host`, `"*" is no host`,
		`allowedNamespaces: "models.svc" is no namespace: write a name, or * for all`, `allowedNamespaces: "" is no namespace`, `clusterDomain: "cluster_local" is no domain`,
		`deniedHosts: "" is no host`, `"bücher.example" is not ASCII`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func FuzzHost(f *testing.F) {
	for _, host := range []string{"docs-bot.rag.svc", "0x7f.1", "2130706433", "::ffff:127.0.0.1", "a..b", ".", "*.x", "kubernetes.default.svc."} {
		f.Add(host)
	}
	g := mustNew(f, tenants).For("rag")
	f.Fuzz(func(t *testing.T, host string) {
		name, err := g.Host(host)
		if err != nil {
			return
		}
		if !strings.HasPrefix(strings.ToLower(name), strings.ToLower(strings.TrimSuffix(host, "."))) {
			t.Errorf("%q became %q", host, name)
		}
		lower := strings.TrimSuffix(strings.ToLower(name), ".")
		if strings.HasSuffix(lower, ".other.svc") || lower == "kubernetes.default.svc" {
			t.Errorf("%q is allowed", host)
		}
	})
}

// No way to write a denied IPv4 address gets past the policy.
func FuzzAddress(f *testing.F) {
	f.Add([]byte{169, 254, 169, 254})
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1})
	f.Add([]byte{0x20, 2, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	g := mustNew(f, open).For("rag")
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		err := g.Address("x.example", netip.AddrPortFrom(a, 80))
		if u := a.Unmap(); err == nil && (u.IsLoopback() || u.IsLinkLocalUnicast() || u.IsMulticast() || u.IsUnspecified()) {
			t.Errorf("%s is allowed", a)
		}
		if !a.Is4() {
			return
		}
		four := a.As4()
		for _, form := range []netip.Addr{
			netip.AddrFrom16(a.As16()),
			netip.AddrFrom16([16]byte{0, 0x64, 0xff, 0x9b, 12: four[0], 13: four[1], 14: four[2], 15: four[3]}),
			netip.AddrFrom16([16]byte{0x20, 2, four[0], four[1], four[2], four[3], 15: 1}),
		} {
			if got := g.Address("x.example", netip.AddrPortFrom(form, 80)); (got == nil) != (err == nil) {
				t.Errorf("%s: %v, but %s: %v", a, err, form, got)
			}
		}
	})
}
