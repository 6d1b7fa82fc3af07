package samplerag

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write makes files below a new folder and gives the folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		full := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func build(t *testing.T, opts Options, paths ...string) *Index {
	t.Helper()
	ix, err := Build(t.Context(), paths, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	return ix
}

func ids(hits []Hit) []string {
	var list []string
	for _, h := range hits {
		list = append(list, h.ID)
	}
	return list
}

var animals = map[string]string{
	"docs/cat.md":   "# Cats\nCats hunt mice at night. Kubernetes의 고양이.\n\n## Food\nA cat eats fish.\n",
	"docs/dog.md":   "# Dogs\nDogs chase cats and eat bones.\n",
	"docs/ko.md":    "# 고양이\n고양이는 밤에 쥐를 잡습니다.\n\n# 강아지\n강아지는 뼈를 좋아합니다.\n",
	"docs/note.txt": "Birds sing in the morning.",
	"README.md":     "# Zoo\nAll the animals.\n",
}

func TestSearch(t *testing.T) {
	ix := build(t, Options{Root: write(t, animals)}, "docs", "README.md")
	tests := []struct {
		name, query string
		topK        int
		want        []string
	}{
		{"an inflected English word", "hunting", 10, []string{"docs/cat.md#1"}},
		{"the headings count", "cat food", 1, []string{"docs/cat.md#2"}},
		{"Korean with another particle", "강아지를", 10, []string{"docs/ko.md#2"}},
		{"mixed text", "Kubernetes 고양이", 1, []string{"docs/cat.md#1"}},
		{"a text file", "birds", 10, []string{"docs/note.txt#1"}},
		{"cut at topK", "cats", 2, []string{"docs/cat.md#2", "docs/cat.md#1"}},
		{"only stop words", "what is the", 10, nil},
		{"no word that is known", "quantum", 10, nil},
		{"no word at all", "?!", 10, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hits, err := ix.Search(t.Context(), tt.query, tt.topK)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, ids(hits)); diff != "" {
				t.Errorf("Search(%q) (-want +got):\n%s", tt.query, diff)
			}
		})
	}
}

func TestHit(t *testing.T) {
	ix := build(t, Options{Root: write(t, animals)}, "docs")
	hits, err := ix.Search(t.Context(), "fish", 10)
	if err != nil || len(hits) != 1 {
		t.Fatalf("got %v, %v", hits, err)
	}
	if hits[0].Score <= 0 {
		t.Errorf("score %v, want above 0", hits[0].Score)
	}
	hits[0].Score = 0
	want := Hit{ID: "docs/cat.md#2", Document: "docs/cat.md", Title: "Cats > Food", Text: "A cat eats fish."}
	if diff := cmp.Diff(want, hits[0]); diff != "" {
		t.Errorf("hit (-want +got):\n%s", diff)
	}
}

func TestSearchOrdersTiesByID(t *testing.T) {
	files := map[string]string{}
	for _, name := range []string{"c", "a", "d", "b"} {
		files[name+".md"] = "# Same\nthe same words\n"
	}
	ix := build(t, Options{Root: write(t, files)}, ".")
	hits, err := ix.Search(t.Context(), "same words", 10)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a.md#1", "b.md#1", "c.md#1", "d.md#1"}, ids(hits)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestScoresAreBM25(t *testing.T) {
	words := func(targets, fillers int) string {
		return strings.Repeat("target ", targets) + strings.Repeat("filler ", fillers)
	}
	tests := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		// Normalised by the size of the vocabulary, as bleve does by itself, the long text would come second.
		{"lengths are normalised by the mean number of tokens",
			map[string]string{"long.md": words(9, 69), "short.md": words(1, 17)}, []string{"long.md#1", "short.md#1"}},
		// By TF-IDF density alone would count.
		{"the number of occurrences saturates, and length counts in part",
			map[string]string{"long.md": words(100, 998), "short.md": words(1, 7)}, []string{"long.md#1", "short.md#1"}},
		{"of two texts with one occurrence the shorter is better",
			map[string]string{"long.md": words(1, 60), "short.md": words(1, 10)}, []string{"short.md#1", "long.md#1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ix := build(t, Options{Root: write(t, tt.files), ChunkRunes: 10_000}, ".")
			hits, err := ix.Search(t.Context(), "target", 10)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, ids(hits)); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTextAndQueryAreNormalised(t *testing.T) {
	const composed, decomposed = "강아지", "\u1100\u1161\u11bc\u110b\u1161\u110c\u1175"
	for text, query := range map[string]string{composed: decomposed, decomposed: composed} {
		ix := build(t, Options{Root: write(t, map[string]string{"a.md": text})}, ".")
		hits, err := ix.Search(t.Context(), query, 10)
		if err != nil || len(hits) != 1 {
			t.Errorf("%+q finds %d in %+q, %v", query, len(hits), text, err)
		}
	}
}

func TestBadSearch(t *testing.T) {
	ix := build(t, Options{Root: write(t, animals)}, "docs")
	tests := []struct {
		name, query string
		topK        int
		want        string
	}{
		{"empty", " \n", 10, "query is empty"},
		{"too long", strings.Repeat("a", MaxQueryBytes+1), 10, "at most 32768"},
		{"none", "cat", 0, "top_k is 0: give a whole number from 1 to 1000"},
		{"negative", "cat", -1, "top_k is -1"},
		{"too many", "cat", MaxTopK + 1, "top_k is 1001"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ix.Search(t.Context(), tt.query, tt.topK)
			var bad *QueryError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want a QueryError with %q", err, tt.want)
			}
		})
	}
	if _, err := ix.Search(t.Context(), strings.Repeat("가나 ", MaxQueryBytes/7), MaxTopK); err != nil {
		t.Errorf("the longest query: %v", err)
	}
}

func TestEqualCorporaAreEqualIndexes(t *testing.T) {
	a := build(t, Options{Root: write(t, animals)}, "docs", "README.md")
	b := build(t, Options{Root: write(t, animals)}, "README.md", "docs", "docs/cat.md")
	if a.CorpusVersion() != b.CorpusVersion() {
		t.Errorf("versions %s and %s", a.CorpusVersion(), b.CorpusVersion())
	}
	for _, query := range []string{"cats eat fish", "고양이 kubernetes", "animals in the morning"} {
		first, err1 := a.Search(t.Context(), query, 10)
		second, err2 := b.Search(t.Context(), query, 10)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, second); diff != "" || len(first) == 0 {
			t.Errorf("%q gives %d hits (-first +second):\n%s", query, len(first), diff)
		}
	}
}

func TestCorpusVersionChanges(t *testing.T) {
	version := func(files map[string]string, opts Options) string {
		opts.Root = write(t, files)
		return build(t, opts, ".").CorpusVersion()
	}
	seen := map[string]string{}
	for name, v := range map[string]string{
		"as it is":     version(map[string]string{"a.md": "x"}, Options{}),
		"other text":   version(map[string]string{"a.md": "y"}, Options{}),
		"other name":   version(map[string]string{"b.md": "x"}, Options{}),
		"one more":     version(map[string]string{"a.md": "x", "b.md": "x"}, Options{}),
		"other chunks": version(map[string]string{"a.md": "x"}, Options{ChunkRunes: 100}),
	} {
		if other, ok := seen[v]; ok {
			t.Errorf("%q and %q have the same version", name, other)
		}
		seen[v] = name
	}
}

func TestBuildIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Build(ctx, []string{"docs"}, Options{Root: write(t, animals)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
