package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// release is one release and what it is made with.
type release struct {
	version         string // v0.1.0
	source, dist    string
	platforms       []platform
	helm, cyclonedx string // programs
	say             func(format string, a ...any)

	commit commit // found by run
}

// run checks first all that can be wrong, and then builds.
func (r *release) run(ctx context.Context) error {
	if err := checkVersion(r.version); err != nil {
		return err
	}
	changelog, err := os.ReadFile(filepath.Join(r.source, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	notes, err := section(string(changelog), r.version)
	if err != nil {
		return err
	}
	if r.commit, err = cleanCommit(ctx, r.source); err != nil {
		return err
	}
	if r.dist, err = emptied(r.dist, r.source); err != nil {
		return err
	}

	licences, err := r.licences(ctx)
	if err != nil {
		return err
	}
	for _, p := range r.platforms {
		r.say("building %s for %s", r.version, p)
		if err := r.archive(ctx, p, licences); err != nil {
			return fmt.Errorf("build for %s: %w", p, err)
		}
	}
	r.say("packaging the chart")
	if err := r.chart(ctx); err != nil {
		return fmt.Errorf("package the chart: %w", err)
	}
	if err := r.manifest(ctx); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	if err := os.WriteFile(r.path("release-notes.md"), []byte(notes), 0o644); err != nil {
		return err
	}
	if err := writeSums(r.dist); err != nil {
		return fmt.Errorf("write the checksums: %w", err)
	}
	r.say("%s is in %s; what is left to do: make image VERSION=%s PUSH=1, then tag and push %s", r.version, r.dist, r.version, r.commit.short())
	return nil
}

// emptied makes a folder without anything in it, and gives its absolute path. It
// does not remove what is being released.
func emptied(folder, source string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if source, err = filepath.Abs(source); err != nil {
		return "", err
	}
	if holds(folder, source) {
		return "", fmt.Errorf("%s holds the work tree, and all that it holds would be removed: give -dist a folder of its own", folder)
	}
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	return folder, os.MkdirAll(folder, 0o755)
}

// holds says whether a folder is another one or above it. Both paths are absolute.
func holds(folder, other string) bool {
	within, err := filepath.Rel(folder, other)
	return err == nil && filepath.IsLocal(within)
}

// path is that of a file of the release.
func (r *release) path(name string) string { return filepath.Join(r.dist, name) }
