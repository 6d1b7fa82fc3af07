package suite

import (
	"crypto/tls"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/internal/answer"
	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/judge/provider"
	"github.com/assay-dev/assay/internal/retriever"
)

// connected has every field of a connection, apart from url and auth.
const connected = `headers: [{name: X-A, value: plain}, {name: X-B, valueFrom: {secretKeyRef: {name: keys, key: answer}}}],
  tls: {serverName: bot}, timeoutSeconds: 7, maxRetries: 4`

func TestEveryFieldOfAConnectionArrives(t *testing.T) {
	s := suiteOf(t, `{execution: {parallelism: 3},
	  retriever: {method: PUT, auth: {bearerTokenSecretRef: {name: keys, key: retriever}}, `+connected+`},
	  answer: {url: "http://bot/answer", method: PUT, auth: {basicAuth: {usernameSecretRef: {name: keys, key: judge}, passwordSecretRef: {name: keys, key: answer}}}, `+connected+`},
	  judge: {provider: OpenAI, model: gpt-5-mini, url: "http://vllm/v1", temperature: "0.25", extraBody: {top_k: 20}, apiKeySecretRef: {name: keys, key: judge}, `+connected+`}}`)
	c := newCredentials(t.Context(), "rag", &objects{secrets: []*corev1.Secret{keys}})
	header := http.Header{"X-A": {"plain"}, "X-B": {"hush-answer"}}
	trust := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: "bot"}
	sameTLS := cmpopts.IgnoreUnexported(tls.Config{})

	list := retriever.Config{
		URL: "http://r", Method: "PUT", Header: header, BearerToken: "hush-retriever", TLS: trust, Timeout: 7 * time.Second, MaxRetries: 4, MaxIdle: 3,
	}
	notSecrets := cmpopts.IgnoreFields(retriever.Config{}, "Secrets")
	retrieving := c.retriever(s, "http://r")
	if diff := cmp.Diff(list, retrieving, sameTLS, notSecrets); diff != "" {
		t.Errorf("retriever (-want +got):\n%s", diff)
	}
	answers := answer.Config{
		URL: "http://a", Method: "PUT", Header: header, BasicUser: "sk-hush-judge", BasicPassword: "hush-answer", TLS: trust, Timeout: 7 * time.Second, MaxRetries: 4, MaxIdle: 3,
	}
	answering := c.answer(s, "http://a")
	if diff := cmp.Diff(answers, answering, sameTLS, cmpopts.IgnoreFields(answer.Config{}, "Secrets")); diff != "" {
		t.Errorf("answer service (-want +got):\n%s", diff)
	}
	conn := c.model(s)
	judging := call.HTTPConfig{URL: "http://vllm/v1", Header: header, TLS: trust, Timeout: 7 * time.Second, MaxIdle: 3}
	if diff := cmp.Diff(judging, conn.http, sameTLS, cmpopts.IgnoreFields(call.HTTPConfig{}, "Words", "Secrets")); diff != "" || conn.apiKey != "sk-hush-judge" {
		t.Errorf("judge with key %q (-want +got):\n%s", conn.apiKey, diff)
	}
	// Each may quote what another was given.
	for whose, secrets := range map[string]*call.Redactor{"retriever": retrieving.Secrets, "answer service": answering.Secrets, "judge": conn.http.Secrets} {
		if got := secrets.Redact("sk-hush-judge hush-answer hush-retriever"); got != "[redacted] [redacted] [redacted]" {
			t.Errorf("errors of the %s keep secrets: %s", whose, got)
		}
	}
	settings, err := modelSettings(s.Spec.Judge)
	if err != nil {
		t.Fatal(err)
	}
	if got := settings.ExtraBody["top_k"]; got == nil {
		t.Error("extraBody is lost")
	}
	model := provider.Config{URL: "http://vllm/v1", Model: "gpt-5-mini", Timeout: 7 * time.Second, MaxRetries: 4, Temperature: ptr.To(0.25)}
	if diff := cmp.Diff(model, settings, cmpopts.IgnoreFields(provider.Config{}, "ExtraBody", "Secrets", "Observe")); diff != "" {
		t.Errorf("model (-want +got):\n%s", diff)
	}
	if len(c.missing) > 0 {
		t.Error(c.missing)
	}

	s = suiteOf(t, `{answer: {url: "http://bot/answer"}, judge: {provider: Anthropic, model: m}}`)
	if got := c.model(s).http.URL; got != "https://api.anthropic.com" {
		t.Errorf("without a url, Anthropic is asked at %s", got)
	}
	s.Spec.Judge.Provider = "OpenAI"
	if got := c.model(s).http.URL; got != "https://api.openai.com/v1" {
		t.Errorf("without a url, OpenAI is asked at %s", got)
	}
}
