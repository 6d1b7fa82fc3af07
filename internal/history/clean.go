package history

import (
	"math"
	"strings"
	"unicode/utf8"
)

// replacement stands for what is no text, as in Unicode.
const replacement = "\uFFFD"

// clean gives text that both engines take: PostgreSQL refuses NUL and what is
// no UTF-8, SQLite cuts strings at NUL in some of its functions.
func clean(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, replacement)
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", replacement)
	}
	return s
}

func cleanAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = clean(s)
	}
	return out
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// number drops a value that is no number: JSON cannot write it, and a mean over
// nothing is absent.
func number(v *float64) *float64 {
	if v == nil || !finite(*v) {
		return nil
	}
	return v
}

func orZero(v float64) float64 {
	if !finite(v) {
		return 0
	}
	return v
}
