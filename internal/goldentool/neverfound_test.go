package goldentool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/assay-dev/assay/internal/golden"
)

func TestCompareIDs(t *testing.T) {
	for _, test := range []struct {
		relevant, retrieved string
		kind                Difference
		message             string
	}{
		{"guide a.md", "guide%20a.md", Encoding, "is the same, URL-encoded otherwise"},
		{"문서/설치.md", "%EB%AC%B8%EC%84%9C/%EC%84%A4%EC%B9%98.md", Encoding, "is the same, URL-encoded otherwise"},
		{"Guide.md", "guide.MD", LetterCase, "is the same in other letter case"},
		{"docs/guide.md", `.\Docs\guide.md`, PrefixAndSuffix, ""},
		{"docs/guide.md", "/docs/guide.md", Slashes, "is the same with other slashes, letter case or URL-encoding"},
		{"docs\\guide.md", "./Docs/guide.md", Slashes, "is the same with other slashes, letter case or URL-encoding"},
		{"docs/guide.md", "s3://kb/docs/guide.md", Prefix, `has "s3://kb/" in front`},
		{"https://x.io/docs/guide.md", "docs/guide.md", Prefix, `lacks "https://x.io/" in front`},
		{"docs/guide.md", "wiki/guide.md", Prefix, `has "wiki/" in front instead of "docs/"`},
		{"guide.md", "guide.md#3", Suffix, `has "#3" behind`},
		{"guide.md#chunk-2", "guide.md", Suffix, `lacks "#chunk-2" behind`},
		{"guide.md#2", "guide.md#3", Suffix, `has "#3" behind instead of "#2"`},
		{"guide", "guide.md", Suffix, `has ".md" behind`},
		{"guide.md", "guide.html", Suffix, `has ".html" behind instead of ".md"`},
		{"guide", "guide_3", Suffix, `has "_3" behind`},
		{"guide_3", "guide", Suffix, `lacks "_3" behind`},
		{"guide.md", "kb/guide.md::0", PrefixAndSuffix, `has "kb/" in front, and has "::0" behind`},
		{"guide.md", "kb/Guide.md chunk 12", PrefixAndSuffix, `has "kb/" in front, and has " chunk 12" behind`},
		{"doc_001", "doc_002", OtherName, "looks most alike"},
		{"a.md", "b.md", OtherName, "looks most alike"},
		{"#1", "#2", OtherName, "looks most alike"},
		{"", "x", OtherName, "looks most alike"},
		{"100%", "100%25", Prefix, ""},
	} {
		got := compareIDs(test.relevant, test.retrieved)
		if test.message == "" {
			continue
		}
		if got.Kind != test.kind || got.Message != test.message || got.ID != test.retrieved {
			t.Errorf("%q and %q: %s, %s; want %s, %s", test.relevant, test.retrieved, got.Kind, got.Message, test.kind, test.message)
		}
	}
}

func due(id string, relevant ...string) golden.Case {
	c := golden.Case{ID: id, Question: id, Answerable: true}
	for _, r := range relevant {
		c.Relevant = append(c.Relevant, golden.Relevant{ID: r, Grade: 1})
	}
	return c
}

