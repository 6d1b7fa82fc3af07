package golden

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"golang.org/x/text/unicode/norm"
)

// canonicalCase is what a case digest covers. Empty and absent are the same.
type canonicalCase struct {
	Answerable      bool           `json:"answerable"`
	History         []Turn         `json:"history,omitempty"`
	Metadata        map[string]any `json:"metadata,omitempty"`
	Question        string         `json:"question"`
	ReferenceAnswer string         `json:"reference_answer,omitempty"`
	Relevant        []Relevant     `json:"relevant,omitempty"`
}

// canonicalEntry is a case as the digest of a set sees it.
type canonicalEntry struct {
	Digest string   `json:"digest"`
	ID     string   `json:"id"`
	Name   string   `json:"name,omitempty"`
	Tags   []string `json:"tags,omitempty"`
}

// caseDigest is the hex SHA-256 of what is asked and what is expected. The
// order of the relevant ids, and how their letters are composed, is no part of it.
func caseDigest(c *Case) string {
	relevant := make([]Relevant, len(c.Relevant))
	for i, r := range c.Relevant {
		relevant[i] = Relevant{ID: norm.NFC.String(r.ID), Grade: r.Grade}
	}
	slices.SortFunc(relevant, func(a, b Relevant) int { return cmp.Compare(a.ID, b.ID) })
	return hexDigest(canonicalJSON(canonicalCase{
		Answerable: c.Answerable, History: c.History, Metadata: c.Metadata,
		Question: c.Question, ReferenceAnswer: c.ReferenceAnswer, Relevant: relevant,
	}))
}

// setDigest is the SHA-256 over cases that are sorted by id, one a line.
func setDigest(cases []Case) string {
	h := sha256.New()
	for i := range cases {
		c := &cases[i]
		h.Write(canonicalJSON(canonicalEntry{Digest: c.Digest, ID: c.ID, Name: c.Name, Tags: c.Tags}))
		h.Write([]byte{'\n'})
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// derivedID names a case that has no id by what it asks: 16 hex digits, short
// enough for a table and long enough for 100,000 cases.
func derivedID(c *Case) string {
	sum := hexDigest(canonicalJSON(struct {
		Metadata map[string]any `json:"metadata,omitempty"`
		Question string         `json:"question"`
	}{c.Metadata, c.Question}))
	return sum[:16]
}

// canonicalJSON writes struct fields in the order of their declaration, which
// is that of their names, and the keys of maps sorted.
func canonicalJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("golden: values of cases are always JSON: " + err.Error())
	}
	return b
}

func hexDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
