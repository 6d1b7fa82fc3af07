package golden

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxLocateBytes bounds the files that are read again to find the line of a mistake.
const maxLocateBytes = 4 << 20

var (
	yamlLine = regexp.MustCompile(`^line (\d+): `)

	// offByOne are messages that the library gives with the line before.
	offByOne = []string{"did not find expected ',' or", "did not find expected node content", "found undefined tag handle", "found incompatible YAML document", "found duplicate"}

	// unlocated are messages that it gives with no line, or with that of the
	// list or map around the mistake, which may be the first of the file.
	unlocated = []string{"did not find expected key", "did not find expected '-' indicator", "unknown anchor", "control characters"}
)

// yamlReason takes an error of the library apart, and finds the line where that
// is not where the mistake is.
func yamlReason(err error, data []byte) (line int, message string) {
	line, message = splitYAMLError(err)
	is := func(prefix string) bool { return strings.HasPrefix(message, prefix) }
	switch {
	case slices.ContainsFunc(unlocated, is) && len(data) <= maxLocateBytes:
		line = locateYAMLError(message, data)
	case slices.ContainsFunc(offByOne, is):
		line++
	case is("mapping values are not allowed"):
		message += `; put a text with ": " in it into quotes`
	}
	// What the file lacks at its end is missing on its last line.
	last := 1 + bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n"))
	return min(max(line, 1), last), message
}

func splitYAMLError(err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = message[len(m[0]):]
	}
	return line, message
}

// locateYAMLError feeds the file line by line until the error comes, then takes
// lines away that the library only looked ahead at.
func locateYAMLError(message string, data []byte) int {
	rows := bytes.SplitAfter(data, []byte("\n"))
	fails := func(n int) (read int, fails bool) {
		lr := &lineReader{rows: rows[:n]}
		dec := yaml.NewDecoder(lr)
		for {
			var doc yaml.Node
			if err := dec.Decode(&doc); err != nil {
				_, got := splitYAMLError(err)
				return lr.read, !errors.Is(err, io.EOF) && got == message
			}
		}
	}
	line, _ := fails(len(rows))
	const lookahead = 8
	for range lookahead {
		if line <= 1 {
			break
		}
		if _, still := fails(line - 1); !still {
			break
		}
		line--
	}
	return line
}

// lineReader gives at most a line at a time.
type lineReader struct {
	rows [][]byte
	rest []byte
	read int
}

func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.read == len(r.rows) {
			return 0, io.EOF
		}
		r.rest = r.rows[r.read]
		r.read++
		if len(r.rest) == 0 { // after the last line break
			r.read--
			return 0, io.EOF
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
