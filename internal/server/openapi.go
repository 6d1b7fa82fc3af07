package server

import (
	_ "embed"
	"net/http"
)

//go:embed openapi.json
var openAPIDocument []byte

func (s *server) openAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "no-cache")
	write(w, http.StatusOK, "application/json", openAPIDocument)
	return nil
}
