package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/rollout"
	"github.com/assay-dev/assay/internal/suite"
	"github.com/assay-dev/assay/internal/workload"
)

// Targets are a suite's workloads as they were seen, and how far their rollout
// is.
type Targets struct {
	Seen     *workload.Snapshot
	Progress rollout.Progress
	// ImageIDs of the ready pods, by TargetKey; nil while a rollout goes.
	ImageIDs map[string][]string
}

// TargetKey names a target within its namespace.
func TargetKey(kind v1alpha1.TargetKind, name string) string { return string(kind) + "/" + name }

// revision that runs now; empty while it is not known.
func (f SuiteFacts) revision() string {
	if f.Targets == nil {
		return suite.NoTargetsRevision
	}
	return f.Targets.Progress.Revision
}

const maxImages = 64

// setTargets writes how far the rollout of the targets is.
func setTargets(s *v1alpha1.EvalSuite, f SuiteFacts) {
	st := &s.Status
	if f.Targets == nil {
		st.Targets, st.Revision, st.RolloutSince, st.RolledOutTime = nil, "", nil, nil
		return
	}
	p := f.Targets.Progress
	st.Revision = p.Revision
	st.RolledOutTime, st.RolloutSince = nil, nil
	if p.RolledOutAt != nil {
		st.RolledOutTime = &metav1.Time{Time: *p.RolledOutAt}
	}
	if p.Since != nil {
		st.RolloutSince = &metav1.Time{Time: *p.Since}
	}
	st.Targets = nil
	for _, w := range f.Targets.Seen.Workloads {
		t := v1alpha1.TargetStatus{
			Kind: w.Kind, Name: w.Name, TemplateHash: w.State.TemplateHash, RolledOut: ptr.To(w.State.RolledOut),
			Images:   shortened(w.Images),
			ImageIDs: shortened(f.Targets.ImageIDs[TargetKey(w.Kind, w.Name)]),
		}
		if !w.State.RolledOut {
			t.Message = Truncate(w.State.Message, 1024)
		}
		st.Targets = append(st.Targets, t)
	}
}

// shortened keeps a list of images within what a status holds.
func shortened(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, 0, len(list))
	for _, item := range list[:min(len(list), maxImages)] {
		out = append(out, Truncate(item, 1024))
	}
	return out
}

// waits says what keeps the next run back; empty where nothing does.
func (f SuiteFacts) waits() string {
	switch {
	case f.Stall != nil:
		return fmt.Sprintf("; the suite is stalled (%s), and no run starts until that is mended: see the condition Stalled", f.Stall.Reason)
	case f.Targets != nil && f.Targets.Progress.Since != nil:
		return "; a run starts once the targets are rolled out: " + f.Targets.Progress.Message
	}
	return ""
}

// notKnown says why it is not known what runs now; empty where it is.
func (f SuiteFacts) notKnown() string {
	if f.revision() != "" {
		return ""
	}
	return fmt.Sprintf("it is not known yet what the targets run: %s", f.Targets.Progress.Message)
}
