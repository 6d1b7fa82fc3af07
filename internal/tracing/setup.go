package tracing

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/version"
)

// flushWithin bounds what is sent while the process goes down.
const flushWithin = 4 * time.Second

// Options say where spans go. The SDK's own environment variables say the rest.
type Options struct {
	// Endpoint of a collector that takes OTLP over HTTP, such as
	// http://otel-collector:4318; empty: that of OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
	// or OTEL_EXPORTER_OTLP_ENDPOINT, and without these there are no spans.
	Endpoint string
	// SampleRatio of the runs that are traced, from 0 to 1. With 1,
	// OTEL_TRACES_SAMPLER decides where it is set.
	SampleRatio float64
	// Log is told, once, of spans that cannot be sent; nil: nobody is.
	Log func(message string, err error)
}

// The environment variables that are read here; the SDK reads many more.
const (
	envDisabled       = "OTEL_SDK_DISABLED"
	envExporter       = "OTEL_TRACES_EXPORTER"
	envSampler        = "OTEL_TRACES_SAMPLER"
	envEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envHeaders        = "OTEL_EXPORTER_OTLP_HEADERS"
	envTracesHeaders  = "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
	envProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	envTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	envParent         = "TRACEPARENT"
)

// tracesPath is where a collector takes traces, below its base URL.
const tracesPath = "/v1/traces"

// Traces sends spans to a collector; nil sends none. Stop it.
type Traces struct {
	provider *sdktrace.TracerProvider
	exporter *exporter
}

// Setup makes what sends spans, as options and environment say; nil where nothing
// turns tracing on. It calls nobody. Its error is a mistake in the options or in the
// environment.
func Setup(ctx context.Context, o Options) (*Traces, error) {
	if !(o.SampleRatio >= 0 && o.SampleRatio <= 1) {
		return nil, fmt.Errorf("--tracing-sample-ratio is %v: give a number from 0 to 1", o.SampleRatio)
	}
	target, err := endpoint(o.Endpoint)
	if err != nil {
		return nil, err
	}
	if !o.enabled() {
		return nil, nil
	}
	secrets, err := checkEnvironment()
	if err != nil {
		return nil, err
	}
	var to []otlptracehttp.Option
	if target != "" {
		to = append(to, otlptracehttp.WithEndpointURL(target))
	}
	sender, err := otlptracehttp.New(ctx, to...)
	if err != nil {
		return nil, fmt.Errorf("set up the sending of traces: %w", err)
	}
	about, err := describe(ctx)
	if err != nil {
		return nil, fmt.Errorf("describe the process for traces: %w", err)
	}
	kept := &exporter{SpanExporter: sender, log: o.Log, secrets: secrets}
	options := []sdktrace.TracerProviderOption{
		sdktrace.WithResource(about),
		sdktrace.WithSpanProcessor(&counting{SpanProcessor: sdktrace.NewBatchSpanProcessor(kept), to: kept}),
	}
	if o.SampleRatio < 1 || os.Getenv(envSampler) == "" {
		options = append(options, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.SampleRatio))))
	}
	return &Traces{provider: sdktrace.NewTracerProvider(options...), exporter: kept}, nil
}

// enabled says whether anything turns tracing on, and nothing turns it off.
func (o Options) enabled() bool {
	switch {
	case strings.EqualFold(os.Getenv(envDisabled), "true"), strings.EqualFold(os.Getenv(envExporter), "none"):
		return false
	}
	return o.Endpoint != "" || os.Getenv(envEndpoint) != "" || os.Getenv(envTracesEndpoint) != ""
}

// Tracer gives the tracer whose spans are sent; nil without any.
func (t *Traces) Tracer() *Tracer {
	if t == nil {
		return nil
	}
	return New(t.provider)
}

// Stop sends what is left, for a few seconds at most. A collector that does not
// take it is told of in the log and is no error.
func (t *Traces) Stop() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	t.exporter.stopped(t.provider.Shutdown(ctx))
}

// FromEnvironment gives a context that goes on with the trace of the environment
// variable TRACEPARENT, as pipelines with tracing of their own set it.
func FromEnvironment(ctx context.Context) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": os.Getenv(envParent)})
}

// endpoint gives the URL that traces are posted to, of the base URL that is given.
func endpoint(base string) (string, error) {
	if base == "" {
		return "", nil
	}
	u, err := checkURL("--tracing-endpoint", base)
	if err != nil {
		return "", err
	}
	if strings.HasSuffix(u.Path, tracesPath) {
		return u.String(), nil
	}
	return u.JoinPath(tracesPath).String(), nil
}

// checkURL gives a URL that spans can be sent to. What stands in it is not shown:
// it may be a credential.
func checkURL(name, raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, fmt.Errorf("%s must be the URL of a collector that takes OTLP over HTTP, for example http://otel-collector:4318", name)
	case u.User != nil:
		return nil, fmt.Errorf("%s must not hold user and password: set the header in %s", name, envHeaders)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%s must hold no query and no fragment: a key belongs into a header, in %s", name, envHeaders)
	}
	return u, nil
}

// checkEnvironment finds what the SDK would only log, some of it with the secrets
// in it, and gives these.
func checkEnvironment() (*call.Redactor, error) {
	secrets := call.NewRedactor()
	for _, name := range []string{envProtocol, envTracesProtocol} {
		if strings.EqualFold(strings.TrimSpace(os.Getenv(name)), "grpc") {
			return nil, fmt.Errorf("%s is grpc: traces are sent over HTTP; set it to http/protobuf, and the endpoint to the collector's port for that, mostly 4318", name)
		}
	}
	for _, name := range []string{envEndpoint, envTracesEndpoint} {
		if raw := os.Getenv(name); raw != "" {
			if _, err := checkURL(name, raw); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range []string{envHeaders, envTracesHeaders} {
		if err := checkHeaders(os.Getenv(name), secrets); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return secrets, nil
}

// checkHeaders reads key=value,key=value and adds the values to the secrets.
func checkHeaders(list string, secrets *call.Redactor) error {
	if strings.TrimSpace(list) == "" {
		return nil
	}
	for i, pair := range strings.Split(list, ",") {
		key, value, found := strings.Cut(pair, "=")
		text, err := url.PathUnescape(strings.TrimSpace(value))
		switch {
		case !found || strings.TrimSpace(key) == "":
			return fmt.Errorf("its entry %d is no key=value: write key=value,key=value, with a comma in a value as %%2C", i+1)
		case err != nil:
			return errors.New("the value of " + strings.TrimSpace(key) + " holds a % that begins no escape: write it as %25")
		}
		if len(text) > 3 { // one or two letters are no key, and stand in every other word
			_, token, _ := strings.Cut(text, " ") // Bearer …
			secrets.Add(text, token)
		}
	}
	return nil
}

// describe says which process the spans come from; the environment has the last
// word.
func describe(ctx context.Context) (*resource.Resource, error) {
	return resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName("assay"), semconv.ServiceVersion(version.Version)),
		resource.WithFromEnv(),
	)
}
