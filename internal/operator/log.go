package operator

import (
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// mostVerbose is the level up to which logs are written, whatever the flags ask
// for. Beyond it the Kubernetes client writes out the bodies of requests and
// replies, the Secrets that suites name among them.
const mostVerbose = 6

// SetLogger has the operator and the libraries that it is made of write to one
// logger; once a process, before Run.
func SetLogger(l logr.Logger) {
	l = withoutBodies(l)
	ctrl.SetLogger(l)
	klog.SetLoggerWithOptions(l, klog.ContextualLogger(true))
}

// withoutBodies bounds how verbose a logger can be made.
func withoutBodies(l logr.Logger) logr.Logger {
	return l.WithSink(boundedSink{l.GetSink()})
}

// boundedSink drops what is beyond mostVerbose.
type boundedSink struct{ logr.LogSink }

// Enabled says whether a level is written.
func (s boundedSink) Enabled(level int) bool {
	return level <= mostVerbose && s.LogSink.Enabled(level)
}

// WithValues gives a sink that is bounded as well.
func (s boundedSink) WithValues(keysAndValues ...any) logr.LogSink {
	return boundedSink{s.LogSink.WithValues(keysAndValues...)}
}

// WithName gives a sink that is bounded as well.
func (s boundedSink) WithName(name string) logr.LogSink {
	return boundedSink{s.LogSink.WithName(name)}
}

// WithCallDepth gives a sink that is bounded as well.
func (s boundedSink) WithCallDepth(depth int) logr.LogSink {
	if sink, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		return boundedSink{sink.WithCallDepth(depth)}
	}
	return s
}
