package facts

import (
	"context"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/rollout"
	"github.com/assay-dev/assay/internal/status"
	"github.com/assay-dev/assay/internal/workload"
)

// Targets looks at the suite's targets and what their ready pods run; nil for a
// suite without any. The reader must not be a cache.
func Targets(ctx context.Context, reader client.Reader, s *v1alpha1.EvalSuite, now time.Time) (*status.Targets, error) {
	t, err := Rollout(ctx, reader, s, now)
	if err != nil || t == nil || t.Progress.RolledOutAt == nil {
		return t, err // while pods come and go, what they run says nothing yet
	}
	r := workload.Reader{API: reader, Namespace: s.Namespace}
	t.ImageIDs = map[string][]string{}
	for _, w := range t.Seen.Workloads {
		ids, err := r.ImageIDs(ctx, w)
		if err != nil {
			return nil, err
		}
		t.ImageIDs[status.TargetKey(w.Kind, w.Name)] = ids
	}
	return t, nil
}

// Rollout looks at how far the rollout of the suite's targets is; nil for a suite
// without any. The reader must not be a cache.
func Rollout(ctx context.Context, reader client.Reader, s *v1alpha1.EvalSuite, now time.Time) (*status.Targets, error) {
	if s.Spec.OnDeploy == nil {
		return nil, nil
	}
	r := workload.Reader{API: reader, Namespace: s.Namespace}
	seen, err := r.Read(ctx, s.Spec.OnDeploy.Targets)
	if err != nil {
		return nil, err
	}
	return &status.Targets{Seen: seen, Progress: rollout.Observe(progressOf(s), rollout.Observation{
		Now: now, Settle: Settle(s), Revision: seen.Revision, Targets: seen.Targets(),
	})}, nil
}

// progressOf is what the suite's status says of the rollout.
func progressOf(s *v1alpha1.EvalSuite) rollout.Progress {
	return rollout.Progress{
		Revision:    s.Status.Revision,
		RolledOutAt: timeOf(s.Status.RolledOutTime),
		Since:       timeOf(s.Status.RolloutSince),
	}
}

// Settle is for how long the targets must have been rolled out for a run to start.
func Settle(s *v1alpha1.EvalSuite) time.Duration {
	return time.Duration(ptr.Deref(s.Spec.OnDeploy.SettleSeconds, 15)) * time.Second
}
