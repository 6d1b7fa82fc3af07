package call

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// badStatus is a reply whose status is no success.
func (e *Endpoint) badStatus(response *http.Response, body []byte) *failure {
	f := &failure{kind: HTTPError, message: status(response)}
	switch response.StatusCode {
	case http.StatusTooManyRequests:
		f.kind, f.retry = RateLimited, true
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		f.retry = true
	case http.StatusUnauthorized, http.StatusForbidden:
		f.message += "; check " + e.words.Field + ".auth"
		if e.tokens != nil {
			e.tokens.forget()
		}
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		f.message += "; check " + e.words.Field + ".url and its method"
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusUnsupportedMediaType:
		f.message += "; " + e.words.Refused
	}
	if f.retry {
		f.after = RetryAfter(response.Header, time.Now())
		if f.kind == RateLimited && response.Header.Get("Retry-After") == "" {
			f.message += "; it does not say how long to wait: " + e.slowDown()
		}
	}
	if text := e.quote(body); text != "" {
		f.message += `: ` + text
	}
	return f
}

// slowDown says how to ask less often.
func (e *Endpoint) slowDown() string {
	switch {
	case e.words.Field != e.words.Root:
		return "lower execution.parallelism"
	case e.limiter != nil:
		return "lower " + e.words.Root + ".requestsPerSecond or execution.parallelism"
	}
	return "set " + e.words.Root + ".requestsPerSecond, or lower execution.parallelism"
}

func status(response *http.Response) string {
	text := http.StatusText(response.StatusCode)
	return strings.TrimSpace(fmt.Sprintf("%d %s", response.StatusCode, text))
}

func (e *Endpoint) tooLarge() *failure {
	return &failure{kind: TooLarge, message: fmt.Sprintf("the reply is larger than %d MiB; %s", maxBody>>20, e.words.Shorten)}
}

// unreadable is a reply that was no success for what stands in it.
func (e *Endpoint) unreadable(ctx context.Context, header http.Header, body []byte, err error) *failure {
	f := &failure{kind: Malformed}
	var reported *Reported
	if errors.As(err, &reported) {
		f.kind, f.message = Failed, e.words.Service+" reports: "+e.secrets.Clean(reported.Message, maxQuoted, false)
		return f
	}
	if ctx.Err() != nil {
		f.message = fmt.Sprintf("the mappings were still reading the reply after %s (%s.timeoutSeconds): simplify them", e.timeout, e.words.Root)
		return f
	}
	f.message = fmt.Sprintf("%s; %s", e.secrets.Clean(err.Error(), maxDetail, false), e.contentType(header))
	if isHTML(header, body) {
		f.message += ", a page for browsers: check " + e.words.Field + ".url"
	}
	if text := e.quote(body); text != "" {
		f.message += ", it begins: " + text
	}
	return f
}

func isHTML(header http.Header, body []byte) bool {
	return strings.HasPrefix(header.Get("Content-Type"), "text/html") ||
		strings.HasPrefix(http.DetectContentType(body), "text/html")
}

// broken is a request that got no whole reply.
func (e *Endpoint) broken(ctx context.Context, latency time.Duration, err error, late string) (time.Duration, *failure) {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		// Its text would show the URL with its query.
		err = wrapped.Err
	}
	if ctx.Err() != nil {
		return e.timeout, &failure{kind: Timeout, retry: true, message: fmt.Sprintf("%s %s (%s.timeoutSeconds)", late, e.timeout, e.words.Root)}
	}
	f := classify(err, e.words.Field+".url", e.words.Field+".tls")
	f.message = e.secrets.Clean(f.message, maxDetail, false)
	return latency, f
}

// classify says what an error of the transport means, and what to do in the fields
// of the URL and of TLS; an empty tlsField: there is none.
func classify(err error, urlField, tlsField string) *failure {
	var (
		redirect     *RedirectError
		refused      *EgressError
		timeout      net.Error
		dns          *net.DNSError
		unknown      x509.UnknownAuthorityError
		hostname     x509.HostnameError
		invalid      x509.CertificateInvalidError
		verification *tls.CertificateVerificationError
		record       tls.RecordHeaderError
	)
	var (
		token *tokenError
		stray *strayError
		large tooLargeError
	)
	unreachable := func(format string, args ...any) *failure {
		return &failure{kind: Unreachable, message: fmt.Sprintf(format, args...)}
	}
	text := err.Error()
	switch {
	case errors.As(err, &token):
		return token.failure
	case errors.As(err, &large):
		return &failure{kind: TooLarge, message: text}
	case errors.As(err, &stray):
		return &failure{kind: HTTPError, message: text}
	case errors.As(err, &redirect):
		return &failure{kind: HTTPError, message: redirect.Error()}
	case errors.As(err, &refused):
		return unreachable("the operator's egress policy refuses it: %s; use another %s, or ask who runs the operator", refused.Err, urlField)
	case errors.As(err, &unknown):
		return unreachable("the server's certificate is signed by nobody that is trusted%s (%s)", inTLS(": set %s.caBundleRef", tlsField), text)
	case errors.As(err, &hostname):
		return unreachable("the server's certificate is for another name: check %s%s (%s)", urlField, inTLS(", or set %s.serverName", tlsField), text)
	case errors.As(err, &invalid), errors.As(err, &verification):
		return unreachable("the server's certificate is not valid: renew it%s (%s)", inTLS(", or set %s.caBundleRef", tlsField), text)
	case strings.Contains(text, "remote error: tls:"):
		return unreachable("the server refused the TLS connection%s (%s)", inTLS(": where it asks for a client certificate, set %s.clientCertSecretRef", tlsField), text)
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return unreachable("the server does not speak TLS: use http:// in %s (%s)", urlField, text)
	case errors.As(err, &dns):
		hint := ""
		if name := strings.TrimSuffix(dns.Name, "."); name != "" && !strings.Contains(name, ".") {
			hint = fmt.Sprintf("; a Service is found under its namespace too, %s.NAMESPACE.svc", name)
		}
		f := unreachable("the host's name is not known: check %s%s (%s)", urlField, hint, text)
		f.retry = dns.IsTemporary && !dns.IsNotFound
		return f
	case errors.Is(err, syscall.ECONNREFUSED):
		return unreachable("nothing listens there: check %s and that the service runs (%s)", urlField, text)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), isFlate(err):
		return &failure{kind: Malformed, message: "the reply says that it is compressed, but cannot be unpacked: " + text}
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		strings.Contains(text, "server closed"), strings.Contains(text, "GOAWAY"):
		f := unreachable("the connection was closed before the reply had ended: %s", text)
		f.retry = true
		return f
	case errors.As(err, &timeout) && timeout.Timeout():
		return &failure{kind: Timeout, retry: true, message: text}
	}
	return unreachable("%s", text)
}

// inTLS is a hint at a field below tls, where the service has one.
func inTLS(hint, tlsField string) string {
	if tlsField == "" {
		return ""
	}
	return fmt.Sprintf(hint, tlsField)
}

func isFlate(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.As(err, &corrupt)
}
