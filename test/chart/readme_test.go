package chart_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table of values into the chart's README.md")

const (
	tableBegins = "<!-- values: written by go test ./test/chart -run TestReadme -update -->\n"
	tableEnds   = "<!-- end of values -->\n"
)

// The table of the chart's README is made of values.schema.json and values.yaml.
func TestReadme(t *testing.T) {
	const file = chart + "/README.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), tableBegins)
	got, after, closed := strings.Cut(rest, tableEnds)
	if !found || !closed {
		t.Fatalf("%s has no table between %q and %q", file, tableBegins, tableEnds)
	}
	want := table(t)
	if *update {
		if err := os.WriteFile(file, []byte(before+tableBegins+want+tableEnds+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table of %s is out of date: run go test ./test/chart -run TestReadme -update (-want +got):\n%s", file, diff)
	}
}

func table(t *testing.T) string {
	t.Helper()
	defaults := parse(t, values(t))
	var b strings.Builder
	b.WriteString("| value | default | what it does |\n| --- | --- | --- |\n")
	for _, s := range settings(t) {
		value, _ := lookup(defaults, s.path)
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		shown := "`" + strings.ReplaceAll(string(text), "|", `\|`) + "`"
		if len(text) > 60 {
			shown = "see values.yaml"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.path, shown, strings.ReplaceAll(s.description, "|", `\|`))
	}
	return b.String()
}
