package tracing_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
	"github.com/assay-dev/assay/internal/tracing"
	"github.com/assay-dev/assay/internal/tracing/tracingtest"
)

func emptyPlan() *eval.Plan { return &eval.Plan{} }

func resultOf(verdict score.Verdict, reason string) *eval.Result {
	return &eval.Result{Decision: score.Decision{Verdict: verdict, Reason: reason}}
}

// parties answers every case, or fails it, without a network.
type parties func(ctx context.Context, c *golden.Case) (*retriever.Reply, error)

func (p parties) Retrieve(ctx context.Context, c *golden.Case, _ int) (*retriever.Reply, error) {
	return p(ctx, c)
}

func planOf(cases int) *eval.Plan {
	plan := &eval.Plan{Parallelism: 4, Score: score.Spec{TopK: 5, K: []int{5}, PrimaryK: 5}}
	for i := range cases {
		plan.Cases = append(plan.Cases, golden.Case{ID: fmt.Sprintf("q%d", i), Question: "?", Answerable: true, Relevant: []golden.Relevant{{ID: "a", Grade: 1}}})
	}
	return plan
}

func found(context.Context, *golden.Case) (*retriever.Reply, error) {
	return &retriever.Reply{Results: []retriever.Result{{ID: "a"}}, Attempts: 1}, nil
}

func run(ctx context.Context, tracer *tracing.Tracer, plan *eval.Plan, p eval.Retriever) *eval.Result {
	ctx, trace := tracer.Begin(ctx, tracing.RunInfo{Suite: "s", Run: "r"}, plan)
	result := eval.Run(ctx, *plan, eval.Parties{Retriever: tracer.Retriever(p)}, nil)
	trace.End(result)
	return result
}

// A collector that hangs holds up no case, and is left behind with what it was
// never sent.
func TestHangingCollector(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "8")
	hanging, release := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(hanging) })
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		once()
		<-release
	}))
	defer server.Close()
	traces, logged := setup(t, tracing.Options{Endpoint: server.URL, SampleRatio: 1})
	asked := 0
	plan := planOf(500)
	plan.Parallelism = 1
	result := run(t.Context(), traces.Tracer(), plan, parties(func(ctx context.Context, c *golden.Case) (*retriever.Reply, error) {
		if asked++; asked == 20 {
			<-hanging // from here on it does, and the run goes on
		}
		return found(ctx, c)
	}))
	if result.Done != 500 || result.Errored != 0 {
		t.Errorf("%d cases were done, %d failed", result.Done, result.Errored)
	}
	close(release)
	traces.Stop()
	lines := strings.Join(logged(), "\n")
	if !strings.Contains(lines, "of 1001 spans were dropped") {
		t.Errorf("logged %q", lines)
	}
}

// A collector that refuses is told of once, however much it refuses, and without
// the token that it quotes.
func TestRefusingCollector(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20t0k3n-of-mine,x=y")
	refused := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refused <- r.Header.Get("Authorization")
		http.Error(w, "not with "+r.Header.Get("Authorization"), http.StatusBadRequest)
	}))
	defer server.Close()
	traces, logged := setup(t, tracing.Options{Endpoint: server.URL, SampleRatio: 1})
	run(t.Context(), traces.Tracer(), planOf(5), parties(found))
	traces.Stop()
	close(refused)
	if got := <-refused; got != "Bearer t0k3n-of-mine" {
		t.Errorf("the collector is sent Authorization %q", got)
	}
	if more := len(refused); more < 5 {
		t.Errorf("only %d batches were refused", more+1)
	}
	lines := logged()
	if len(lines) != 2 || !strings.Contains(lines[0], "runs are not affected") || !strings.Contains(lines[0], "400") || !strings.Contains(lines[1], "11 of 11 spans were dropped") {
		t.Errorf("logged %q", lines)
	}
	if strings.Contains(strings.Join(lines, ""), "t0k3n-of-mine") {
		t.Errorf("the token is logged: %q", lines)
	}
}

// A collector that is back is told of, too.
func TestCollectorIsBack(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
	refuse := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refuse {
			refuse = false
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer server.Close()
	traces, logged := setup(t, tracing.Options{Endpoint: server.URL, SampleRatio: 1})
	run(t.Context(), traces.Tracer(), planOf(2), parties(found))
	traces.Stop()
	lines := logged()
	if len(lines) != 3 || lines[1] != "traces are sent again" || !strings.HasPrefix(lines[2], "1 of 5 spans") {
		t.Errorf("logged %q", lines)
	}
}

// A long run has spans of cases all over it, and of some that failed, and no more.
func TestBound(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "100000")
	for name, test := range map[string]struct {
		cases  int
		answer parties
		want   map[string]int
	}{
		"short": {1000, found, map[string]int{"run": 1, "case": 1000, "retrieve": 1000}},
		"long":  {2500, found, map[string]int{"run": 1, "case": 834, "retrieve": 834}},
		"long, fails": {2500, func(context.Context, *golden.Case) (*retriever.Reply, error) {
			return nil, &retriever.Error{Outcome: "RetrieverTimeout"}
		}, map[string]int{"run": 1, "case": 934, "retrieve": 834}},
	} {
		t.Run(name, func(t *testing.T) {
			to := tracingtest.New(t)
			traces, _ := setup(t, tracing.Options{Endpoint: to.URL, SampleRatio: 1})
			run(t.Context(), traces.Tracer(), planOf(test.cases), test.answer)
			traces.Stop()
			got := map[string]int{}
			for _, s := range to.Spans() {
				got[s.Name]++
			}
			for name, n := range test.want {
				if got[name] != n {
					t.Errorf("%d spans %q, want %d", got[name], name, n)
				}
			}
		})
	}
}

