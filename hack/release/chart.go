package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// chart packages the chart. Its version has no v, as Helm wants it; appVersion is
// the image's tag.
func (r *release) chart(ctx context.Context) error {
	work, err := os.MkdirTemp("", "assay-chart-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	// Helm writes the time of each file into the package: a copy has the commit's.
	copied := filepath.Join(work, "assay")
	if err := copyTree(filepath.Join(r.source, "charts", "assay"), copied, r.commit.date); err != nil {
		return err
	}
	_, err = output(ctx, work, nil, r.helm, "package", copied,
		"--version", strings.TrimPrefix(r.version, "v"), "--app-version", r.version, "--destination", r.dist)
	return err
}

// copyTree copies a folder; every file is given the same time.
func copyTree(from, to string, changed time.Time) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, changed, changed)
	})
}

// manifest writes config/default, with the release's image, as one file.
func (r *release) manifest(ctx context.Context) error {
	text, err := output(ctx, r.source, nil, filepath.Join("hack", "deploy.sh"), fmt.Sprintf("ghcr.io/assay-dev/assay:%s", r.version))
	if err != nil {
		return err
	}
	return os.WriteFile(r.path("install.yaml"), []byte(text+"\n"), 0o644)
}
