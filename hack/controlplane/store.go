package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// store is a folder of binaries. Beside a binary NAME stands .version/NAME with
// the version that it was built from, so that other tools can share the folder.
type store struct {
	dir      string
	versions map[string]string
}

// missing lists which of the names are not there at their version.
func (s store) missing(names []string) []string {
	var missing []string
	for _, name := range names {
		stamp, err := os.ReadFile(s.stamp(name))
		if err != nil || strings.TrimSpace(string(stamp)) != s.versions[name] || len(missingIn(s.dir, []string{name})) > 0 {
			missing = append(missing, name)
		}
	}
	return missing
}

// put moves a finished binary into the store and stamps it. The old stamp goes
// first: a binary without a stamp is built again, a wrong stamp would be believed.
func (s store) put(name, file string) error {
	if err := os.MkdirAll(filepath.Dir(s.stamp(name)), 0o755); err != nil {
		return err
	}
	if err := os.Remove(s.stamp(name)); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.Rename(file, filepath.Join(s.dir, name)); err != nil {
		return err
	}
	return os.WriteFile(s.stamp(name), []byte(s.versions[name]+"\n"), 0o644)
}

func (s store) stamp(name string) string { return filepath.Join(s.dir, ".version", name) }

// refuse remembers that there was nothing to download.
func (s store) refuse(now time.Time) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return
	}
	// Failing to remember costs a few seconds the next time.
	_ = os.WriteFile(s.refusal(), []byte(now.UTC().Format(time.RFC3339)+"\n"), 0o644)
}

// refusedSince tells whether a download was refused after a time.
func (s store) refusedSince(earliest time.Time) bool {
	data, err := os.ReadFile(s.refusal())
	if err != nil {
		return false
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(string(data)))
	return err == nil && at.After(earliest)
}

func (s store) refusal() string { return filepath.Join(s.dir, ".envtest-refused") }

// lock keeps others out of the store while a build goes on.
func (s store) lock(ctx context.Context, wait func()) (unlock func(), err error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(s.dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := flock(ctx, file, wait); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("locking %s: %w", file.Name(), err)
	}
	return func() { _ = file.Close() }, nil
}
