package call

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// MaxSecret is how long a credential may be, in bytes: servers take no longer
// headers, and every reply is searched for it.
const MaxSecret = 16 << 10

const (
	// maxFetched is how many tokens that were fetched are kept for the run, the
	// newest: a service may give another one for every call.
	maxFetched = 32

	redacted = "[redacted]"
	// maxQuoted is how much of a body an error shows, in bytes.
	maxQuoted = 256
	// maxDetail bounds what an error says in somebody else's words, in bytes.
	maxDetail = 1024
	// minContent is how long a secret is, in bytes, before it is looked for in what
	// services give as content: "admin" is a word that documents may have.
	minContent = 8
	// minQueried is the same for what stands in a URL's query, most of which is no
	// secret: "documents" may be the name of an index.
	minQueried = 16
)

// Redactor removes secrets from text: as they are, in Base64 or hexadecimal, and
// escaped as URLs, JSON, Go and HTML do. All who ask services for one run share
// it, since one may quote what another was given; tokens that are fetched later
// are added to it. It is safe for concurrent use.
type Redactor struct {
	shared *secretList
	// query are the values of the URL's query, which may hold a key.
	query *matcher
}

// secretList is what redactors share.
type secretList struct {
	mu sync.Mutex
	// secrets of all kinds, and the long values of URLs' queries.
	secrets, queried []string
	// fetched are tokens, the oldest first.
	fetched []string
	// all finds every secret, content those that content is searched for. They are
	// made when they are needed: most lists are only added to.
	all, content *matcher
}

// NewRedactor gives a redactor that removes these secrets.
func NewRedactor(secrets ...string) *Redactor {
	r := &Redactor{shared: &secretList{}, query: newMatcher(nil)}
	r.Add(secrets...)
	return r
}

// Add has more secrets removed, by every redactor that was made of this one too.
func (r *Redactor) Add(secrets ...string) {
	s := r.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range secrets {
		for _, v := range spellings(secret) {
			if v != "" && !slices.Contains(s.secrets, v) {
				s.secrets = append(s.secrets, v)
				s.all, s.content = nil, nil
			}
		}
	}
}

// addFetched has a token removed that was fetched, until many more were.
func (r *Redactor) addFetched(token string) {
	s := r.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetched = append(s.fetched, token)
	s.fetched = s.fetched[max(0, len(s.fetched)-maxFetched):]
	s.all, s.content = nil, nil
}

// list gives the secrets of all kinds.
func (s *secretList) list() []string {
	all := slices.Clone(s.secrets)
	for _, token := range s.fetched {
		all = append(all, slices.DeleteFunc(spellings(token), func(v string) bool { return v == "" })...)
	}
	return all
}

// forErrors finds every secret.
func (s *secretList) forErrors() *matcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = newMatcher(s.list())
	}
	return s.all
}

// forContent finds what is long enough to be no word of a document.
func (s *secretList) forContent() *matcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.content == nil {
		long := slices.DeleteFunc(s.list(), func(v string) bool { return len(v) < minContent })
		s.content = newMatcher(append(long, s.queried...))
	}
	return s.content
}

// WithQuery gives a redactor that also removes what stands in a URL's query,
// which may hold a key; from content, every redactor of the run removes it.
func (r *Redactor) WithQuery(u *url.URL) *Redactor {
	var all, long []string
	for _, values := range u.Query() {
		for _, value := range values {
			// One or two letters are no key, and removing a "1" makes nonsense of a message.
			if len(value) > 2 {
				all = append(all, spellings(value)...)
			}
			if len(value) >= minQueried {
				long = append(long, spellings(value)...)
			}
		}
	}
	s := r.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queried = append(s.queried, long...)
	s.content = nil
	return &Redactor{shared: s, query: newMatcher(all)}
}

// spellings are a secret and what it is called where it has been escaped once, or
// its own escapes read: that may then be escaped again.
func spellings(secret string) []string {
	all := []string{secret, strings.TrimSpace(secret), url.QueryEscape(secret), url.PathEscape(secret), jsonText(secret, false), jsonText(secret, true)}
	if plain, err := url.QueryUnescape(secret); err == nil {
		all = append(all, plain)
	}
	return all
}

// jsonText is how JSON writes a text, without its quotes.
func jsonText(s string, escapeHTML bool) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(escapeHTML)
	if encoder.Encode(s) != nil {
		return s
	}
	text := strings.TrimSpace(b.String())
	return text[1 : len(text)-1]
}

