package operator

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/egress"
)

// advertising is an API server that says where it listens.
func advertising(t *testing.T, addresses ...string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api" {
			http.NotFound(w, r)
			return
		}
		var versions metav1.APIVersions
		for _, a := range addresses {
			versions.ServerAddressByClientCIDRs = append(versions.ServerAddressByClientCIDRs, metav1.ServerAddressByClientCIDR{ClientCIDR: "0.0.0.0/0", ServerAddress: a})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(versions)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestWhereTheAPIServerIs(t *testing.T) {
	server := advertising(t, "192.0.2.10:6443", "[2001:db8::1]:6443", "no address", ":6443", "192.0.2.11:99999", "192.0.2.10:6443")
	own := netip.MustParseAddrPort(strings.TrimPrefix(server.URL, "http://"))
	broken := httptest.NewServer(http.NotFoundHandler())
	defer broken.Close()
	pod := map[string]string{"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
	for name, test := range map[string]struct {
		host        string
		environment map[string]string
		want        []string
	}{
		"in a pod":        {server.URL, pod, []string{own.String(), "10.96.0.1:443", "192.0.2.10:6443", "[2001:db8::1]:6443"}},
		"on a laptop":     {server.URL, nil, []string{own.String(), "192.0.2.10:6443", "[2001:db8::1]:6443"}},
		"says nothing":    {broken.URL, pod, []string{"10.96.0.1:443", strings.TrimPrefix(broken.URL, "http://")}},
		"not there":       {"https://127.0.0.1:1", pod, []string{"10.96.0.1:443", "127.0.0.1:1"}},
		"without a port":  {"https://127.0.0.1", nil, []string{"127.0.0.1:443"}},
		"IPv6":            {"https://[::1]:1", nil, []string{"[::1]:1"}},
		"no host at all":  {"http://%zz", nil, nil},
		"an odd variable": {"https://127.0.0.1:1", map[string]string{"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "tcp"}, []string{"127.0.0.1:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, a := range apiServer(t.Context(), &rest.Config{Host: test.host}, func(name string) string { return test.environment[name] }, logr.Discard()) {
				got = append(got, a.String())
			}
			slices.Sort(got)
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Each namespace gets a policy of its own, which knows the API server.
func TestThePolicyOfANamespace(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("https_proxy", "http://proxy.example:3128")
	server := advertising(t, "192.0.2.10:6443")
	var logged strings.Builder
	log := funcr.New(func(_, args string) { logged.WriteString(args + "\n") }, funcr.Options{})
	policies, err := newEgress(t.Context(), &rest.Config{Host: server.URL}, egress.Config{InCluster: true, AllowedCIDRs: []string{"127.0.0.1"}}, log)
	if err != nil {
		t.Fatal(err)
	}
	for url, refused := range map[string][]bool{ // of rag, of other
		"http://docs-bot.rag.svc/search":   {false, true},
		"http://docs-bot.other.svc/search": {true, false},
		"https://192.0.2.10:6443/api":      {true, true},
		server.URL + "/api":                {true, true}, // even where its address is allowed otherwise
		"http://127.0.0.1:1/":              {false, false},
		"http://127.0.0.2:1/":              {true, true},
	} {
		for i, namespace := range []string{"rag", "other"} {
			if err := call.CheckURL(policies(namespace), url); (err != nil) != refused[i] {
				t.Errorf("%s, %s: got %v, refused is %t", namespace, url, err, refused[i])
			}
		}
	}
	for _, want := range []string{"192.0.2.10:6443", "the proxy has the last word"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, &logged)
		}
	}
}
