package supportbundle

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// root is the folder that the archive unpacks to.
const root = "assay-support-bundle"

// writeArchive writes files as a tar.gz, in the order of their names. The same
// files at the same time give the same bytes.
func writeArchive(w io.Writer, files map[string][]byte, at time.Time) error {
	packed := gzip.NewWriter(w)
	archive := tar.NewWriter(packed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{
			Typeflag: tar.TypeReg,
			Name:     path.Join(root, name),
			Mode:     0o600,
			Size:     int64(len(files[name])),
			ModTime:  at.Truncate(time.Second),
			Format:   tar.FormatPAX,
		}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("write %s into the bundle: %w", name, err)
		}
		if _, err := archive.Write(files[name]); err != nil {
			return fmt.Errorf("write %s into the bundle: %w", name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	if err := packed.Close(); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	return nil
}

// file gives a path within the archive: names of a cluster lead nowhere else.
func file(parts ...string) string {
	safe := make([]string, len(parts))
	for i, part := range parts {
		safe[i] = strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
				return r
			}
			return '_'
		}, part)
		if strings.Trim(safe[i], ".") == "" {
			safe[i] = "_"
		}
	}
	return path.Join(safe...)
}
