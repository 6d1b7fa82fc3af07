package samplerag

import (
	"fmt"
	"strings"
)

// QueryError is a search that the caller has to change.
type QueryError struct{ Message string }

// Error gives the message.
func (e *QueryError) Error() string { return e.Message }

func checkQuery(query string, topK int) error {
	switch {
	case strings.TrimSpace(query) == "":
		return &QueryError{"query is empty: ask something"}
	case len(query) > MaxQueryBytes:
		return &QueryError{fmt.Sprintf("query has %d bytes, at most %d are allowed: shorten it", len(query), MaxQueryBytes)}
	case topK < 1 || topK > MaxTopK:
		return &QueryError{fmt.Sprintf("top_k is %d: give a whole number from 1 to %d", topK, MaxTopK)}
	}
	return nil
}
