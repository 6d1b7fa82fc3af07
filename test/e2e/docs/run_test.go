//go:build e2e

package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/assay-dev/assay/test/docpage"
)

const (
	// pageTimeout bounds one page.
	pageTimeout = 6 * time.Minute
	// upTimeout bounds how long a command that goes on takes until it is up.
	upTimeout = 60 * time.Second
)

// reader carries out a page, as somebody would who types what it shows.
type reader struct {
	// dir is a copy of the repository, where the reader stands.
	dir string
	// env is the reader's environment.
	env []string
	// hosts are lines of /etc/hosts, which the reader alone sees.
	hosts string
}

// result is what became of one command.
type result struct {
	step   docpage.Step
	output string
	failed bool
}

// read runs the steps in one shell, so that variables and background jobs last,
// and gives what became of each that was reached.
func (r *reader) read(ctx context.Context, steps []docpage.Step) ([]result, error) {
	logs, err := os.MkdirTemp("", "assay-page-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(logs) }()
	if err := os.WriteFile(filepath.Join(logs, "hosts"), []byte(r.hosts), 0o644); err != nil {
		return nil, err
	}
	var ran []docpage.Step
	for _, s := range steps {
		if s.Skip == "" {
			ran = append(ran, s)
		}
	}
	if err := os.WriteFile(filepath.Join(logs, "page.sh"), []byte(script(logs, ran)), 0o644); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	// A mount namespace of its own: the hosts are not the machine's.
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "--propagation", "private", "bash", "-c",
		`mount --bind "$0/hosts" /etc/hosts && exec bash "$0/page.sh"`, logs)
	cmd.Dir, cmd.Env = r.dir, r.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// What goes on in the background ends with the page.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	results := collect(logs, ran)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return results, err
	}
	if ctx.Err() != nil {
		return results, fmt.Errorf("the page is not done after %s", pageTimeout)
	}
	if err != nil && len(results) == 0 {
		return nil, fmt.Errorf("%w: %s", err, stderr.String())
	}
	return results, nil
}

// script writes the steps for bash. The file N.out has what step N printed, N.rc
// how it ended; a step without N.rc was not come to, or goes on.
func script(logs string, steps []docpage.Step) string {
	var b strings.Builder
	fmt.Fprintf(&b, "set -u -o pipefail\nlogs=%q\n", logs)
	// up waits until a log has a text, or anything at all.
	fmt.Fprintf(&b, `up() {
    for ((i = 0; i < %d; i++)); do
        if [ -s "$1" ] && grep -qF -- "$2" "$1"; then return 0; fi
        sleep 0.1
    done
    return 1
}
`, upTimeout/(100*time.Millisecond))
	for i, s := range steps {
		log := fmt.Sprintf("%s/%d.out", logs, i)
		fmt.Fprintf(&b, "exec >%s 2>&1 </dev/null\n", log)
		switch {
		case s.File != "":
			fmt.Fprintf(&b, "cat >%s <<'END OF FILE'\n%sEND OF FILE\nrc=$?\n", s.File, s.Text)
		case s.Manifest != "":
			// Nothing is made: whether it would be taken is what is asked.
			verb := "apply"
			if strings.Contains(s.Manifest, "generateName:") {
				verb = "create"
			}
			fmt.Fprintf(&b, "kubectl %s --dry-run=server -f - <<'END OF FILE'\n%sEND OF FILE\nrc=$?\n", verb, s.Manifest)
		case s.Until != "":
			fmt.Fprintf(&b, "%s &\nup %s %q\nrc=$?\n", s.Command, log, s.Until)
		case strings.HasSuffix(s.Command, "&"):
			fmt.Fprintf(&b, "%s\nup %s ''\nrc=$?\n", s.Command, log)
		default:
			fmt.Fprintf(&b, "%s\nrc=$?\n", s.Command)
		}
		fmt.Fprintf(&b, "echo $rc >%s/%d.rc\n", logs, i)
		if s.Fails {
			b.WriteString("[ $rc != 0 ] || exit 1\n")
		} else {
			b.WriteString("[ $rc = 0 ] || exit 1\n")
		}
	}
	return b.String()
}

func collect(logs string, steps []docpage.Step) []result {
	var results []result
	for i, s := range steps {
		out, err := os.ReadFile(filepath.Join(logs, fmt.Sprintf("%d.out", i)))
		if err != nil {
			break
		}
		rc, err := os.ReadFile(filepath.Join(logs, fmt.Sprintf("%d.rc", i)))
		results = append(results, result{
			step:   s,
			output: string(out),
			failed: err != nil || (strings.TrimSpace(string(rc)) != "0") != s.Fails,
		})
	}
	return results
}

// sameColumns says whether a table that the page shows has the columns that were
// printed: the line of headings, where there is one.
func sameColumns(shown []string, printed string) error {
	if len(shown) == 0 {
		return nil
	}
	want := strings.Fields(shown[0])
	if len(want) < 2 || strings.ToUpper(shown[0]) != shown[0] {
		return nil
	}
	for line := range strings.Lines(printed) {
		if strings.Join(strings.Fields(line), " ") == strings.Join(want, " ") {
			return nil
		}
	}
	return fmt.Errorf("the page shows the columns %s, which were not printed", strings.Join(want, " "))
}
