package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// The parts that a service can play.
const (
	retrieving = "retriever"
	embedding  = "embedding"
	answering  = "answer"
	openAI     = "openai"
	anthropic  = "anthropic"
	tokens     = "token"
	golden     = "golden"
)

// services play every part, in every way of misbehaving: /retriever/denied is a
// retriever that says 401 and repeats what it was sent.
type services struct {
	t     *testing.T
	vault *vault
	calls atomic.Int64
}

// ServeHTTP notes what came, and replies as the path says.
func (s *services) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Errorf("read a request: %v", err)
	}
	s.vault.saw(r, string(body))
	part, way, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	way, _, _ = strings.Cut(way, "/")
	given := whatCame(r, string(body))
	switch misbehave := ways[way]; {
	case way == "fine":
		s.fine(w, part, string(body))
	case way == "content":
		s.content(w, part, string(body), given)
	case misbehave == nil:
		s.t.Errorf("nobody knows how to be %q", way)
	default:
		misbehave(w, given, int(s.calls.Add(1)))
	}
}

// whatCame gives everything in a request that may be a secret, one a line.
func whatCame(r *http.Request, body string) string {
	lines := []string{r.URL.RawQuery}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		switch name {
		case "Accept", "Accept-Encoding", "Content-Length", "Content-Type":
			continue
		}
		lines = append(lines, r.Header[name]...)
	}
	if user, password, ok := r.BasicAuth(); ok {
		lines = append(lines, user, password)
		for _, s := range []string{user, password} {
			if plain, err := url.QueryUnescape(s); err == nil {
				lines = append(lines, plain)
			}
		}
	}
	for _, values := range r.URL.Query() {
		lines = append(lines, values...)
	}
	slices.Reverse(lines) // the secrets first: little of a body is shown
	return strings.Join(append(lines, body), "\n")
}

// fine replies as the part should.
func (s *services) fine(w http.ResponseWriter, part, body string) {
	switch part {
	case retrieving:
		s.reply(w, map[string]any{"results": []any{map[string]any{"id": relevant(body), "text": "It is here."}}})
	case embedding:
		s.reply(w, map[string]any{"data": []any{map[string]any{"embedding": []float64{0.1, 0.2}}}})
	case answering:
		s.reply(w, map[string]any{"answer": "It is here."})
	case openAI, anthropic:
		s.verdict(w, part, "the context says so")
	case tokens:
		s.reply(w, map[string]any{"access_token": s.vault.accessToken(), "token_type": "Bearer", "expires_in": 3600})
	case golden:
		_, _ = io.WriteString(w, goldenSet)
	}
}

// content replies as fine does, with what came in every place that is kept.
func (s *services) content(w http.ResponseWriter, part, body, given string) {
	w.Header().Set("X-Index-Version", strings.ReplaceAll(given, "\n", " "))
	switch part {
	case retrieving:
		first := map[string]any{"id": relevant(body), "text": given, "document": given, "metadata": map[string]any{"headers": given}}
		s.reply(w, map[string]any{"results": []any{first, map[string]any{"id": given, "text": base64.StdEncoding.EncodeToString([]byte(given))}}})
	case answering:
		s.reply(w, map[string]any{"answer": given, "contexts": []string{given, url.QueryEscape(given)}})
	case openAI, anthropic:
		s.verdict(w, part, given)
	default:
		s.t.Errorf("the content of %s is not kept", part)
	}
}

func (s *services) reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		s.t.Errorf("write a reply: %v", err)
	}
}

func (s *services) verdict(w http.ResponseWriter, part, reason string) {
	said, _ := json.Marshal(map[string]any{"reason": reason, "correct": true, "grounded": true, "abstained": false})
	if part == openAI {
		s.reply(w, map[string]any{"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": string(said)}}}})
		return
	}
	s.reply(w, map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "end_turn", "content": []any{map[string]any{"type": "text", "text": string(said)}}})
}

