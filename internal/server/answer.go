package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// encode gives a value as one line of JSON.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, fmt.Errorf("write the answer as JSON: %w", err)
	}
	return b.Bytes(), nil
}

// writeJSON answers with a value that encoding/json can always write.
func writeJSON(w http.ResponseWriter, status int, contentType string, value any) {
	body, err := encode(value)
	if err != nil {
		panic(err)
	}
	write(w, status, contentType, body)
}

func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // who has gone needs no answer
}
