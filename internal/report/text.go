package report

import (
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// printable gives text on one line without characters that a terminal acts on:
// questions and messages come from outside.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// width is how many columns a terminal takes for the text: two for a Korean syllable.
func width(text string) int { return uniseg.StringWidth(text) }

// cut shortens text to so many columns, the last one an ellipsis.
func cut(text string, columns int) string {
	if width(text) <= columns {
		return text
	}
	var b strings.Builder
	left := columns - 1
	for state, rest := -1, text; rest != ""; {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if w > left {
			break
		}
		left -= w
		b.WriteString(cluster)
	}
	return strings.TrimRight(b.String(), " ") + "…"
}

// grid is lines of cells in columns.
type grid struct {
	rows [][]cell
}

// cell is a text and the colour that it is written in.
type cell struct {
	text  string
	style style
}

func plain(texts ...string) []cell {
	cells := make([]cell, len(texts))
	for i, text := range texts {
		cells[i].text = text
	}
	return cells
}

func (g *grid) add(cells ...cell) { g.rows = append(g.rows, cells) }

// write aligns the columns by the width of their text, without colour codes.
func (g *grid) write(p *printer) {
	var widths []int
	for _, row := range g.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(c.text))
		}
	}
	for _, row := range g.rows {
		last := len(row) - 1
		for last > 0 && row[last].text == "" {
			last--
		}
		for i, c := range row[:last+1] {
			p.styled(c.style, c.text)
			if i < last {
				p.print(strings.Repeat(" ", widths[i]-width(c.text)+columnGap))
			}
		}
		p.print("\n")
	}
}

const columnGap = 2