// relevant gives the id that a question asks for.
func relevant(body string) string {
	_, id, _ := strings.Cut(body, "where is ")
	return id[:strings.IndexAny(id+`"`, `"\`)]
}

// ways are how a service misbehaves with what it was given; n counts the calls.
var ways = map[string]func(w http.ResponseWriter, given string, n int){
	"denied": func(w http.ResponseWriter, given string, _ int) { http.Error(w, given, http.StatusUnauthorized) },
	"dump": func(w http.ResponseWriter, given string, _ int) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": "Incorrect API key provided: " + given, "type": "invalid_request_error", "code": "invalid_api_key"}})
	},
	"page":    encoded(html.EscapeString),
	"base64":  encoded(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
	"jwt":     encoded(func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(`{"token":"` + s)) }),
	"hex":     encoded(func(s string) string { return hex.EncodeToString([]byte(s)) }),
	"query":   encoded(url.QueryEscape),
	"path":    encoded(url.PathEscape),
	"percent": encoded(func(s string) string { return eachByte(s, "%%%02x") }),
	"go":      encoded(strconv.QuoteToASCII),
	"unicode": encoded(func(s string) string { return eachByte(s, `\u%04x`) }),
	// The 256 bytes that are shown, and the 64 KiB that are read, end within a secret.
	"cut": func(w http.ResponseWriter, given string, n int) {
		http.Error(w, strings.Repeat("-", 256-n%64)+given, http.StatusInternalServerError)
	},
	"edge": func(w http.ResponseWriter, given string, n int) {
		http.Error(w, strings.Repeat(" ", 64<<10-1-n%64)+given, http.StatusInternalServerError)
	},
	"reported": func(w http.ResponseWriter, given string, _ int) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"error": given})
	},
	"broken": func(w http.ResponseWriter, given string, _ int) {
		_, _ = fmt.Fprintf(w, `{"results": [%q, %q`, given, given)
	},
	"odd": func(w http.ResponseWriter, given string, _ int) {
		w.Header().Set("Content-Type", "application/json")
		said, _ := json.Marshal(map[string]any{"reason": given, "correct": given, "grounded": given})
		_ = json.NewEncoder(w).Encode(map[string]any{
			"results": map[string]any{given: given}, "answer": []string{given}, "data": []any{map[string]any{"embedding": given}},
			"choices": []any{map[string]any{"message": map[string]any{"content": string(said)}}},
			"content": []any{map[string]any{"type": "text", "text": string(said)}}, "type": "message", "access_token": 7,
		})
	},
	"kind": func(w http.ResponseWriter, given string, _ int) {
		w.Header().Set("Content-Type", "text/"+oneLine(given))
		_, _ = io.WriteString(w, given)
	},
	"away": func(w http.ResponseWriter, given string, _ int) {
		w.Header().Set("Location", "http://elsewhere.invalid/"+url.PathEscape(given)+"?k="+url.QueryEscape(given))
		w.WriteHeader(http.StatusTemporaryRedirect)
	},
	"nowhere": func(w http.ResponseWriter, given string, _ int) {
		w.Header().Set("Location", "http://["+oneLine(given))
		w.WriteHeader(http.StatusTemporaryRedirect)
	},
	"garbage": raw(func(given string) string { return "HTTP/1.1 " + oneLine(given) + "\r\n\r\n" }),
	"nohead":  raw(func(given string) string { return "HTTP/1.1 200 OK\r\n" + oneLine(given) + "\r\n\r\n" }),
	"length": raw(func(given string) string {
		return "HTTP/1.1 200 OK\r\nContent-Length: " + oneLine(given) + "\r\n\r\n"
	}),
	"coding": raw(func(given string) string {
		return "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + oneLine(given) + "\r\n\r\n"
	}),
	"chunk": raw(func(given string) string {
		return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + oneLine(given) + "\r\n\r\n"
	}),
	"packed": func(w http.ResponseWriter, given string, _ int) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, given)
	},
	"later": func(w http.ResponseWriter, given string, _ int) {
		w.Header().Set("Retry-After", oneLine(given))
		http.Error(w, given, http.StatusTooManyRequests)
	},
}

func encoded(encode func(string) string) func(http.ResponseWriter, string, int) {
	return func(w http.ResponseWriter, given string, _ int) {
		http.Error(w, encode(given), http.StatusInternalServerError)
	}
}

// raw replies with bytes that no HTTP server would send.
func raw(bytes func(given string) string) func(http.ResponseWriter, string, int) {
	return func(w http.ResponseWriter, given string, _ int) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, bytes(given))
		_ = conn.Close()
	}
}

func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }

func eachByte(s, format string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

const goldenSet = `- {id: q1, question: where is doc-1, relevant: [doc-1], reference_answer: It is here.}
- {id: q2, question: where is doc-2, relevant: [doc-2], reference_answer: It is here.}
- {id: q3, question: where is doc-3, relevant: [doc-3], reference_answer: It is here.}
`
