package eval

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
)

// corpus is forty documents in four folders, each with a case that asks for it; a
// list is the document and the four that follow.
func corpus() []golden.Case {
	set := tagged(40)
	for i := range set {
		set[i].Relevant = []golden.Relevant{{ID: page(i), Grade: 1}}
	}
	return set
}

func page(i int) string { return fmt.Sprintf("docs/%c/page-%02d.md", 'a'+i%40/10, i%40) }

// serving finds the document that a case asks for, under the id and the text that
// the two functions give.
func serving(rename, text func(i int) string) Retriever {
	return retrieverFunc(func(_ context.Context, c *golden.Case, topK int) (*retriever.Reply, error) {
		var i int
		_, _ = fmt.Sscanf(c.ID, "q%d", &i)
		reply := &retriever.Reply{Attempts: 1}
		for j := range topK {
			reply.Results = append(reply.Results, retriever.Result{ID: rename((i + j) % 40), Text: text((i + j) % 40)})
		}
		return reply, nil
	})
}

func words(i int) string { return fmt.Sprintf("What page %d says.", i) }

// renaming finds what is relevant, under another id.
func renaming(rename func(string) string) Retriever {
	return retrieverFunc(func(_ context.Context, c *golden.Case, _ int) (*retriever.Reply, error) {
		return list(rename(c.Relevant[0].ID)), nil
	})
}

// chunk is an id that has nothing of the document's.
func chunk(i int) string { return fmt.Sprintf("%08x", (i+1)*2654435761) }

// part gives some pages other ids, and the rest their own.
func part(below int, rename func(int) string) func(int) string {
	return func(i int) string {
		if i < below {
			return rename(i)
		}
		return page(i)
	}
}

func moved(i int) string { return "kb/v2/" + page(i) }

// asStored gives a run as a history has it, its texts asked for one by one.
func asStored(s *compare.Side, stored bool) (*compare.Side, func(context.Context, string, []string) map[string][]string) {
	bare, texts := *s, map[string][]string{}
	bare.Cases = slices.Clone(s.Cases)
	for i := range bare.Cases {
		texts[bare.Cases[i].ID], bare.Cases[i].Texts = bare.Cases[i].Texts, nil
	}
	return &bare, func(_ context.Context, run string, cases []string) map[string][]string {
		out := map[string][]string{}
		for _, id := range cases {
			if run == s.UID && stored {
				out[id] = texts[id]
			}
		}
		return out
	}
}

func TestLabelsThatNoLongerFit(t *testing.T) {
	set := corpus()
	wide := func(p Plan) Plan {
		p.Score = score.Spec{TopK: 5, K: []int{1, 5}}
		p.Objectives = []score.Objective{{Metric: "hit_rate@5", Min: "0.90", MaxDrop: "0.05"}}
		return p
	}
	before := serving(page, words)
	for name, tc := range map[string]struct {
		now Retriever
		// without a baseline; content says that its texts are kept.
		alone, content bool
		verdict        score.Verdict
		reason         string
		messages       []string
	}{
		"re-chunked: every id and text is another": {now: serving(chunk, func(i int) string { return "Half of " + words(i) }), content: true, verdict: score.Inconclusive, reason: score.ReasonLabelsStale,
			messages: []string{"0 of 40 ids that were retrieved now were retrieved in the baseline run before, less than 5 %", "; case q00 wants docs/a/page-00.md, nearest retrieved is "}},
		"moved: a path prefix changed": {now: serving(moved, words), verdict: score.Inconclusive, reason: score.ReasonLabelsStale,
			messages: []string{"0 of 40 ids", "case q00 wants docs/a/page-00.md, nearest retrieved is kb/v2/docs/a/page-00.md (same name)"}},
		"half of it moved": {now: serving(part(20, moved), words), verdict: score.Inconclusive, reason: score.ReasonLabelsStale,
			messages: []string{"20 of 20 relevant ids that are not retrieved any more come back under another id", "case q09 wants docs/a/page-09.md, nearest retrieved is kb/v2/docs/a/page-09.md (same name)"}},
		"half of it under other ids with the same text": {now: serving(part(20, chunk), words), content: true, verdict: score.Inconclusive, reason: score.ReasonLabelsStale,
			messages: []string{"20 of 20 relevant ids that are not retrieved any more come back under another id", "case q03 wants docs/a/page-03.md, nearest retrieved is " + chunk(3) + " (same text)"}},
		"the same, and no text is kept": {now: serving(part(20, chunk), words), verdict: score.Failed, reason: score.ReasonObjectivesMissed,
			messages: []string{"hit_rate@5 fell from 1.0000 to 0.5000"}},
		"all under other ids with the same text: the nearest is known by it": {now: serving(chunk, words), content: true, verdict: score.Inconclusive, reason: score.ReasonLabelsStale,
			messages: []string{"0 of 40 ids", "case q07 wants docs/a/page-07.md, nearest retrieved is " + chunk(7) + " (same text)"}},
		"half of it is gone, and other pages are new": {now: serving(part(20, chunk), func(i int) string { return "New: " + words(i) }), content: true, verdict: score.Failed, reason: score.ReasonObjectivesMissed,
			messages: []string{"hit_rate@5 is 0.5000 (40 of 40 cases scored), below min 0.90", "hit_rate@5 fell from 1.0000 to 0.5000"}},
		"a bad retriever": {now: serving(func(i int) string { return page(i + 17) }, func(i int) string { return words(i + 17) }), content: true, verdict: score.Failed, reason: score.ReasonObjectivesMissed,
			messages: []string{"hit_rate@5 is 0.0000", "hit_rate@5 fell from 1.0000 to 0.0000"}},
		"an index that is empty": {now: retrieverFunc(func(context.Context, *golden.Case, int) (*retriever.Reply, error) { return list(), nil }), content: true, verdict: score.Failed, reason: score.ReasonObjectivesMissed,
			messages: []string{"hit_rate@5 is 0.0000"}},
		"no baseline, and no hit": {now: serving(chunk, words), alone: true, verdict: score.Inconclusive, reason: score.ReasonLabelsStale,
			messages: []string{"none of 40 cases has a hit", "case q00 wants docs/a/page-00.md, nearest retrieved is "}},
		"no baseline, and a hit": {now: serving(part(38, chunk), words), alone: true, verdict: score.Failed, reason: score.ReasonObjectivesMissed,
			messages: []string{"hit_rate@5 is"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := wide(plan(set))
			p.Baseline = &Baseline{Texts: func(context.Context, string, []string) map[string][]string {
				t.Error("texts of no baseline are asked for")
				return nil
			}}
			if !tc.alone {
				base, texts := asStored(sideOf(t, wide(plan(set)), Parties{Retriever: before}, "before"), tc.content)
				p.Baseline = &Baseline{Base: base, Texts: texts}
			}
			r := runRetrieval(t.Context(), p, tc.now, nil)
			if r.Decision.Verdict != tc.verdict || r.Decision.Reason != tc.reason {
				t.Errorf("%s %s, want %s %s", r.Decision.Verdict, r.Decision.Reason, tc.verdict, tc.reason)
			}
			for _, m := range tc.messages {
				if !strings.Contains(r.Decision.Message, m) {
					t.Errorf("message %q lacks %q", r.Decision.Message, m)
				}
			}
			if stale := tc.reason == score.ReasonLabelsStale; (r.Stale != nil) != stale || stale && r.Decision.Message != r.Stale.Message {
				t.Errorf("stale is %+v, message %q", r.Stale, r.Decision.Message)
			} else if stale {
				for _, o := range r.Decision.Objectives {
					if o.Outcome == score.Missed || o.Outcome == score.OutcomeInconclusive && !strings.HasSuffix(o.Message, "it cannot be decided: "+r.Stale.Summary) {
						t.Errorf("%+v", o)
					}
				}
				if len(r.Stale.Nearest) != 10 {
					t.Errorf("%d cases are named", len(r.Stale.Nearest))
				}
			}
		})
	}
}

