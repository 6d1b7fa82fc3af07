package status

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-dev/assay/internal/judge"
)

// reasons gives the values of the package's constants that are named Reason….
func reasons(t *testing.T, dir string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no Go files in %s: %v", dir, err)
	}
	found := map[string]string{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, id := range spec.Names {
				if len(spec.Values) <= i || !strings.HasPrefix(id.Name, "Reason") {
					continue
				}
				if literal, ok := spec.Values[i].(*ast.BasicLit); ok {
					value, err := strconv.Unquote(literal.Value)
					if err != nil {
						t.Fatal(err)
					}
					found[value] = dir + " " + id.Name
				}
			}
			return true
		})
	}
	return found
}

// Every reason that a condition or a verdict can have stands in the docs.
func TestReasonsAreDocumented(t *testing.T) {
	var pages strings.Builder
	for _, name := range []string{"status.md", "metrics.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		pages.Write(text)
	}
	known := map[string]string{}
	for _, dir := range []string{".", "../suite", "../score", "../eval", "../compare", "../schedule"} {
		for reason, where := range reasons(t, dir) {
			known[reason] = where
			if !strings.Contains(pages.String(), "`"+reason+"`") {
				t.Errorf("%s: docs/status.md and docs/metrics.md do not have the reason %s", where, reason)
			}
		}
	}
	if len(known) < 30 {
		t.Errorf("only %d reasons were found: %v", len(known), known)
	}
	// And what the tables of reasons have can come about.
	for line := range strings.Lines(pages.String()) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, cell := range cells[1:3] {
			for reason := range strings.SplitSeq(cell, ",") {
				reason = strings.TrimSpace(reason)
				if name, ok := strings.CutPrefix(strings.TrimSuffix(reason, "`"), "`"); ok && isReason(name) && known[name] == "" && !elsewhere[name] {
					t.Errorf("the docs have the reason %s, which nothing gives", name)
				}
			}
		}
	}
}

// elsewhere are words of the tables that are no reason of a condition: types of
// conditions, verdicts, reasons of Events, and outcomes that end a run by their
// own name.
var elsewhere = map[string]bool{
	"Ready": true, "Reconciling": true, "Stalled": true, "Passing": true, "Complete": true, "HistoryStored": true, "BaselineComparable": true, "JudgeTrusted": true,
	"Failed": true, "Error": true,
	string(judge.QuotaExceeded): true, string(judge.BudgetExceeded): true,
	"RunCreated": true, "RunStarted": true, "RunPassed": true, "RunFailed": true, "RunInconclusive": true,
	"GoldenSetRead": true, "GoldenSetWarnings": true, "MissedSchedule": true, "SlotSkipped": true, "RunNameTaken": true, "DropTooFine": true,
}

// isReason says whether a word is written as reasons are: CamelCase.
func isReason(word string) bool {
	return word != "" && word[0] >= 'A' && word[0] <= 'Z' && !strings.ContainsAny(word, " .@=:-_")
}
