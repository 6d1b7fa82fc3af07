package controllers

import (
	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Keys of log lines. Every line of a run has namespace, suite and run, every
// line of a suite the first two.
const (
	keyNamespace = "namespace"
	keySuite     = "suite"
	keyRun       = "run"
)

// logsOf names a controller in its lines, and the object that it looks at by the
// key of its kind.
func logsOf(log logr.Logger, controller, key string) func(*reconcile.Request) logr.Logger {
	log = log.WithValues("controller", controller)
	return func(req *reconcile.Request) logr.Logger {
		if req == nil { // the controller itself
			return log
		}
		return log.WithValues(keyNamespace, req.Namespace, key, req.Name)
	}
}
