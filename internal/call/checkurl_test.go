package call

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/assay-dev/assay/internal/egress"
)

func TestCheckURL(t *testing.T) {
	p, err := egress.New(egress.Config{
		InCluster: true, AllowedNamespaces: []string{"models"}, DeniedHosts: []string{"bad.example"},
		APIServer: []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:6443")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"http://docs-bot.rag.svc:8080/search":     "",
		"https://vllm.models.svc/v1":              "",
		"https://api.openai.com/v1":               "",
		"http://docs-bot.other.svc/search":        "is a Service of namespace other",
		"http://169.254.169.254/latest/meta-data": "is a link-local address",
		"http://[::ffff:169.254.169.254]/":        "is a link-local address",
		"http://[fe80::1%25eth0]/":                "is a link-local address",
		"http://2852039166/":                      "is no host name",
		"http://0251.0376.0251.0376/":             "is no host name",
		"http://localhost:8080/":                  "has no namespace",
		"http://127.0.0.1:10250/pods":             "is a loopback address",
		"https://192.0.2.1:6443/api":              "is the cluster's API server",
		"https://192.0.2.1/api":                   "",
		"https://kubernetes.default.svc/api":      "is the cluster's API server",
		"https://bad.example?key=s3cret":          "the host bad.example is denied",
		"http://１６９.254.169.254/":                 "", // known once it is written in ASCII, when it is dialled
		"http://10.1.2.3:99999/":                  "",
		"docs-bot":                                "",
		"http://a b/":                             "",
		"http://":                                 "",
		"":                                        "",
	} {
		err := CheckURL(p.For("rag"), url)
		var refused *EgressError
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", url, err)
		case want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret")):
			t.Errorf("%s: got %v, want %q", url, err, want)
		}
		if err := CheckURL(nil, url); err != nil {
			t.Errorf("%s: without a policy: %v", url, err)
		}
	}
}
