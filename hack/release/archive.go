package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"time"
)

// entry is a file of an archive, or, with link set, a symbolic link.
type entry struct {
	name string
	mode int64
	data []byte
	link string
}

// writeArchive writes a tar.gz that depends on nothing but what it is given: all
// files were changed at one time and belong to root.
func writeArchive(file string, changed time.Time, entries []entry) error {
	var b bytes.Buffer
	compressor, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressor)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.data)), ModTime: changed, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if e.link != "" {
			header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, e.link, 0o777
		}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("write %s into %s: %w", e.name, file, err)
		}
		if _, err := archive.Write(e.data); err != nil {
			return fmt.Errorf("write %s into %s: %w", e.name, file, err)
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	if err := compressor.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}
