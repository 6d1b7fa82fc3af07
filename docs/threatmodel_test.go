package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var namedTest = regexp.MustCompile("\\[`(Test[A-Za-z0-9]+)`\\]\\(([^)]+)\\)")

// What the threat model says is tested is.
func TestTheThreatModelsTestsExist(t *testing.T) {
	page, err := os.ReadFile("threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	named := namedTest.FindAllStringSubmatch(string(page), -1)
	for _, m := range named {
		source, err := os.ReadFile(filepath.FromSlash(m[2]))
		if err != nil || !strings.Contains(string(source), "func "+m[1]+"(t *testing.T)") {
			t.Errorf("%s has no %s: %v", m[2], m[1], err)
		}
	}
	if len(named) < 30 {
		t.Errorf("only %d tests are named", len(named))
	}
}