// Texts are read of what vanished alone, of a run that has them.
func TestTextsAreAskedForWhereTheyTell(t *testing.T) {
	set := corpus()
	base, texts := asStored(sideOf(t, plan(set), Parties{Retriever: serving(page, words)}, "before"), true)
	type question struct {
		run   string
		cases int
	}
	firstTen, firstTwenty := question{"uid-before", 10}, question{"uid-before", 20}
	silent := func(int) string { return "" }
	for name, tc := range map[string]struct {
		now    Retriever
		resume int
		// bare says that the history has no texts, fits that the labels do.
		bare, fits bool
		want       []question
	}{
		"nothing vanished":               {now: serving(page, words), fits: true},
		"a worse order":                  {now: serving(func(i int) string { return page(i + 1) }, words), fits: true},
		"some vanished":                  {now: serving(part(20, chunk), words), want: []question{firstTwenty}},
		"all did, ten are named":         {now: serving(chunk, words), want: []question{firstTen}},
		"this run has none of its own":   {now: serving(part(20, chunk), silent), want: []question{firstTwenty, {"uid-now", 20}}},
		"the baseline has none":          {now: serving(part(20, chunk), silent), bare: true, fits: true, want: []question{firstTwenty}},
		"nothing is there to have texts": {now: retrieverFunc(func(context.Context, *golden.Case, int) (*retriever.Reply, error) { return list(), nil }), fits: true, want: []question{{"uid-before", 40}}},
		"some of this run were resumed":  {now: serving(part(20, chunk), words), resume: 5, want: []question{firstTwenty, {"uid-now", 5}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan(set)
			p.Parallelism = 1
			p.Head.UID = "uid-now"
			if tc.resume > 0 {
				p.Finished = map[string]Finished{}
				r := runRetrieval(t.Context(), p, tc.now, nil)
				runRetrieval(t.Context(), p, tc.now, func(c CaseResult) {
					if len(p.Finished) < tc.resume {
						kept := c.Keep(r.Metrics)
						for i := range kept.Retrieved {
							kept.Retrieved[i].TextDigest = ""
						}
						p.Finished[c.Case.ID] = kept
					}
				})
			}
			var asked []question
			p.Baseline = &Baseline{Base: base, Texts: func(ctx context.Context, run string, cases []string) map[string][]string {
				asked = append(asked, question{run, len(cases)})
				if tc.bare {
					return nil
				}
				if run == "uid-now" {
					out := map[string][]string{}
					for _, id := range cases {
						var i int
						_, _ = fmt.Sscanf(id, "q%d", &i)
						for j := range 3 {
							out[id] = append(out[id], TextDigest(words(i+j)))
						}
					}
					return out
				}
				return texts(ctx, run, cases)
			}}
			r := runRetrieval(t.Context(), p, tc.now, nil)
			if diff := cmp.Diff(tc.want, asked, cmp.AllowUnexported(question{})); diff != "" {
				t.Error(diff)
			}
			if (r.Stale == nil) != tc.fits {
				t.Errorf("stale is %+v", r.Stale)
			} else if r.Stale != nil && r.Stale.Nearest[0].Likeness != compare.SameText {
				t.Errorf("%+v, want it known by its text", r.Stale.Nearest[0])
			}
			for i := range base.Cases {
				if base.Cases[i].Texts != nil {
					t.Fatal("the baseline that was given has changed")
				}
			}
		})
	}
}
