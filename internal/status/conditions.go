// Package status turns what was observed and measured into the status of
// EvalSuites and EvalRuns: one small setter a condition, over plain facts.
package status

import (
	"slices"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxMessage is how long a condition's message may be.
const maxMessage = 32768

// set writes the condition and keeps its transition time, in the whole seconds
// that the API stores, where the status stays.
func set(conditions *[]metav1.Condition, now metav1.Time, c metav1.Condition) {
	if c.Reason == "" {
		c.Reason = "Unknown"
	}
	c.Message = Truncate(c.Message, maxMessage)
	c.LastTransitionTime = *metaTime(&now.Time)
	meta.SetStatusCondition(conditions, c)
}

// Truncate cuts a text to at most n bytes, not through a character, and says
// so. It asks for an n that the mark fits into.
func Truncate(s string, n int) string {
	const mark = "…"
	if len(s) <= n {
		return s
	}
	end := max(0, n-len(mark))
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}

// keepOnly drops conditions that an older version has left behind.
func keepOnly(conditions *[]metav1.Condition, types ...string) {
	*conditions = slices.DeleteFunc(*conditions, func(c metav1.Condition) bool {
		return !slices.Contains(types, c.Type)
	})
}