// Redact removes secrets from text and changes nothing else.
func (r *Redactor) Redact(text string) string {
	return r.query.remove(r.shared.forErrors().remove(text))
}

// Content removes secrets from what a service gave as content, such as a
// document's text. Short ones stay, since documents may have them as words.
func (r *Redactor) Content(text string) string {
	return r.shared.forContent().remove(text)
}

// Clean removes secrets from text that came from elsewhere, cuts it to a number
// of bytes, and escapes what is not printable. cut says that text is the
// beginning of something longer, so that half a secret may stand at its end.
func (r *Redactor) Clean(text string, limit int, cut bool) string {
	if cut {
		text = text[:min(r.shared.forErrors().half(text), r.query.half(text))]
	}
	text = r.Redact(text)
	if len(text) > limit {
		end := limit
		for end > 0 && end > limit-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return escape(text)
}

// matcher finds a fixed list of secrets. It does not change.
type matcher struct {
	// secrets, and forms of them that are found as they are, the longest first:
	// none stays behind in part where another is its beginning.
	secrets, forms []string
	// starts are the bytes that a secret may begin with in a text.
	starts   [256]bool
	replacer *strings.Replacer
}

func newMatcher(secrets []string) *matcher {
	m := &matcher{secrets: longestFirst(secrets)}
	for _, s := range m.secrets {
		m.starts[s[0]] = true
		m.forms = append(m.forms, forms(s)...)
	}
	if len(secrets) == 0 {
		return m
	}
	for i := range len(escapes) {
		m.starts[escapes[i]] = true
	}
	m.forms = longestFirst(m.forms)
	pairs := make([]string, 0, 2*len(m.forms))
	for _, s := range m.forms {
		pairs = append(pairs, s, redacted)
	}
	m.replacer = strings.NewReplacer(pairs...)
	return m
}

func longestFirst(list []string) []string {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(list)
}

// forms are a secret and what it becomes where it is encoded.
func forms(secret string) []string {
	all := []string{secret}
	if len(secret) < 4 {
		return all // "YQ" and "61" stand for the letter a, and in every other word
	}
	digits := hex.EncodeToString([]byte(secret))
	all = append(all, digits, strings.ToUpper(digits))
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		all = append(all, encoding.EncodeToString([]byte(secret)))
		// Within something longer, such as "user:password", it begins at one of three
		// places of a group. What shares a letter with its neighbours is left out.
		for before := range 3 {
			whole := encoding.EncodeToString(append(make([]byte, before), secret...))
			from, to := (before*8+5)/6, (before+len(secret))*8/6
			if to-from >= 6 {
				all = append(all, whole[from:to])
			}
		}
	}
	return all
}

// remove takes secrets out.
func (m *matcher) remove(text string) string {
	if m.replacer == nil {
		return text
	}
	return m.replacer.Replace(m.removeEscaped(text))
}

// removeEscaped takes out secrets that are written with escapes.
func (m *matcher) removeEscaped(text string) string {
	if !strings.ContainsAny(text, escapes) {
		return text
	}
	var b strings.Builder
	done := 0
	for i := 0; i < len(text); {
		n := 0
		if m.starts[text[i]] {
			n, _ = m.at(text[i:])
		}
		if n == 0 {
			i++
			continue
		}
		b.WriteString(text[done:i])
		b.WriteString(redacted)
		i += n
		done = i
	}
	return b.String() + text[done:]
}

// at gives how many bytes at the beginning of text are a secret, 0 where they are
// none, and whether text ends within one.
func (m *matcher) at(text string) (n int, half bool) {
	for _, s := range m.secrets {
		length, ended := spelled(text, s)
		half = half || ended
		if length > 0 {
			return length, half
		}
	}
	return 0, half
}

// half gives where a secret begins that goes on beyond the end of text; its length
// where there is none.
func (m *matcher) half(text string) int {
	if len(m.secrets) == 0 {
		return len(text)
	}
	for i := max(0, len(text)-longestEscape*len(m.forms[0])); i < len(text); i++ {
		rest := text[i:]
		if _, half := m.at(rest); half {
			return i
		}
		for _, form := range m.forms {
			if len(rest) < len(form) && strings.HasPrefix(form, rest) {
				return i
			}
		}
	}
	return len(text)
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
