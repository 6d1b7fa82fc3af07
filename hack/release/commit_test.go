package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// repository is a work tree with one commit.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	env := []string{
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_COMMITTER_DATE=2026-11-30T18:27:35+09:00",
	}
	write(t, filepath.Join(dir, "file"), "text")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "first"}} {
		if _, err := output(t.Context(), dir, env, "git", args...); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCleanCommit(t *testing.T) {
	c, err := cleanCommit(t.Context(), repository(t))
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2026, 11, 30, 9, 27, 35, 0, time.UTC); !c.date.Equal(want) || c.date.Location() != time.UTC {
		t.Errorf("made at %v, want %v", c.date, want)
	}
	if len(c.hash) != 40 || len(c.short()) != 12 {
		t.Errorf("commit %q, short %q", c.hash, c.short())
	}
}

func TestChangesAreRefused(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"changed":   func(t *testing.T, dir string) { write(t, filepath.Join(dir, "file"), "other") },
		"untracked": func(t *testing.T, dir string) { write(t, filepath.Join(dir, "new"), "") },
		"removed": func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "file")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := repository(t)
			change(t, dir)
			if _, err := cleanCommit(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "commit them or put them away") {
				t.Errorf("error %v", err)
			}
		})
	}
	if _, err := cleanCommit(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder without a repository has a commit")
	}
}

// What is wrong is said before anything is built or removed.
func TestNothingIsTouchedBeforeAllIsRight(t *testing.T) {
	for name, tt := range map[string]struct{ version, changelog, err string }{
		"no version": {"1.0", "## [0.1.0] - 2026-12-01\n- All.\n", "is no version"},
		"no section": {"v0.2.0", "## [0.1.0] - 2026-12-01\n- All.\n", "no section about 0.2.0"},
		"changes":    {"v0.1.0", "## [0.1.0] - 2026-12-01\n- All.\n", "the work tree has changes"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := repository(t)
			write(t, filepath.Join(dir, "CHANGELOG.md"), tt.changelog)
			dist := filepath.Join(t.TempDir(), "dist")
			if err := os.Mkdir(dist, 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dist, "kept"), "")
			err := run(t.Context(), []string{"-source", dir, "-dist", dist, "-version", tt.version})
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want one with %q", err, tt.err)
			}
			if _, err := os.Stat(filepath.Join(dist, "kept")); err != nil {
				t.Error(err)
			}
		})
	}
	for name, args := range map[string][]string{
		"a word": {"please"}, "an unknown flag": {"-fast"}, "a platform": {"-platforms", "linux"},
	} {
		if err := run(t.Context(), args); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestHolds(t *testing.T) {
	for _, tt := range []struct {
		folder, other string
		want          bool
	}{
		{"/src/assay", "/src/assay", true},
		{"/src", "/src/assay", true},
		{"/", "/src/assay", true},
		{"/src/assay/dist", "/src/assay", false},
		{"/src/assay2", "/src/assay", false},
		{"/src/as", "/src/assay", false},
	} {
		if got := holds(tt.folder, tt.other); got != tt.want {
			t.Errorf("holds(%q, %q) = %t", tt.folder, tt.other, got)
		}
	}
}
