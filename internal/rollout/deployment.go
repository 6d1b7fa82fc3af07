package rollout

// Deployment is what a Deployment says of itself.
type Deployment struct {
	Generation, ObservedGeneration int64
	// Desired is spec.replicas; the others are counts of its status.
	Desired, Replicas, Updated, Available int32
	// Terminating is how many of its pods are shutting down.
	Terminating int32
	Paused      bool
	// Stuck is what its controller says of a rollout that exceeded
	// progressDeadlineSeconds; empty where it did not.
	Stuck string
	// TemplateHash is the pod-template-hash of the ReplicaSet with its template;
	// empty where there is none.
	TemplateHash string
}

// State says whether the Deployment has rolled out.
func (d Deployment) State() State {
	s := State{TemplateHash: d.TemplateHash}
	switch {
	case d.Desired == 0:
		return s.waits(ReasonScaledToZero, sayZero)
	case d.ObservedGeneration < d.Generation:
		return s.waits(ReasonNotObserved, sayNotObserved, d.Generation, d.ObservedGeneration)
	case d.TemplateHash == "" && d.Paused:
		return s.waits(ReasonPaused, "it is paused, and its newest pod template waits")
	case d.TemplateHash == "":
		return s.waits(ReasonTemplateUnknown, sayTemplateUnknown)
	}
	s.OneTemplate = d.Updated == d.Replicas && d.Replicas > 0
	switch {
	case d.Updated == d.Desired && d.Replicas == d.Desired && d.Available == d.Desired && d.Terminating == 0:
		return rolledOut(d.TemplateHash)
	case !s.OneTemplate && d.Stuck != "":
		return s.waits(ReasonDeadlineExceeded, "%d of %d pods are updated: %s", d.Updated, d.Desired, d.Stuck)
	case !s.OneTemplate && d.Paused:
		return s.waits(ReasonPaused, "it is paused, and %d of %d pods are updated", d.Updated, d.Desired)
	case !s.OneTemplate && d.Updated < d.Desired:
		return s.waits(ReasonUpdating, "%d of %d pods are updated", d.Updated, d.Desired)
	case !s.OneTemplate:
		return s.waits(ReasonUpdating, "%d pods of an earlier template are left", d.Replicas-d.Updated)
	case d.Replicas != d.Desired:
		return s.waits(ReasonUnavailable, "there are %d pods, and %d are wanted", d.Replicas, d.Desired)
	case d.Available != d.Desired && d.Stuck != "":
		return s.waits(ReasonDeadlineExceeded, "%d of %d pods are available: %s", d.Available, d.Desired, d.Stuck)
	case d.Available != d.Desired:
		return s.waits(ReasonUnavailable, "%d of %d pods are available", d.Available, d.Desired)
	}
	return s.waits(ReasonTerminating, "%d pods are shutting down", d.Terminating)
}
