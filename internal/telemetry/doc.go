// Package telemetry is what Assay tells Prometheus.
//
// Gauges about suites come from [NewCollector]. It keeps nothing: every scrape
// reads the suites' status anew, so a gauge survives a restart, vanishes with
// its suite, and cannot contradict what kubectl shows. What the process itself
// sees, such as how long runs take, is counted in [Metrics].
package telemetry
