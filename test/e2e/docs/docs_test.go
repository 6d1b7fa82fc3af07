//go:build e2e

// Package docs reads the documentation as a newcomer does, on a real cluster:
// every command that a page shows is typed, every manifest is handed to the API
// server, and the tables that are shown must have the columns that are printed.
package docs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-dev/assay/test/docpage"
)

// apart are pages that begin with an empty namespace rag: they fill it themselves.
var apart = []string{"docs/quickstart.md"}

func TestPages(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(world.repository, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"docs/*/*.md", "README.md", "CONTRIBUTING.md", "charts/assay/README.md"} {
		found, err := filepath.Glob(filepath.Join(world.repository, more))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	var pages []string
	for _, name := range names {
		page, err := filepath.Rel(world.repository, name)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, filepath.ToSlash(page))
	}
	// Those that empty the namespace come last.
	slices.SortStableFunc(pages, func(a, b string) int {
		return boolOrder(slices.Contains(apart, a)) - boolOrder(slices.Contains(apart, b))
	})
	commands := 0
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(world.repository, page))
		if err != nil {
			t.Fatal(err)
		}
		steps, err := docpage.Parse(string(text))
		if err != nil {
			t.Errorf("%s: %v", page, err)
			continue
		}
		if len(steps) == 0 {
			continue
		}
		t.Run(page, func(t *testing.T) {
			commands += typePage(t, page, steps)
		})
	}
	t.Logf("%d commands of %d pages were typed", commands, len(pages))
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// typePage carries out one page, and gives how many commands it had.
func typePage(t *testing.T, page string, steps []docpage.Step) int {
	commands := 0
	for _, s := range steps {
		if s.Skip != "" {
			t.Logf("SKIPPED %s:%d: %s", page, s.Line, s.Skip)
		} else if s.Command != "" {
			commands++
		}
	}
	// Manifests alone, which are but looked at, change nothing and need nothing.
	if commands > 0 {
		if err := world.reset(t.Context(), slices.Contains(apart, page)); err != nil {
			t.Fatalf("make the page's world: %v", err)
		}
	}
	r, err := world.reader(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	results, err := r.read(t.Context(), steps)
	if err != nil {
		t.Errorf("%s: %v", page, err)
	}
	for _, got := range results {
		if got.failed {
			t.Errorf("%s:%d: %s\n%s", page, got.step.Line, what(got), got.output)
			break
		}
		if err := sameColumns(got.step.Output, got.output); err != nil {
			t.Errorf("%s:%d: %s: %v:\n%s", page, got.step.Line, got.step.Command, err, got.output)
		}
	}
	if t.Failed() {
		t.Log(world.kubectl(context.WithoutCancel(t.Context()), "get", "evs,evr,pods,events", "-n", "rag"))
	}
	return commands
}

func what(r result) string {
	s := r.step
	switch {
	case s.Fails:
		return fmt.Sprintf("%q was to fail, and did not", s.Command)
	case s.Until != "":
		return fmt.Sprintf("%q never printed %q", s.Command, s.Until)
	case s.Command != "":
		return fmt.Sprintf("%q failed", s.Command)
	case s.File != "":
		return "the file could not be written"
	}
	return "the API server does not take this manifest:\n" + strings.TrimSpace(s.Manifest)
}
