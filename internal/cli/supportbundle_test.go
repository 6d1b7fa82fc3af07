package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// forbidding is a cluster in which nobody may do anything, and its kubeconfig.
func forbidding(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/version" {
			_, _ = io.WriteString(w, `{"major":"1","minor":"37","gitVersion":"v1.37.2"}`)
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "not you: " + r.URL.Path})
	}))
	t.Cleanup(server.Close)
	return kubeconfig(t, server.URL)
}

func kubeconfig(t *testing.T, url string) string {
	t.Helper()
	return file(t, "kubeconfig", fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: here
clusters: [{name: c, cluster: {server: %q}}]
users: [{name: u, user: {}}]
contexts: [{name: here, context: {cluster: c, user: u, namespace: rag}}]
`, url))
}

func TestSupportBundle(t *testing.T) {
	config := forbidding(t)
	name := filepath.Join(t.TempDir(), "bundle.tar.gz")
	got := assay(t, "", "support-bundle", "--kubeconfig", config, "-o", name)
	got.want(t, 0, name+"\n", "cluster   v1.37.2")
	for _, reason := range []string{"evalsuites in namespace rag: you may not", "not you: /apis/assay.dev/v1alpha1/namespaces/rag/evalruns"} {
		if !strings.Contains(got.stderr, reason) {
			t.Errorf("stderr lacks %q:\n%s", reason, got.stderr)
		}
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	written, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for where, packed := range map[string][]byte{
		"file":            written,
		"standard output": []byte(assay(t, "", "support-bundle", "--kubeconfig", config, "-A", "-o", "-").stdout),
	} {
		if names := namesIn(t, packed); strings.Join(names, " ") != "assay-support-bundle/index.yaml assay-support-bundle/summary.txt" {
			t.Errorf("%s: the archive has %q", where, names)
		}
	}
	// An archive that may be somebody's is not written over.
	assay(t, "", "support-bundle", "--kubeconfig", config, "-o", name).want(t, 3, "", "exists already")
	if again, _ := os.ReadFile(name); !bytes.Equal(again, written) {
		t.Error("the file was written over")
	}
}

func namesIn(t *testing.T, packed []byte) (names []string) {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
}

func TestSupportBundleNamesItself(t *testing.T) {
	t.Chdir(t.TempDir())
	got := assay(t, "", "support-bundle", "--kubeconfig", forbidding(t))
	got.want(t, 0, "assay-support-bundle-", "Not collected")
	if _, err := os.Stat(strings.TrimSpace(got.stdout)); err != nil {
		t.Error(err)
	}
}

func TestSupportBundleRefuses(t *testing.T) {
	config := forbidding(t)
	away := kubeconfig(t, "http://127.0.0.1:1")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"both scopes":              {[]string{"-n", "rag", "-A"}, "exclude each other"},
		"no runs":                  {[]string{"--runs", "0"}, "from 1 to 1000"},
		"too many runs":            {[]string{"--runs", "100000"}, "from 1 to 1000"},
		"namespace":                {[]string{"-n", "../kube-system"}, "no name of a namespace"},
		"operator namespace":       {[]string{"--operator-namespace", "A B"}, "no name of a namespace"},
		"suite":                    {[]string{"--suite", "a/b"}, "no name of a suite"},
		"argument":                 {[]string{"docs-bot"}, "unknown command"},
		"folder that is not there": {[]string{"-o", filepath.Join(t.TempDir(), "no", "such.tar.gz")}, "write the bundle"},
		"context":                  {[]string{"--context", "nowhere"}, "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			assay(t, "", append([]string{"support-bundle", "--kubeconfig", config}, test.args...)...).want(t, 3, "", test.want)
			left(t)
		})
	}
	t.Run("no cluster", func(t *testing.T) {
		t.Chdir(t.TempDir())
		assay(t, "", "support-bundle", "--kubeconfig", away).want(t, 3, "", "ask the cluster for its version")
		left(t)
	})
}

// left checks that nothing is left behind.
func left(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
