package golden

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// file makes a file of lines.
func file(name string, lines ...string) File {
	return File{Name: name, Data: []byte(strings.Join(lines, "\n"))}
}

// fixture reads a file of testdata.
func fixture(t testing.TB, path string) File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return File{Name: filepath.Base(path), Data: data}
}

func mustRead(t testing.TB, files ...File) *Set {
	t.Helper()
	set, err := Read(files...)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return set
}

// problems reads files that must be refused.
func problems(t testing.TB, files ...File) []Problem {
	t.Helper()
	set, err := Read(files...)
	if set != nil {
		t.Errorf("Read gave a set beside the error %v", err)
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("Read: error %v is a %T, want *Error", err, err)
	}
	return e.Problems
}

func lines(ps []Problem) []string {
	out := make([]string, len(ps))
	for i, p := range ps {
		out[i] = p.String()
	}
	return out
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	zw, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zw.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func byID(t testing.TB, s *Set, id string) Case {
	t.Helper()
	for _, c := range s.Cases {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("the set has no case %q", id)
	return Case{}
}
