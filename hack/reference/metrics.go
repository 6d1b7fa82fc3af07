package main

import (
	"fmt"
	"strings"

	"github.com/assay-dev/assay/internal/telemetry"
)

const metricsHead = `# Metrics reference

<!-- Made by make generate (hack/reference) from internal/telemetry. Do not edit. -->

Every series that Assay exports. [prometheus.md](../prometheus.md) says how they are scraped and what to alert on. Beside them stand those of
controller-runtime, client-go and the Go runtime, which are theirs to document. A histogram has the suffixes ` + "`_bucket`, `_sum` and `_count`" + `.

| series | type | labels | meaning |
| --- | --- | --- | --- |
`

// metricsPage is docs/reference/metrics.md.
func metricsPage(all []telemetry.Series) string {
	var b strings.Builder
	b.WriteString(metricsHead)
	for _, s := range all {
		labels := make([]string, len(s.Labels))
		for i, label := range s.Labels {
			labels[i] = code(label)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", code(s.Name), s.Type, strings.Join(labels, ", "), cell(s.Help))
	}
	return b.String()
}
