package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWriteArchive(t *testing.T) {
	changed := time.Date(2026, 11, 30, 9, 27, 35, 0, time.UTC)
	entries := []entry{
		{name: "assay", mode: 0o755, data: []byte("program")},
		{name: "kubectl-assay", link: "assay"},
		{name: "LICENSE", mode: 0o644, data: []byte("text")},
	}
	files := [2]string{filepath.Join(t.TempDir(), "a.tar.gz"), filepath.Join(t.TempDir(), "b.tar.gz")}
	var texts [2][]byte
	for i, file := range files {
		if err := writeArchive(file, changed, entries); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = text
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Error("the same files gave two different archives")
	}

	decompressor, err := gzip.NewReader(bytes.NewReader(texts[0]))
	if err != nil {
		t.Fatal(err)
	}
	type member struct {
		Name, Link, Text string
		Mode             int64
		Type             byte
		UID, GID         int
		Changed          time.Time
	}
	var got []member
	for reader := tar.NewReader(decompressor); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, member{header.Name, header.Linkname, string(text), header.Mode, header.Typeflag, header.Uid, header.Gid, header.ModTime.UTC()})
	}
	want := []member{
		{"assay", "", "program", 0o755, tar.TypeReg, 0, 0, changed},
		{"kubectl-assay", "assay", "", 0o777, tar.TypeSymlink, 0, 0, changed},
		{"LICENSE", "", "text", 0o644, tar.TypeReg, 0, 0, changed},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the archive (-want +got):\n%s", diff)
	}
}

func TestWriteSums(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b"), "")
	write(t, filepath.Join(dir, "a"), "abc")
	// Written again, it does not sum itself.
	for range 2 {
		if err := writeSums(dir); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		t.Fatal(err)
	}
	// The values of FIPS 180-2 for "abc" and the empty message.
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n" +
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", sumsFile, diff)
	}
}
