package rollout

import "fmt"

// Reasons of a state.
const (
	ReasonRolledOut = "RolledOut"
	// ReasonNotObserved is a workload whose controller has not looked at its newest spec.
	ReasonNotObserved = "NotObserved"
	// ReasonTemplateUnknown is a template that no ReplicaSet or ControllerRevision stands for yet.
	ReasonTemplateUnknown = "TemplateUnknown"
	// ReasonUpdating is a rollout that goes on: pods of an earlier template are left.
	ReasonUpdating = "Updating"
	// ReasonUnavailable is a workload whose pods are all of its template, but not all there and ready.
	ReasonUnavailable = "Unavailable"
	// ReasonTerminating is a workload with pods that are shutting down.
	ReasonTerminating = "Terminating"
	// ReasonPaused is a Deployment that somebody paused before its template was rolled out.
	ReasonPaused = "Paused"
	// ReasonDeadlineExceeded is a rollout that its controller has given up hope on.
	ReasonDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonPartitioned is a StatefulSet whose partition keeps pods of an earlier template.
	ReasonPartitioned = "Partitioned"
	// ReasonOnDelete is a StatefulSet whose pods wait for somebody to delete them.
	ReasonOnDelete = "OnDeleteNotSupported"
	// ReasonScaledToZero is a workload without pods: nothing of it can be measured.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonNotFound is a workload that does not exist.
	ReasonNotFound = "NotFound"
	// ReasonNotInstalled is a kind that the cluster does not know.
	ReasonNotInstalled = "KindNotInstalled"
)

// State is how far the rollout of one workload is.
type State struct {
	RolledOut bool
	// OneTemplate says that every pod is of the newest template. Where that is so
	// and RolledOut is not, pods are restarting or the workload is being scaled:
	// no rollout.
	OneTemplate bool
	// TemplateHash identifies the newest template; empty while it is not known.
	TemplateHash string
	// Reason is one CamelCase word, Message what is waited for, for people.
	Reason, Message string
}

// Absent is the state of a workload that cannot be read, for one of the reasons
// ReasonNotFound and ReasonNotInstalled.
func Absent(reason, message string) State { return State{Reason: reason, Message: message} }

func rolledOut(hash string) State {
	return State{RolledOut: true, OneTemplate: true, TemplateHash: hash, Reason: ReasonRolledOut}
}

// waits returns the state with why the rollout has not finished.
func (s State) waits(reason, format string, args ...any) State {
	s.Reason, s.Message = reason, fmt.Sprintf(format, args...)
	return s
}

// The messages that kinds share.
const (
	sayNotObserved     = "its controller has not looked at generation %d yet, only at %d"
	sayTemplateUnknown = "its controller has not taken up the newest pod template yet"
	sayZero            = "it is scaled to zero: there is nothing to measure"
)
