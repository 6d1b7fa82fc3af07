package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hack/vulncheck.sh tells apart what govulncheck found, that it found nothing, that
// it could not ask, and that it is broken.
func TestVulncheck(t *testing.T) {
	for name, tt := range map[string]struct {
		program string
		passes  bool
		says    string
	}{
		"nothing found": {"echo 'No vulnerabilities found.'", true, "No vulnerabilities found."},
		"found":         {"echo 'Vulnerability #1: GO-2026-0001'; exit 3", false, "GO-2026-0001"},
		"unreachable":   {"echo 'govulncheck: fetching vulnerabilities: Get \"https://vuln.go.dev\": no such host' >&2; exit 1", true, "SKIPPED: nothing was checked"},
		"broken":        {"echo 'govulncheck: loading packages: no Go' >&2; exit 1", false, "loading packages"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "govulncheck")
			if err := os.WriteFile(file, []byte("#!/bin/sh\n"+tt.program+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), "../../hack/vulncheck.sh")
			command.Env = append(os.Environ(), "GOVULNCHECK="+file)
			out, err := command.CombinedOutput()
			if (err == nil) != tt.passes || !strings.Contains(string(out), tt.says) {
				t.Errorf("error %v, want passing %t and %q in\n%s", err, tt.passes, tt.says, out)
			}
		})
	}
}
