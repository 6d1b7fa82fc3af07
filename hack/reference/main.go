// Command reference writes the reference pages from the CRDs and from the metrics
// that the code registers:
//
//	go run ./hack/reference docs/reference
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/assay-dev/assay/config/crd"
	"github.com/assay-dev/assay/internal/telemetry"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: reference FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	crds, err := readCRDs(crd.FS)
	if err != nil {
		return err
	}
	api, err := apiPage(crds)
	if err != nil {
		return err
	}
	series, err := telemetry.Reference()
	if err != nil {
		return fmt.Errorf("list the metrics: %w", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"api.md": api, "metrics.md": metricsPage(series)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
