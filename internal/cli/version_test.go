package cli

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/version"
)

func TestVersionJSON(t *testing.T) {
	result := assay(t, "", "version", "-o", "json")
	result.want(t, exitPassed, "\n", "")
	var got version.Info
	if err := json.Unmarshal([]byte(result.stdout), &got); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, result.stdout)
	}
	if diff := cmp.Diff(version.Get(), got); diff != "" {
		t.Errorf("assay version -o json (-want +got):\n%s", diff)
	}
}

func TestVersionText(t *testing.T) {
	info := version.Get()
	assay(t, "", "version").want(t, exitPassed, "assay "+version.String()+" "+info.Go+" "+info.Platform+"\n", "")
}

func TestVersionRefuses(t *testing.T) {
	assay(t, "", "version", "-o", "yaml").want(t, exitError, "", `unknown output format "yaml": use text or json`)
	assay(t, "", "version", "please").want(t, exitError, "", "unknown command")
}
