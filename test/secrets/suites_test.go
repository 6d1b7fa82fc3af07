package secrets

import (
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"maps"
	"net"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// bench has the suites of one namespace, with the Secrets that they name.
type bench struct {
	t         *testing.T
	vault     *vault
	namespace string
	// plain and tls are where the services are.
	plain, tls string
	certPEM    string
	closed     string

	suites  []*v1alpha1.EvalSuite
	secrets []*corev1.Secret
	// urls that were made, by suite, part and way. They have a key in their query,
	// which whoever may read the suite reads.
	urls map[string]string
}

// ownWays are those in which no request arrives, or a way needs more than a path.
var ownWays = []string{"closed", "unknown", "untrusted", "othername", "uncertified", "certified"}

// newBench makes a suite for every part and every way of misbehaving.
func newBench(t *testing.T, namespace string) *bench {
	v := &vault{}
	handler := &services{t: t, vault: v}
	plain, secure := httptest.NewServer(handler), newTLSServer(t, handler)
	t.Cleanup(plain.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, listener.Close())
	b := &bench{t: t, vault: v, namespace: namespace, urls: map[string]string{}, plain: plain.URL, tls: secure.URL, closed: "http://" + listener.Addr().String(),
		certPEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}))}
	every := slices.Concat(slices.Sorted(maps.Keys(ways)), ownWays, []string{"fine"})
	for _, part := range []string{retrieving, embedding, answering, openAI, anthropic, tokens} {
		kinds := slices.Clone(every)
		if part != embedding && part != tokens {
			kinds = append(kinds, "content")
		}
		for i, way := range kinds {
			b.add(part, way, i)
		}
	}
	for _, way := range every {
		if way != "untrusted" && way != "othername" && way != "uncertified" && way != "certified" { // it has no tls
			b.addGolden(way)
		}
	}
	b.addChain()
	return b
}

// newSuite is a suite whose services are all fine.
func (b *bench) newSuite(name string) *v1alpha1.EvalSuite {
	s := &v1alpha1.EvalSuite{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "EvalSuite"},
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name},
		Spec: v1alpha1.EvalSuiteSpec{
			GoldenSet:  v1alpha1.GoldenSet{ConfigMapRef: &v1alpha1.GoldenConfigMapReference{Name: "golden"}},
			Retriever:  v1alpha1.Retriever{TopK: 5, MaxRetries: ptr.To(int32(0))},
			Objectives: []v1alpha1.Objective{{Metric: "hit_rate@5", Min: "0.90"}},
		},
	}
	b.suites = append(b.suites, s)
	return s
}

// add makes the suite in which one part misbehaves; turn picks its credentials.
func (b *bench) add(part, way string, turn int) {
	name := part + "-" + way
	s := b.newSuite(name)
	r := &s.Spec.Retriever
	at := func(p string) string {
		if p == part {
			return b.url(name, p, way)
		}
		return b.url(name, p, "fine")
	}
	r.URL = at(retrieving)
	r.Headers = b.headers(name, "retriever")
	if part == tokens {
		r.Auth = b.oauth2(name, "retriever", at(tokens))
	} else {
		r.Auth = b.auth(name, "retriever", turn)
	}
	if part == retrieving || part == tokens {
		r.TLS = b.trust(name, "retriever", way)
	}
	if way == "reported" {
		r.Error = `has(response.error) ? string(response.error) : ""`
	}
	if way == "content" {
		r.CorpusVersion = `"x-index-version" in headers ? string(headers["x-index-version"]) : ""`
	}
	if part == embedding {
		r.Request = `{"query": question, "top_k": topK, "vector": vector}`
		r.Embedding = &v1alpha1.Embedding{URL: at(embedding), Model: "m", Headers: b.headers(name, "embedding"), Auth: b.auth(name, "embedding", turn), TLS: b.trust(name, "embedding", way)}
	}
	if part == answering || part == openAI || part == anthropic {
		s.Spec.Answer = &v1alpha1.Answer{URL: at(answering), MaxRetries: ptr.To(int32(0)), Headers: b.headers(name, "answer"), Auth: b.auth(name, "answer", turn)}
		if part == answering {
			s.Spec.Answer.TLS = b.trust(name, "answer", way)
		}
		if way == "reported" {
			s.Spec.Answer.Error = r.Error
		}
	}
	if part == openAI || part == anthropic {
		b.judge(s, part, at(part), way, turn)
	}
	if unreached(way) {
		b.unsent(name, map[string]string{openAI: "judge", anthropic: "judge", tokens: "retriever.token"}[part], part)
	}
	if way != "fine" && (part == embedding || part == tokens) { // so that the retriever is not asked
		b.unsent(name, retrieving+".header", retrieving+".bearer", retrieving+".username", retrieving+".password", retrieving+" ", "retriever.token")
	}
}

func (b *bench) judge(s *v1alpha1.EvalSuite, part, url, way string, turn int) {
	j := &v1alpha1.Judge{Provider: v1alpha1.JudgeOpenAI, Model: "m", URL: url, MaxRetries: ptr.To(int32(0)), Headers: b.headers(s.Name, "judge"), TLS: b.trust(s.Name, "judge", way)}
	if part == anthropic {
		j.Provider = v1alpha1.JudgeAnthropic
	}
	if turn%4 == 3 {
		j.Auth = b.auth(s.Name, "judge", turn/4)
	} else {
		j.APIKeySecretRef = b.ref(s.Name, "judge.apiKeySecretRef", b.vault.make(s.Name+" judge.apiKeySecretRef").value)
	}
	s.Spec.Judge = j
	s.Spec.Objectives = append(s.Spec.Objectives, v1alpha1.Objective{Metric: "accuracy", Min: "0.90"})
}

