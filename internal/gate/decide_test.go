package gate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func at(clock string) time.Time {
	t, err := time.Parse(time.RFC3339, "2026-11-29T"+clock+"Z")
	if err != nil {
		panic(err)
	}
	return t
}

func ptr[T any](v T) *T { return &v }

// measured is a suite at revision r2, of template hashes api2 and idx1, with one
// result: run b passed an hour ago and holds for a day.
func measured(change ...func(*Facts)) Facts {
	f := Facts{
		Now: noon,
		Suite: Suite{
			Name: "docs-bot", Objectives: true, Endpoints: []string{"canary", "preview"},
			EvaluationDigest: "e1", GoldenSetDigest: "g1",
		},
		Live:    Live{Revision: "r2", TemplateHashes: []string{"api2", "idx1"}, RolledOutAt: ptr(at("10:00:00")), Settle: 15 * time.Second},
		Results: []Result{result("b", "11:00:00")},
	}
	for _, c := range change {
		c(&f)
	}
	return f
}

func result(run, ended string, change ...func(*Result)) Result {
	r := Result{
		Run: run, Revision: "r2", EvaluationDigest: "e1", GoldenSetDigest: "g1", CorpusVersion: "c1",
		Verdict: "Passed", Reason: "ObjectivesMet", Message: "hit_rate@5 0.9167 ≥ 0.90", Time: at(ended), ExpiresAt: at(ended).Add(24 * time.Hour),
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

func revision(v string) func(*Result)   { return func(r *Result) { r.Revision = v } }
func evaluation(v string) func(*Result) { return func(r *Result) { r.EvaluationDigest = v } }
func golden(v string) func(*Result)     { return func(r *Result) { r.GoldenSetDigest = v } }
func corpus(v string) func(*Result)     { return func(r *Result) { r.CorpusVersion = v } }
func endpoint(v string) func(*Result)   { return func(r *Result) { r.Endpoint = v } }
func expires(at time.Time) func(*Result) {
	return func(r *Result) { r.ExpiresAt = at }
}
func verdict(v, reason, message string) func(*Result) {
	return func(r *Result) { r.Verdict, r.Reason, r.Message = v, reason, message }
}

var failed = verdict("Failed", "ObjectivesMissed", "hit_rate@5 0.81 < 0.90")

func results(r ...Result) func(*Facts) { return func(f *Facts) { f.Results = r } }
func runs(r ...Run) func(*Facts)       { return func(f *Facts) { f.Runs = r } }
func live(revision string, hashes ...string) func(*Facts) {
	return func(f *Facts) { f.Live.Revision, f.Live.TemplateHashes = revision, hashes }
}
func due(trigger string, at time.Time) func(*Facts) {
	return func(f *Facts) { f.Due = &Due{Trigger: trigger, At: at} }
}
func rolling(f *Facts) {
	f.Live.RolloutSince, f.Live.Rollout, f.Live.RolledOutAt = ptr(at("11:30:00")), "Deployment api: 1 of 3 pods are updated", nil
}
func settling(f *Facts)  { f.Live.RolledOutAt = ptr(at("11:59:50")) }
func suspended(f *Facts) { f.Suite.Suspended = true }
func stalled(f *Facts)   { f.Suite.Stalled = "the ConfigMap is gone" }
func constant(f *Facts) {
	f.Live = Live{Revision: "none"}
	f.Results = []Result{result("b", "11:00:00", revision("none"))}
}

func TestDecide(t *testing.T) {
	canary := Question{Endpoint: "canary"}
	of := func(hash string) Question { return Question{Endpoint: "canary", Revision: hash} }
	given := func(run, ended, hash string, change ...func(*Result)) Result {
		return result(run, ended, append([]func(*Result){endpoint("canary"), revision(hash)}, change...)...)
	}
	queued := Run{Name: "q", CreatedAt: at("11:59:30")}
	active := Run{Name: "a", Revision: "r2", EvaluationDigest: "e1", GoldenSetDigest: "g1", CreatedAt: at("11:59:00"), Started: true}
	onCanary := func(revision string) Run {
		return Run{Name: "k", Endpoint: "canary", Revision: revision, CreatedAt: at("11:58:00")}
	}
	other := func(change func(*Run)) func(*Facts) {
		r := active
		change(&r)
		return runs(r)
	}
	tests := []struct {
		name  string
		facts Facts
		ask   Question
		// want is verdict, reason, revision, run.
		want  string
		says  string
		since string
	}{
		// Verdicts of today's key.
		{"passed", measured(), Question{}, "Pass Passed r2 b", "run b: hit_rate@5 0.9167 ≥ 0.90", ""},
		{"failed", measured(results(result("b", "11:00:00", failed))), Question{}, "Fail ObjectivesMissed r2 b", "run b: hit_rate@5 0.81 < 0.90", ""},
		{"undecided", measured(results(result("b", "11:00:00", verdict("Inconclusive", "CoverageTooLow", "too few")))), Question{}, "Inconclusive Inconclusive r2 b", "run b: CoverageTooLow: too few", ""},
		{"errored", measured(results(result("b", "11:00:00", verdict("Error", "NothingScored", "refused")))), Question{}, "Inconclusive RunError r2 b", "NothingScored: refused", ""},
		{"a verdict that nobody knows", measured(results(result("b", "11:00:00", verdict("PASSED", "", "x")))), Question{}, "Inconclusive Inconclusive r2 b", "run b: x", ""},
		{"no verdict", measured(results(result("b", "11:00:00", verdict("", "", "")))), Question{}, "Inconclusive Inconclusive r2 b", "", ""},
		{"no result", measured(results()), Question{}, "Inconclusive NotYetEvaluated r2 -", "on the suite's own URL has ended yet", ""},
		{"no objectives", measured(func(f *Facts) { f.Suite.Objectives = false }), Question{}, "Inconclusive NoObjectives - -", "spec.objectives", ""},
		{"without targets", measured(constant), Question{}, "Pass Passed none b", "", ""},
		{"the newest of the key counts: a miss", measured(results(result("b", "11:00:00"), result("c", "11:30:00", failed))), Question{}, "Fail ObjectivesMissed r2 c", "", ""},
		{"the newest of the key counts: a pass", measured(results(result("c", "11:30:00"), result("b", "11:00:00", failed))), Question{}, "Pass Passed r2 c", "", ""},
		{"of two in one instant, the later name", measured(results(result("b", "11:00:00"), result("c", "11:00:00", failed))), Question{}, "Fail ObjectivesMissed r2 c", "", ""},
		{"undecided after a pass", measured(results(result("b", "11:00:00"), result("c", "11:30:00", verdict("Inconclusive", "RevisionChanged", "x")))), Question{}, "Inconclusive Inconclusive r2 c", "", ""},

		// A verdict expires.
		{"expired", measured(results(result("b", "11:00:00", expires(at("11:59:59"))))), Question{}, "Inconclusive Expired r2 b", "run b (Passed) ended at 2026-11-29T11:00:00Z, and its verdict held until 2026-11-29T11:59:59Z", ""},
		{"expires in this instant", measured(results(result("b", "11:00:00", expires(noon)))), Question{}, "Inconclusive Expired r2 b", "", ""},
		{"expires in the next", measured(results(result("b", "11:00:00", expires(noon.Add(1))))), Question{}, "Pass Passed r2 b", "", ""},
		{"a miss expires too", measured(results(result("b", "11:00:00", failed, expires(noon)))), Question{}, "Inconclusive Expired r2 b", "(Failed)", ""},
		{"nobody knows until when", measured(results(result("b", "11:00:00", expires(time.Time{})))), Question{}, "Inconclusive Expired r2 b", "", ""},
		{"expired, and an older one of the key holds", measured(results(result("b", "11:00:00"), result("c", "11:30:00", expires(noon)))), Question{}, "Inconclusive Expired r2 c", "", ""},

		// A stale pass admits nothing.
		{"the revision before passed", measured(results(result("b", "11:00:00", revision("r1")))), Question{}, "Inconclusive RevisionNotEvaluated r2 -", "revision r2 has been measured by no run that has ended on the suite's own URL: the newest, b, was of revision r1, and r2 runs now", ""},
		{"an earlier spec passed", measured(results(result("b", "11:00:00", evaluation("e0")))), Question{}, "Inconclusive SpecNotEvaluated r2 -", "of an earlier spec", ""},
		{"an earlier golden set passed", measured(results(result("b", "11:00:00", golden("g0")))), Question{}, "Inconclusive GoldenSetNotEvaluated r2 -", "of an earlier one", ""},
		{"an earlier index passed", measured(results(result("b", "11:00:00"), result("c", "11:30:00", corpus("c2"), evaluation("e0")))), Question{}, "Inconclusive SpecNotEvaluated r2 -", "since the index changed", ""},
		{"a canary passed", measured(results(given("b", "11:00:00", "r2"))), Question{}, "Inconclusive NotYetEvaluated r2 -", "", ""},
		{"a canary measured another index", measured(results(result("b", "11:00:00"), given("c", "11:30:00", "r2", corpus("c2")))), Question{}, "Pass Passed r2 b", "", ""},
		{"a result of no revision", measured(live("", "api2"), results(result("b", "11:00:00", revision("")))), Question{}, "Pending RolloutInProgress - -", "not known yet", ""},
		{"the golden set was never read", measured(func(f *Facts) { f.Suite.GoldenSetDigest = "" }, results(result("b", "11:00:00", golden("")))), Question{}, "Inconclusive RevisionNotEvaluated r2 -", "", ""},
		{"the suite was never digested", measured(func(f *Facts) { f.Suite.EvaluationDigest = "" }, results(result("b", "11:00:00", evaluation("")))), Question{}, "Inconclusive RevisionNotEvaluated r2 -", "", ""},

		// What is to come.
		{"a rollout goes", measured(rolling, live("r3", "api3", "idx1")), Question{}, "Pending RolloutInProgress r3 -", "since 2026-11-29T11:30:00Z: Deployment api: 1 of 3 pods are updated", "11:30:00"},
		{"a rollout back to what passed goes", measured(rolling), Question{}, "Pending RolloutInProgress r2 -", "", "11:30:00"},
		{"a rollout that began in the future", measured(rolling, func(f *Facts) { f.Live.RolloutSince = ptr(at("13:00:00")) }), Question{}, "Pending RolloutInProgress r2 -", "", "12:00:00"},
		{"what runs is not known", measured(live("")), Question{}, "Pending RolloutInProgress - -", "not known yet", ""},
		{"settling", measured(settling, results(), due("Deploy", at("12:00:05"))), Question{}, "Pending Settling r2 -", "its run starts at 2026-11-29T12:00:05Z", "11:59:50"},
		{"settling, by a clock that is ahead", measured(results(), due("Deploy", at("12:00:15")), func(f *Facts) { f.Live.RolledOutAt = ptr(at("14:00:00")) }), Question{}, "Pending Settling r2 -", "starts at 2026-11-29T12:00:15Z", "12:00:00"},
		{"settling after a rollout back to what passed", measured(settling, due("Deploy", at("12:00:05"))), Question{}, "Pass Passed r2 b", "", ""},
		{"settling, and nothing is to come", measured(settling, suspended, results(result("b", "11:00:00", revision("r1")))), Question{}, "Inconclusive RevisionNotEvaluated r2 -", "the suite is suspended", ""},
		{"a run is due", measured(results(), due("Spec", at("11:58:00"))), Question{}, "Pending RunDue r2 -", "by trigger Spec, since 2026-11-29T11:58:00Z", "11:58:00"},
		{"a run is due, nobody knows since when", measured(constant, results(), due("GoldenSet", time.Time{})), Question{}, "Pending RunDue none -", "a run is due, by trigger GoldenSet", ""},
		{"an error is tried once more", measured(results(result("b", "11:00:00", verdict("Error", "x", "y"))), func(f *Facts) {
			f.Due = &Due{Trigger: "Deploy", At: at("12:04:00"), RetryOf: "b"}
		}), Question{}, "Pending RunDue r2 -", "run b ended with Error and is tried once more, at 2026-11-29T12:04:00Z", ""},
		{"a run waits", measured(results(), runs(queued)), Question{}, "Pending RunQueued r2 q", "run q waits for its turn since 2026-11-29T11:59:30Z", "11:59:30"},
		{"a run goes", measured(results(), runs(active)), Question{}, "Pending Running r2 a", "run a has not ended yet", "11:59:00"},
		{"a run goes, and one waits", measured(results(), runs(queued, active)), Question{}, "Pending RunQueued r2 q", "", "11:59:30"},
		{"of two that wait, the newer", measured(results(), runs(queued, Run{Name: "p", CreatedAt: at("11:00:00")})), Question{}, "Pending RunQueued r2 q", "", "11:59:30"},
		{"in the other order", measured(results(), runs(Run{Name: "p", CreatedAt: at("11:00:00")}, queued)), Question{}, "Pending RunQueued r2 q", "", "11:59:30"},
		{"of two in one second, the later name", measured(results(), runs(queued, Run{Name: "p", CreatedAt: queued.CreatedAt})), Question{}, "Pending RunQueued r2 q", "", "11:59:30"},
		{"a run repeats what passed", measured(runs(active)), Question{}, "Pass Passed r2 b", "", ""},
		{"a run repeats what failed", measured(results(result("b", "11:00:00", failed)), runs(active)), Question{}, "Fail ObjectivesMissed r2 b", "", ""},
		{"a run repeats what has expired", measured(results(result("b", "11:00:00", expires(noon))), runs(active)), Question{}, "Pending Running r2 a", "", "11:59:00"},
		{"a run repeats what was undecided", measured(results(result("b", "11:00:00", verdict("Inconclusive", "x", "y"))), runs(active)), Question{}, "Pending Running r2 a", "", "11:59:00"},
		{"a run of another revision goes", measured(results(), other(func(r *Run) { r.Revision = "r1" })), Question{}, "Inconclusive NotYetEvaluated r2 -", "", ""},
		{"a run goes that a rollout came into", measured(results(), other(func(r *Run) { r.Revision = "" })), Question{}, "Inconclusive NotYetEvaluated r2 -", "", ""},
		{"a run of an earlier spec goes", measured(results(), other(func(r *Run) { r.EvaluationDigest = "e0" })), Question{}, "Inconclusive NotYetEvaluated r2 -", "", ""},
		{"a run of an earlier golden set goes", measured(results(), other(func(r *Run) { r.GoldenSetDigest = "g0" })), Question{}, "Inconclusive NotYetEvaluated r2 -", "", ""},
		{"a run of a canary goes", measured(results(), runs(onCanary("r2"))), Question{}, "Inconclusive NotYetEvaluated r2 -", "", ""},
		{"a run was created in the future", measured(results(), other(func(r *Run) { r.CreatedAt = at("15:00:00") })), Question{}, "Pending Running r2 a", "", "12:00:00"},
		{"the operator has not looked", measured(func(f *Facts) { f.Suite.Unobserved = true }), Question{}, "Pending NotObserved - -", "newest generation", ""},

		// A suite that is not as it should be.
		{"deleted", measured(func(f *Facts) { f.Suite.Missing = true }), Question{}, "Inconclusive SuiteNotFound - -", "docs-bot", ""},
		{"deleted, whatever else", measured(rolling, runs(active), func(f *Facts) { f.Suite.Missing, f.Suite.Unobserved = true, true }), Question{}, "Inconclusive SuiteNotFound - -", "", ""},
		{"no facts", Facts{}, Question{}, "Inconclusive NoObjectives - -", "", ""},
		{"stalled, and it passed", measured(stalled), Question{}, "Pass Passed r2 b", "", ""},
		{"stalled, and not measured", measured(stalled, results(result("b", "11:00:00", revision("r1")))), Question{}, "Inconclusive Stalled r2 -", "no run will come while the suite is stalled: the ConfigMap is gone", ""},
		{"suspended, and it passed", measured(suspended), Question{}, "Pass Passed r2 b", "", ""},
		{"a clock ahead of ours measured it", measured(results(result("b", "13:00:00"))), Question{}, "Pass Passed r2 b", "", ""},

		// A composite revision.
		{"the live one, by name", measured(), Question{Revision: "r2"}, "Pass Passed r2 b", "", ""},
		{"the live one, by name, rolling out", measured(rolling), Question{Revision: "r2"}, "Pending RolloutInProgress r2 -", "", "11:30:00"},
		{"an earlier one, by name", measured(results(result("b", "11:00:00"), result("a", "10:00:00", revision("r1"), failed))), Question{Revision: "r1"}, "Fail ObjectivesMissed r1 a", "", ""},
		{"an earlier one, by name, while another rolls out", measured(rolling, results(result("a", "10:00:00", revision("r1")))), Question{Revision: "r1"}, "Pass Passed r1 a", "", ""},
		{"an earlier one that was measured on an earlier index", measured(results(result("b", "11:00:00", corpus("c2")), result("a", "10:00:00", revision("r1")))), Question{Revision: "r1"}, "Inconclusive RevisionNotEvaluated r1 -", "since the index changed", ""},
		{"one that nobody knows", measured(), Question{Revision: "r9"}, "Inconclusive RevisionNotEvaluated r9 -", "the newest, b, was of revision r2, and r2 runs now", ""},
		{"one that nobody knows, and a run is due", measured(due("Deploy", noon), runs(queued)), Question{Revision: "r9"}, "Inconclusive RevisionNotEvaluated r9 -", "", ""},
		{"one whose run goes", measured(other(func(r *Run) { r.Revision = "r1" })), Question{Revision: "r1"}, "Pending Running r1 a", "", "11:59:00"},

		// One template hash.
		{"a hash of the live one", measured(), Question{Revision: "api2"}, "Pass Passed r2 b", "", ""},
		{"another hash of the live one", measured(), Question{Revision: "idx1"}, "Pass Passed r2 b", "", ""},
		{"a hash of the live one that was not measured", measured(results(result("b", "11:00:00", revision("r1")))), Question{Revision: "api2"}, "Inconclusive RevisionNotEvaluated r2 -", "", ""},
		{"a hash of the one that rolls out", measured(rolling, live("r3", "api3", "idx1")), Question{Revision: "api3"}, "Pending RolloutInProgress r3 -", "", "11:30:00"},
		{"a hash of the one before", measured(live("r3", "api3", "idx1")), Question{Revision: "api2"}, "Inconclusive RevisionNotEvaluated api2 -", "", ""},

		// Named endpoints.
		{"given both", measured(results(given("c", "11:00:00", "api3"))), of("api3"), "Pass Passed api3 c", "", ""},
		{"given both, missed", measured(results(given("c", "11:00:00", "api3", failed))), of("api3"), "Fail ObjectivesMissed api3 c", "", ""},
		{"given both, while its canary rolls out", measured(rolling, live("r3", "api3", "idx1"), results(given("c", "11:00:00", "api3"))), of("api3"), "Pass Passed api3 c", "", ""},
		{"given both, its run goes while its canary rolls out", measured(rolling, live("r3", "api3", "idx1"), runs(onCanary("api3"))), of("api3"), "Pending RunQueued api3 k", "", "11:58:00"},
		{"given both, and nobody has started a run yet", measured(rolling, live("r3", "api3", "idx1")), of("api3"), "Pending RolloutInProgress r3 -", "", "11:30:00"},
		{"given both, and nobody starts a run", measured(results(given("c", "11:00:00", "api1"))), of("api3"), "Inconclusive RevisionNotEvaluated api3 -", "on endpoint canary: the newest, c, was of revision api1", ""},
		{"given both, expired", measured(results(given("c", "11:00:00", "api3", expires(noon)))), of("api3"), "Inconclusive Expired api3 c", "", ""},
		{"given both, of an earlier spec", measured(results(given("c", "11:00:00", "api3", evaluation("e0")))), of("api3"), "Inconclusive SpecNotEvaluated api3 -", "", ""},
		{"its live revision, by a hash", measured(results(given("c", "11:00:00", "r2"))), of("api2"), "Pass Passed r2 c", "", ""},
		{"what was given goes before the live revision", measured(results(given("c", "11:00:00", "api2", failed), given("d", "11:30:00", "r2"))), of("api2"), "Fail ObjectivesMissed api2 c", "", ""},
		{"what was given has expired, and the live revision passed", measured(results(given("c", "11:00:00", "api2", expires(noon)), given("d", "11:30:00", "r2"))), of("api2"), "Inconclusive Expired api2 c", "", ""},
		{"what was given errored, and the live revision passed", measured(results(given("c", "11:00:00", "api2", verdict("Error", "x", "y")), given("d", "11:30:00", "r2"))), of("api2"), "Inconclusive RunError api2 c", "", ""},
		{"what was given is open, and the live revision passed", measured(results(given("c", "11:00:00", "api2", verdict("Inconclusive", "x", "y")), given("d", "11:30:00", "r2"))), of("api2"), "Inconclusive Inconclusive api2 c", "", ""},
		{"a suspended suite's endpoint", measured(suspended), canary, "Inconclusive NotYetEvaluated r2 -", "", ""},
		{"only the endpoint", measured(results(given("c", "11:00:00", "r2"))), canary, "Pass Passed r2 c", "", ""},
		{"only the endpoint, rolling out", measured(rolling, results(given("c", "11:00:00", "r2"))), canary, "Pending RolloutInProgress r2 -", "", "11:30:00"},
		{"only the endpoint, its run waits", measured(runs(onCanary(""))), canary, "Pending RunQueued r2 k", "", "11:58:00"},
		{"only the endpoint, a run of what was given does not count", measured(runs(onCanary("api3"))), canary, "Inconclusive NotYetEvaluated r2 -", "on endpoint canary", ""},
		{"the suite's own pass opens no canary", measured(), canary, "Inconclusive NotYetEvaluated r2 -", "on endpoint canary", ""},
		{"nor does another canary's", measured(results(result("b", "11:00:00", endpoint("preview")))), canary, "Inconclusive NotYetEvaluated r2 -", "", ""},
		{"a run that is due is not the canary's", measured(due("Deploy", noon)), canary, "Inconclusive NotYetEvaluated r2 -", "", ""},
		{"an endpoint of no suite", measured(), Question{Endpoint: "canaries"}, "Inconclusive EndpointNotFound - -", `no endpoint "canaries"`, ""},
		{"an index that only the canary has", measured(results(given("c", "11:00:00", "api3", corpus("c2")), result("b", "11:30:00"))), of("api3"), "Pass Passed api3 c", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := Decide(tt.facts, tt.ask)
			orNone := func(s string) string {
				if s == "" {
					return "-"
				}
				return s
			}
			got := strings.Join([]string{string(a.Verdict), a.Reason, orNone(a.Revision), orNone(a.Run)}, " ")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\nit says %q", diff, a.Message)
			}
			if !strings.Contains(a.Message, tt.says) || a.Message == "" {
				t.Errorf("says %q, want %q", a.Message, tt.says)
			}
			if strings.Contains(a.Message, "0001-") {
				t.Errorf("says %q, of a time that is not known", a.Message)
			}
			if strings.Contains(a.Message, "suspended") && (!tt.facts.Suite.Suspended || tt.ask.Endpoint != "") {
				t.Errorf("says %q", a.Message)
			}
			since := time.Time{}
			if tt.since != "" {
				since = at(tt.since)
			}
			if !a.Since.Equal(since) {
				t.Errorf("since %s, want %q", a.Since, tt.since)
			}
			gave := slices.IndexFunc(tt.facts.Results, func(r Result) bool { return r.Run == a.Run && a.Verdict != Pending })
			switch {
			case gave < 0 && !a.EvaluatedAt.IsZero():
				t.Errorf("evaluated at %s, by no run", a.EvaluatedAt)
			case gave >= 0 && !a.EvaluatedAt.Equal(tt.facts.Results[gave].Time):
				t.Errorf("evaluated at %s, want when run %s ended", a.EvaluatedAt, a.Run)
			}
		})
	}
}

