package retriever

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
func (e *endpoint) badStatus(response *http.Response, body []byte) *failure {
	f := &failure{outcome: HTTPError, message: status(response)}
	switch response.StatusCode {
	case http.StatusTooManyRequests:
		f.outcome, f.retry = RateLimited, true
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		f.retry = true
	case http.StatusUnauthorized, http.StatusForbidden:
		f.message += "; check " + e.field + ".auth"
		if e.tokens != nil {
			e.tokens.forget()
		}
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		f.message += "; check " + e.field + ".url and its method"
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusUnsupportedMediaType:
		f.message += "; check what is sent: " + e.field + ".request and the names in params"
		if e.field != "retriever" {
			f.message = status(response) + "; check " + e.field + ".model and dimensions"
		}
	}
	if f.retry {
		after := response.Header.Get("Retry-After")
		f.after = retryAfter(after, time.Now())
		if f.outcome == RateLimited && after == "" {
			f.message += "; it does not say how long to wait: " + e.slowDown()
		}
	}
	if text := e.quote(body); text != "" {
		f.message += `: ` + text
	}
	return f
}

// slowDown says how to ask less often.
func (e *endpoint) slowDown() string {
	switch {
	case e.field != "retriever":
		return "lower execution.parallelism"
	case e.limiter != nil:
		return "lower retriever.requestsPerSecond or execution.parallelism"
	}
	return "set retriever.requestsPerSecond, or lower execution.parallelism"
}

func status(response *http.Response) string {
	text := http.StatusText(response.StatusCode)
	return strings.TrimSpace(fmt.Sprintf("%d %s", response.StatusCode, text))
}

func (e *endpoint) tooLarge() *failure {
	return &failure{outcome: TooLarge, message: fmt.Sprintf("the reply is larger than %d MiB; ask for fewer results or leave out fields that are not mapped", maxBody>>20)}
}

// unreadable is a reply that was no success for what stands in it.
func (e *endpoint) unreadable(ctx context.Context, header http.Header, body []byte, err error) *failure {
	f := &failure{outcome: outcomeOf(err)}
	if f.outcome == Failed {
		f.message = "the retriever reports: " + e.secrets.clean(err.Error(), maxQuoted, false)
		return f
	}
	if ctx.Err() != nil {
		f.message = fmt.Sprintf("the mappings were still reading the reply after %s (retriever.timeoutSeconds): simplify them", e.timeout)
		return f
	}
	f.message = fmt.Sprintf("%s; %s", e.secrets.clean(err.Error(), maxDetail, false), e.contentType(header))
	if isHTML(header, body) {
		f.message += ", a page for browsers: check " + e.field + ".url"
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
func (e *endpoint) broken(ctx context.Context, latency time.Duration, err error, late string) (time.Duration, *failure) {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		// Its text would show the URL with its query.
		err = wrapped.Err
	}
	if ctx.Err() != nil {
		return e.timeout, &failure{outcome: Timeout, retry: true, message: fmt.Sprintf("%s %s (retriever.timeoutSeconds)", late, e.timeout)}
	}
	f := classify(err, e.field)
	f.message = e.secrets.clean(f.message, maxDetail, false)
	return latency, f
}

// classify says what an error of the transport means, and what to do.
func classify(err error, field string) *failure {
	var (
		redirect     *redirectError
		timeout      net.Error
		dns          *net.DNSError
		unknown      x509.UnknownAuthorityError
		hostname     x509.HostnameError
		invalid      x509.CertificateInvalidError
		verification *tls.CertificateVerificationError
		record       tls.RecordHeaderError
	)
	unreachable := func(format string, args ...any) *failure {
		return &failure{outcome: Unreachable, message: fmt.Sprintf(format, args...)}
	}
	text := err.Error()
	switch {
	case errors.As(err, &redirect):
		return &failure{outcome: HTTPError, message: redirect.message}
	case errors.As(err, &unknown):
		return unreachable("the server's certificate is signed by nobody that is trusted: set %s.tls.caBundleRef (%s)", field, text)
	case errors.As(err, &hostname):
		return unreachable("the server's certificate is for another name: check %s.url, or set %s.tls.serverName (%s)", field, field, text)
	case errors.As(err, &invalid), errors.As(err, &verification):
		return unreachable("the server's certificate is not valid: renew it, or set %s.tls.caBundleRef (%s)", field, text)
	case strings.Contains(text, "remote error: tls:"):
		return unreachable("the server refused the TLS connection: where it asks for a client certificate, set %s.tls.clientCertSecretRef (%s)", field, text)
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return unreachable("the server does not speak TLS: use http:// in %s.url (%s)", field, text)
	case errors.As(err, &dns):
		f := unreachable("the host's name is not known: check %s.url (%s)", field, text)
		f.retry = dns.IsTemporary && !dns.IsNotFound
		return f
	case errors.Is(err, syscall.ECONNREFUSED):
		return unreachable("nothing listens there: check %s.url and that the service runs (%s)", field, text)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), isFlate(err):
		return &failure{outcome: Malformed, message: "the reply says that it is compressed, but cannot be unpacked: " + text}
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		strings.Contains(text, "server closed"), strings.Contains(text, "GOAWAY"):
		f := unreachable("the connection was closed before the reply had ended: %s", text)
		f.retry = true
		return f
	case errors.As(err, &timeout) && timeout.Timeout():
		return &failure{outcome: Timeout, retry: true, message: text}
	}
	return unreachable("%s", text)
}

func isFlate(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.As(err, &corrupt)
}
