package call

import (
	"net/http"
	"strings"
	"testing"
)

func TestCheckRedirect(t *testing.T) {
	for name, test := range map[string]struct{ from, to, want string }{
		"same host":            {"http://a.example/x", "http://a.example/y", ""},
		"the usual port":       {"https://a.example/x", "https://a.example:443/y", ""},
		"case does not count":  {"http://a.example/x", "http://A.EXAMPLE/y", ""},
		"to TLS":               {"http://a.example/x", "https://a.example/x", ""},
		"from TLS":             {"https://a.example/x", "http://a.example/x", "which would leave TLS"},
		"another port":         {"http://a.example/x", "http://a.example:8080/x", "another host"},
		"TLS on another port":  {"http://a.example:8080/x", "https://a.example/x", "another host"},
		"a name that contains": {"http://a.example/x", "http://a.example.evil/x", "another host"},
		"the metadata service": {"http://a.example/x", "http://169.254.169.254/latest", "another host"},
	} {
		t.Run(name, func(t *testing.T) {
			from, err := http.NewRequest(http.MethodPost, test.from, nil)
			if err != nil {
				t.Fatal(err)
			}
			to, err := http.NewRequest(http.MethodPost, test.to, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = CheckRedirect(to, []*http.Request{from})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