// addChain makes the suite whose services repeat to each other what they were given.
func (b *bench) addChain() {
	const name = "chain"
	s := b.newSuite(name)
	s.Spec.Retriever.URL = b.url(name, retrieving, "content")
	s.Spec.Retriever.Auth, s.Spec.Retriever.Headers = b.auth(name, "retriever", 2), b.headers(name, "retriever")
	s.Spec.Answer = &v1alpha1.Answer{URL: b.url(name, answering, "content"), MaxRetries: ptr.To(int32(0)), Auth: b.auth(name, "answer", 1), Headers: b.headers(name, "answer"),
		Request: `{"question": question, "results": results}`}
	b.judge(s, openAI, b.url(name, openAI, "content"), "content", 0)
}

// addGolden makes the suite whose golden set comes from a URL with a signature.
func (b *bench) addGolden(way string) {
	name := "golden-" + way
	s := b.newSuite(name)
	url := strings.Replace(b.url(name, golden, way), "?", "/golden.yaml?", 1)
	s.Spec.GoldenSet = v1alpha1.GoldenSet{HTTP: &v1alpha1.GoldenHTTPSource{URL: url, SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(goldenSet)))}}
	b.urls[name] = url
	s.Spec.Retriever.URL = b.url(name, retrieving, "fine")
	if way != "fine" { // the suite stalls, and its retriever is not asked
		b.unsent(name, retrieving)
	}
	if unreached(way) {
		b.unsent(name, golden)
	}
}

// unreached says whether no request arrives.
func unreached(way string) bool {
	return way == "closed" || way == "unknown" || way == "untrusted" || way == "othername" || way == "uncertified"
}

// unsent marks what no service can get, by the beginnings of its places.
func (b *bench) unsent(name string, places ...string) {
	b.vault.mu.Lock()
	defer b.vault.mu.Unlock()
	for _, s := range b.vault.secrets {
		for _, place := range places {
			s.unsent = s.unsent || place != "" && strings.HasPrefix(s.where, name+" "+place)
		}
	}
}

// url gives where a part is served, with a key in its query.
func (b *bench) url(name, part, way string) string {
	made := name + " " + part + " " + way
	if known := b.urls[made]; known != "" {
		return known
	}
	base := b.plain
	switch way {
	case "closed":
		base = b.closed
	case "unknown":
		base = "http://no-such-host.invalid"
	case "untrusted", "othername", "uncertified", "certified":
		base, way = b.tls, "denied"
	}
	key := b.vault.make(name + " " + part + " query")
	b.urls[made] = base + "/" + part + "/" + way + "?key=" + url.QueryEscape(key.value)
	return b.urls[made]
}

// ref puts a value into the suite's Secret.
func (b *bench) ref(name, key, value string) *v1alpha1.SecretKeySelector {
	i := slices.IndexFunc(b.secrets, func(s *corev1.Secret) bool { return s.Name == name })
	if i < 0 {
		i = len(b.secrets)
		b.secrets = append(b.secrets, &corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name}, Data: map[string][]byte{},
		})
	}
	b.secrets[i].Data[key] = []byte(value)
	return &v1alpha1.SecretKeySelector{Name: name, Key: key}
}

func (b *bench) secret(name, place string) v1alpha1.SecretKeySelector {
	return *b.ref(name, place, b.vault.make(name+" "+place).value)
}

func (b *bench) headers(name, party string) []v1alpha1.Header {
	return []v1alpha1.Header{{Name: "X-Api-Key-Of-Suite", ValueFrom: &v1alpha1.HeaderValueSource{SecretKeyRef: b.secret(name, party+".header")}}}
}

// auth gives credentials, of another kind each turn.
func (b *bench) auth(name, party string, turn int) *v1alpha1.Auth {
	switch turn % 3 {
	case 0:
		return &v1alpha1.Auth{BearerTokenSecretRef: ptr.To(b.secret(name, party+".bearer"))}
	case 1:
		return &v1alpha1.Auth{BasicAuth: &v1alpha1.BasicAuth{UsernameSecretRef: b.secret(name, party+".username"), PasswordSecretRef: b.secret(name, party+".password")}}
	}
	return b.oauth2(name, party, b.url(name, tokens, "fine"))
}

func (b *bench) oauth2(name, party, tokenURL string) *v1alpha1.Auth {
	return &v1alpha1.Auth{OAuth2: &v1alpha1.OAuth2{TokenURL: tokenURL, ClientIDSecretRef: b.secret(name, party+".token.clientID"), ClientSecretSecretRef: b.secret(name, party+".token.clientSecret")}}
}

// trust gives the TLS of a way.
func (b *bench) trust(name, party, way string) *v1alpha1.TLS {
	switch way {
	case "uncertified", "othername", "certified":
	default:
		return nil
	}
	b.ref(name, "ca.crt", b.certPEM)
	t := &v1alpha1.TLS{CABundleRef: &v1alpha1.CABundleReference{Kind: v1alpha1.CABundleSecret, Name: name, Key: "ca.crt"}, ServerName: "example.com"}
	switch way {
	case "othername":
		t.ServerName = "elsewhere.example"
	case "certified":
		cert, key := newClientCert(b.t)
		b.ref(name, corev1.TLSCertKey, cert)
		b.ref(name, corev1.TLSPrivateKeyKey, key)
		b.vault.add(name+" "+party+" TLS key", strings.Split(key, "\n")[1][20:50])
		t.ClientCertSecretRef = &v1alpha1.SecretReference{Name: name}
	}
	return t
}
