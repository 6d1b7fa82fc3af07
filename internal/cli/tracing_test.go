package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assay-dev/assay/internal/tracing/tracingtest"
)

func TestRunIsTraced(t *testing.T) {
	for name, test := range map[string]struct {
		args   []string
		inside bool // by the environment instead
	}{
		"flag":        {[]string{"--tracing-endpoint", "URL"}, false},
		"environment": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			to, asked := tracingtest.New(t), newStub(t, found)
			if test.inside {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", to.URL)
			}
			path := file(t, "suite.yaml", suiteYAML(asked.URL, objective)+goldenYAML)
			args := []string{"run", "-f", path}
			for _, a := range test.args {
				args = append(args, strings.Replace(a, "URL", to.URL, 1))
			}
			assay(t, "", args...).want(t, 0, "Passed", "")
			got := to.Tree()
			for _, want := range []string{
				"run assay.cases=3 assay.cases.done=3 assay.cases.errored=0", "assay.namespace=rag", "assay.suite=docs-bot", "assay.trigger=Manual", "assay.verdict=Passed",
				"  case assay.case.id=q2 assay.case.outcome=Scored assay.case.rank=2\n    retrieve assay.results=3",
			} {
				if !strings.Contains(got, want) {
					t.Errorf("the trace lacks %q:\n%s", want, got)
				}
			}
			if strings.Contains(to.Raw(), "how do I install it") {
				t.Error("a question is in a span")
			}
		})
	}
}

// What cannot be sent is a warning; the run and its exit code are what they are.
func TestRunWithARefusingCollector(t *testing.T) {
	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	path := file(t, "suite.yaml", suiteYAML(newStub(t, found).URL, objective)+goldenYAML)
	assay(t, "", "run", "-f", path, "--tracing-endpoint", refusing.URL).want(t, 0, "Passed", "warning: traces cannot be sent")
}

func TestTracingFlagsAreChecked(t *testing.T) {
	path := file(t, "suite.yaml", suiteYAML("http://127.0.0.1:1", objective)+goldenYAML)
	for _, args := range [][]string{
		{"--tracing-endpoint", "collector:4318"},
		{"--tracing-endpoint", "http://a:b@collector"},
		{"--tracing-sample-ratio", "2"},
		{"--tracing-sample-ratio", "NaN"},
	} {
		assay(t, "", append([]string{"run", "-f", path}, args...)...).want(t, 3, "", args[0])
	}
}
