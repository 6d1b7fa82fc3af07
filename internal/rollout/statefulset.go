package rollout

// StatefulSet is what a StatefulSet says of itself.
type StatefulSet struct {
	Generation, ObservedGeneration int64
	// Desired is spec.replicas; the others are counts of its status.
	Desired, Replicas, Updated, Ready int32
	// CurrentRevision and UpdateRevision as in its status: they are the same once
	// every pod has been updated.
	CurrentRevision, UpdateRevision string
	Partition                       int32
	OnDelete                        bool
	// TemplateHash is the name of the ControllerRevision with its template; empty
	// where there is none.
	TemplateHash string
}

// State says whether the StatefulSet has rolled out. With strategy OnDelete it
// never has: its status does not tell.
func (s StatefulSet) State() State {
	st := State{TemplateHash: s.TemplateHash}
	switch {
	case s.OnDelete:
		return st.waits(ReasonOnDelete, "updateStrategy OnDelete is not supported, for its status does not say when a rollout has finished: use RollingUpdate")
	case s.Desired == 0:
		return st.waits(ReasonScaledToZero, sayZero)
	case s.ObservedGeneration < s.Generation:
		return st.waits(ReasonNotObserved, sayNotObserved, s.Generation, s.ObservedGeneration)
	case s.TemplateHash == "":
		return st.waits(ReasonTemplateUnknown, sayTemplateUnknown)
	case s.UpdateRevision != s.CurrentRevision && s.Partition > 0:
		return st.waits(ReasonPartitioned, "%d of %d pods are updated, and partition %d keeps the others: a partial rollout has not finished", s.Updated, s.Desired, s.Partition)
	case s.UpdateRevision != s.CurrentRevision:
		return st.waits(ReasonUpdating, "%d of %d pods are updated", s.Updated, s.Desired)
	}
	// Taken back half-way, both revisions are the same while pods of another are left.
	st.OneTemplate = s.Updated == s.Replicas && s.Replicas > 0
	switch {
	case !st.OneTemplate:
		return st.waits(ReasonUpdating, "%d of %d pods are updated", s.Updated, s.Desired)
	case s.Ready != s.Desired || s.Updated != s.Desired:
		return st.waits(ReasonUnavailable, "%d pods are ready, and %d are wanted", s.Ready, s.Desired)
	}
	return rolledOut(s.TemplateHash)
}
