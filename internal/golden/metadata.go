package golden

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// metadata reads the free map of a case as JSON values.
func (d *caseDecoder) metadata(k key, v *node) {
	if v.kind != object {
		d.r.wrongType(v, k.name, "a map")
		return
	}
	m := metadataReader{line: v.line}
	value, err := m.value(v, 1)
	if err != nil {
		d.r.problem(m.line, k.name, "%s", err)
		return
	}
	d.c.Metadata, _ = value.(map[string]any)
}

// metadataReader stops at the first value that JSON or the limits do not allow.
type metadataReader struct {
	size int
	line int // of the value that is read, for the error
}

func (m *metadataReader) value(v *node, depth int) (any, error) {
	m.line = v.line
	m.size += len(v.text) + 2
	if m.size > maxMetadataBytes {
		return nil, fmt.Errorf("is larger than %d KiB: keep only what the request needs", maxMetadataBytes>>10)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("is nested more than %d levels deep", maxDepth)
	}
	switch v.kind {
	case null:
		return nil, nil
	case boolean:
		b, _ := v.asBool()
		return b, nil
	case number:
		return metadataNumber(v)
	case list:
		values := make([]any, len(v.items))
		for i := range v.items {
			value, err := m.value(&v.items[i], depth+1)
			if err != nil {
				return nil, err
			}
			values[i] = value
		}
		return values, nil
	case object:
		values := make(map[string]any, len(v.keys))
		for i, k := range v.keys {
			m.size += len(k.name)
			value, err := m.value(&v.items[i], depth+1)
			if err != nil {
				return nil, err
			}
			values[k.name] = value
		}
		return values, nil
	default:
		return v.text, nil
	}
}

// metadataNumber keeps integers whole: a float has 53 bits for an id of 64. A
// larger integer is read where it is how a float is written (1e20 in JavaScript).
func metadataNumber(v *node) (any, error) {
	i, isInt, fits := v.asInt()
	if isInt && fits {
		return i, nil
	}
	f, _ := v.asFloat()
	if isInt && strconv.FormatFloat(f, 'f', -1, 64) != v.text {
		return nil, fmt.Errorf("has the integer %s, which does not fit in 64 bits: quote it to keep it as text", shorten(v.text))
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errors.New("has a number that JSON cannot write, " + shorten(v.text) + ": quote it to keep it as text")
	}
	if f == 0 {
		return 0.0, nil // not -0, which JSON may write as the integer
	}
	return f, nil
}
