package schedule

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"
)

func TestConformance(t *testing.T) {
	data, err := os.ReadFile("testdata/schedule.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Name, Schedule, TimeZone string
		After                    time.Time
		Next                     []time.Time
		Error                    bool
	}
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) < 14 {
		t.Fatalf("got %d rows, want at least 14", len(rows))
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			c, err := Parse(row.Schedule, row.TimeZone)
			if row.Error {
				if err == nil {
					t.Fatalf("Parse(%q, %q) succeeded, want an error", row.Schedule, row.TimeZone)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []time.Time
			at := row.After
			for range row.Next {
				at = c.Next(at)
				got = append(got, at)
			}
			if diff := cmp.Diff(row.Next, got); diff != "" {
				t.Errorf("slots after %s (-want +got):\n%s", row.After, diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, expr, zone, want string }{
		{"nothing", "", "", "give minute, hour"},
		{"white space", " \t", "", "give minute, hour"},
		{"four fields", "0 0 * *", "", "expected exactly 5 fields"},
		{"six fields", "0 0 0 * * *", "", "expected exactly 5 fields"},
		{"a minute too large", "60 * * * *", "", "above maximum"},
		{"a field of a comma", ", * * * *", "", "no date ever matches"},
		{"31 February", "0 0 31 2 *", "", "no date ever matches"},
		{"31 of short months", "0 0 31 4,6,9,11 *", "", "no date ever matches"},
		{"zone in front", "TZ=Asia/Seoul 0 0 * * *", "", "set timeZone"},
		{"zone after a space", " CRON_TZ=Asia/Seoul 0 0 * * *", "", "set timeZone"},
		{"a zone alone", "TZ=", "", "set timeZone"},
		{"every", "@every 1h", "", "@every is not supported"},
		{"unknown descriptor", "@sometimes", "", "unrecognized descriptor"},
		{"not a zone", "0 0 * * *", "Asia/Soeul", "name one of the IANA"},
		{"Local", "0 0 * * *", "Local", "another zone on every machine"},
		{"a path as zone", "0 0 * * *", "../etc/passwd", "name one of the IANA"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.expr, tt.zone)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse(%q, %q) = %v, want an error with %q", tt.expr, tt.zone, err, tt.want)
			}
		})
	}
}

func TestNext(t *testing.T) {
	tests := []struct{ name, expr, zone, after, want string }{
		{"descriptor in a zone", "@daily", "Asia/Seoul", "2026-11-29T15:00:00Z", "2026-11-30T15:00:00Z"},
		{"midnight in the gap by descriptor", "@midnight", "Africa/Cairo", "2026-04-23T12:00:00Z", "2026-04-23T22:00:00Z"},
		{"@hourly runs in both passes", "@hourly", "America/New_York", "2026-11-01T05:00:00Z", "2026-11-01T06:00:00Z"},
		{"names of days", "0 9 * * mon", "", "2026-11-29T00:00:00Z", "2026-11-30T09:00:00Z"},
		{"either day field", "0 9 1 * mon", "", "2026-11-30T09:00:00Z", "2026-12-01T09:00:00Z"},
		{"a fraction of a second before", "0 * * * *", "", "2026-11-29T00:59:59.999Z", "2026-11-29T01:00:00Z"},
		{"a fraction of a second after", "0 * * * *", "", "2026-11-29T01:00:00.001Z", "2026-11-29T02:00:00Z"},
		{"leap day over a century that has none", "0 0 29 2 *", "", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"several slots of one gap are one", "*/15 2 * * *", "America/New_York", "2026-03-08T06:00:00Z", "2026-03-08T07:00:00Z"},
		{"the slot after those of a gap", "*/15 2 * * *", "America/New_York", "2026-03-08T07:00:00Z", "2026-03-09T06:00:00Z"},
		{"a gap's slot that meets another one", "0 2,3 * * *", "America/New_York", "2026-03-08T07:00:00Z", "2026-03-09T06:00:00Z"},
		{"hours with a step go by the clock in a gap", "0 */2 * * *", "America/New_York", "2026-03-08T05:00:00Z", "2026-03-08T08:00:00Z"},
		{"hours with a step go by the clock in a repeat", "30 */1 * * *", "America/New_York", "2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"},
		{"a half-hour repeat, fixed hour", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"},
		{"a half-hour repeat, every hour", "45 * * * *", "Australia/Lord_Howe", "2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z"},
		{"every minute of a fixed hour, first pass only", "* 1 * * *", "America/New_York", "2026-11-01T05:59:00Z", "2026-11-02T06:00:00Z"},
		{"a day that a zone left out", "0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", "2011-12-30T10:00:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := parse(t, tt.expr, tt.zone)
			if got := c.Next(instant(tt.after)); !got.Equal(instant(tt.want)) {
				t.Errorf("Next(%s) = %s, want %s", tt.after, got.Format(time.RFC3339), tt.want)
			}
		})
	}
}

