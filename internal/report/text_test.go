package report

import "testing"

func TestCut(t *testing.T) {
	for _, test := range []struct {
		text    string
		columns int
		want    string
	}{
		{"short", 5, "short"},
		{"longer", 5, "long…"},
		{"a b c d", 5, "a b…"},
		{"설치 방법", 9, "설치 방법"},
		{"설치 방법", 8, "설치 방…"},
		{"설치 방법", 7, "설치…"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"👩‍👩‍👧 family", 4, "👩‍👩‍👧…"},
	} {
		got := cut(test.text, test.columns)
		if got != test.want {
			t.Errorf("cut(%q, %d) = %q, want %q", test.text, test.columns, got, test.want)
		}
		if width(got) > test.columns {
			t.Errorf("cut(%q, %d) = %q takes %d columns", test.text, test.columns, got, width(got))
		}
	}
}

func TestCode(t *testing.T) {
	for text, want := range map[string]string{
		"":          "",
		"plain":     "`plain`",
		"a|b":       "`a\\|b`",
		"a `b`":     "`` a `b` ``",
		"a\nb\t\tc": "`a b c`",
	} {
		if got := code(text); got != want {
			t.Errorf("code(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"hit_rate@5 is 0.5":   "hit_rate@5 is 0.5",
		"@me, (@you) and a@b": "&#64;me, (&#64;you) and a@b",
		"[x](y) *z* <b> ~ |":  `\[x\](y) \*z\* &lt;b> \~ \|`,
	} {
		if got := escape(text); got != want {
			t.Errorf("escape(%q) = %s, want %s", text, got, want)
		}
	}
}
