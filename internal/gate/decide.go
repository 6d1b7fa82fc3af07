package gate

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Decide answers a question.
func Decide(f Facts, q Question) Answer {
	if a, hindered := f.hindered(q); hindered {
		return a
	}
	results := f.of(q.Endpoint)
	var a Answer
	for _, s := range f.subjects(q) {
		var known bool
		if a, known = f.decide(s, results); known {
			break
		}
	}
	return a
}

// hindered answers where no result could.
func (f Facts) hindered(q Question) (Answer, bool) {
	switch {
	case f.Suite.Missing:
		return inconclusive(ReasonSuiteNotFound, "there is no EvalSuite %s, or it is being deleted", f.Suite.Name), true
	case q.Endpoint != "" && !slices.Contains(f.Suite.Endpoints, q.Endpoint):
		return inconclusive(ReasonEndpointNotFound, "the suite has no endpoint %q: name one of spec.endpoints", q.Endpoint), true
	case !f.Suite.Objectives:
		return inconclusive(ReasonNoObjectives, "the suite has no objectives, so nothing can pass or fail: add spec.objectives"), true
	case f.Suite.Unobserved:
		return pending(ReasonNotObserved, time.Time{}, "the operator has not looked at the suite's newest generation yet"), true
	}
	return Answer{}, false
}

// subject is what a question may be about.
type subject struct {
	endpoint, revision string
	// live says that the revision is the one that runs now, so that a rollout is
	// in the way.
	live bool
}

// subjects returns what the question may be about, in the order in which to
// look. What was given with a run is taken as said, for a named endpoint; a
// template hash counts for the revision that runs now; what is neither can only
// be a revision by its own name.
func (f Facts) subjects(q Question) []subject {
	live := subject{endpoint: q.Endpoint, revision: f.Live.Revision, live: true}
	given := subject{endpoint: q.Endpoint, revision: q.Revision}
	switch {
	case q.Revision == "" || q.Revision == f.Live.Revision:
		return []subject{live}
	case !slices.Contains(f.Live.TemplateHashes, q.Revision):
		return []subject{given}
	case q.Endpoint != "":
		return []subject{given, live}
	}
	return []subject{live}
}

// decide answers for one subject, from its endpoint's results; false where
// nothing is known of it.
func (f Facts) decide(s subject, results []Result) (Answer, bool) {
	if s.live && (f.Live.RolloutSince != nil || s.revision == "") {
		return s.answer(f.rollout()), true
	}
	result, found := f.newest(s, results)
	holds := found && result.ExpiresAt.After(f.Now)
	switch {
	case holds && result.Verdict == runPassed:
		return s.answer(ended(result, Pass, ReasonPassed)), true
	case holds && result.Verdict == runFailed:
		return s.answer(ended(result, Fail, ReasonObjectivesMissed)), true
	}
	if a, waits := f.toCome(s); waits {
		return s.answer(a), true
	}
	switch {
	case !found:
		return s.answer(f.notEvaluated(s, results)), false
	case !holds:
		a := ended(result, Inconclusive, ReasonExpired)
		a.Message = fmt.Sprintf("run %s (%s) ended at %s, and its verdict held until %s: start another run", result.Run, result.Verdict, stamp(result.Time), stamp(result.ExpiresAt))
		if result.ExpiresAt.IsZero() {
			a.Message = fmt.Sprintf("run %s (%s) ended at %s, and until when its verdict holds is not known: start another run", result.Run, result.Verdict, stamp(result.Time))
		}
		return s.answer(a), true
	case result.Verdict == runError:
		return s.answer(ended(result, Inconclusive, ReasonRunError)), true
	}
	return s.answer(ended(result, Inconclusive, ReasonInconclusive)), true
}

// newest returns the newest result for the subject's key of today. Which version
// of the corpus is today's, the endpoint's newest result says.
func (f Facts) newest(s subject, results []Result) (Result, bool) {
	i := slices.IndexFunc(results, func(r Result) bool {
		return r.CorpusVersion == results[0].CorpusVersion && f.ofToday(s, r)
	})
	if i < 0 {
		return Result{}, false
	}
	return results[i], true
}

// ofToday reports whether a result is of the subject's key of today, on whatever
// corpus. What is not known is never the same.
func (f Facts) ofToday(s subject, r Result) bool {
	return r.Revision != "" && r.Revision == s.revision &&
		r.EvaluationDigest != "" && r.EvaluationDigest == f.Suite.EvaluationDigest &&
		r.GoldenSetDigest != "" && r.GoldenSetDigest == f.Suite.GoldenSetDigest
}

