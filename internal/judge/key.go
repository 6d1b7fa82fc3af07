package judge

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/assay-dev/assay/internal/golden"
)

// The kinds of results that are cached.
const (
	kindVerdict   = "verdict"
	kindRelevance = "relevance"
)

// cacheKey is all that a result depends on: who judges, and what.
type cacheKey struct {
	Scope    string   `json:"scope"`
	Kind     string   `json:"kind"`
	Identity Identity `json:"identity"`

	Question   string        `json:"question"`
	History    []golden.Turn `json:"history,omitempty"`
	Reference  string        `json:"reference,omitempty"`
	Answerable bool          `json:"answerable,omitempty"`
	Contexts   []string      `json:"contexts,omitempty"`
	Answer     string        `json:"answer,omitempty"`
}

// String gives the hexadecimal SHA-256 of the key's canonical JSON. A cache
// that many namespaces share so holds nothing that can be read back.
func (k cacheKey) String() string {
	b, err := json.Marshal(k)
	if err != nil {
		panic("judge: a key is always JSON: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
