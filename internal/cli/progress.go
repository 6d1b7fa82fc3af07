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

// maxBarName is how much of a suite's name stands beside the bar: a line that a
// terminal has to break is drawn again below itself.
const maxBarName = 24

func newProgress(w io.Writer, name string, total int) *progress {
	p := &progress{name: barName(name)}
	if _, terminal := terminalWidth(w); terminal {
		p.bar = newBar(w, p.name, total)
	}
	return p
}

// barName cuts the name of a suite, which is ASCII, to what fits.
func barName(name string) string {
	if len(name) <= maxBarName {
		return name
	}
	return name[:maxBarName-1] + "…"
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
