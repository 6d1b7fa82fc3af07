package judge

import "strings"

// thinking are the marks that models put their thoughts between.
var thinking = []struct{ open, end string }{
	{"<think>", "</think>"},
	{"<thinking>", "</thinking>"},
}

// scan finds the whole objects of a reply in their order, outside of thoughts.
// Objects within a list or within another object are none: the shape is wrong
// there, and what holds them may be a quotation.
//
// A reply that is one JSON object is read as it stands, since it holds nothing
// else to find. In prose, a quote is no string: only within an object does the
// parser know strings, so that a brace in a reason neither opens nor closes.
func scan(reply string) (objects []value, rest leftover) {
	p := parser{src: reply, steps: stepsPerByte*len(reply) + minSteps}
	for p.pos < len(reply) && p.steps > 0 {
		switch c := reply[p.pos]; c {
		case '<':
			end, closed := thought(reply[p.pos:])
			if closed {
				// The opening mark stood in the prompt: all before was thought.
				objects = nil
			}
			p.pos += max(end, 1)
		case '{', '[':
			start := p.pos
			v, whole := p.value(0)
			switch {
			case !whole:
				p.pos = start + 1
				rest.broken = rest.broken || c == '{'
			case v.kind == kindObject:
				objects = append(objects, v)
			case len(v.items) > 0:
				rest.list = true
			}
		default:
			p.pos++
		}
	}
	rest.unread = p.steps <= 0
	return objects, rest
}

// leftover is what a reply held that was no object.
type leftover struct {
	// broken is an object that does not end, or is no JSON.
	broken bool
	list   bool
	// unread is a reply that takes too long to read.
	unread bool
}

// thought gives the length of the thoughts that begin here, 0 where none do. A
// thought that does not end takes the rest of the reply. Closed is true where
// only the closing mark is here.
func thought(s string) (length int, closed bool) {
	for _, m := range thinking {
		if strings.HasPrefix(s, m.end) {
			return len(m.end), true
		}
		if !strings.HasPrefix(s, m.open) {
			continue
		}
		if i := strings.Index(s, m.end); i >= 0 {
			return i + len(m.end), false
		}
		return len(s), false
	}
	return 0, false
}
