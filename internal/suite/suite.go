// Package suite turns an EvalSuite and the objects that it names into what a
// run needs: the plan, the retriever client and the digests that identify them.
package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
	"github.com/assay-dev/assay/internal/tracing"
)

// NoTargetsRevision is the one revision of a suite that has no targets.
const NoTargetsRevision = "none"

// Reasons of an Error: why a suite is stalled, or why a run could not start.
const (
	ReasonInvalidSchedule     = "InvalidSchedule"
	ReasonInvalidMapping      = "InvalidMapping"
	ReasonInvalidObjective    = "InvalidObjective"
	ReasonInvalidTLS          = "InvalidTLS"
	ReasonGoldenSetInvalid    = "GoldenSetInvalid"
	ReasonGoldenSetNotFound   = "GoldenSetNotFound"
	ReasonGoldenSetUnreadable = "GoldenSetUnreadable"
	ReasonSecretNotFound      = "SecretNotFound"
	ReasonSecretInvalid       = "SecretInvalid"
	ReasonSecretUnreadable    = "SecretUnreadable"
	ReasonConfigMapNotFound   = "ConfigMapNotFound"
	ReasonConfigMapUnreadable = "ConfigMapUnreadable"
	ReasonPromptInvalid       = "PromptInvalid"
	ReasonLabelsInvalid       = "LabelsInvalid"
	ReasonInvalidJudge        = "InvalidJudge"
	ReasonEgressDenied        = "EgressDenied"
)

// Reasons of an Error that is the run's own: its suite is fine.
const (
	ReasonEndpointUnknown = "EndpointUnknown"
	ReasonNoCases         = "NoCases"
	ReasonTopKTooLarge    = "TopKTooLarge"
)

// Error is a suite that cannot be run as it stands. Its message says what to do.
type Error struct {
	// Reason is one of this package's reasons.
	Reason string
	// Message is for people.
	Message string
	// Transient is true for an outage, which is worth another try as it is.
	Transient bool
	// Err is the cause, where there is one.
	Err error
}

// Error gives the message.
func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// AsError finds the *Error in a chain.
func AsError(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

func errorf(reason, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Reason: reason, Message: err.Error(), Err: errors.Unwrap(err)}
}

func outage(reason string, err error) *Error {
	return &Error{Reason: reason, Message: err.Error(), Transient: true, Err: err}
}

// join makes one error of many: everybody's message, and the reason of the
// first mistake, for an outage beside it ends by itself.
func join(found []*Error) error {
	switch len(found) {
	case 0:
		return nil
	case 1:
		return found[0]
	}
	first := max(0, slices.IndexFunc(found, func(e *Error) bool { return !e.Transient }))
	messages := make([]string, len(found))
	causes := make([]error, len(found))
	for i, e := range found {
		messages[i], causes[i] = e.Message, e
	}
	return &Error{
		Reason:    found[first].Reason,
		Message:   strings.Join(messages, "; "),
		Transient: found[first].Transient,
		Err:       errors.Join(causes...),
	}
}

// Source reads the objects of the suite's namespace. What is not there is an
// error that apierrors.IsNotFound knows.
type Source interface {
	ConfigMap(ctx context.Context, name string) (*corev1.ConfigMap, error)
	// ConfigMaps gives those that match, in the order of their names.
	ConfigMaps(ctx context.Context, selector labels.Selector) ([]corev1.ConfigMap, error)
	Secret(ctx context.Context, name string) (*corev1.Secret, error)
}

// Deps is what preparing a run borrows from its surroundings.
type Deps struct {
	// Limits holds the rate limiters that runs share.
	Limits *retriever.Limits
	// Observe hears of every attempt of a stage (retrieval, answer, judge); may be nil.
	Observe func(stage, outcome string, seconds float64)
	// Verdicts keeps what the judge said across runs; nil: nothing does.
	Verdicts judge.Cache
	// Egress says where connections may go; nil: anywhere.
	Egress call.Egress
	// Tracer makes spans of what a run does; nil: nothing does.
	Tracer *tracing.Tracer

	// network is what tests have golden sets come from; nil: the real one.
	network http.RoundTripper
}

// limiter is that of a URL's host, for all runs of the namespace; nil where the
// suite asks for none.
func (d Deps) limiter(namespace, url string, perSecond int32) *rate.Limiter {
	if perSecond <= 0 || d.Limits == nil {
		return nil
	}
	return d.Limits.For(namespace, url, int(perSecond))
}

func (d Deps) observe(stage score.Stage) func(outcome string, seconds float64) {
	if d.Observe == nil {
		return nil
	}
	return func(outcome string, seconds float64) { d.Observe(string(stage), outcome, seconds) }
}

// RunOptions is what one run wants otherwise than its suite.
type RunOptions struct {
	// Endpoint is the name of one of the suite's endpoints; empty: its own URL.
	Endpoint string
	// Revision is what the endpoint serves; only with Endpoint.
	Revision string
	// Tags keeps only the cases with one of them.
	Tags []string
	// TopK replaces the suite's; 0: the suite's own.
	TopK int
	// Stages are what the run goes through; none: all that the suite has.
	Stages []v1alpha1.Stage
	// Golden, where given, replaces the suite's golden set.
	Golden []golden.File
}

