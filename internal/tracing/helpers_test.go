package tracing_test

import (
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/manifest"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/suite"
	"github.com/assay-dev/assay/internal/tracing"
)

// carryOut runs the suite of some manifests as assay run does.
func carryOut(t *testing.T, manifests string, tracer *tracing.Tracer) *eval.Result {
	t.Helper()
	loaded, err := manifest.Load([]string{"-"}, strings.NewReader(manifests))
	if err != nil {
		t.Fatal(err)
	}
	s, err := loaded.Suite("")
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := suite.Prepare(t.Context(), s, suite.RunOptions{}, loaded.Source(s.Namespace), suite.Deps{Limits: retriever.NewLimits(), Tracer: tracer})
	if err != nil {
		t.Fatal(err)
	}
	defer prepared.Close()
	ctx, trace := prepared.Trace(t.Context(), tracing.RunInfo{Namespace: s.Namespace, Suite: s.Name, Run: "docs-bot-1", UID: "u1", Trigger: "Manual"})
	result := eval.Run(ctx, prepared.Plan, prepared.Parties, nil)
	trace.End(result)
	return result
}

// setup turns tracing on and gives what it logs.
func setup(t *testing.T, o tracing.Options) (*tracing.Traces, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	o.Log = func(message string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			message += ": " + err.Error()
		}
		lines = append(lines, message)
	}
	traces, err := tracing.Setup(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return traces, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(lines)
	}
}

// parent gives trace and span of a traceparent header, and whether it is sampled.
func parent(t *testing.T, header string) (traceID, spanID string, sampled bool) {
	t.Helper()
	parts := strings.Split(header, "-")
	if len(parts) != 4 || parts[0] != "00" {
		t.Fatalf("traceparent is %q", header)
	}
	return parts[1], parts[2], parts[3] == "01"
}

func hexID(id []byte) string { return hex.EncodeToString(id) }
