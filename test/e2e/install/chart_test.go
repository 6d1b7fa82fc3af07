//go:build e2e

package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var imageLine = regexp.MustCompile(`image: "?([^"\s]+)"?`)

// chartImage is the image that the chart installs when it is told nothing.
func chartImage() (string, error) {
	out, err := administrator.run(context.Background(), "helm", "template", "assay", chart, "--show-only", "templates/deployment.yaml")
	if err != nil {
		return "", err
	}
	match := imageLine.FindStringSubmatch(out)
	if match == nil {
		return "", fmt.Errorf("the chart's Deployment names no image:\n%s", out)
	}
	return match[1], nil
}

// newerImage is that of the chart that is upgraded to.
func newerImage() string {
	repository, _, _ := strings.Cut(image, ":")
	return repository + ":v" + newerVersion
}

// newerChart is a later version of the chart, whose CRD has a column more.
func newerChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "assay")
	if err := os.CopyFS(dir, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	edit(t, filepath.Join(dir, "Chart.yaml"), regexp.MustCompile(`(?m)^version: .*$`), "version: "+newerVersion)
	edit(t, filepath.Join(dir, "Chart.yaml"), regexp.MustCompile(`(?m)^appVersion: .*$`), "appVersion: v"+newerVersion)
	edit(t, filepath.Join(dir, "files", "crds", "assay.dev_evalsuites.yaml"), regexp.MustCompile(`(?m)^  - additionalPrinterColumns:$`),
		"  - additionalPrinterColumns:\n    - jsonPath: .spec.schedule\n      name: Newer\n      type: string")
	return dir
}

func edit(t *testing.T, file string, pattern *regexp.Regexp, replacement string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if found := pattern.FindAll(data, -1); len(found) != 1 {
		t.Fatalf("%s matches %s %d times, want once", file, pattern, len(found))
	}
	if err := os.WriteFile(file, pattern.ReplaceAllLiteral(data, []byte(replacement)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// packaged is the chart as it is published.
func packaged(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	helm(t, "package", chart, "--destination", dir)
	files, err := filepath.Glob(filepath.Join(dir, "assay-*.tgz"))
	if err != nil || len(files) != 1 {
		t.Fatalf("helm package made %v, %v", files, err)
	}
	return files[0]
}
