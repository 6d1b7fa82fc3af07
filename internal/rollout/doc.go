// Package rollout says whether workloads have rolled out, and names the
// revision that they then run. It is pure: what the API server says goes in as
// plain facts, a state comes out; no clock, no I/O.
//
// A rollout has finished when the workload's own controller says so, and not
// before it has looked at the newest template: counts are of an older one until
// then.
package rollout
