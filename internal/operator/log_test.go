package operator

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
)

func TestNoLoggerWritesBodies(t *testing.T) {
	var lines []string
	l := withoutBodies(funcr.New(func(prefix, args string) { lines = append(lines, prefix+" "+args) }, funcr.Options{Verbosity: 100}))
	for name, derived := range map[string]func(level int){
		"itself":      func(level int) { l.V(level).Info("a line") },
		"with values": func(level int) { l.WithValues("suite", "docs-bot").V(level).Info("a line") },
		"with a name": func(level int) { l.WithName("api").V(level).Info("a line") },
		"call depth":  func(level int) { l.WithCallDepth(1).V(level).Info("a line") },
		"in steps":    func(level int) { l.V(4).V(level - 4).Info("a line") },
	} {
		lines = nil
		derived(mostVerbose)
		derived(mostVerbose + 1)
		if len(lines) != 1 || !strings.Contains(lines[0], "a line") {
			t.Errorf("%s: got %q, want the first line alone", name, lines)
		}
	}
}
