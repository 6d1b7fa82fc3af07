package golden

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Format is how a file writes its cases.
type Format string

// The formats of golden sets.
const (
	YAML  Format = "yaml"
	JSON  Format = "json"
	JSONL Format = "jsonl"
	CSV   Format = "csv"
	TSV   Format = "tsv"
)

// Endings says, for people, which file names a golden set may have.
const Endings = ".yaml, .yml, .json, .jsonl, .ndjson, .csv or .tsv, each also with .gz"

var formats = map[string]Format{
	".yaml": YAML, ".yml": YAML, ".json": JSON, ".jsonl": JSONL, ".ndjson": JSONL, ".csv": CSV, ".tsv": TSV,
}

// FormatOf tells the format of a file by the ending of its name (with or
// without .gz), and false where no format has it. Case does not matter.
func FormatOf(name string) (Format, bool) {
	name = strings.TrimSuffix(strings.ToLower(name), ".gz")
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return "", false
	}
	format, ok := formats[name[dot:]]
	return format, ok
}

func isGzip(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".gz") }

var errUnpacksTooLarge = fmt.Errorf("unpacks to more than %d MiB, counting all files of the set: leave cases out, or split the set over several suites", maxUnpackedBytes>>20)

// unpack undoes gzip, as long as no more than limit bytes come out of it.
func unpack(data []byte, limit int) ([]byte, error) {
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("is not gzip, as its ending .gz says, or is cut off: %s", gzipReason(err))
	}
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(zr, int64(limit)+1))
	if n > int64(limit) {
		return nil, errUnpacksTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("is damaged gzip: %s; pack the file again (gzip -k FILE)", gzipReason(err))
	}
	return out.Bytes(), nil
}

func gzipReason(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too early"
	}
	return strings.TrimPrefix(err.Error(), "gzip: ")
}

// plainText checks that text is meant by data before a parser guesses at it.
func plainText(data []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return nil, errors.New("is UTF-16, not UTF-8: convert it with `iconv -f utf-16 -t utf-8`")
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		return nil, errors.New("is gzip, but its name does not end in .gz: add .gz to the name")
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), nil
}

// Bytes that are not UTF-8 are read as runes of the private use area, so that
// the parsers go on, two different bytes stay different, and the case and field
// that hold them can be named.
const (
	badByteBase = 0xF700
	badByteLow  = badByteBase + 0x80
	badByteHigh = badByteBase + 0xFF
)

// markBadBytes returns data as UTF-8, the line of the first byte that was not
// and the number of such lines; data itself and 0, 0 where all is well.
func markBadBytes(data []byte) (marked []byte, line, lines int) {
	if utf8.Valid(data) {
		return data, 0, 0
	}
	out := make([]byte, 0, len(data)+len(data)/8)
	at, last := 1, 0
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			out = utf8.AppendRune(out, rune(badByteBase+int(data[i])))
			if line == 0 {
				line = at
			}
			if last != at {
				lines, last = lines+1, at
			}
		default:
			out = append(out, data[i:i+size]...)
			if r == '\n' {
				at++
			}
		}
		i += size
	}
	return out, line, lines
}

func hasBadByte(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= badByteLow && r <= badByteHigh })
}
