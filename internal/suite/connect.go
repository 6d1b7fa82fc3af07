package suite

import (
	"time"

	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/answer"
	"github.com/assay-dev/assay/internal/retriever"
)

// retriever resolves the retriever's connection. What is missing is in c.missing.
func (c *credentials) retriever(s *v1alpha1.EvalSuite, url string) retriever.Config {
	const field = "spec.retriever"
	r := &s.Spec.Retriever
	auth := c.login(r.Auth, field)
	cfg := retriever.Config{
		URL:           url,
		Method:        string(r.Method),
		Header:        c.headers(r.Headers, field),
		BearerToken:   auth.bearer,
		BasicUser:     auth.user,
		BasicPassword: auth.password,
		OAuth2:        auth.oauth2,
		TLS:           c.tls(r.TLS, field),
		Timeout:       time.Duration(r.TimeoutSeconds) * time.Second,
		MaxRetries:    int(ptr.Deref(r.MaxRetries, 0)),
		MaxIdle:       int(s.Spec.Execution.Parallelism),
	}
	if e := r.Embedding; e != nil {
		const field = field + ".embedding"
		auth := c.login(e.Auth, field)
		cfg.Embedding = &retriever.EmbeddingConfig{
			URL:           e.URL,
			Model:         e.Model,
			Dimensions:    int(e.Dimensions),
			Header:        c.headers(e.Headers, field),
			BearerToken:   auth.bearer,
			BasicUser:     auth.user,
			BasicPassword: auth.password,
			OAuth2:        auth.oauth2,
			TLS:           c.tls(e.TLS, field),
		}
	}
	cfg.Secrets = c.secrets
	return cfg
}

// answer resolves the answer service's connection. What is missing is in
// c.missing.
func (c *credentials) answer(s *v1alpha1.EvalSuite, url string) answer.Config {
	const field = "spec.answer"
	a := s.Spec.Answer
	if a == nil {
		return answer.Config{}
	}
	auth := c.login(a.Auth, field)
	cfg := answer.Config{
		URL:           url,
		Method:        string(a.Method),
		Header:        c.headers(a.Headers, field),
		BearerToken:   auth.bearer,
		BasicUser:     auth.user,
		BasicPassword: auth.password,
		OAuth2:        auth.oauth2,
		TLS:           c.tls(a.TLS, field),
		Timeout:       time.Duration(a.TimeoutSeconds) * time.Second,
		MaxRetries:    int(ptr.Deref(a.MaxRetries, 0)),
		MaxIdle:       int(s.Spec.Execution.Parallelism),
	}
	cfg.Secrets = c.secrets
	return cfg
}
