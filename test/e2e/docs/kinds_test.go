//go:build e2e

package docs

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
)

// kinds are the definitions that other tools' modules carry of the objects that
// pages show: the API server knows what to hold these to.
var kinds = []struct{ module, path string }{
	{"github.com/argoproj/argo-rollouts@v1.10.1", "manifests/crds"},
	{"github.com/fluxcd/flagger@v1.44.0", "artifacts/flagger/crd.yaml"},
	{"github.com/fluxcd/kustomize-controller@v1.7.3", "config/crd/bases"},
	{"github.com/prometheus-operator/prometheus-operator@v0.85.0", "example/prometheus-operator-crd"},
}

// installKinds installs them.
func (o *place) installKinds(ctx context.Context) error {
	for _, k := range kinds {
		cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", k.module)
		cmd.Dir = o.bin // in no module
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("download %s: %w: %s", k.module, err, out)
		}
		var found struct{ Dir string }
		if err := json.Unmarshal(out, &found); err != nil {
			return fmt.Errorf("read what go mod download says of %s: %w", k.module, err)
		}
		args := []string{"apply", "--server-side", "-f", filepath.Join(found.Dir, filepath.FromSlash(k.path))}
		if filepath.Base(k.path) == "crds" { // beside a kustomization, which is no object
			args[2] = "-k"
		}
		if _, err := o.command(ctx, filepath.Join(o.bin, "kubectl"), args...); err != nil {
			return err
		}
	}
	return nil
}
