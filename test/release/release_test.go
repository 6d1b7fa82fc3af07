//go:build e2e

package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const (
	releaseVersion = "v0.1.0" // CHANGELOG.md has it
	committed      = "2026-11-30T18:27:35+09:00"
	committedUTC   = "2026-11-30T09:27:35Z"
)

// root is the work tree of this repository.
const root = "../.."

// command runs a program and gives what it prints.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	// Group and pipes of a program that was killed must not hold the test.
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	var complaint bytes.Buffer
	c.Stderr = &complaint
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, complaint.Bytes())
	}
	return string(out)
}

// tool is a program that the Makefile names.
func tool(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Fatalf("%s is not set: run make e2e-release, which builds what it names", variable)
	}
	return path
}

// commitCopy copies this work tree, changes and all, and commits it.
func commitCopy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name := range strings.SplitSeq(command(t, root, nil, "git", "ls-files", "-co", "--exclude-standard", "-z"), "\x00") {
		if name == "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // Removed and not committed yet.
		}
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(copied), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied, data, info.Mode().Perm()|0o200); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_AUTHOR_DATE=" + committed, "GIT_COMMITTER_DATE=" + committed,
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "release"}} {
		command(t, dir, env, "git", args...)
	}
	return dir
}

// releaseOf makes the release of a work tree for this platform.
func releaseOf(t *testing.T, source string, env ...string) string {
	t.Helper()
	dist := filepath.Join(t.TempDir(), "dist")
	path := os.Getenv("PATH")
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		path = assets + string(os.PathListSeparator) + path
	}
	command(t, root, append(env, "PATH="+path), "go", "run", "./hack/release", "-version", releaseVersion, "-source", source, "-dist", dist,
		"-platforms", runtime.GOOS+"/"+runtime.GOARCH, "-helm", tool(t, "HELM_BIN"), "-cyclonedx-gomod", tool(t, "CYCLONEDX_BIN"))
	return dist
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// member is a file of an archive.
type member struct {
	Mode int64
	Link string
	text []byte
}

// unpack reads a tar.gz.
func unpack(t *testing.T, path string) map[string]member {
	t.Helper()
	decompressor, err := gzip.NewReader(bytes.NewReader(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]member{}
	for archive := tar.NewReader(decompressor); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return members
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		members[header.Name] = member{header.Mode, header.Linkname, text}
	}
}

