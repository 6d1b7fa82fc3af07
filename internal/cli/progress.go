package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/assay-dev/assay/internal/eval"
)

// terminalWidth says whether a writer is a terminal, and how wide it is.
func terminalWidth(w io.Writer) (columns int, terminal bool) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0, false
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		columns = 0
	}
	return columns, true
}

// progress is a bar on a terminal, and nothing elsewhere.
type progress struct {
	bar    *progressbar.ProgressBar
	name   string
	failed int
}

func newProgress(w io.Writer, name string, total int) *progress {
	p := &progress{name: name}
	if _, terminal := terminalWidth(w); terminal {
		p.bar = newBar(w, name, total)
	}
	return p
}

func newBar(w io.Writer, name string, total int) *progressbar.ProgressBar {
	return progressbar.NewOptions(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(name),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionClearOnFinish(),
	)
}

// done counts one case. A bar that cannot be drawn is no reason to stop.
func (p *progress) done(c eval.CaseResult) {
	if p.bar == nil {
		return
	}
	if c.Outcome != eval.Scored {
		p.failed++
		p.bar.Describe(fmt.Sprintf("%s, %d failed", p.name, p.failed))
	}
	_ = p.bar.Add(1)
}

// end takes the bar away, also where the run ended before its last case.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