// OptionsOf gives the options that a run's spec asks for.
func OptionsOf(spec *v1alpha1.EvalRunSpec) RunOptions {
	o := RunOptions{Endpoint: spec.Endpoint, Revision: spec.Revision, Tags: spec.Tags, Stages: spec.Stages}
	if spec.TopK != nil {
		o.TopK = int(*spec.TopK)
	}
	return o
}

// Full says whether the run measures all of the suite: its own URLs, every case,
// its own topK, all stages.
func (o RunOptions) Full() bool { return o.Endpoint == "" && o.Whole() }

// Whole says whether the run measures all that the suite does, at whatever
// endpoint.
func (o RunOptions) Whole() bool { return len(o.Tags) == 0 && o.TopK == 0 && len(o.Stages) == 0 }

// has says whether the run goes through the stage, if its suite does.
func (o RunOptions) has(stage v1alpha1.Stage) bool {
	return len(o.Stages) == 0 || slices.Contains(o.Stages, stage)
}

// Prepared is a run that is ready to be carried out.
type Prepared struct {
	Plan eval.Plan
	// Parties are whom the run asks; Close lets go of them.
	Parties eval.Parties
	// Judge is who judges; nil where nobody does.
	Judge *judge.Identity
	// Budget of the run's judge; nil where it has none.
	Budget *judge.Budget
	// Golden is the suite's whole set, after goldenSet.tags; Plan.Cases is what this run asks of it.
	Golden *golden.Set
	// EvaluationDigest, GoldenSetDigest, Revision and Endpoint are the result's key.
	EvaluationDigest string
	GoldenSetDigest  string
	Revision         string
	Endpoint         string
	// Targets says what was measured, as evidence; empty for a suite without any.
	Targets []report.Target
	// ConfigMaps are the digests of those that the targets' templates name.
	ConfigMaps map[string]string
	// Full is true where the run measures all of the suite.
	Full     bool
	TopK     int
	Unit     string
	PrimaryK int
	// Cost is what the run takes, before retries.
	Cost Cost

	at          urls
	tracer      *tracing.Tracer
	calibration *calibration
	closers     []func()
}

// Cutoffs gives the cut-offs and the primary one, with the defaults that
// depend on topK and so cannot stand in the CRD. Cut-offs above topK, which
// only a run's own topK brings about, are left out.
func Cutoffs(s *v1alpha1.Scoring, topK int) (ks []int, primary int) {
	wanted := []int{1, 3, 5, 10}
	if len(s.K) > 0 {
		wanted = wanted[:0:0]
		for _, k := range s.K {
			wanted = append(wanted, int(k))
		}
	}
	for _, k := range wanted {
		if k <= topK {
			ks = append(ks, k)
		}
	}
	if len(ks) == 0 {
		ks = []int{topK}
	}
	slices.Sort(ks)
	ks = slices.Compact(ks)
	if p := int(s.PrimaryK); p > 0 && p <= topK {
		// A primaryK without k of its own is computed like a named metric.
		if !slices.Contains(ks, p) {
			ks = append(ks, p)
			slices.Sort(ks)
		}
		return ks, p
	}
	primary = ks[0]
	for _, k := range ks {
		if k <= 5 {
			primary = k
		}
	}
	return ks, primary
}

// PrimaryMetric is the name of the headline hit rate.
func PrimaryMetric(primaryK int) string { return "hit_rate@" + strconv.Itoa(primaryK) }

// urls are where a run asks.
type urls struct{ retriever, answer string }

// endpointURLs gives the URLs that a run with this endpoint asks. What the
// endpoint does not name is the suite's own.
func endpointURLs(s *v1alpha1.EvalSuite, name string) (urls, error) {
	u := urls{retriever: s.Spec.Retriever.URL}
	if s.Spec.Answer != nil {
		u.answer = s.Spec.Answer.URL
	}
	if name == "" {
		return u, nil
	}
	known := make([]string, 0, len(s.Spec.Endpoints))
	for _, e := range s.Spec.Endpoints {
		if e.Name == name {
			return urls{retriever: cmp.Or(e.RetrieverURL, u.retriever), answer: cmp.Or(e.AnswerURL, u.answer)}, nil
		}
		known = append(known, e.Name)
	}
	if len(known) == 0 {
		return urls{}, errorf(ReasonEndpointUnknown, "the suite %s has no endpoint %q: it names none; add it to spec.endpoints", s.Name, name)
	}
	return urls{}, errorf(ReasonEndpointUnknown, "the suite %s has no endpoint %q: it has %s; use one of these or add it to spec.endpoints", s.Name, name, strings.Join(known, ", "))
}

// answerContexts is how many results the answer service is given.
func answerContexts(a *v1alpha1.Answer, primaryK int) int { return cmp.Or(int(a.Contexts), primaryK) }
