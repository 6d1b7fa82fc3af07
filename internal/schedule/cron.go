package schedule

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"
	_ "time/tzdata" // a zone means the same wherever the binary runs

	"github.com/robfig/cron/v3"
)

// horizonDays is how far a search for the next slot goes. The longest wait is
// that for 29 February over a century's end that is no leap year: eight years.
const horizonDays = 9 * 366

const secondsPerDay = 24 * 60 * 60

// starBit is how robfig/cron marks a day field that restricts nothing.
const starBit = 1 << 63

// Cron is a schedule read in a time zone. A slot is a time at which it is due.
//
// Where the zone's clock is put forward, a slot that falls into the gap is due
// at the first instant after it; where the clock is put back, a slot in the
// repeated period is due at its first pass only. A schedule whose hour field
// begins with * goes by the clock instead: its slots in a gap are left out, and
// those in a repeated period are due in both passes.
type Cron struct {
	dom, month, dow uint64
	// times are the slots of a day that matches, in seconds since its midnight.
	times     []int64
	fixedHour bool
	zone      *time.Location
}

// Parse reads a schedule of five cron fields (minute, hour, day of month, month,
// day of week) or one of @yearly, @annually, @monthly, @weekly, @daily, @midnight
// and @hourly, in a zone of the IANA time zone database; "" is UTC.
//
// Unlike in a CronJob @every is refused: its slots would follow from when counting
// began, which an edit or a restored backup moves.
func Parse(expr, zone string) (*Cron, error) {
	loc, err := loadZone(zone)
	if err != nil {
		return nil, err
	}
	expr = strings.TrimSpace(expr)
	// The parser below panics on TZ= without a space.
	if strings.Contains(expr, "TZ=") {
		return nil, fmt.Errorf("read schedule %q: a time zone inside the schedule is not supported: remove it and set timeZone", expr)
	}
	parsed, err := cron.ParseStandard(expr)
	if err != nil {
		return nil, fmt.Errorf("read schedule %q: %w; give minute, hour, day of month, month and day of week, for example \"0 */6 * * *\"", expr, err)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("read schedule %q: @every is not supported: give five fields, for example \"*/30 * * * *\"", expr)
	}
	c := &Cron{
		dom: spec.Dom, month: spec.Month, dow: spec.Dow,
		times:     timesOfDay(spec),
		fixedHour: isFixedHour(expr),
		zone:      loc,
	}
	if !c.comes() {
		return nil, fmt.Errorf("read schedule %q: no date ever matches it: correct day of month and month", expr)
	}
	return c, nil
}

func loadZone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, errors.New("load time zone \"Local\": it means another zone on every machine: name one of the IANA time zone database, for example Etc/UTC or Asia/Seoul")
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("load time zone %q: %w; name one of the IANA time zone database, for example Etc/UTC or Asia/Seoul", name, err)
	}
	return loc, nil
}

func timesOfDay(spec *cron.SpecSchedule) []int64 {
	var times []int64
	for hour := range int64(24) {
		for minute := range int64(60) {
			if spec.Hour&(1<<hour) != 0 && spec.Minute&(1<<minute) != 0 {
				times = append(times, hour*3600+minute*60)
			}
		}
	}
	return times
}

func isFixedHour(expr string) bool {
	if strings.HasPrefix(expr, "@") {
		return expr != "@hourly"
	}
	// A question mark is the parser's other way to write *.
	return !strings.ContainsAny(strings.Fields(expr)[1][:1], "*?")
}

// comes reports whether any date matches: a leap year holds every date there is.
func (c *Cron) comes() bool {
	leapYear := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	_, ok := c.first(leapYear, leapYear+366*secondsPerDay)
	return ok
}

// Next returns the first slot after a time, in UTC. It is the zero time only
// where that slot would lie beyond the year 9999.
func (c *Cron) Next(after time.Time) time.Time {
	from := max(after.Unix()+1, distantPast)
	limit := min(from+horizonDays*secondsPerDay, distantFuture)
	for from < limit {
		s := c.stretchAt(from)
		if at, ok := c.firstIn(s, from, limit); ok {
			return time.Unix(at, 0).UTC()
		}
		from = s.end
	}
	return time.Time{}
}

