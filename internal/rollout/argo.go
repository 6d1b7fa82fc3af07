package rollout

import (
	"cmp"
	"strconv"
)

// healthy is the phase of an Argo Rollout that has finished.
const healthy = "Healthy"

// ArgoRollout is what a Rollout of argoproj.io says of itself.
type ArgoRollout struct {
	Generation int64
	// ObservedGeneration is a string in a Rollout's status.
	ObservedGeneration string
	// WorkloadGeneration is that of the workload that spec.workloadRef takes the
	// template from; 0 where there is none.
	WorkloadGeneration         int64
	WorkloadObservedGeneration string
	// Desired is spec.replicas.
	Desired int32
	// Phase and Message as in its status.
	Phase, Message string
	// CurrentHash is status.currentPodHash, of the newest template that its
	// controller has looked at; StableHash is status.stableRS.
	CurrentHash, StableHash string
}

// State says whether the Rollout has rolled out: a canary has been promoted, and
// nothing is left to do.
func (r ArgoRollout) State() State {
	s := State{TemplateHash: r.CurrentHash}
	switch {
	case r.Desired == 0:
		return s.waits(ReasonScaledToZero, sayZero)
	case behind(r.ObservedGeneration, r.Generation):
		return s.waits(ReasonNotObserved, "its controller has not looked at generation %d yet, only at %q", r.Generation, r.ObservedGeneration)
	case behind(r.WorkloadObservedGeneration, r.WorkloadGeneration):
		return s.waits(ReasonNotObserved, "its controller has not looked at generation %d of the workload in workloadRef yet, only at %q", r.WorkloadGeneration, r.WorkloadObservedGeneration)
	case r.CurrentHash == "":
		return s.waits(ReasonTemplateUnknown, sayTemplateUnknown)
	}
	s.OneTemplate = r.StableHash == r.CurrentHash
	switch {
	case s.OneTemplate && r.Phase == healthy:
		return rolledOut(r.CurrentHash)
	case s.OneTemplate:
		return s.waits(ReasonUnavailable, "its phase is %s%s", cmp.Or(r.Phase, "not known"), r.says())
	}
	return s.waits(ReasonUpdating, "its phase is %s, and %s has not been promoted%s", cmp.Or(r.Phase, "not known"), r.CurrentHash, r.says())
}

func (r ArgoRollout) says() string {
	if r.Message == "" {
		return ""
	}
	return ": " + r.Message
}

// behind reports whether what was observed is older than a generation. What is
// no number was written by a controller that counted none: nobody knows.
func behind(observed string, generation int64) bool {
	if generation == 0 {
		return false
	}
	n, err := strconv.ParseInt(observed, 10, 64)
	return err != nil || n < generation
}
