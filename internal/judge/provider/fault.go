package provider

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
)

// Fault is an error as a server words it.
type Fault struct {
	// Type and Code are the server's own words, in lower case: insufficient_quota.
	Type, Code string
	// Param is the field of the request that the error is about, in lower case.
	Param string
	// Message is for people.
	Message string
	// Text is all of it in lower case, to look for words in.
	Text string

	// instead says that the error stands where a completion belongs.
	instead bool
}

// Says tells whether any of the words stands in the error. The words are in
// lower case.
func (f *Fault) Says(words ...string) bool {
	for _, w := range words {
		if strings.Contains(f.Text, w) {
			return true
		}
	}
	return false
}

// Is tells whether the error's type or code is one of these.
func (f *Fault) Is(names ...string) bool {
	for _, n := range names {
		if f.Type == n || f.Code == n {
			return true
		}
	}
	return false
}

// readFault reads the error in a body: {"error": {…}} of OpenAI, Anthropic and
// most others, {"error": "…"} of LM Studio and Ollama, the bare {"object":
// "error", "message": …} of older vLLM, {"detail": …} of FastAPI, or {"message":
// …}. It gives nil where there is none.
func readFault(body []byte) *Fault {
	var top struct {
		Error   json.RawMessage
		Detail  json.RawMessage
		Object  json.RawMessage
		Type    json.RawMessage
		Code    json.RawMessage
		Param   json.RawMessage
		Message json.RawMessage
		Choices json.RawMessage
		Content json.RawMessage
	}
	// Whatever is no object has no error either.
	if json.Unmarshal(body, &top) != nil {
		return nil
	}
	f := &Fault{}
	switch {
	case present(top.Error):
		f.read(top.Error)
	case present(top.Detail):
		f.Message = words(top.Detail)
	case present(top.Message):
		f.Type, f.Code, f.Param, f.Message = words(top.Type), words(top.Code), words(top.Param), words(top.Message)
	default:
		return nil
	}
	f.instead = !present(top.Choices) && !present(top.Content)
	f.Type, f.Code, f.Param = strings.ToLower(f.Type), strings.ToLower(f.Code), strings.ToLower(f.Param)
	f.Text = strings.ToLower(strings.Join([]string{f.Type, f.Code, f.Param, f.Message}, "\n"))
	return f
}

// read takes what stands under "error".
func (f *Fault) read(raw json.RawMessage) {
	var inner struct {
		Type, Code, Param, Message, Status json.RawMessage
		Details                            json.RawMessage
	}
	if json.Unmarshal(raw, &inner) != nil {
		f.Message = words(raw)
		return
	}
	f.Type, f.Code, f.Param = words(inner.Type), words(inner.Code), words(inner.Param)
	f.Message = cmp.Or(words(inner.Message), words(raw))
	if f.Type == "" {
		f.Type = words(inner.Status)
	}
	// Anthropic names the cause here.
	var details struct {
		ErrorCode json.RawMessage `json:"error_code"`
	}
	if json.Unmarshal(inner.Details, &details) == nil && present(details.ErrorCode) {
		f.Code = words(details.ErrorCode)
	}
}

func present(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "[]", "{}", `""`, "false":
		return false
	}
	return true
}

// words gives a string as it is, and any other value as JSON.
func words(raw json.RawMessage) string {
	if !present(raw) {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