func TestRelease(t *testing.T) {
	source := commitCopy(t)
	commit := strings.TrimSpace(command(t, source, nil, "git", "rev-parse", "HEAD"))[:12]
	dist := releaseOf(t, source)
	base := "assay_" + releaseVersion + "_" + runtime.GOOS + "_" + runtime.GOARCH

	t.Run("files", func(t *testing.T) {
		entries, err := os.ReadDir(dist)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		want := []string{"SHA256SUMS", "assay-0.1.0.tgz", base + ".sbom.cdx.json", base + ".tar.gz", "install.yaml", "release-notes.md"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	})

	t.Run("checksums", func(t *testing.T) {
		sums := strings.Split(strings.TrimSpace(string(read(t, filepath.Join(dist, "SHA256SUMS")))), "\n")
		for _, line := range sums {
			sum, name, _ := strings.Cut(line, "  ")
			if got := sha256.Sum256(read(t, filepath.Join(dist, name))); hex.EncodeToString(got[:]) != sum {
				t.Errorf("%s: the sum is %x, SHA256SUMS has %s", name, got, sum)
			}
		}
		if len(sums) != 5 {
			t.Errorf("%d sums, want one for each of the 5 other files", len(sums))
		}
	})

	t.Run("archive", func(t *testing.T) {
		members := unpack(t, filepath.Join(dist, base+".tar.gz"))
		want := map[string]member{
			"assay":                {Mode: 0o755},
			"kubectl-assay":        {Mode: 0o777, Link: "assay"},
			"LICENSE":              {Mode: 0o644},
			"README.md":            {Mode: 0o644},
			"THIRD_PARTY_LICENSES": {Mode: 0o644},
		}
		if diff := cmp.Diff(want, members, cmp.Comparer(func(a, b member) bool { return a.Mode == b.Mode && a.Link == b.Link })); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
		for name, text := range map[string]string{"LICENSE": "Apache License", "THIRD_PARTY_LICENSES": "sigs.k8s.io/controller-runtime v"} {
			if !strings.Contains(string(members[name].text), text) {
				t.Errorf("%s lacks %q", name, text)
			}
		}

		program := filepath.Join(t.TempDir(), "assay")
		if err := os.WriteFile(program, members["assay"].text, 0o755); err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		if err := json.Unmarshal([]byte(command(t, ".", nil, program, "version", "-o", "json")), &got); err != nil {
			t.Fatal(err)
		}
		wantVersion := map[string]string{
			"version": releaseVersion, "commit": commit, "date": committedUTC, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
		}
		if diff := cmp.Diff(wantVersion, got); diff != "" {
			t.Errorf("assay version (-want +got):\n%s", diff)
		}
		if bytes.Contains(members["assay"].text, []byte(source)) {
			t.Error("the binary has the path of the folder that it was built in")
		}
	})

	t.Run("SBOM", func(t *testing.T) {
		var sbom struct {
			BOMFormat    string `json:"bomFormat"`
			SerialNumber string
			Metadata     struct {
				Timestamp string
				Component struct{ Name, Version string }
			}
			Components []struct{ Name, Version, PURL string }
		}
		if err := json.Unmarshal(read(t, filepath.Join(dist, base+".sbom.cdx.json")), &sbom); err != nil {
			t.Fatal(err)
		}
		if c := sbom.Metadata.Component; sbom.BOMFormat != "CycloneDX" || c.Name != "github.com/assay-dev/assay" || c.Version != releaseVersion {
			t.Errorf("a %s of %s %s", sbom.BOMFormat, c.Name, c.Version)
		}
		found := map[string]bool{}
		for _, c := range sbom.Components {
			found[c.Name] = strings.HasPrefix(c.PURL, "pkg:golang/")
		}
		for _, name := range []string{"sigs.k8s.io/controller-runtime", "k8s.io/client-go", "modernc.org/sqlite", "std"} {
			if !found[name] {
				t.Errorf("%s is not in it", name)
			}
		}
	})

	t.Run("chart", func(t *testing.T) {
		members := unpack(t, filepath.Join(dist, "assay-0.1.0.tgz"))
		var chart struct{ Name, Version, AppVersion string }
		if err := yaml.Unmarshal(members["assay/Chart.yaml"].text, &chart); err != nil {
			t.Fatal(err)
		}
		if chart.Name != "assay" || chart.Version != "0.1.0" || chart.AppVersion != releaseVersion {
			t.Errorf("the chart is %+v", chart)
		}
		rendered := command(t, ".", nil, tool(t, "HELM_BIN"), "template", "assay", filepath.Join(dist, "assay-0.1.0.tgz"), "-n", "assay-system")
		if want := "ghcr.io/assay-dev/assay:" + releaseVersion; !strings.Contains(rendered, want) {
			t.Errorf("the chart does not install %s", want)
		}
	})

	t.Run("manifest", func(t *testing.T) {
		text := string(read(t, filepath.Join(dist, "install.yaml")))
		for _, want := range []string{"image: ghcr.io/assay-dev/assay:" + releaseVersion + "\n", "kind: CustomResourceDefinition\n", "kind: Deployment\n", "kind: Namespace\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("install.yaml lacks %q", want)
			}
		}
	})

	t.Run("notes", func(t *testing.T) {
		if text := string(read(t, filepath.Join(dist, "release-notes.md"))); !strings.HasPrefix(text, "### Added\n") {
			t.Errorf("the notes begin %.40q", text)
		}
	})

	// Another folder, and somebody with settings of their own.
	t.Run("again", func(t *testing.T) {
		clone := filepath.Join(t.TempDir(), "elsewhere")
		command(t, ".", nil, "git", "clone", "-q", source, clone)
		again := releaseOf(t, clone, "GOFLAGS=-buildvcs=auto -ldflags=-X=main.x=y", "GOAMD64=v3", "TZ=Asia/Seoul", "LANG=ko_KR.UTF-8")
		if diff := cmp.Diff(string(read(t, filepath.Join(dist, "SHA256SUMS"))), string(read(t, filepath.Join(again, "SHA256SUMS")))); diff != "" {
			t.Errorf("the same commit, built twice (-first +second):\n%s", diff)
		}
	})
}
