package server

import (
	"log"
	"strings"

	"github.com/go-logr/logr"
)

// errorLog takes what net/http says of connections, such as a failed handshake:
// whatever a client does is no error of the server's.
func errorLog(l logr.Logger) *log.Logger {
	return log.New(lines{l.V(1)}, "", 0)
}

type lines struct{ logr.Logger }

func (l lines) Write(p []byte) (int, error) {
	l.Info(strings.TrimSpace(string(p)))
	return len(p), nil
}