// Whatever the facts are, Pass rests on a result that passed, holds, and is of
// the key.
func TestNothingButTheKeysOwnPassPasses(t *testing.T) {
	text := func(of ...string) *rapid.Generator[string] { return rapid.SampledFrom(append(of, "", "x\x00%s")) }
	when := rapid.Custom(func(t *rapid.T) time.Time {
		return rapid.SampledFrom([]time.Time{{}, noon, noon.Add(-1), noon.Add(1), noon.AddDate(-30, 0, 0), noon.AddDate(300, 0, 0)}).Draw(t, "when")
	})
	maybe := rapid.Custom(func(t *rapid.T) *time.Time {
		if rapid.IntRange(0, 2).Draw(t, "set") > 0 {
			return nil
		}
		return ptr(when.Draw(t, "at"))
	})
	aResult := rapid.Custom(func(t *rapid.T) Result {
		return Result{
			Run: text("a", "b").Draw(t, "run"), Endpoint: text("canary").Draw(t, "endpoint"), Revision: text("r1", "r2", "api2").Draw(t, "revision"),
			EvaluationDigest: text("e1", "e0").Draw(t, "evaluation"), GoldenSetDigest: text("g1", "g0").Draw(t, "golden"), CorpusVersion: text("c1").Draw(t, "corpus"),
			Verdict: text("Passed", "Failed", "Error", "Inconclusive").Draw(t, "verdict"), Time: when.Draw(t, "time"), ExpiresAt: when.Draw(t, "expires"),
		}
	})
	aRun := rapid.Custom(func(t *rapid.T) Run {
		return Run{Name: text("k").Draw(t, "name"), Endpoint: text("canary").Draw(t, "endpoint"), Revision: text("r2", "api2").Draw(t, "revision"), CreatedAt: when.Draw(t, "created"), Started: rapid.Bool().Draw(t, "started")}
	})
	rapid.Check(t, func(t *rapid.T) {
		f := Facts{
			Now: noon,
			Suite: Suite{
				Missing: rapid.IntRange(0, 9).Draw(t, "missing") == 0, Unobserved: rapid.IntRange(0, 9).Draw(t, "unobserved") == 0, Objectives: rapid.IntRange(0, 9).Draw(t, "objectives") > 0,
				Stalled: text().Draw(t, "stalled"), Suspended: rapid.Bool().Draw(t, "suspended"), Endpoints: []string{"canary"},
				EvaluationDigest: text("e1").Draw(t, "evaluation"), GoldenSetDigest: text("g1").Draw(t, "golden"),
			},
			Live:    Live{Revision: text("r2").Draw(t, "live"), TemplateHashes: []string{"api2"}, RolloutSince: maybe.Draw(t, "rollout"), RolledOutAt: maybe.Draw(t, "rolled out"), Settle: time.Minute},
			Results: rapid.SliceOfN(aResult, 0, 4).Draw(t, "results"),
			Runs:    rapid.SliceOfN(aRun, 0, 2).Draw(t, "runs"),
		}
		if rapid.Bool().Draw(t, "due") {
			f.Due = &Due{Trigger: "Deploy", At: when.Draw(t, "due at")}
		}
		q := Question{Endpoint: text("canary").Draw(t, "ask endpoint"), Revision: text("r1", "r2", "api2").Draw(t, "ask revision")}
		before := slices.Clone(f.Results)
		a := Decide(f, q)
		if diff := cmp.Diff(before, f.Results); diff != "" {
			t.Fatalf("the facts were changed:\n%s", diff)
		}
		if !slices.Contains([]Verdict{Pass, Fail, Pending, Inconclusive}, a.Verdict) || a.Reason == "" || a.Message == "" {
			t.Fatalf("got %+v", a)
		}
		if a.Since.After(f.Now) {
			t.Fatalf("waits since %s", a.Since)
		}
		if a.Verdict != Pass {
			return
		}
		if f.Suite.Missing || f.Suite.Unobserved || !f.Suite.Objectives {
			t.Fatalf("passes a suite %+v", f.Suite)
		}
		if a.Revision == f.Live.Revision && f.Live.RolloutSince != nil && q.Revision != a.Revision {
			t.Fatalf("passes while a rollout goes")
		}
		if !slices.ContainsFunc(f.Results, func(r Result) bool {
			return r.Run == a.Run && r.Endpoint == q.Endpoint && r.Revision == a.Revision && r.Verdict == "Passed" && r.ExpiresAt.After(noon) &&
				r.EvaluationDigest == f.Suite.EvaluationDigest && r.GoldenSetDigest == f.Suite.GoldenSetDigest
		}) {
			t.Fatalf("no result stands for %+v", a)
		}
		if a.Revision != f.Live.Revision && a.Revision != q.Revision {
			t.Fatalf("asked for %+v, passes %s", q, a.Revision)
		}
	})
}

func TestExitCode(t *testing.T) {
	for v, want := range map[Verdict]int{Pass: 0, Fail: 1, Inconclusive: 2, Pending: 2, "": 3, "pass": 3} {
		if got := v.ExitCode(); got != want {
			t.Errorf("%q: %d, want %d", v, got, want)
		}
	}
}
