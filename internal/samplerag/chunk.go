package samplerag

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

const defaultChunkRunes = 1200

// document is one file, its text valid UTF-8 in NFC.
type document struct {
	id   string
	text string
}

// chunk is what is indexed and returned: a stretch of one section.
type chunk struct {
	id       string
	document string
	headings []string
	text     string
}

func (c chunk) title() string { return strings.Join(c.headings, " > ") }

// indexed is the text that a query is matched with: headings count too.
func (c chunk) indexed() string { return c.title() + "\n" + c.text }

func (c chunk) fields() map[string]any {
	return map[string]any{fieldEnglish: c.indexed(), fieldCJK: c.indexed()}
}

// split cuts a document at its headings, and a section that is longer than
// maxRunes between its paragraphs.
func split(d document, maxRunes int) []chunk {
	var chunks []chunk
	for _, s := range sections(d) {
		for _, text := range pack(s.paragraphs, maxRunes) {
			chunks = append(chunks, chunk{
				id:       fmt.Sprintf("%s#%d", d.id, len(chunks)+1),
				document: d.id,
				headings: s.headings,
				text:     text,
			})
		}
	}
	return chunks
}

// section is the text below one heading, up to the next.
type section struct {
	headings   []string
	paragraphs []string
}

// heading is an ATX heading of CommonMark: up to three spaces, one to six #, text.
var heading = regexp.MustCompile(`^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$`)

// fence opens a code block, in which # is no heading; without an info string it also closes one.
var fence = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})(.*)$")

// comment is an HTML comment on a line of its own, which no reader of a page sees.
var comment = regexp.MustCompile(`^ {0,3}<!--.*-->[ \t]*$`)

func sections(d document) []section {
	markdown := isMarkdown(d.id)
	r := sectionReader{current: section{headings: []string{path.Base(d.id)}}}
	for line := range strings.Lines(d.text) {
		line = strings.TrimRight(line, "\r\n")
		if markdown {
			r.markdownLine(line)
		} else {
			r.textLine(line)
		}
	}
	r.endSection()
	return r.sections
}

type sectionReader struct {
	sections  []section
	current   section
	paragraph []string
	path      [6]string
	fence     string
}

func (r *sectionReader) markdownLine(line string) {
	m := fence.FindStringSubmatch(line)
	switch {
	case m != nil && r.fence == "":
		r.fence = m[1]
	case m != nil && strings.HasPrefix(m[1], r.fence) && strings.TrimSpace(m[2]) == "":
		r.fence = ""
	case r.fence == "":
		r.proseLine(line)
		return
	}
	r.paragraph = append(r.paragraph, line)
}

func (r *sectionReader) proseLine(line string) {
	if comment.MatchString(line) {
		return
	}
	if m := heading.FindStringSubmatch(line); m != nil {
		r.startSection(len(m[1]), m[2])
		return
	}
	r.textLine(line)
}

func (r *sectionReader) textLine(line string) {
	if strings.TrimSpace(line) == "" {
		r.endParagraph()
		return
	}
	r.paragraph = append(r.paragraph, line)
}

func (r *sectionReader) startSection(level int, title string) {
	r.endSection()
	r.path[level-1] = title
	clear(r.path[level:])
	r.current.headings = nil
	for _, h := range r.path {
		if h != "" {
			r.current.headings = append(r.current.headings, h)
		}
	}
}

func (r *sectionReader) endSection() {
	r.endParagraph()
	if len(r.current.paragraphs) > 0 {
		r.sections = append(r.sections, r.current)
	}
	r.current = section{headings: r.current.headings}
}

func (r *sectionReader) endParagraph() {
	if len(r.paragraph) > 0 {
		r.current.paragraphs = append(r.current.paragraphs, strings.Join(r.paragraph, "\n"))
	}
	r.paragraph = nil
}

// pack joins paragraphs to texts of at most maxRunes characters.
func pack(paragraphs []string, maxRunes int) []string {
	var texts []string
	text, runes := "", 0
	for _, p := range paragraphs {
		for _, piece := range pieces(p, maxRunes) {
			n := utf8.RuneCountInString(piece)
			if runes > 0 && runes+2+n > maxRunes {
				texts = append(texts, text)
				text, runes = "", 0
			}
			if runes > 0 {
				text, runes = text+"\n\n", runes+2
			}
			text, runes = text+piece, runes+n
		}
	}
	if runes > 0 {
		texts = append(texts, text)
	}
	return texts
}

// pieces cuts a paragraph that is too long after a line, else after a word,
// else anywhere.
func pieces(paragraph string, maxRunes int) []string {
	var out []string
	for utf8.RuneCountInString(paragraph) > maxRunes {
		end := byteIndex(paragraph, maxRunes)
		// White space right after the end will do as well.
		cut := strings.LastIndexByte(paragraph[:end+1], '\n')
		if cut <= 0 {
			cut = strings.LastIndexAny(paragraph[:end+1], " \t")
		}
		if cut <= 0 {
			cut = end
		}
		out = append(out, paragraph[:cut])
		paragraph = strings.TrimLeft(paragraph[cut:], " \t\n")
	}
	if paragraph != "" {
		out = append(out, paragraph)
	}
	return out
}

// byteIndex is where the n-th character of s begins.
func byteIndex(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}