// toCome answers for a run that goes or is due; false where none is in sight.
func (f Facts) toCome(s subject) (Answer, bool) {
	if run, found := f.going(s); found {
		a := pending(ReasonRunQueued, f.past(run.CreatedAt), "run %s waits for its turn since %s", run.Name, stamp(f.past(run.CreatedAt)))
		if run.Started {
			a = pending(ReasonRunning, f.past(run.CreatedAt), "run %s has not ended yet; it was created at %s", run.Name, stamp(f.past(run.CreatedAt)))
		}
		a.Run = run.Name
		return a, true
	}
	if f.Due == nil || !s.live || s.endpoint != "" {
		return Answer{}, false
	}
	if at := f.Live.RolledOutAt; at != nil && f.past(*at).Add(f.Live.Settle).After(f.Now) {
		return pending(ReasonSettling, f.past(*at), "revision %s has rolled out at %s, and its run starts at %s", s.revision, stamp(f.past(*at)), stamp(f.past(*at).Add(f.Live.Settle))), true
	}
	what := fmt.Sprintf("a run is due, by trigger %s", f.Due.Trigger)
	if f.Due.RetryOf != "" {
		what = fmt.Sprintf("run %s ended with Error and is tried once more", f.Due.RetryOf)
	}
	switch at := f.Due.At; {
	case at.IsZero():
		return pending(ReasonRunDue, time.Time{}, "%s", what), true
	case at.After(f.Now):
		return pending(ReasonRunDue, time.Time{}, "%s, at %s", what, stamp(at)), true
	default:
		return pending(ReasonRunDue, at, "%s, since %s", what, stamp(at)), true
	}
}

// going returns the newest unfinished run that will answer for the subject.
func (f Facts) going(s subject) (Run, bool) {
	var newest Run
	found := false
	for _, r := range f.Runs {
		switch {
		case r.Endpoint != s.endpoint,
			r.EvaluationDigest != "" && r.EvaluationDigest != f.Suite.EvaluationDigest,
			r.GoldenSetDigest != "" && r.GoldenSetDigest != f.Suite.GoldenSetDigest,
			// Without a revision it takes the live one when it starts.
			r.Revision != s.revision && (r.Revision != "" || !s.live || r.Started):
			continue
		}
		if !found || cmp.Or(r.CreatedAt.Compare(newest.CreatedAt), cmp.Compare(r.Name, newest.Name)) > 0 {
			newest, found = r, true
		}
	}
	return newest, found
}

// rollout answers while a rollout goes.
func (f Facts) rollout() Answer {
	waits := cmp.Or(f.Live.Rollout, "the targets' revision is not known yet")
	if f.Live.RolloutSince == nil {
		return pending(ReasonRollout, time.Time{}, "a rollout goes on: %s", waits)
	}
	since := f.past(*f.Live.RolloutSince)
	return pending(ReasonRollout, since, "a rollout goes on since %s: %s", stamp(since), waits)
}

// notEvaluated says what the newest result is about that is not asked about.
func (f Facts) notEvaluated(s subject, results []Result) Answer {
	where := "the suite's own URL"
	if s.endpoint != "" {
		where = "endpoint " + s.endpoint
	}
	if f.Suite.Stalled != "" {
		return inconclusive(ReasonStalled, "revision %s has no verdict on %s, and no run will come while the suite is stalled: %s", s.revision, where, f.Suite.Stalled)
	}
	suspended := ""
	if f.Suite.Suspended && s.endpoint == "" {
		suspended = "; the suite is suspended, so a run is started by hand only"
	}
	if len(results) == 0 {
		return inconclusive(ReasonNoResult, "no run of the whole golden set on %s has ended yet%s", where, suspended)
	}
	newest := results[0]
	yet := "has been measured by no run that has ended"
	if slices.ContainsFunc(results, func(r Result) bool { return f.ofToday(s, r) }) {
		yet += " since the index changed"
	}
	switch {
	case newest.EvaluationDigest != f.Suite.EvaluationDigest:
		return inconclusive(ReasonOtherSpec, "the suite as it is now %s on %s: the newest, %s, was of an earlier spec%s", yet, where, newest.Run, suspended)
	case newest.GoldenSetDigest != f.Suite.GoldenSetDigest:
		return inconclusive(ReasonOtherGoldenSet, "the golden set as it is now %s on %s: the newest, %s, was of an earlier one%s", yet, where, newest.Run, suspended)
	}
	return inconclusive(ReasonOtherRevision, "revision %s %s on %s: the newest, %s, was of revision %s, and %s runs now%s", s.revision, yet, where, newest.Run,
		cmp.Or(newest.Revision, "unknown"), cmp.Or(f.Live.Revision, "an unknown one"), suspended)
}

// past moves a time that a skewed clock put into the future back to now.
func (f Facts) past(t time.Time) time.Time {
	if t.After(f.Now) {
		return f.Now
	}
	return t
}

func (s subject) answer(a Answer) Answer {
	a.Revision = s.revision
	return a
}

// ended answers with what a run came to.
func ended(r Result, v Verdict, reason string) Answer {
	message := r.Message
	if v == Inconclusive && r.Reason != "" {
		message = r.Reason + ": " + message
	}
	return Answer{Verdict: v, Reason: reason, Message: fmt.Sprintf("run %s: %s", r.Run, message), Run: r.Run, EvaluatedAt: r.Time}
}

func pending(reason string, since time.Time, format string, args ...any) Answer {
	return Answer{Verdict: Pending, Reason: reason, Since: since, Message: fmt.Sprintf(format, args...)}
}

func inconclusive(reason, format string, args ...any) Answer {
	return Answer{Verdict: Inconclusive, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
