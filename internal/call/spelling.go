package call

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// escapes are the bytes that begin an escape: of URLs, of JSON and Go, of HTML.
	escapes = `%\&+`
	// longestEscape is how many bytes may stand for one.
	longestEscape = 10
	// telling is how many bytes of a longer secret's beginning are taken for it. A
	// service that repeats a beginning all over a reply would have every one of its
	// bytes compared with the whole secret.
	telling = 64
)

// spelled gives how many bytes of text, from its beginning, spell a secret, or the
// telling beginning of one, each of its characters as it is or escaped; 0 where they
// spell something else. ended says that text ends before the secret does, and agrees
// with it so far.
func spelled(text, secret string) (n int, ended bool) {
	whole := len(secret)
	agreed := func() int {
		if whole-len(secret) < telling {
			return 0
		}
		return n
	}
	for secret != "" {
		rest := text[n:]
		if rest == "" {
			return agreed(), true
		}
		if strings.IndexByte(escapes, rest[0]) >= 0 {
			value, length := unescape(rest)
			if length > 0 && strings.HasPrefix(secret, value) {
				n, secret = n+length, secret[len(value):]
				continue
			}
			if length == 0 && len(rest) < longestEscape && rest[0] != secret[0] {
				return agreed(), n > 0 // an escape that the end cuts, perhaps
			}
		}
		if rest[0] != secret[0] {
			return agreed(), false
		}
		n, secret = n+1, secret[1:]
	}
	return n, false
}

// unescape gives what an escape at the beginning of text stands for, and how many
// bytes it takes; 0 where there is none.
func unescape(text string) (value string, length int) {
	switch text[0] {
	case '+':
		return " ", 1
	case '%':
		return coded(text, 1, 3, false)
	case '\\':
		return backslash(text)
	case '&':
		if end := strings.IndexByte(text[:min(len(text), longestEscape)], ';'); end > 0 {
			if value := html.UnescapeString(text[:end+1]); value != text[:end+1] {
				return value, end + 1
			}
		}
	}
	return "", 0
}

func backslash(text string) (value string, length int) {
	if len(text) < 2 {
		return "", 0
	}
	switch text[1] {
	case 'x':
		return coded(text, 2, 4, false)
	case 'u':
		return coded(text, 2, 6, true)
	case 'n':
		return "\n", 2
	case 'r':
		return "\r", 2
	case 't':
		return "\t", 2
	case '"', '\'', '\\', '/':
		return text[1:2], 2
	}
	return "", 0
}

// coded reads the hexadecimal digits of an escape: of a byte or of a character.
func coded(text string, from, to int, character bool) (value string, length int) {
	if len(text) < to {
		return "", 0
	}
	code, err := strconv.ParseUint(text[from:to], 16, 32)
	switch {
	case err != nil:
		return "", 0
	case !character:
		return string([]byte{byte(code)}), to
	}
	return string(utf8.AppendRune(nil, rune(code))), to
}
