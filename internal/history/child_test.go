package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// child is set, to the file to open, in a process that openUnprivileged starts.
const child = "ASSAY_TEST_HISTORY_FILE"

// inChild does what such a process is for: it opens the file, writes into it,
// and prints the error.
func inChild(*testing.M) bool {
	path, is := os.LookupEnv(child)
	if !is {
		return false
	}
	if err := openAndWrite(path); err != nil {
		fmt.Print(err)
	}
	return true
}

func openAndWrite(path string) (err error) {
	ctx := context.Background()
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.PutRun(ctx, aRun("docs", 9))
}

// openUnprivileged opens a file as someone whom file modes bind, unlike root, and
// gives the error's text.
func openUnprivileged(t *testing.T, path string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		if err := openAndWrite(path); err != nil {
			return err.Error()
		}
		return ""
	}
	self := filepath.Join(sharedFolder(t), "self")
	copyFile(t, os.Args[0], self)
	c := exec.CommandContext(t.Context(), self)
	c.Dir = "/"
	c.Env = []string{child + "=" + path}
	c.Stderr = os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s as nobody: %v", self, err)
	}
	return string(out)
}

// sharedFolder is one that everyone may look into; t.TempDir's is root's alone.
func sharedFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/tmp", "assay-history-") //nolint:usetesting // t.TempDir is for its owner alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
}
