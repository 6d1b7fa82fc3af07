package goldentool

import (
	"cmp"
	"slices"

	"golang.org/x/text/unicode/norm"

	"github.com/assay-dev/assay/internal/golden"
)

// Summary counts what a golden set has.
type Summary struct {
	Cases int `json:"cases"`
	// Due are the cases that retrieval is scored on: answerable, with a relevant id.
	Due int `json:"due"`
	// Unanswerable are those that the corpus has no answer to.
	Unanswerable int `json:"unanswerable"`
	// WithReference are those with a reference answer.
	WithReference int `json:"withReference"`
	// RelevantIDs are the different ids, compared after NFC.
	RelevantIDs int        `json:"relevantIDs"`
	Tags        []TagCount `json:"tags"`
	Digest      string     `json:"digest"`
}

// TagCount is how many cases carry a tag.
type TagCount struct {
	Tag   string `json:"tag"`
	Cases int    `json:"cases"`
}

// Summarize counts. Tags come with the most frequent first.
func Summarize(set *golden.Set) Summary {
	s := Summary{Cases: len(set.Cases), Digest: set.Digest, Tags: []TagCount{}}
	tags, ids := map[string]int{}, map[string]bool{}
	for i := range set.Cases {
		c := &set.Cases[i]
		if c.Due() {
			s.Due++
		}
		if !c.Answerable {
			s.Unanswerable++
		}
		if c.ReferenceAnswer != "" {
			s.WithReference++
		}
		for _, tag := range c.Tags {
			tags[tag]++
		}
		for _, r := range c.Relevant {
			ids[norm.NFC.String(r.ID)] = true
		}
	}
	s.RelevantIDs = len(ids)
	for tag, n := range tags {
		s.Tags = append(s.Tags, TagCount{tag, n})
	}
	slices.SortFunc(s.Tags, func(a, b TagCount) int {
		return cmp.Or(cmp.Compare(b.Cases, a.Cases), cmp.Compare(a.Tag, b.Tag))
	})
	return s
}