// Two cases at the same time end up below their own spans.
func TestParallelCases(t *testing.T) {
	to := tracingtest.New(t)
	traces, _ := setup(t, tracing.Options{Endpoint: to.URL, SampleRatio: 1})
	run(t.Context(), traces.Tracer(), planOf(200), parties(found))
	traces.Stop()
	below := map[string]int{}
	cases := map[string]bool{}
	for _, s := range to.Spans() {
		switch s.Name {
		case "case":
			cases[string(s.SpanId)] = true
		case "retrieve":
			below[string(s.ParentSpanId)]++
		}
	}
	for id, n := range below {
		if !cases[id] || n != 1 {
			t.Errorf("%d calls below one span", n)
		}
	}
	if len(cases) != 200 || len(below) != 200 {
		t.Errorf("%d cases, %d with a call", len(cases), len(below))
	}
}

func TestSetupRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		options tracing.Options
		env     map[string]string
		want    string
	}{
		"ratio above 1":        {tracing.Options{SampleRatio: 1.5}, nil, "from 0 to 1"},
		"ratio below 0":        {tracing.Options{SampleRatio: -0.1}, nil, "from 0 to 1"},
		"ratio not a number":   {tracing.Options{SampleRatio: nan()}, nil, "from 0 to 1"},
		"no scheme":            {tracing.Options{Endpoint: "otel-collector:4318"}, nil, "--tracing-endpoint must be the URL"},
		"another scheme":       {tracing.Options{Endpoint: "grpc://otel-collector:4317"}, nil, "http://otel-collector:4318"},
		"no host":              {tracing.Options{Endpoint: "http://"}, nil, "must be the URL"},
		"port alone":           {tracing.Options{Endpoint: "http://:4318"}, nil, "must be the URL"},
		"control character":    {tracing.Options{Endpoint: "http://a\x7f"}, nil, "must be the URL"},
		"user and password":    {tracing.Options{Endpoint: "http://me:s3cret@otel:4318"}, nil, "must not hold user and password"},
		"key in the query":     {tracing.Options{Endpoint: "http://otel:4318?key=s3cret"}, nil, "no query"},
		"variable is no URL":   {tracing.Options{}, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "s3cret"}, "OTEL_EXPORTER_OTLP_ENDPOINT must be the URL"},
		"gRPC":                 {tracing.Options{}, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://otel:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "http/protobuf"},
		"header without value": {tracing.Options{Endpoint: "http://otel:4318"}, map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "a=b,s3cret"}, "entry 2 is no key=value"},
		"header not escaped":   {tracing.Options{Endpoint: "http://otel:4318"}, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "auth=s3cret%zz"}, "the value of auth"},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range test.env {
				t.Setenv(key, value)
			}
			traces, err := tracing.Setup(t.Context(), test.options)
			if err == nil || traces != nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, %v", traces, err)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error shows what may be a secret: %v", err)
			}
		})
	}
}

// Where spans are sent, by flag and environment.
func TestWhere(t *testing.T) {
	for name, test := range map[string]struct {
		endpoint string // below the collector's URL; "-" for none
		env      map[string]string
		want     string
	}{
		"base":                 {"", nil, "/v1/traces"},
		"base with a slash":    {"/", nil, "/v1/traces"},
		"base with a path":     {"/otlp", nil, "/otlp/v1/traces"},
		"whole":                {"/v1/traces", nil, "/v1/traces"},
		"environment":          {"-", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL/base"}, "/base/v1/traces"},
		"environment, whole":   {"-", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "URL/mine"}, "/mine"},
		"flag over variable":   {"", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, "/v1/traces"},
		"disabled":             {"", map[string]string{"OTEL_SDK_DISABLED": "true"}, ""},
		"no exporter":          {"", map[string]string{"OTEL_TRACES_EXPORTER": "none"}, ""},
		"not quite disabled":   {"", map[string]string{"OTEL_SDK_DISABLED": "maybe"}, "/v1/traces"},
		"compressed":           {"", map[string]string{"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"}, "/v1/traces"},
		"nothing turns it on":  {"-", nil, ""},
		"headers turn nothing": {"-", map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "a=b"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			to := tracingtest.New(t)
			for key, value := range test.env {
				t.Setenv(key, strings.Replace(value, "URL", to.URL, 1))
			}
			t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
			t.Setenv("OTEL_SERVICE_NAME", "mine")
			o := tracing.Options{SampleRatio: 1}
			if test.endpoint != "-" {
				o.Endpoint = to.URL + test.endpoint
			}
			traces, _ := setup(t, o)
			run(t.Context(), traces.Tracer(), planOf(1), parties(found))
			traces.Stop()
			if got := strings.Join(to.Paths(), " "); got != test.want {
				t.Errorf("sent to %q, want %q", got, test.want)
			}
			if test.want != "" && (to.Resource("service.name") != "mine" || to.Resource("deployment.environment.name") != "test") {
				t.Errorf("the process is described as %q, %q", to.Resource("service.name"), to.Resource("deployment.environment.name"))
			}
		})
	}
}

func nan() float64 { var zero float64; return zero / zero }
