// Package golden reads golden sets: lists of questions with the ids that are
// relevant to each. It is pure: bytes in, cases or a list of problems out.
package golden

import (
	"slices"

	"golang.org/x/text/unicode/norm"
)

// Relevant is one id that is relevant to a case, with its grade.
type Relevant struct {
	// ID as the set has it, byte for byte. Compare ids after Unicode NFC.
	ID string `json:"id"`
	// Grade is above 0; 1 where the set gives none.
	Grade float64 `json:"grade"`
}

// Turn is an earlier turn of a conversation.
type Turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Case is one question of a golden set.
type Case struct {
	// ID is unique in its set.
	ID string
	// Name is for people; empty where the set gives none beside the id.
	Name string
	// Question is asked byte for byte.
	Question string
	// Relevant ids, in the order of the set, without grade 0 and without repeats (after NFC).
	Relevant []Relevant
	// ReferenceAnswer is what a right answer says; empty where there is none.
	ReferenceAnswer string
	// Tags are the case's slices, in NFC, sorted, without repeats.
	Tags []string
	// Answerable is false where the corpus has no answer.
	Answerable bool
	// History is the earlier turns of the conversation.
	History []Turn
	// Metadata is handed to the request mappings. Its values are those of JSON:
	// nil, bool, int64, float64, string, []any, map[string]any.
	Metadata map[string]any
	// Digest is the hex SHA-256 over question, history, metadata, relevant ids
	// with grades, reference and answerable.
	Digest string
}

// Due says whether retrieval metrics run over the case: it is answerable and
// has a relevant id.
func (c *Case) Due() bool { return c.Answerable && len(c.Relevant) > 0 }

// File is one source of cases; the ending of its name picks the format.
type File struct {
	// Name is what problems call the file by.
	Name string
	// Data is the file's content, as it is stored or served.
	Data []byte
}

// Set is a golden set that was read without error.
type Set struct {
	// Cases sorted by id.
	Cases []Case
	// Digest is "sha256:" and the hex SHA-256 of the canonical form of Cases.
	Digest string
	// Warnings are problems that do not keep the set from being asked. One
	// stands for all cases of a file that have it.
	Warnings []Problem
}

// Tags returns the tags that some case carries, sorted.
func (s *Set) Tags() []string {
	seen := map[string]bool{}
	var tags []string
	for i := range s.Cases {
		for _, tag := range s.Cases[i].Tags {
			if !seen[tag] {
				seen[tag] = true
				tags = append(tags, tag)
			}
		}
	}
	slices.Sort(tags)
	return tags
}

// WithTags returns the set of the cases that carry at least one of tags, with
// a digest of its own; with no tags, the set itself. It may have no cases.
func (s *Set) WithTags(tags []string) *Set {
	if len(tags) == 0 {
		return s
	}
	wanted := make(map[string]bool, len(tags))
	for _, tag := range tags {
		wanted[norm.NFC.String(tag)] = true
	}
	var cases []Case
	for i := range s.Cases {
		if slices.ContainsFunc(s.Cases[i].Tags, func(tag string) bool { return wanted[tag] }) {
			cases = append(cases, s.Cases[i])
		}
	}
	return &Set{Cases: cases, Digest: setDigest(cases), Warnings: s.Warnings}
}
