package status

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestTruncate(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		n    int
		want string
	}{
		"short":             {"abc", 5, "abc"},
		"just fits":         {"abcde", 5, "abcde"},
		"cut":               {"abcdef", 5, "ab…"},
		"empty":             {"", 5, ""},
		"Korean that fits":  {"한국어", 9, "한국어"},
		"not through one":   {"한국어", 8, "한…"},
		"at a character":    {"한국어한", 9, "한국…"},
		"through an emoji":  {"a😀b😀", 8, "a😀…"},
		"room for the mark": {"abcdef", 3, "…"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Truncate(test.text, test.n)
			if got != test.want || len(got) > test.n {
				t.Errorf("got %q (%d bytes), want %q", got, len(got), test.want)
			}
		})
	}
}

func FuzzTruncate(f *testing.F) {
	f.Add("한국어 😀", uint8(4))
	f.Add("\xff\x80\x80\x80", uint8(0))
	f.Fuzz(func(t *testing.T, text string, room uint8) {
		n := len("…") + int(room)
		got := Truncate(text, n)
		switch {
		case len(got) > n:
			t.Errorf("%d bytes, want at most %d", len(got), n)
		case len(text) <= n && got != text:
			t.Errorf("%q fits, and became %q", text, got)
		case utf8.ValidString(text) && !utf8.ValidString(got):
			t.Errorf("%q is cut through a character", got)
		case len(text) > n && !strings.HasPrefix(text, strings.TrimSuffix(got, "…")):
			t.Errorf("%q is no beginning of %q", got, text)
		}
	})
}

func TestConditionsKeepTheirTime(t *testing.T) {
	var conditions []metav1.Condition
	at := func(s int) metav1.Time {
		return metav1.NewTime(noon.Truncate(time.Second).Add(time.Duration(s) * time.Second))
	}
	set(&conditions, at(0), metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "A"})
	set(&conditions, at(1), metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "B", Message: strings.Repeat("x", maxMessage+1), ObservedGeneration: 2})
	c := conditions[0]
	if !c.LastTransitionTime.Equal(ptr.To(at(0))) || c.Reason != "B" || c.ObservedGeneration != 2 || len(c.Message) != maxMessage {
		t.Errorf("another reason: %s %s, generation %d, %d bytes", c.LastTransitionTime, c.Reason, c.ObservedGeneration, len(c.Message))
	}
	set(&conditions, at(2), metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse})
	c = conditions[0]
	if len(conditions) != 1 || !c.LastTransitionTime.Equal(ptr.To(at(2))) || c.Reason == "" {
		t.Errorf("another status: %+v", conditions)
	}
}
