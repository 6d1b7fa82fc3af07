package goldentool

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/assay-dev/assay/internal/golden"
)

// newCase is what problems of a case call the file it does not stand in yet.
const newCase = "new.jsonl"

// ErrWouldChange is a file that a case cannot be appended to without changing
// what stands in it.
var ErrWouldChange = errors.New("adding the case would change others: the file was left as it is; put the case in by hand, or convert the file with assay golden import --from golden")

// Append puts cases at the end of a golden set's file and gives the new content,
// and the set that it is. What stands in the file stays as it is: comments, order
// and, but for YAML in flow style, every byte. A set that would have a problem,
// such as an id twice, is a *golden.Error. An empty file is begun.
func Append(f golden.File, cases []golden.Case) ([]byte, *golden.Set, error) {
	format, known := golden.FormatOf(f.Name)
	switch {
	case !known:
		return nil, nil, fmt.Errorf("%s has an ending that says no format: name it %s", f.Name, golden.Endings)
	case strings.HasSuffix(strings.ToLower(f.Name), ".gz"):
		return nil, nil, fmt.Errorf("%s is packed: unpack it (gunzip %s), and add to that file", f.Name, f.Name)
	}
	added, err := Write(cases, golden.JSONL)
	if err != nil {
		return nil, nil, err
	}
	// The set as it has to be: what stands in the file, and the new cases.
	want, err := golden.Read(f, golden.File{Name: newCase, Data: added})
	if err != nil {
		return nil, nil, withoutPlace(err)
	}
	for _, try := range appenders(format) {
		data, err := try(f.Data, cases)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		got, err := golden.Read(golden.File{Name: f.Name, Data: data})
		if err == nil && got.Digest == want.Digest {
			return data, got, nil
		}
	}
	return nil, nil, fmt.Errorf("%s: %w", f.Name, ErrWouldChange)
}

// withoutPlace takes the place out of problems with the new case, and leaves it
// where the file has them.
func withoutPlace(err error) error {
	e, ok := errors.AsType[*golden.Error](err)
	if !ok {
		return err
	}
	out := &golden.Error{Total: e.Total}
	for _, p := range e.Problems {
		if p.File == newCase {
			p.File, p.Line = "", 0
		}
		out.Problems = append(out.Problems, p)
	}
	return out
}

// appender puts cases at the end of a text.
type appender func(data []byte, cases []golden.Case) ([]byte, error)

// appenders gives the ways to do it, the most careful first.
func appenders(format golden.Format) []appender {
	switch format {
	case golden.YAML:
		return []appender{appendYAMLText, appendYAMLNodes}
	case golden.JSON:
		return []appender{appendJSON}
	case golden.JSONL:
		return []appender{appendJSONL}
	case golden.CSV:
		return []appender{func(data []byte, cases []golden.Case) ([]byte, error) { return appendTable(data, cases, ',') }}
	}
	return []appender{func(data []byte, cases []golden.Case) ([]byte, error) { return appendTable(data, cases, '\t') }}
}

// newline is how a text ends its lines.
func newline(data []byte) string {
	if bytes.Contains(data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// ended gives a copy of a text whose last line is ended.
func ended(data []byte) []byte {
	out := bytes.Clone(data)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, newline(data)...)
	}
	return out
}

func appendJSONL(data []byte, cases []golden.Case) ([]byte, error) {
	added, err := Write(cases, golden.JSONL)
	return append(ended(data), bytes.ReplaceAll(added, []byte("\n"), []byte(newline(data)))...), err
}
