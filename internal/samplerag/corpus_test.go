package samplerag

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsRead(t *testing.T) {
	files := map[string]string{
		"docs/a.md":            "a",
		"docs/sub/b.MARKDOWN":  "b",
		"docs/c.txt":           "\ufeffc",
		"docs/code.go":         "package docs",
		"docs/.hidden.md":      "hidden",
		"docs/.git/x.md":       "hidden",
		"docs/adr/0001.md":     "excluded",
		"docs/ko/파일.md":        "decomposed name",
		"docs/latin.md":        "caf\xe9",
		"docs/blank.md":        " \n",
		"outside/secret.md":    "secret",
		"NOTES":                "a file that is named needs no ending",
		"docs/large.md":        strings.Repeat("a", maxFileBytes+1),
		"docs/draft-one.md":    "excluded by a pattern",
		"docs/adrift/kept.txt": "no folder of the pattern",
	}
	root := write(t, files)
	link(t, "../outside/secret.md", filepath.Join(root, "docs/out.md"))
	link(t, filepath.Join(root, "docs/a.md"), filepath.Join(root, "docs/absolute.md"))
	link(t, "../outside", filepath.Join(root, "docs/folder"))
	link(t, "sub/b.MARKDOWN", filepath.Join(root, "docs/inside.md"))
	link(t, "nowhere.md", filepath.Join(root, "docs/dangling.md"))

	ix := build(t, Options{Root: root, Exclude: []string{"docs/adr/", "docs/draft-*"}}, "docs", "NOTES", filepath.Join(root, "docs", "a.md"))
	want := []string{"NOTES", "docs/a.md", "docs/adrift/kept.txt", "docs/c.txt", "docs/inside.md", "docs/ko/파일.md", "docs/sub/b.MARKDOWN"}
	if diff := cmp.Diff(want, ix.Documents()); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	var warned []string
	for _, w := range ix.Warnings() {
		name, why, _ := strings.Cut(w, ": left out: ")
		if why == "" {
			t.Errorf("warning %q says not why", w)
		}
		warned = append(warned, name)
	}
	if diff := cmp.Diff([]string{"docs/absolute.md", "docs/blank.md", "docs/dangling.md", "docs/large.md", "docs/latin.md", "docs/out.md"}, warned); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if want := "docs/out.md: left out: path escapes from parent"; !slices.Contains(ix.Warnings(), want) {
		t.Errorf("warnings %q, one of them not %q", ix.Warnings(), want)
	}
	hits, err := ix.Search(t.Context(), "secret", 10)
	if err != nil || len(hits) > 0 {
		t.Errorf("what lies outside was found: %v, %v", hits, err)
	}
}

// A ConfigMap that is mounted into a pod is a folder of links into a hidden one.
func TestMountedConfigMap(t *testing.T) {
	root := write(t, map[string]string{"docs/..2026_11_30/a.md": "first", "docs/..2026_11_30/b.md": "second"})
	link(t, "..2026_11_30", filepath.Join(root, "docs/..data"))
	link(t, "..data/a.md", filepath.Join(root, "docs/a.md"))
	link(t, "..data/b.md", filepath.Join(root, "docs/b.md"))
	ix := build(t, Options{Root: root}, "docs")
	if diff := cmp.Diff([]string{"docs/a.md", "docs/b.md"}, ix.Documents()); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	if len(ix.Warnings()) > 0 {
		t.Errorf("warnings: %v", ix.Warnings())
	}
}

func TestDocumentIDs(t *testing.T) {
	root := write(t, map[string]string{"docs/a.md": "a", "b.md": "b"})
	tests := []struct {
		name, root, path, want string
	}{
		{"a folder", root, "docs", "docs/a.md"},
		{"written otherwise", root, "./docs/../docs/", "docs/a.md"},
		{"absolute, below the root", root, filepath.Join(root, "docs"), "docs/a.md"},
		{"the root itself", filepath.Join(root, "docs"), ".", "a.md"},
		{"absolute, outside of the root", filepath.Join(root, "docs"), filepath.Join(root, "b.md"), filepath.ToSlash(filepath.Join(root, "b.md"))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ix := build(t, Options{Root: tt.root}, tt.path)
			if diff := cmp.Diff([]string{tt.want}, ix.Documents()); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothingToIndex(t *testing.T) {
	root := write(t, map[string]string{"empty/.keep": "", "code/main.go": "package main", "latin/a.md": "caf\xe9"})
	tests := []struct {
		name  string
		paths []string
		opts  Options
		want  string
	}{
		{"no path", nil, Options{}, "name a folder or a file"},
		{"an empty folder", []string{"empty"}, Options{}, "nothing to index in empty: put Markdown or text files"},
		{"a folder of other files", []string{"code", "empty"}, Options{}, "nothing to index in code, empty"},
		{"a file that cannot be used", []string{"latin"}, Options{}, "it is not UTF-8"},
		{"a folder that is not there", []string{"nowhere"}, Options{}, "read nowhere: "},
		{"a bad pattern", []string{"code"}, Options{Exclude: []string{"[a"}}, `exclude pattern "[a"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.opts.Root = root
			_, err := Build(t.Context(), tt.paths, tt.opts)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}
