package supportbundle

import (
	"regexp"
	"strings"
)

// removed stands where a secret was, or what may be one.
const removed = "[removed]"

// sensitive is how a name ends that holds a credential.
const sensitive = `(?:password|passwd|passphrase|pwd|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|signing[-_]?key|authorization|cookie|credentials?|dsn|connection[-_]?string)`

var (
	sensitiveName = regexp.MustCompile(`(?i)` + sensitive + `$`)

	privateKeys = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)`)
	// A header as it is sent or logged: all of its value.
	authorizations = regexp.MustCompile(`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-assay-authorization)(\\*["']?\s*[:=]\s*\[?\\*["']?)[^\r\n"'\]\\]+`)
	schemes        = regexp.MustCompile(`(?i)\b(bearer|basic|negotiate)(\s+)([A-Za-z0-9._~+/=-]{6,})`)
	// JSON, also within a string of JSON.
	quotedPairs = regexp.MustCompile(`(?i)(\\*["'][\w.\-]*` + sensitive + `\\*["']\s*[:=]\s*)(?:"(?:[^"\\]|\\.)*"|'[^']*'|\\+".*?\\+")`)
	// Flags, logfmt, a DSN of the form host=… password=….
	barePairs = regexp.MustCompile(`(?i)(\b[\w.\-]*` + sensitive + `(?:=|:\s*))("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;&"'<>)\]}\[]+)`)
	urls      = regexp.MustCompile("[A-Za-z][A-Za-z0-9+.-]*://[^\\s\"'<>`]+")
	databases = regexp.MustCompile(`(?i)^(?:postgres|postgresql|mysql|mariadb|redis|rediss|amqps?|mongodb(?:\+srv)?|sqlserver)://`)
	// Tokens that tell by their look whose they are.
	tokens = regexp.MustCompile(`\b(?:sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{20,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?)`)
	// Text that nobody reads: long, and of all kinds of letters.
	opaque = regexp.MustCompile(`[A-Za-z0-9+/_-]{40,}={0,2}`)
)

// scrub removes from a text what looks like a credential. It would rather remove a
// word too many.
func scrub(text string) string {
	if !worthALook(text) {
		return text
	}
	text = privateKeys.ReplaceAllString(text, removed)
	text = urls.ReplaceAllStringFunc(text, scrubURL)
	text = authorizations.ReplaceAllStringFunc(text, func(header string) string {
		if strings.HasSuffix(header, strings.TrimSuffix(removed, "]")) {
			return header // it was done before
		}
		return authorizations.ReplaceAllString(header, "${1}${2}"+removed)
	})
	text = quotedPairs.ReplaceAllString(text, `${1}"`+removed+`"`)
	text = barePairs.ReplaceAllStringFunc(text, func(pair string) string {
		parts := barePairs.FindStringSubmatch(pair)
		if strings.HasPrefix(parts[2], removed[:1]) {
			return pair
		}
		return parts[1] + removed
	})
	text = schemes.ReplaceAllStringFunc(text, func(s string) string {
		parts := schemes.FindStringSubmatch(s)
		if strings.HasPrefix(strings.ToLower(parts[3]), "auth") { // basic authentication
			return s
		}
		return parts[1] + parts[2] + removed
	})
	text = tokens.ReplaceAllString(text, removed)
	return opaque.ReplaceAllStringFunc(text, func(s string) string {
		if mixed(s) {
			return removed
		}
		return s
	})
}

// worthALook spares most strings the work: the shortest credential that is found
// here has more than a few letters.
func worthALook(text string) bool { return len(text) > 7 }

// mixed says whether a text has capitals, small letters and digits: digests and
// names of objects have not.
func mixed(s string) bool {
	return strings.ContainsAny(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz") && strings.ContainsAny(s, "0123456789")
}

// scrubURL removes user and password of a URL, and every value of its query. It
// does so by hand: what holds a credential is often no URL that parses.
func scrubURL(raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	if databases.MatchString(raw) {
		// A password may hold any sign that ends a host elsewhere.
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			rest = removed + rest[at:]
		}
	}
	path, query, asked := strings.Cut(rest, "?")
	authority, _, _ := strings.Cut(path, "/")
	if strings.Contains(authority, "@") {
		path = removed + path[strings.LastIndex(path, "@"):]
	}
	if !asked {
		return scheme + "://" + path
	}
	query, fragment, _ := strings.Cut(query, "#")
	pairs := strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' })
	for i, pair := range pairs {
		if name, _, valued := strings.Cut(pair, "="); valued {
			pairs[i] = name + "=" + removed
		} else {
			pairs[i] = removed
		}
	}
	clean := scheme + "://" + path + "?" + strings.Join(pairs, "&")
	if fragment != "" {
		clean += "#" + removed
	}
	return clean
}

// credentialsOf gives what scrubURL would remove from the URLs of a text.
func credentialsOf(text string) []string {
	var found []string
	for _, raw := range urls.FindAllString(text, -1) {
		_, rest, _ := strings.Cut(raw, "://")
		if at := strings.LastIndex(rest, "@"); at >= 0 && (databases.MatchString(raw) || !strings.Contains(rest[:at], "/")) {
			if _, password, ok := strings.Cut(rest[:at], ":"); ok {
				found = append(found, password)
			}
		}
		if _, query, ok := strings.Cut(rest, "?"); ok {
			for _, pair := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' || r == '#' }) {
				if _, value, ok := strings.Cut(pair, "="); ok {
					found = append(found, value)
				}
			}
		}
	}
	return found
}