func TestPeriod(t *testing.T) {
	const day = 24 * time.Hour
	tests := []struct {
		name, expr, zone, around string
		want                     time.Duration
	}{
		{"every six hours", "0 */6 * * *", "", "2026-11-30T06:00:00Z", 6 * time.Hour},
		{"every minute", "* * * * *", "", "2026-11-30T06:00:00Z", time.Minute},
		{"around a time that is no slot", "0 */6 * * *", "", "2026-11-30T07:13:00Z", 6 * time.Hour},
		{"morning and evening", "0 9,17 * * *", "", "2026-11-30T17:00:00Z", 16 * time.Hour},
		{"working days, up to Monday", "0 9 * * 1-5", "", "2026-11-30T09:00:00Z", 3 * day},
		{"working days, up to Tuesday", "0 9 * * 1-5", "", "2026-12-01T09:00:00Z", 3 * day},
		{"working days, up to Wednesday", "0 9 * * 1-5", "", "2026-12-02T09:00:00Z", day},
		{"the day that clocks go back", "0 3 * * *", "America/New_York", "2026-11-01T08:00:00Z", 25 * time.Hour},
		{"leap days", "0 0 29 2 *", "", "2028-02-29T00:00:00Z", (4*365 + 1) * day},
		{"before there were days", "0 0 * * *", "", "0001-01-01T00:00:00Z", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := parse(t, tt.expr, tt.zone).Period(instant(tt.around)); got != tt.want {
				t.Errorf("Period(%s) = %s, want %s", tt.around, got, tt.want)
			}
		})
	}
}

func TestNextAtTheEndsOfTime(t *testing.T) {
	c := parse(t, "0 0 29 2 *", "America/New_York")
	if got := c.Next(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)); !got.IsZero() {
		t.Errorf("a slot after the year 9999: %s", got)
	}
	for _, after := range []time.Time{time.Unix(1<<62, 0), time.Unix(-1<<62, 0), {}} {
		if got := c.Next(after); !got.IsZero() && !got.After(after) {
			t.Errorf("Next(%s) = %s, which is not after it", after, got)
		}
	}
}

func TestCountTakesNoStepASlot(t *testing.T) {
	c := parse(t, "* * * * *", "America/New_York")
	from := time.Date(1926, 1, 1, 0, 0, 0, 0, time.UTC)
	until := from.AddDate(100, 0, 0)
	if got, want := c.count(from, until), int64(until.Sub(from)/time.Minute); got != want {
		t.Errorf("count over a century = %d, want %d", got, want)
	}
}

// changingZones put their clocks forward and back by an hour, by half an hour,
// by two, around midnight, and by a day.
var changingZones = []string{
	"America/New_York", "Europe/London", "Africa/Cairo", "Australia/Lord_Howe", "Antarctica/Troll",
	"America/Sao_Paulo", "America/Havana", "Asia/Beirut", "Africa/Casablanca", "America/St_Johns",
	"Pacific/Apia", "Asia/Pyongyang", "Europe/Dublin", "UTC", "Asia/Seoul", "Asia/Kathmandu",
}

// fields is a schedule that the test knows without the parser's help.
type fields struct {
	minute, hour, dom, month, dow []int // empty: *
	hourStep                      int   // above 0: */hourStep
}

func drawFields(t *rapid.T) fields {
	list := func(name string, lowest, highest int) []int {
		return rapid.SliceOfNDistinct(rapid.IntRange(lowest, highest), 0, 3, rapid.ID).Draw(t, name)
	}
	f := fields{minute: list("minute", 0, 59), hour: list("hour", 0, 23)}
	if rapid.Bool().Draw(t, "early hours") {
		f.hour = list("early hour", 0, 3)
	}
	if rapid.IntRange(0, 3).Draw(t, "restrict days") == 0 {
		f.dom, f.month, f.dow = list("dom", 1, 28), list("month", 1, 12), list("dow", 0, 6)
	}
	if len(f.hour) == 0 {
		f.hourStep = rapid.IntRange(1, 6).Draw(t, "hour step")
	}
	return f
}

func (f fields) String() string {
	field := func(values []int) string {
		var s []string
		for _, v := range values {
			s = append(s, strconv.Itoa(v))
		}
		if len(s) == 0 {
			return "*"
		}
		return strings.Join(s, ",")
	}
	hour := field(f.hour)
	if f.hourStep > 1 {
		hour = fmt.Sprintf("*/%d", f.hourStep)
	}
	return strings.Join([]string{field(f.minute), hour, field(f.dom), field(f.month), field(f.dow)}, " ")
}

// matches says whether a reading of the clock is one of the schedule's.
func (f fields) matches(clock time.Time) bool {
	in := func(values []int, v int) bool {
		for _, x := range values {
			if x == v {
				return true
			}
		}
		return len(values) == 0
	}
	day := in(f.dom, clock.Day()) && in(f.dow, int(clock.Weekday()))
	if len(f.dom) > 0 && len(f.dow) > 0 {
		day = in(f.dom, clock.Day()) || in(f.dow, int(clock.Weekday()))
	}
	return in(f.minute, clock.Minute()) && in(f.hour, clock.Hour()) && (f.hourStep == 0 || clock.Hour()%f.hourStep == 0) &&
		in(f.month, int(clock.Month())) && day
}

