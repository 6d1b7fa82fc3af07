package schedule

import "time"

// The instants between which slots are looked for, in Unix seconds: the years 1
// to 9999.
const (
	distantPast   = -62135596800
	distantFuture = 253402300800
)

// stretch is a period, [start, end) in Unix seconds, in which a zone's clock
// runs on without being put forward or back.
type stretch struct {
	start, end int64
	// offset is what the clock shows beyond UTC, in seconds.
	offset int64
	// from is the first instant whose slots are due: later than start where the
	// clock first repeats what the stretch before has been through.
	from int64
	// fromGap says that slots fell into the gap before start, so one is due there.
	fromGap bool
}

// stretchAt returns the stretch that an instant lies in.
func (c *Cron) stretchAt(at int64) stretch {
	t := time.Unix(at, 0).In(c.zone)
	_, offset := t.Zone()
	s := stretch{start: distantPast, end: distantFuture, offset: int64(offset), from: distantPast}
	start, end := t.ZoneBounds()
	// A bound that does not enclose the instant would end the walk; it is taken for none.
	if !end.IsZero() && end.Unix() > at {
		s.end = end.Unix()
	}
	if start.IsZero() || start.Unix() > at {
		return s
	}
	s.start, s.from = start.Unix(), start.Unix()
	_, earlier := time.Unix(s.start-1, 0).In(c.zone).Zone()
	before := int64(earlier)
	switch {
	case !c.fixedHour:
	case before > s.offset:
		s.from = s.start + before - s.offset
	case before < s.offset:
		_, s.fromGap = c.first(s.start+before, s.start+s.offset)
	}
	return s
}

// firstIn returns the first slot of a stretch in [from, to).
func (c *Cron) firstIn(s stretch, from, to int64) (int64, bool) {
	if s.fromGap && from <= s.start && s.start < to {
		return s.start, true
	}
	at, ok := c.first(max(from, s.from)+s.offset, min(to, s.end)+s.offset)
	return at - s.offset, ok
}

// lastIn returns the last slot of a stretch in [from, to).
func (c *Cron) lastIn(s stretch, from, to int64) (int64, bool) {
	if at, ok := c.last(max(from, s.from)+s.offset, min(to, s.end)+s.offset); ok {
		return at - s.offset, true
	}
	return s.start, s.fromGap && from <= s.start && s.start < to
}

// countIn returns how many slots of a stretch lie in [from, to).
func (c *Cron) countIn(s stretch, from, to int64) int64 {
	n := c.countClock(max(from, s.from)+s.offset, min(to, s.end)+s.offset)
	if s.fromGap && from <= s.start && s.start < to {
		// A slot that the clock shows at that very instant is the same slot.
		n += 1 - c.countClock(s.start+s.offset, s.start+s.offset+1)
	}
	return n
}
