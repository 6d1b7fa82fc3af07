package call

import (
	"encoding/base64"
	"fmt"
	"net/url"
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
		"nothing":            {"all is well", 100, false, "all is well"},
		"one":                {"key=s3cret!", 100, false, "key=[redacted]!"},
		"the longest first":  {"s3cret-longer", 100, false, "[redacted]"},
		"across the limit":   {"key=s3cret", 7, false, "key=[re…"},
		"half at the end":    {"some words, then s3cret-lon", 100, true, "some words, then"},
		"half of it escaped": {"some words, then s%33cret%2dl\\u006", 100, true, "some words, then"},
		"half in Base64":     {"some words, then czNjcm", 100, true, "some words, then"},
		"an innocent end":    {"some words, then more", 100, true, "some words, then more"},
		"control":            {"a\x1b[31m\x00b\u202e\r\nc\td", 100, false, `a\x1b[31m\x00b\u202e  c d`},
		"not UTF-8":          {"caf\xe9", 100, false, `caf\xe9`},
		"whole letters":      {"한국어", 7, false, "한국…"},
		"Korean stays":       {"찾을 수 없음", 100, false, "찾을 수 없음"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.Clean(test.text, test.limit, test.cut); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A server may give a secret back in many ways.
func TestRedactEncodings(t *testing.T) {
	const secret = `pa"ss/wörd &+<7>=?`
	r := NewRedactor(secret, "s3cret-token")
	for name, text := range map[string]string{
		"query":                   "pa%22ss%2Fw%C3%B6rd+%26%2B%3C7%3E%3D%3F",
		"path":                    "pa%22ss%2Fw%C3%B6rd%20&+%3C7%3E=%3F",
		"lower case":              "pa%22ss%2fw%c3%b6rd%20%26%2b%3c7%3e%3d%3f",
		"JavaScript":              "pa%22ss%2Fw%C3%B6rd%20%26%2B%3C7%3E%3D%3F",
		"JSON":                    `pa\"ss/wörd &+<7>=?`,
		"JSON for HTML":           `pa\"ss\/w\u00f6rd \u0026+\u003c7\u003E=?`,
		"Go":                      `pa\"ss/w\u00f6rd &+<7>=?`,
		"bytes":                   `pa\x22ss/w\xc3\xb6rd &+<7>=?`,
		"JSON in JSON":            `pa\\\"ss/wörd \\u0026+\\u003c7\\u003e=?`,
		"HTML":                    `pa&quot;ss/w&ouml;rd &amp;+&lt;7&gt;=?`,
		"HTML by number":          `pa&#34;ss/w&#xF6;rd &#38;+&#60;7&#62;=?`,
		"everything percent":      "%70%61%22%73%73%2f%77%c3%b6%72%64%20%26%2b%3c%37%3e%3d%3f",
		"Base64":                  "cGEic3Mvd8O2cmQgJis8Nz49Pw",
		"hexadecimal":             "70612273732f77c3b6726420262b3c373e3d3f",
		"upper hexadecimal":       "70612273732F77C3B6726420262B3C373E3D3F",
		"another, in part of one": `s3cret\u002dtoken`,
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.Redact("it said " + text + "."); got != "it said [redacted]." {
				t.Errorf("got %q", got)
			}
		})
	}
}

// In Base64 of something longer a secret has no look of its own.
func TestRedactWithinBase64(t *testing.T) {
	const secret = "s3cret-token?>"
	r := NewRedactor(secret)
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
		for _, before := range []string{"", "u", "us", "user:", "Bearer "} {
			for _, after := range []string{"", ",", `"}`, " and more"} {
				got := r.Redact(encoding.EncodeToString([]byte(before + secret + after)))
				left, mark, _ := strings.Cut(got, "[redacted]")
				if mark == got || !strings.Contains(got, "[redacted]") || len(left) > 4*(len(before)+2)/3+1 || len(mark) > 4*(len(after)+2)/3+4 {
					t.Errorf("%q in %q and %q: got %s", secret, before, after, got)
				}
			}
		}
	}
}

func TestContent(t *testing.T) {
	r := NewRedactor("admin", "s3cret-token")
	r.WithQuery(&url.URL{RawQuery: "index=documents&sig=a-signature-of-32-letters"})
	if got := r.Content("documents, a-signature-of-32-letters"); got != "documents, [redacted]" {
		t.Errorf("got %q", got)
	}
	if got := r.Content("admins need s3cret-token or s3cret%2Dtoken"); got != "admins need [redacted] or [redacted]" {
		t.Errorf("got %q", got)
	}
}

// Whoever asks other services for the same run quotes what this one was given.
func TestRedactorsShare(t *testing.T) {
	r := NewRedactor("first")
	other := r.WithQuery(&url.URL{RawQuery: "key=queried&n=1"})
	r.Add("later-token")
	if got := other.Redact("first later-token queried 1"); got != "[redacted] [redacted] [redacted] 1" {
		t.Errorf("got %q", got)
	}
	if got := r.Redact("queried"); got != "queried" {
		t.Errorf("another URL's query is taken out: %q", got)
	}
}

func TestEscapesThatAreNone(t *testing.T) {
	r := NewRedactor(`a\b%c&d`)
	for _, text := range []string{`\`, `%`, `&`, `%zz \u12 \xg0 &nothing; &#; %4`, `a\b%`, `a\\b%25c&amp;`, strings.Repeat(`\u00`, 1000)} {
		if got := r.Redact(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
		r.Clean(text, 100, true)
	}
	for _, text := range []string{`a\b%c&d`, `a\\b%25c&amp;d`} {
		if got := r.Redact(text); got != redacted {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// A service that gives a token for every call does not fill the memory with them.
func TestFetchedTokens(t *testing.T) {
	r := NewRedactor("first-secret")
	other := r.WithQuery(&url.URL{})
	for i := range 10 * maxFetched {
		r.addFetched(fmt.Sprintf("token-%04d", i))
	}
	if got := other.Redact("first-secret token-0319 token-0288 token%2D0319"); got != "[redacted] [redacted] [redacted] [redacted]" {
		t.Errorf("got %q", got)
	}
	if got := len(r.shared.list()); got > 10*maxFetched {
		t.Errorf("%d spellings are kept", got)
	}
}

// A service that knows a long secret could have each byte of a reply compared with
// all of it. Its beginning is enough.
func TestBeginningOfALongSecret(t *testing.T) {
	secret := strings.Repeat("a", MaxSecret-1) + "b"
	r := NewRedactor(secret)
	for text, want := range map[string]string{
		strings.Repeat("a", telling-1) + "%":                     strings.Repeat("a", telling-1) + "%",
		strings.Repeat("a", telling) + "%":                       redacted + "%",
		"a %61" + strings.Repeat("a", 2*telling) + "c":           "a " + redacted + "c",
		"so " + strings.Repeat("%61", MaxSecret-1) + "b it said": "so " + redacted + " it said",
	} {
		if got := r.Redact(text); got != want {
			t.Errorf("%.20q… became %.20q…, want %.20q…", text, got, want)
		}
	}
	// Compared with all of it at each of its bytes, this takes hours.
	text := strings.Repeat("a", maxBody) + "%"
	if got := r.Content(text); len(got) > maxBody/(MaxSecret/2)*len(redacted) {
		t.Errorf("%d bytes are left of a reply of nothing but the beginning", len(got))
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
