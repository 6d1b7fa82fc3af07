package goldentool

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/assay-dev/assay/internal/golden"
)

// maxUnpacked bounds what a packed file may hold.
const maxUnpacked = 64 << 20

// text gives the text of a file, unpacked and without its byte-order mark.
func text(f golden.File) ([]byte, error) {
	data := f.Data
	if strings.HasSuffix(strings.ToLower(f.Name), ".gz") {
		var err error
		if data, err = unpack(data); err != nil {
			return nil, err
		}
	}
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return nil, errors.New("is UTF-16, not UTF-8: convert it with `iconv -f utf-16 -t utf-8`")
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		return nil, errors.New("is gzip, but its name does not end in .gz: add .gz to the name")
	case !utf8.Valid(data):
		return nil, errors.New("is not UTF-8: if it is Latin-1, convert it with `iconv -f latin1 -t utf-8`")
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), nil
}

func unpack(data []byte) ([]byte, error) {
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("is not gzip, as its ending .gz says: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(zr, maxUnpacked+1))
	switch {
	case len(out) > maxUnpacked:
		return nil, fmt.Errorf("unpacks to more than %d MiB: leave questions out", maxUnpacked>>20)
	case err != nil:
		return nil, fmt.Errorf("is damaged gzip: %w", err)
	}
	return out, nil
}

// open gives the text of a file, or notes why there is none.
func (m *importer) open(f golden.File) ([]byte, bool) {
	data, err := text(f)
	if err == nil && len(bytes.TrimSpace(data)) == 0 {
		err = errors.New("is empty")
	}
	if err != nil {
		m.problem(golden.Problem{File: f.Name, Message: err.Error()})
		return nil, false
	}
	return data, true
}

// lines yields the lines of a text that are not blank, with their numbers.
func lines(data []byte) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		for n := 1; len(data) > 0; n++ {
			var line []byte
			line, data, _ = bytes.Cut(data, []byte("\n"))
			line = bytes.TrimSuffix(line, []byte("\r"))
			if len(bytes.TrimSpace(line)) > 0 && !yield(n, string(line)) {
				return
			}
		}
	}
}

// unplaced takes file and line out of the problems of a file that only stands in
// memory.
func unplaced(err error) error {
	e, ok := errors.AsType[*golden.Error](err)
	if !ok {
		return err
	}
	out := &golden.Error{Total: e.Total}
	for _, p := range e.Problems {
		p.File, p.Line = "", 0
		out.Problems = append(out.Problems, p)
	}
	return out
}
