//go:build e2e

package install

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assay-dev/assay/test/docpage"
)

// TestTheSamplesUseTheChartsImage keeps a newcomer from pulling two images, one of which is not there.
func TestTheSamplesUseTheChartsImage(t *testing.T) {
	for _, sample := range []string{"quickstart/docs-bot/app.yaml", "gates/helm-hook.yaml"} {
		data, err := os.ReadFile(filepath.Join(root, "config", "samples", filepath.FromSlash(sample)))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(strings.Fields(string(data)), image) {
			t.Errorf("%s runs another image than the chart, %s", sample, image)
		}
	}
}

// ours is how a page says that a command is left to the tests of this package.
const ours = "test/e2e/install runs it"

// follow runs the commands of a page's section as they stand there, and holds what
// they print against what the page shows. What the page leaves to other tests is
// left out. The section "" is what stands before the first.
func follow(t *testing.T, page, section string) {
	t.Helper()
	followThose(t, page, section, func(s docpage.Step) bool { return s.Skip == "" || strings.HasSuffix(s.Skip, ours) })
}

// followOurs runs the commands alone that the page leaves to this package.
func followOurs(t *testing.T, page, section string) {
	t.Helper()
	followThose(t, page, section, func(s docpage.Step) bool { return strings.HasSuffix(s.Skip, ours) })
}

func followThose(t *testing.T, page, section string, wanted func(docpage.Step) bool) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	text := "\n" + string(data)
	if section != "" {
		found := false
		if _, text, found = strings.Cut(text, "\n## "+section+"\n"); !found {
			t.Fatalf("%s has no section %q", page, section)
		}
	}
	text, _, _ = strings.Cut(text, "\n## ")
	steps, err := docpage.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	ran := 0
	for _, s := range steps {
		if s.Command == "" || !wanted(s) {
			continue
		}
		ran++
		got := administrator.must(t, "bash", "-euc", shellCommands()+s.Command)
		if !shows(s.Output, got) {
			t.Errorf("%s shows, for\n$ %s\n%s\nbut this came:\n%s", page, s.Command, strings.Join(s.Output, "\n"), got)
		}
	}
	if ran == 0 {
		t.Fatalf("the section %q of %s has no command for this test", section, page)
	}
}

// shellCommands makes the tools under test known to a shell by their names.
func shellCommands() string {
	var functions strings.Builder
	for _, name := range []string{"kubectl", "helm", "assay"} {
		fmt.Fprintf(&functions, "%s() { '%s' \"$@\"; }\n", name, tool(name))
	}
	return functions.String()
}

// What differs from one run to the next: ages and durations, times, the hashes in names.
var volatile = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT[\d:]+Z|\b(\d+[dhms])+\b|\b[0-9a-f]{10}\b|-[0-9a-z]{8,10}-[0-9a-z]{5}\b`)

// shows says whether every line that a page shows is among those that came.
func shows(page []string, got string) bool {
	have := map[string]bool{}
	for line := range strings.Lines(got) {
		have[essence(line)] = true
	}
	for _, line := range page {
		if !have[essence(line)] {
			return false
		}
	}
	return true
}

// essence is a line without what differs between runs.
func essence(line string) string {
	return strings.Join(strings.Fields(volatile.ReplaceAllString(line, "·")), " ")
}

func TestEssence(t *testing.T) {
	for _, tc := range []struct {
		page, cluster string
		same          bool
	}{
		{"docs-bot   True   2m   2026-12-01T06:00:00Z   2m", "docs-bot True 0s 2026-11-30T12:00:00Z 1m2s", true},
		{"docs-bot-1f0c9a7e2b   Passed   10/10", "docs-bot-71a07a092c   Passed   10/10", true},
		{"assay-controller-manager-c5f5fd8b4-hspbk 1/1", "assay-controller-manager-7d9f6c54bb-2kq8x 1/1", true},
		{"docs-bot   True", "docs-bot   False", false},
		{"docs-bot   0.9000", "docs-bot   1.0000", false},
	} {
		if same := essence(tc.page) == essence(tc.cluster); same != tc.same {
			t.Errorf("%q and %q are the same: %t, want %t", tc.page, tc.cluster, same, tc.same)
		}
	}
}