func TestSearch(t *testing.T) {
	s := NewSearch([]golden.Case{
		due("q1", "a.md", "b.md"),
		due("q2", "b.md", "c.md"),
		due("q3", "lost.md"),
		due("q4", "unasked.md"),
		due("q5", "cafe\u0301.md", "th\u00e9.md"),
		{ID: "q6", Question: "q6", Answerable: false, Relevant: []golden.Relevant{{ID: "of no account.md", Grade: 1}}},
	})
	s.Add("q1", []string{"a.md", "kb/b.md"})
	s.Add("q2", []string{"x.md", "caf\u00e9.md", "the\u0301.md"})
	s.Add("q3", []string{"c.md", "last.md", "totally/different"})
	s.Add("q5", nil)
	got := s.Result()
	want := Result{
		RelevantIDs: 6, Found: 4, Retrieved: 8,
		NeverFound: []NeverFound{
			{ID: "b.md", Cases: []string{"q1", "q2"}, Nearest: []Nearest{
				{ID: "kb/b.md", Kind: Prefix, Message: `has "kb/" in front`},
				{ID: "a.md", Kind: OtherName, Message: "looks most alike"},
			}},
			{ID: "lost.md", Cases: []string{"q3"}, Nearest: []Nearest{
				{ID: "last.md", Kind: OtherName, Message: "looks most alike"},
				{ID: "c.md", Kind: OtherName, Message: "looks most alike"},
				{ID: "totally/different", Kind: OtherName, Message: "looks most alike"},
			}},
		},
		Differences: []DifferenceCount{{Kind: Prefix, Count: 1, Example: `has "kb/" in front`}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Nearest{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSearchLooksInEveryList: the name may be in the list of another question.
func TestSearchLooksInEveryList(t *testing.T) {
	s := NewSearch([]golden.Case{due("q1", "docs/a.md"), due("q2", "b.md")})
	s.Add("q1", []string{"z"})
	s.Add("q2", []string{"b.md", "other/b.md", "s3://kb/docs/a.md#4"})
	got := s.Result().NeverFound
	if len(got) != 1 || got[0].Nearest[0].ID != "s3://kb/docs/a.md#4" || got[0].Nearest[0].Kind != PrefixAndSuffix {
		t.Errorf("never found: %+v", got)
	}
}

// TestSearchPrefersTheSmallestChange among ids of the same name.
func TestSearchPrefersTheSmallestChange(t *testing.T) {
	s := NewSearch([]golden.Case{due("q", "s3://kb/sets.md")})
	s.Add("q", []string{"docs/ko/sets.md", "docs/sets.md", "s3://kc/sots.md", "docs/sets.md#12"})
	near := s.Result().NeverFound[0].Nearest
	if len(near) != maxNearest || near[0].ID != "docs/sets.md" || near[1].ID != "docs/sets.md#12" && near[1].ID != "docs/ko/sets.md" {
		t.Errorf("nearest: %+v", near)
	}
}

// TestSearchIsBounded: a set of which nothing fits, with long ids that share
// their name, is done in a moment.
func TestSearchIsBounded(t *testing.T) {
	long := strings.Repeat("long/", 100)
	var cases []golden.Case
	for i := range 600 {
		cases = append(cases, due(fmt.Sprint("q", i), fmt.Sprint(long, i, "/index.md")))
	}
	s := NewSearch(cases)
	for i := range cases {
		var list []string
		for j := range 10 {
			list = append(list, fmt.Sprint("other/", i, "/", j, "/index.html"))
		}
		s.Add(cases[i].ID, list)
	}
	r := s.Result()
	if len(r.NeverFound) != 600 || r.Found != 0 || r.Retrieved != 6_000 {
		t.Errorf("%d never found, %d found, %d retrieved", len(r.NeverFound), r.Found, r.Retrieved)
	}
	if n := r.NeverFound[599].Nearest; len(n) != maxNearest || n[0].Kind != PrefixAndSuffix {
		t.Errorf("the last id is nearest to %+v", n)
	}
}

func FuzzCompareIDs(f *testing.F) {
	f.Add("docs/a.md", "s3://kb/docs/a.md#3")
	f.Add("%", "//")
	f.Fuzz(func(t *testing.T, a, b string) {
		n := compareIDs(a, b)
		if n.Kind == "" || n.Message == "" || n.ID != b {
			t.Fatalf("%q and %q: %+v", a, b, n)
		}
		// But for the letter case of the name, the parts are the whole.
		for _, id := range []string{a, b} {
			plain := plainID(id)
			p := takeApart(id, true)
			if p.front != plain[:len(p.front)] || p.ending+p.back != plain[len(plain)-len(p.ending)-len(p.back):] {
				t.Fatalf("%q is taken apart to %q", id, p)
			}
		}
	})
}
