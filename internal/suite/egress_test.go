package suite

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// urlFields are the fields of an EvalSuite that hold a URL, each with a suite whose
// URL in that field is URL, and with how a run asks it.
var urlFields = map[string]struct {
	patch string
	run   RunOptions
	// listed is the field where the suite is told of it; empty: the field itself.
	listed string
}{
	"goldenSet.http.url":                       {patch: `{goldenSet: {configMapRef: null, http: {url: "URL/golden.yaml", sha256: "` + strings.Repeat("0", 64) + `"}}}`},
	"retriever.url":                            {patch: `{retriever: {url: "URL/search"}}`},
	"retriever.auth.oauth2.tokenURL":           {patch: `{retriever: {auth: ` + byOAuth2 + `}}`},
	"retriever.embedding.url":                  {patch: `{retriever: {embedding: {url: "URL/embeddings", model: m}, ` + withVector + `}}`},
	"retriever.embedding.auth.oauth2.tokenURL": {patch: `{retriever: {embedding: {url: "SERVER/embeddings", model: m, auth: ` + byOAuth2 + `}, ` + withVector + `}}`},
	"answer.url":                               {patch: `{answer: {url: "URL/answer"}}`},
	"answer.auth.oauth2.tokenURL":              {patch: `{answer: {auth: ` + byOAuth2 + `}}`},
	"judge.url":                                {patch: `{judge: {provider: OpenAI, model: m, url: "URL/v1", maxRetries: 0}}`},
	"judge.auth.oauth2.tokenURL":               {patch: `{judge: {provider: Anthropic, model: m, url: "SERVER", maxRetries: 0, auth: ` + byOAuth2 + `}}`},
	"endpoints[].retrieverURL":                 {patch: `{endpoints: [{name: canary, retrieverURL: "URL/search"}]}`, run: RunOptions{Endpoint: "canary"}, listed: "endpoints[0].retrieverURL"},
	"endpoints[].answerURL":                    {patch: `{endpoints: [{name: canary, answerURL: "URL/answer"}]}`, run: RunOptions{Endpoint: "canary"}, listed: "endpoints[0].answerURL"},
}

const (
	byOAuth2   = `{oauth2: {tokenURL: "URL/token", clientIDSecretRef: {name: keys, key: judge}, clientSecretSecretRef: {name: keys, key: answer}}}`
	withVector = `request: '{"query": question, "vector": vector}', results: 'response.results'`
)

// TestEveryURLIsKnown fails where a field with a URL is added to the API and not to
// the table above, which the other tests of this file go by.
func TestEveryURLIsKnown(t *testing.T) {
	var found []string
	fields(reflect.TypeFor[v1alpha1.EvalSuiteSpec](), "", &found)
	slices.Sort(found)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(urlFields)), found); diff != "" {
		t.Errorf("fields with a URL: -known +in the API\n%s", diff)
	}
	// Whoever starts a run picks a name, never an address.
	found = nil
	fields(reflect.TypeFor[v1alpha1.EvalRunSpec](), "", &found)
	if len(found) > 0 {
		t.Errorf("a run names %q", found)
	}
}

// fields collects the paths of the fields whose names end in URL.
func fields(of reflect.Type, path string, found *[]string) {
	switch of.Kind() {
	case reflect.Pointer:
		fields(of.Elem(), path, found)
	case reflect.Slice:
		fields(of.Elem(), path+"[]", found)
	case reflect.Struct:
		if !strings.HasPrefix(of.PkgPath(), "github.com/assay-dev/assay/") {
			return
		}
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if name != "" && path != "" {
				name = path + "." + name
			}
			fields(of.Field(i).Type, name, found)
		}
	case reflect.String:
		if strings.HasSuffix(strings.ToLower(path), "url") {
			*found = append(*found, path)
		}
	}
}

// refusing is a policy that refuses one host, or one port of any.
type refusing struct {
	host string
	port uint16
}

func (r refusing) Host(host string) (string, error) {
	if host == r.host && r.port == 0 {
		return "", errors.New("nothing goes to " + host)
	}
	return strings.ReplaceAll(host, r.host, "127.0.0.1"), nil
}

func (r refusing) Address(host string, address netip.AddrPort) error {
	if address.Port() == r.port {
		return fmt.Errorf("nothing goes to port %d", r.port)
	}
	return nil
}

const refusedHost = "refused.example"

// A host that is refused keeps the suite from being run at all, and is told with
// its field.
func TestARefusedHostStallsTheSuite(t *testing.T) {
	for field, test := range urlFields {
		t.Run(field, func(t *testing.T) {
			b := newBot(t)
			s := b.answering(t, strings.ReplaceAll(test.patch, "URL/", "http://"+refusedHost+"/"))
			if listed := test.listed; listed != "" {
				field = listed
			}
			refused := want{ReasonEgressDenied, false, []string{"spec." + field + ": the operator's egress policy refuses it: nothing goes to " + refusedHost, "; use another URL"}}
			refused.check(t, CheckEgress(s, refusing{host: refusedHost}))
			_, err := Prepare(t.Context(), s, RunOptions{}, namespace4(), Deps{Egress: refusing{host: refusedHost}})
			refused.check(t, err)
			for _, other := range []Deps{{}, {Egress: refusing{host: "other.example"}}} {
				if err := CheckEgress(s, other.Egress); err != nil {
					t.Errorf("not refused, and yet: %v", err)
				}
			}
			if n := b.total(); n != 0 {
				t.Errorf("%d calls were made", n)
			}
		})
	}
}

// A name that turns out to have a refused address is not connected to, whichever
// field it stands in: every client of a suite has the policy.
func TestARefusedAddressIsNeverDialled(t *testing.T) {
	for field, test := range urlFields {
		t.Run(field, func(t *testing.T) {
			victim := httptest.NewUnstartedServer(http.NotFoundHandler())
			victim.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					t.Error("it was connected to")
				}
			}
			victim.Start()
			defer victim.Close()
			at := netip.MustParseAddrPort(victim.Listener.Addr().String())
			url := fmt.Sprintf("http://%s:%d/", refusedHost, at.Port())
			b := newBot(t)
			s := b.answering(t, strings.ReplaceAll(test.patch, "URL/", url))
			d := Deps{Egress: refusing{host: refusedHost, port: at.Port()}}
			const says = "the operator's egress policy refuses it: nothing goes to port"
			if s.Spec.GoldenSet.HTTP != nil {
				_, err := Prepare(t.Context(), s, test.run, namespace4(), d)
				want{ReasonEgressDenied, false, []string{"fetch the golden set from " + refusedHost, says}}.check(t, err)
				return
			}
			_, _, cases := run(t, s, test.run, namespace4(), d)
			if len(cases) != 4 {
				t.Fatalf("%d cases ended", len(cases))
			}
			for _, c := range cases {
				if !strings.Contains(c.Message, says) {
					t.Errorf("case %s: %s: %q", c.Case.ID, c.Outcome, c.Message)
				}
			}
		})
	}
}

// Lexical judges ask nobody, and a provider without a url is asked at the vendor's.
func TestWhomTheJudgeAsks(t *testing.T) {
	b := newBot(t)
	if err := CheckEgress(b.answering(t, byLexical), refusing{host: "api.openai.com"}); err != nil {
		t.Error(err)
	}
	err := CheckEgress(b.answering(t, `{judge: {provider: OpenAI, model: m}}`), refusing{host: "api.openai.com"})
	want{ReasonEgressDenied, false, []string{"spec.judge.url: ", "nothing goes to api.openai.com"}}.check(t, err)
}
