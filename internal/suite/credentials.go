package suite

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/retriever"
)

// credentials reads what a suite names, has every secret value redacted, and
// collects what is missing so that all of it is said at once.
type credentials struct {
	ctx       context.Context
	namespace string
	src       Source
	secrets   *call.Redactor
	missing   []*Error
	read      map[string]readSecret
}

// readSecret is what came of reading a Secret, which several fields may name.
type readSecret struct {
	secret *corev1.Secret
	err    error
}

func newCredentials(ctx context.Context, namespace string, src Source) *credentials {
	return &credentials{ctx: ctx, namespace: namespace, src: src, secrets: call.NewRedactor(), read: map[string]readSecret{}}
}

func (c *credentials) fail(e *Error) { c.missing = append(c.missing, e) }

// secret gives the Secret, or nil where it is missing, which is then noted.
func (c *credentials) secret(name, field string) *corev1.Secret {
	r, known := c.read[name]
	if !known {
		r.secret, r.err = c.src.Secret(c.ctx, name)
		c.read[name] = r
	}
	switch {
	case apierrors.IsNotFound(r.err):
		c.fail(errorf(ReasonSecretNotFound, "the Secret %q of %s does not exist in namespace %q: create it", name, field, c.namespace))
	case r.err != nil:
		c.fail(outage(ReasonSecretUnreadable, fmt.Errorf("read Secret %q of %s: %w", name, field, r.err)))
	default:
		return r.secret
	}
	return nil
}

// value gives one key of a Secret. A newline at its end, which editors and
// echo leave behind, is no part of any credential.
func (c *credentials) value(ref v1alpha1.SecretKeySelector, field string) string {
	s := c.secret(ref.Name, field)
	if s == nil {
		return ""
	}
	raw, ok := s.Data[ref.Key]
	if !ok {
		c.fail(errorf(ReasonSecretNotFound, "the Secret %q of %s has no key %q: add it", ref.Name, field, ref.Key))
		return ""
	}
	v := strings.TrimRight(string(raw), "\r\n")
	if v == "" {
		c.fail(errorf(ReasonSecretInvalid, "the key %q of the Secret %q of %s is empty: fill it", ref.Key, ref.Name, field))
		return ""
	}
	if len(v) > call.MaxSecret {
		c.fail(errorf(ReasonSecretInvalid, "the key %q of the Secret %q of %s holds %d KiB: a credential has at most %d", ref.Key, ref.Name, field, len(v)>>10, call.MaxSecret>>10))
		return ""
	}
	if hasControl(v) {
		c.fail(errorf(ReasonSecretInvalid, "the key %q of the Secret %q of %s holds a line break or another control character inside its value: a credential is one line of text", ref.Key, ref.Name, field))
		return ""
	}
	c.secrets.Add(v)
	return v
}

func (c *credentials) headers(list []v1alpha1.Header, field string) http.Header {
	h := http.Header{}
	for i := range list {
		e := &list[i]
		switch {
		case e.ValueFrom != nil:
			h.Set(e.Name, c.value(e.ValueFrom.SecretKeyRef, fmt.Sprintf("%s.headers[%d].valueFrom.secretKeyRef", field, i)))
		case e.Value != nil:
			h.Set(e.Name, *e.Value)
		}
	}
	return h
}

func (c *credentials) tls(t *v1alpha1.TLS, field string) *tls.Config {
	if t == nil {
		return nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if ref := t.CABundleRef; ref != nil {
		cfg.RootCAs = c.pool(ref, field+".tls.caBundleRef")
	}
	if ref := t.ClientCertSecretRef; ref != nil {
		if s := c.secret(ref.Name, field+".tls.clientCertSecretRef"); s != nil {
			cert, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey])
			if err != nil {
				// The cause may quote the PEM block; its kind is what helps.
				c.fail(errorf(ReasonInvalidTLS, "the Secret %q of %s.tls.clientCertSecretRef holds no certificate and key that fit (tls.crt, tls.key): make it with kubectl create secret tls", ref.Name, field))
			} else {
				cfg.Certificates = []tls.Certificate{cert}
			}
		}
	}
	return cfg
}

func (c *credentials) pool(ref *v1alpha1.CABundleReference, field string) *x509.CertPool {
	kind, notFound := v1alpha1.CABundleConfigMap, ReasonConfigMapNotFound
	if ref.Kind == v1alpha1.CABundleSecret {
		kind, notFound = v1alpha1.CABundleSecret, ReasonSecretNotFound
	}
	data, ok := c.bundle(kind, ref.Name, field)
	if !ok {
		return nil
	}
	key := cmp.Or(ref.Key, "ca.crt")
	pem, ok := data[key]
	if !ok {
		c.fail(errorf(notFound, "the %s %q of %s has no key %q: add it, or name another one in key", kind, ref.Name, field, key))
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		c.fail(errorf(ReasonInvalidTLS, "the key %q of the %s %q of %s holds no PEM certificate: it must begin with -----BEGIN CERTIFICATE-----", key, kind, ref.Name, field))
		return nil
	}
	return pool
}

// bundle gives the content of the object that a CA bundle is in; false where
// it is missing, which is then noted.
func (c *credentials) bundle(kind v1alpha1.CABundleKind, name, field string) (map[string][]byte, bool) {
	if kind == v1alpha1.CABundleSecret {
		s := c.secret(name, field)
		if s == nil {
			return nil, false
		}
		return s.Data, true
	}
	cm, err := c.src.ConfigMap(c.ctx, name)
	switch {
	case apierrors.IsNotFound(err):
		c.fail(errorf(ReasonConfigMapNotFound, "the ConfigMap %q of %s does not exist in namespace %q: create it", name, field, c.namespace))
		return nil, false
	case err != nil:
		c.fail(outage(ReasonConfigMapUnreadable, fmt.Errorf("read ConfigMap %q of %s: %w", name, field, err)))
		return nil, false
	}
	data := maps.Clone(cm.BinaryData)
	if data == nil {
		data = map[string][]byte{}
	}
	for key, text := range cm.Data {
		data[key] = []byte(text)
	}
	return data, true
}

// login is the auth block, resolved.
type login struct {
	bearer, user, password string
	oauth2                 *retriever.OAuth2Config
}

func (c *credentials) login(a *v1alpha1.Auth, field string) login {
	switch {
	case a == nil:
		return login{}
	case a.BearerTokenSecretRef != nil:
		return login{bearer: c.value(*a.BearerTokenSecretRef, field+".auth.bearerTokenSecretRef")}
	case a.BasicAuth != nil:
		return login{
			user:     c.value(a.BasicAuth.UsernameSecretRef, field+".auth.basicAuth.usernameSecretRef"),
			password: c.value(a.BasicAuth.PasswordSecretRef, field+".auth.basicAuth.passwordSecretRef"),
		}
	case a.OAuth2 != nil:
		return login{oauth2: &retriever.OAuth2Config{
			TokenURL:     a.OAuth2.TokenURL,
			ClientID:     c.value(a.OAuth2.ClientIDSecretRef, field+".auth.oauth2.clientIDSecretRef"),
			ClientSecret: c.value(a.OAuth2.ClientSecretSecretRef, field+".auth.oauth2.clientSecretSecretRef"),
			Scopes:       a.OAuth2.Scopes,
		}}
	}
	return login{}
}
