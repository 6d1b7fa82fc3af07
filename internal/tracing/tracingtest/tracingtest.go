// Package tracingtest receives spans as a collector does: OTLP over HTTP, read by
// the protocol's own definitions.
package tracingtest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector receives spans.
type Collector struct {
	// URL is its base: spans go to /v1/traces below it.
	URL string

	mu    sync.Mutex
	raw   bytes.Buffer
	paths []string
	spans []*tracepb.Span
	about map[string]string
}

// New starts a collector for as long as the test goes.
func New(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{about: map[string]string{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var from io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			from = unpacked
		}
		body, err := io.ReadAll(from)
		if err != nil {
			t.Error(err)
		}
		var request collectorpb.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &request); err != nil {
			t.Errorf("%s %s is no OTLP: %v", r.Method, r.URL, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(body)
		c.paths = append(c.paths, r.URL.Path)
		for _, of := range request.ResourceSpans {
			for _, a := range of.Resource.Attributes {
				c.about[a.Key] = text(a.Value)
			}
			for _, scope := range of.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
		reply, err := proto.Marshal(&collectorpb.ExportTraceServiceResponse{})
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write(reply)
	}))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// Spans are all that was received, in the order of their start.
func (c *Collector) Spans() []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	spans := slices.Clone(c.spans)
	slices.SortFunc(spans, func(a, b *tracepb.Span) int { return cmp.Compare(a.StartTimeUnixNano, b.StartTimeUnixNano) })
	return spans
}

// Raw is every byte of the bodies that were received.
func (c *Collector) Raw() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

// Paths that were posted to, in turn.
func (c *Collector) Paths() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.paths)
}

// Resource is an attribute of the process that the spans come from.
func (c *Collector) Resource(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.about[key]
}

// Tree writes the spans one a line, children below their parents and in the order
// in which they began, without what differs from run to run.
func (c *Collector) Tree() string {
	spans := c.Spans()
	known := map[string]bool{}
	for _, s := range spans {
		known[string(s.SpanId)] = true
	}
	var b strings.Builder
	var write func(parent string, depth int)
	write = func(parent string, depth int) {
		for _, s := range spans {
			if string(s.ParentSpanId) != parent {
				continue
			}
			fmt.Fprintf(&b, "%s%s", strings.Repeat("  ", depth), s.Name)
			if s.Kind == tracepb.Span_SPAN_KIND_CLIENT {
				b.WriteString(" (client)")
			}
			if s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
				b.WriteString(" ERROR" + s.Status.Message)
			}
			attributes := make([]string, 0, len(s.Attributes))
			for _, a := range s.Attributes {
				attributes = append(attributes, a.Key+"="+text(a.Value))
			}
			slices.SortFunc(attributes, func(a, b string) int {
				a, _, _ = strings.Cut(a, "=")
				b, _, _ = strings.Cut(b, "=")
				return cmp.Compare(a, b)
			})
			b.WriteString(" " + strings.Join(attributes, " ") + "\n")
			write(string(s.SpanId), depth+1)
		}
	}
	write("", 0)
	for _, s := range spans {
		if p := string(s.ParentSpanId); p != "" && !known[p] {
			fmt.Fprintf(&b, "LOST %s\n", s.Name)
		}
	}
	written := portPattern.ReplaceAllString(b.String(), "${1}PORT")
	return uidPattern.ReplaceAllString(written, "assay.run.uid=UID")
}

var (
	portPattern = regexp.MustCompile(`(127\.0\.0\.1:|server\.port=)\d+`)
	uidPattern  = regexp.MustCompile(`assay\.run\.uid=\S+`)
)

func text(v *commonpb.AnyValue) string {
	switch of := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return of.StringValue
	case *commonpb.AnyValue_IntValue:
		return fmt.Sprint(of.IntValue)
	case *commonpb.AnyValue_BoolValue:
		return fmt.Sprint(of.BoolValue)
	case *commonpb.AnyValue_DoubleValue:
		return fmt.Sprint(of.DoubleValue)
	case *commonpb.AnyValue_ArrayValue:
		var all []string
		for _, e := range of.ArrayValue.Values {
			all = append(all, text(e))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	return fmt.Sprintf("%T", v.GetValue())
}
