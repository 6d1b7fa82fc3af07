package rollout

// DaemonSet is what a DaemonSet says of itself.
type DaemonSet struct {
	Generation, ObservedGeneration int64
	// Desired is how many nodes are to run it, Current how many do; Updated and
	// Available count those with the newest template, and with an available pod.
	Desired, Current, Updated, Available int32
	// TemplateHash is the controller-revision-hash of its newest
	// ControllerRevision; empty where there is none.
	TemplateHash string
}

// State says whether the DaemonSet has rolled out.
func (d DaemonSet) State() State {
	s := State{TemplateHash: d.TemplateHash}
	switch {
	case d.ObservedGeneration < d.Generation:
		return s.waits(ReasonNotObserved, sayNotObserved, d.Generation, d.ObservedGeneration)
	case d.Desired == 0:
		return s.waits(ReasonScaledToZero, "no node is to run it: there is nothing to measure")
	case d.TemplateHash == "":
		return s.waits(ReasonTemplateUnknown, sayTemplateUnknown)
	}
	s.OneTemplate = d.Updated == d.Current && d.Current > 0
	switch {
	case d.Updated == d.Desired && d.Available == d.Desired:
		return rolledOut(d.TemplateHash)
	case !s.OneTemplate:
		return s.waits(ReasonUpdating, "%d of %d nodes are updated", d.Updated, d.Desired)
	}
	return s.waits(ReasonUnavailable, "on %d of %d nodes its pod is available", min(d.Available, d.Updated), d.Desired)
}
