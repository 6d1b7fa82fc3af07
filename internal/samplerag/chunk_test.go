package samplerag

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	type piece struct{ ID, Title, Text string }
	tests := []struct {
		name, id, text string
		max            int
		want           []piece
	}{
		{
			name: "a chunk a section, titled by the headings above it", id: "a.md", max: 100,
			text: "intro\n\n# Top\nfirst\n\n## Sub ##\nsecond\n\n## Other\nthird\n# Next\nfourth\n",
			want: []piece{
				{"a.md#1", "a.md", "intro"},
				{"a.md#2", "Top", "first"},
				{"a.md#3", "Top > Sub", "second"},
				{"a.md#4", "Top > Other", "third"},
				{"a.md#5", "Next", "fourth"},
			},
		},
		{
			name: "a section that is too long is cut between paragraphs", id: "a.md", max: 12,
			text: "# T\none one\n\ntwo\n\nthree three\n",
			want: []piece{{"a.md#1", "T", "one one\n\ntwo"}, {"a.md#2", "T", "three three"}},
		},
		{
			name: "a paragraph that is too long is cut after lines, words, characters", id: "a.md", max: 6,
			text: "ab\ncdef\n\nab cde fg\n\n가나다라마바사아\n",
			want: []piece{{"a.md#1", "a.md", "ab"}, {"a.md#2", "a.md", "cdef"}, {"a.md#3", "a.md", "ab cde"}, {"a.md#4", "a.md", "fg"}, {"a.md#5", "a.md", "가나다라마바"}, {"a.md#6", "a.md", "사아"}},
		},
		{
			name: "a # in a code block is no heading, and blank lines do not cut it", id: "a.md", max: 100,
			text: "# T\n```sh\n# comment\n\nls\n```\n~~~\n``` text\n# no\n~~~\n# U\nx\n",
			want: []piece{{"a.md#1", "T", "```sh\n# comment\n\nls\n```\n~~~\n``` text\n# no\n~~~"}, {"a.md#2", "U", "x"}},
		},
		{
			name: "a comment is not read, unless it is code", id: "a.md", max: 100,
			text: "one\n<!-- hidden -->\ntwo <!-- said -->\n\n```html\n<!-- code -->\n```\n",
			want: []piece{{"a.md#1", "a.md", "one\ntwo <!-- said -->\n\n```html\n<!-- code -->\n```"}},
		},
		{
			name: "no heading without a space", id: "a.md", max: 100,
			text: "#hashtag\n####### seven\n",
			want: []piece{{"a.md#1", "a.md", "#hashtag\n####### seven"}},
		},
		{
			name: "plain text has no headings", id: "dir/b.txt", max: 100,
			text: "# one\r\n\r\ntwo\r\n",
			want: []piece{{"dir/b.txt#1", "b.txt", "# one\n\ntwo"}},
		},
		{name: "headings alone", id: "a.md", max: 100, text: "# T\n## S\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []piece
			for _, c := range split(document{id: tt.id, text: tt.text}, tt.max) {
				got = append(got, piece{c.id, c.title(), c.text})
				if c.document != tt.id {
					t.Errorf("chunk %s is of document %q", c.id, c.document)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("split (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"# T\n\ntext\n", "```\n# x\n", "가나다라마바사 아자차카", strings.Repeat("word ", 50), "a\r\n\r\nb", "#  \n x"} {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 1 || limit > 10_000 || !utf8.ValidString(text) {
			return
		}
		for _, id := range []string{"a.md", "a.txt"} {
			var chunks strings.Builder
			for _, c := range split(document{id: id, text: text}, limit) {
				if n := utf8.RuneCountInString(c.text); n == 0 || n > limit {
					t.Fatalf("%s has %d characters, want 1 to %d", c.id, n, limit)
				}
				chunks.WriteString(c.text + " " + c.title())
			}
			// No word is lost: headings are in titles, everything else in texts.
			if id == "a.txt" {
				if squeeze(text) != strings.ReplaceAll(squeeze(chunks.String()), "a.txt", "") && !strings.Contains(text, "a.txt") {
					t.Fatalf("%q became %q", text, chunks.String())
				}
			}
		}
	})
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }
