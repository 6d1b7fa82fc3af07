package secrets

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// vault makes secrets that nothing else looks like, and remembers whether they
// were sent.
type vault struct {
	mu      sync.Mutex
	secrets []*secret
}

// secret is one value, of which every part is to be seen nowhere.
type secret struct {
	// where it is used, for people.
	where string
	value string
	// core is the part of the value that no encoding of text changes.
	core string
	sent bool
	// unsent says that no service can have got it.
	unsent bool
}

// make gives a secret with the characters that encodings change.
func (v *vault) make(where string) *secret {
	s := v.word(where)
	s.value = `p/` + s.core + `"\+<&>%41=`
	return s
}

// word gives a secret that is one word, as tokens are.
func (v *vault) word(where string) *secret {
	v.mu.Lock()
	defer v.mu.Unlock()
	sum := sha256.Sum256([]byte(fmt.Sprint("assay ", len(v.secrets))))
	core := fmt.Sprintf("Zq%03d%s", len(v.secrets), hex.EncodeToString(sum[:8]))
	s := &secret{where: where, value: core, core: core}
	v.secrets = append(v.secrets, s)
	return s
}

// accessToken gives a token that the service it is for may never be sent.
func (v *vault) accessToken() string {
	s := v.word("an access token")
	v.mu.Lock()
	defer v.mu.Unlock()
	s.unsent = true
	return s.value
}

// add takes a secret that somebody else made, of which core is a part.
func (v *vault) add(where, core string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.secrets = append(v.secrets, &secret{where: where, value: core, core: core, sent: true})
}

// saw notes what a service was sent.
func (v *vault) saw(r *http.Request, body string) {
	text := []string{r.URL.RawQuery, body}
	for _, values := range r.URL.Query() {
		text = append(text, values...)
	}
	for _, values := range r.Header {
		text = append(text, values...)
	}
	if user, password, ok := r.BasicAuth(); ok {
		text = append(text, user, password)
		for _, s := range []string{user, password} {
			if plain, err := url.QueryUnescape(s); err == nil { // RFC 6749, section 2.3.1
				text = append(text, plain)
			}
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range v.secrets {
		if !s.sent && slices.ContainsFunc(text, func(t string) bool { return strings.Contains(t, s.value) }) {
			s.sent = true
		}
	}
}

// requireSent fails where a secret never came to a service: that it is not seen
// then proves nothing.
func (v *vault) requireSent(t *testing.T) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	fetched := 0
	for _, s := range v.secrets {
		if !s.sent && !s.unsent {
			t.Errorf("%s was never sent to a service", s.where)
		}
		if s.sent && s.unsent {
			fetched++
		}
	}
	if fetched < 10 {
		t.Errorf("only %d access tokens were used", fetched)
	}
}

// window is how many bytes a search looks at first: less than any form.
const window = 8

// search finds the secrets, whole and in part and in every encoding, in texts.
type search map[string][]form

// form is one look of a secret.
type form struct {
	text, how string
	secret    *secret
}

func (v *vault) search() search {
	v.mu.Lock()
	defer v.mu.Unlock()
	found := search{}
	for _, s := range v.secrets {
		for how, text := range looks(s.core) {
			found[text[:window]] = append(found[text[:window]], form{text, how, s})
		}
	}
	return found
}

// looks are the ways in which a word may show.
func looks(core string) map[string]string {
	var percent, unicode, upper strings.Builder
	for _, c := range []byte(core) {
		fmt.Fprintf(&percent, "%%%02x", c)
		fmt.Fprintf(&upper, "%%%02X", c)
		fmt.Fprintf(&unicode, `\u%04x`, c)
	}
	backwards := []byte(core)
	slices.Reverse(backwards)
	all := map[string]string{
		"plain":       core,
		"its start":   core[:10],
		"its end":     core[len(core)-10:],
		"backwards":   string(backwards),
		"hexadecimal": hex.EncodeToString([]byte(core)),
		"HEXADECIMAL": strings.ToUpper(hex.EncodeToString([]byte(core))),
		"percent":     percent.String(),
		"PERCENT":     upper.String(),
		"unicode":     unicode.String(),
	}
	for before := range 3 { // where in a group of Base64 it begins
		from, to := (before*8+5)/6, (before+len(core))*8/6
		all[fmt.Sprint("Base64 at ", before)] = base64.RawStdEncoding.EncodeToString(append(make([]byte, before), core...))[from:to]
	}
	return all
}

// in fails for every secret that a text shows.
func (s search) in(t *testing.T, what, text string) {
	t.Helper()
	for _, found := range s.find(text) {
		t.Errorf("%s shows the secret of %s, %s: …%s…", what, found.form.secret.where, found.form.how, found.around)
	}
}

// found is a secret in a text.
type found struct {
	form   form
	around string
}

func (s search) find(text string) []found {
	var all []found
	seen := map[string]bool{}
	for i := 0; i+window <= len(text); i++ {
		for _, f := range s[text[i:i+window]] {
			if key := f.secret.where + f.how; strings.HasPrefix(text[i:], f.text) && !seen[key] {
				seen[key] = true
				all = append(all, found{f, text[max(0, i-200):min(len(text), i+len(f.text)+60)]})
			}
		}
	}
	return all
}

// A search that finds nothing proves something only where it can find.
func TestSearch(t *testing.T) {
	v := &vault{}
	s := v.make("here")
	for name, text := range map[string]string{
		"plain":        s.value,
		"cut":          "…" + s.value[:14],
		"query":        url.QueryEscape(s.value),
		"Base64":       base64.StdEncoding.EncodeToString([]byte(s.value)),
		"Base64 of":    base64.URLEncoding.EncodeToString([]byte("user:" + s.value)),
		"Base64 of as": base64.RawURLEncoding.EncodeToString([]byte("Bearer " + s.value + ".")),
		"Go":           fmt.Sprintf("%q", s.value),
		"hexadecimal":  fmt.Sprintf("%X", s.value),
	} {
		if len(v.search().find("some words "+text+" more")) == 0 {
			t.Errorf("%s: %s is not found", name, text)
		}
	}
	if got := v.search().find("some words that are none"); len(got) != 0 {
		t.Errorf("found %v in nothing", got)
	}
}
