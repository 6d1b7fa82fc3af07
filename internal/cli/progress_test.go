package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/assay-dev/assay/internal/eval"
)

func TestProgressCountsCasesAndFailures(t *testing.T) {
	var out bytes.Buffer
	p := &progress{name: "docs-bot", bar: newBar(&out, "docs-bot", 3)}
	if !strings.Contains(out.String(), "docs-bot") || !strings.Contains(out.String(), "0/3") {
		t.Errorf("the bar does not begin with name and count: %q", out.String())
	}
	p.done(eval.CaseResult{Outcome: "RetrieverTimeout"})
	p.done(eval.CaseResult{Outcome: eval.Scored})
	if state := p.bar.State(); state.CurrentNum != 2 || state.Description != "docs-bot, 1 failed" {
		t.Errorf("state = %d, %q", state.CurrentNum, state.Description)
	}
	p.end()
	if !strings.HasSuffix(out.String(), "\r") {
		t.Errorf("the line is not cleared at the end: %q", out.String())
	}
}

func TestProgressStaysOffFilesAndPipes(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, "docs-bot", 1)
	p.done(eval.CaseResult{Outcome: eval.Scored})
	p.end()
	if out.Len() > 0 {
		t.Errorf("wrote %q where there is no terminal", out.String())
	}
}

func TestBarName(t *testing.T) {
	for name, want := range map[string]string{
		"docs-bot":                   "docs-bot",
		"a-name-of-24-characters-":   "a-name-of-24-characters-",
		"a-name-of-more-characters-": "a-name-of-more-characte…",
	} {
		if got := barName(name); got != want {
			t.Errorf("barName(%q) = %q, want %q", name, got, want)
		}
	}
}