// latest returns the last slot in (after, until], in UTC.
func (c *Cron) latest(after, until time.Time) (time.Time, bool) {
	from, to := max(after.Unix()+1, distantPast), min(until.Unix()+1, distantFuture)
	for from < to {
		s := c.stretchAt(to - 1)
		if at, ok := c.lastIn(s, from, to); ok {
			return time.Unix(at, 0).UTC(), true
		}
		to = s.start
	}
	return time.Time{}, false
}

// Period returns how far apart slots lie around a time: the longer of the last
// two gaps between slots up to it. So it is three days, and not one, on the
// Monday of a schedule of working days. It is 0 where there are no three slots.
func (c *Cron) Period(around time.Time) time.Duration {
	third, _ := c.before(around.Add(time.Second))
	second, _ := c.before(third)
	first, found := c.before(second)
	if !found {
		return 0
	}
	return max(third.Sub(second), second.Sub(first))
}

// before returns the last slot before a time; none is before the zero time.
func (c *Cron) before(t time.Time) (time.Time, bool) {
	until := t.Add(-time.Second)
	return c.latest(until.Add(-horizonDays*secondsPerDay*time.Second), until)
}

// count returns how many slots lie in (after, until]. It takes a step a day, not
// one a slot, so that ten years of a slot a minute are no matter.
func (c *Cron) count(after, until time.Time) int64 {
	from, to := max(after.Unix()+1, distantPast), min(until.Unix()+1, distantFuture)
	var n int64
	for from < to {
		s := c.stretchAt(from)
		n += c.countIn(s, from, to)
		from = s.end
	}
	return n
}

// The three below speak of a clock that is never put forward or back: its
// readings are seconds since 1970 as if it were UTC, in [from, to).

func (c *Cron) first(from, to int64) (int64, bool) {
	for day := floorDiv(from, secondsPerDay); day*secondsPerDay < to; day++ {
		if !c.matches(day) {
			continue
		}
		midnight := day * secondsPerDay
		if i := c.indexOf(from - midnight); i < len(c.times) {
			at := midnight + c.times[i]
			return at, at < to
		}
	}
	return 0, false
}

func (c *Cron) last(from, to int64) (int64, bool) {
	for day := floorDiv(to-1, secondsPerDay); (day+1)*secondsPerDay > from; day-- {
		if !c.matches(day) {
			continue
		}
		midnight := day * secondsPerDay
		if i := c.indexOf(to - midnight); i > 0 {
			at := midnight + c.times[i-1]
			return at, at >= from
		}
	}
	return 0, false
}

func (c *Cron) countClock(from, to int64) int64 {
	if from >= to {
		return 0
	}
	var n int64
	for day := floorDiv(from, secondsPerDay); day*secondsPerDay < to; day++ {
		if c.matches(day) {
			midnight := day * secondsPerDay
			n += int64(c.indexOf(to-midnight) - c.indexOf(from-midnight))
		}
	}
	return n
}

// indexOf returns the index of the first time of day at or after a second of it.
func (c *Cron) indexOf(second int64) int {
	return sort.Search(len(c.times), func(i int) bool { return c.times[i] >= second })
}

// matches reports whether a day, counted from 1 January 1970, has slots. As in
// every cron, two restricted day fields mean either of them.
func (c *Cron) matches(day int64) bool {
	date := time.Unix(day*secondsPerDay, 0).UTC()
	if c.month&(1<<uint(date.Month())) == 0 {
		return false
	}
	dom := c.dom&(1<<uint(date.Day())) != 0
	dow := c.dow&(1<<uint(date.Weekday())) != 0
	if (c.dom|c.dow)&starBit != 0 {
		return dom && dow
	}
	return dom || dow
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
