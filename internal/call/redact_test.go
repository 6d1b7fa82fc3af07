package call

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	r := NewRedactor("s3cret", "s3cret-longer", "")
	for name, test := range map[string]struct {
		text  string
		limit int
		cut   bool
		want  string
	}{
		"nothing":           {"all is well", 100, false, "all is well"},
		"one":               {"key=s3cret!", 100, false, "key=[redacted]!"},
		"the longest first": {"s3cret-longer", 100, false, "[redacted]"},
		"across the limit":  {"key=s3cret", 7, false, "key=[re…"},
		"half at the end":   {"some words, then s3cret-lon", 100, true, "some words,"},
		"control":           {"a\x1b[31m\x00b\u202e\r\nc\td", 100, false, `a\x1b[31m\x00b\u202e  c d`},
		"not UTF-8":         {"caf\xe9", 100, false, `caf\xe9`},
		"whole letters":     {"한국어", 7, false, "한국…"},
		"Korean stays":      {"찾을 수 없음", 100, false, "찾을 수 없음"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.Clean(test.text, test.limit, test.cut); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzClean(f *testing.F) {
	f.Add("key=s3cret", "s3cret", 5, true)
	mark := redacted + "…" // a secret that is part of it shows wherever another was taken out
	f.Fuzz(func(t *testing.T, text, secret string, limit int, cut bool) {
		if limit < 0 || limit > 1000 || secret == "" || strings.Contains(mark, secret) {
			return
		}
		got := NewRedactor(secret).Clean(text, limit, cut)
		// Cutting and escaping make letters of their own, which may happen to be the secret's.
		if len(secret) > 8 && strings.Contains(got, secret) && strings.Contains(text, secret) {
			t.Errorf("%q shows %q", got, secret)
		}
		for _, r := range got {
			if r < ' ' {
				t.Errorf("control character in %q", got)
			}
		}
	})
}