// scan finds the slots of (from, to] by looking at the clock in every minute.
func (f fields) scan(zone *time.Location, from, to time.Time) []time.Time {
	reading := func(at time.Time) time.Time {
		l := at.In(zone)
		return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
	}
	var slots []time.Time
	// The clock is looked at from two days earlier on, to know what it has shown.
	shown := reading(from.Add(-48 * time.Hour))
	for at := from.Add(-48*time.Hour + time.Minute); !at.After(to); at = at.Add(time.Minute) {
		now := reading(at)
		due := f.matches(now)
		if len(f.hour) > 0 {
			due = due && now.After(shown)
			for lost := shown.Add(time.Minute); lost.Before(now); lost = lost.Add(time.Minute) {
				due = due || f.matches(lost)
			}
		}
		if now.After(shown) {
			shown = now
		}
		if due && at.After(from) {
			slots = append(slots, at)
		}
	}
	return slots
}

func TestSlotsAgreeWithAScanOfEveryMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFields(t)
		name := rapid.SampledFrom(changingZones).Draw(t, "zone")
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		// From a day before a jump of the clock, where there is one.
		at := time.Unix(rapid.Int64Range(1262304000, 2524608000).Draw(t, "about")/60*60, 0).UTC()
		if _, end := at.In(zone).ZoneBounds(); !end.IsZero() {
			at = end.UTC().Truncate(time.Minute)
		}
		from := at.Add(-time.Duration(rapid.IntRange(0, 2000).Draw(t, "minutes before")) * time.Minute)
		to := from.Add(4 * 24 * time.Hour)
		want := f.scan(zone, from, to)

		c, err := Parse(f.String(), name)
		if err != nil {
			t.Fatal(err)
		}
		var got []time.Time
		for at := c.Next(from); !at.After(to); at = c.Next(at) {
			got = append(got, at)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("slots of %q in %s after %s (-scan +Next):\n%s", f, name, from, diff)
		}
		if n := c.count(from, to); n != int64(len(want)) {
			t.Fatalf("count = %d, want %d", n, len(want))
		}
		last, ok := c.latest(from, to)
		if ok != (len(want) > 0) || ok && !last.Equal(want[len(want)-1]) {
			t.Fatalf("latest = %s, %t, want the last of %v", last, ok, want)
		}
	})
}

func TestNextAgreesWithTheParsersOwnInUTC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFields(t)
		ours, err := Parse(f.String(), "")
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := cron.ParseStandard(f.String())
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "after"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
		for range 5 {
			want := theirs.Next(at)
			if got := ours.Next(at); !got.Equal(want) {
				t.Fatalf("Next(%s) of %q = %s, want %s", at, f, got, want)
			}
			at = want
		}
	})
}

func TestNextIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFields(t)
		c, err := Parse(f.String(), rapid.SampledFrom(changingZones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		draw := func(name string) time.Time {
			return time.Unix(rapid.Int64Range(-1<<33, 1<<34).Draw(t, name), 0)
		}
		a, b := draw("a"), draw("b")
		if b.Before(a) {
			a, b = b, a
		}
		if c.Next(b).Before(c.Next(a)) {
			t.Fatalf("%q: Next(%s) = %s is before Next(%s) = %s", f, b, c.Next(b), a, c.Next(a))
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, expr := range []string{"0 */6 * * *", "TZ=0", "CRON_TZ=UTC", "@every 1h", "@daily", ", , , , ,", "0 0 29 2 *", "0 0 31 2 *", "*/61 ? 1-5/2 jan SUN", "0 0 0 * * *", "", "1/99999999999999999 * * * *"} {
		f.Add(expr, "America/New_York", int64(1772928000))
	}
	f.Add("0 0 * * *", "Local", int64(0))
	f.Add("0 0 * * *", "../x", int64(1)<<62)
	f.Fuzz(func(t *testing.T, expr, zone string, after int64) {
		c, err := Parse(expr, zone)
		if err != nil {
			return
		}
		from := time.Unix(after, 0)
		if period := c.Period(from); period < 0 {
			t.Fatalf("Period(%s) = %s", from, period)
		}
		first := c.Next(from)
		if first.IsZero() {
			if from.Year() > 1 && from.Year() < 9990 {
				t.Fatalf("%q in %q has no slot after %s", expr, zone, from)
			}
			return
		}
		if !first.After(from) {
			t.Fatalf("Next(%s) = %s", from, first)
		}
		if second := c.Next(first); !second.IsZero() {
			if n := c.count(first, second); n != 1 {
				t.Fatalf("count(%s, %s] = %d, want 1", first, second, n)
			}
			if last, ok := c.latest(first, second); !ok || !last.Equal(second) {
				t.Fatalf("latest(%s, %s] = %s, %t", first, second, last, ok)
			}
		}
	})
}

func parse(t *testing.T, expr, zone string) *Cron {
	t.Helper()
	c, err := Parse(expr, zone)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func instant(s string) time.Time {
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return at
}
