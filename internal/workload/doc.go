// Package workload reads what a suite's targets run: Deployments, StatefulSets,
// DaemonSets and Argo Rollouts with what their controllers made of them, as the
// facts of package rollout.
//
// It asks the API server, past any cache: a revision must follow from what is,
// and pods are too many to watch. They are listed only where a rollout seems to
// have finished, so that a thousand that restart are no work.
package workload
