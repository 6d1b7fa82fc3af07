package call

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	redacted = "[redacted]"
	// maxQuoted is how much of a body an error shows, in bytes.
	maxQuoted = 256
	// maxDetail bounds what an error says in somebody else's words, in bytes.
	maxDetail = 1024
)

// Redactor removes secrets from text. Tokens that are fetched later are added
// to it. It is safe for concurrent use.
type Redactor struct {
	shared *secretList
	// query are the values of the URL's query, which may hold a key.
	query []string
}

type secretList struct {
	mu      sync.RWMutex
	secrets []string
}

// NewRedactor gives a redactor that removes these secrets.
func NewRedactor(secrets ...string) *Redactor {
	r := &Redactor{shared: &secretList{}}
	r.Add(secrets...)
	return r
}

// Add has more secrets removed, by every redactor that was made of this one too.
func (r *Redactor) Add(secrets ...string) {
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	for _, s := range secrets {
		for _, form := range forms(s) {
			if !slices.Contains(r.shared.secrets, form) {
				r.shared.secrets = append(r.shared.secrets, form)
			}
		}
	}
}

// WithQuery gives a redactor that also removes what stands in a URL's query,
// which may hold a key.
func (r *Redactor) WithQuery(u *url.URL) *Redactor {
	own := &Redactor{shared: r.shared}
	for _, values := range u.Query() {
		for _, value := range values {
			// One or two letters are no key, and removing a "1" makes nonsense of a message.
			if len(value) > 2 {
				own.query = append(own.query, forms(value)...)
			}
		}
	}
	return own
}

// forms are the ways in which a secret may come back: a server may quote it
// escaped or encoded.
func forms(secret string) []string {
	if secret == "" {
		return nil
	}
	all := []string{
		secret, strings.TrimSpace(secret),
		url.QueryEscape(secret), url.PathEscape(secret),
		jsonText(secret, false), jsonText(secret, true), unquoted(strconv.Quote(secret)), unquoted(strconv.QuoteToASCII(secret)),
		base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.RawURLEncoding.EncodeToString([]byte(secret)),
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// Redact removes secrets from text and changes nothing else.
func (r *Redactor) Redact(text string) string {
	text, _ = r.remove(text)
	return text
}

// jsonText is how JSON writes a text, without its quotes.
func jsonText(s string, escapeHTML bool) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(escapeHTML)
	if encoder.Encode(s) != nil {
		return ""
	}
	return unquoted(strings.TrimSpace(b.String()))
}

func unquoted(s string) string { return strings.Trim(s, `"`) }

// Clean removes secrets from text that came from elsewhere, cuts it to a number
// of bytes, and escapes what is not printable. cut says that text is the
// beginning of something longer, so that half a secret may stand at its end.
func (r *Redactor) Clean(text string, limit int, cut bool) string {
	text, longest := r.remove(text)
	if cut {
		text = text[:max(0, len(text)-longest)]
	}
	if len(text) > limit {
		end := limit
		for end > 0 && end > limit-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return escape(text)
}

// remove takes secrets out, the longest first, so that none stays behind in part
// where another is its beginning.
func (r *Redactor) remove(text string) (string, int) {
	r.shared.mu.RLock()
	all := slices.Concat(r.shared.secrets, r.query)
	r.shared.mu.RUnlock()
	if len(all) == 0 {
		return text, 0
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(all))
	for _, s := range all {
		pairs = append(pairs, s, redacted)
	}
	return strings.NewReplacer(pairs...).Replace(text), len(all[0])
}

// escape writes control and other unprintable characters as Go does: \x1b.
// Line breaks become spaces.
func escape(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case r == utf8.RuneError && n == 1, !unicode.IsPrint(r):
			quoted := strconv.QuoteToASCII(text[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return strings.TrimSpace(b.String())
}
