package cli

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestSampleRAGServesUntilItIsStopped(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"docs/a.md": "# Cats\nCats hunt mice.\n", "docs/latin.md": "caf\xe9", "docs/adr/1.md": "cats, too", "README.md": "about mice"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	out, writeOut := io.Pipe()
	var errOut bytes.Buffer
	cmd := newSampleRAGCommand()
	cmd.SetArgs([]string{"--root", dir, "--dir", "docs", "--file", "README.md", "--exclude", "docs/adr", "--addr", "127.0.0.1:0", "--latency", "1ms"})
	cmd.SetOut(writeOut)
	cmd.SetErr(&errOut)
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()

	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := regexp.MustCompile(`^serving 2 documents in 2 chunks \(corpus [0-9a-f]{16}\) at (http://127\.0\.0\.1:[1-9][0-9]*/search)\n$`).FindStringSubmatch(line)
	if url == nil {
		t.Fatalf("it said %q", line)
	}
	res, err := http.Post(url[1], "application/json", strings.NewReader(`{"query": "cats", "top_k": 3}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(body), `"id":"docs/a.md#1"`) {
		t.Errorf("got %s: %s, %v", res.Status, body, err)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if !strings.Contains(errOut.String(), "warning: docs/latin.md: left out: it is not UTF-8") {
		t.Errorf("warnings: %q", errOut.String())
	}
}

func TestSampleRAGRefuses(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"nothing to index", nil, "give --dir or --file"},
		{"a folder that is not there", []string{"--dir", "nowhere"}, "read nowhere"},
		{"a negative latency", []string{"--dir", ".", "--latency", "-1s"}, "give a duration from 0s to 10s"},
		{"too long a latency", []string{"--dir", ".", "--latency", "11s"}, "give a duration from 0s to 10s"},
		{"no address", []string{"--root", "testdir", "--dir", ".", "--addr", "nonsense"}, "--addr picks another address"},
		{"an argument", []string{"docs"}, "unknown command"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i, a := range tt.args {
				if a == "testdir" {
					tt.args[i] = t.TempDir()
					if err := os.WriteFile(filepath.Join(tt.args[i], "a.txt"), []byte("a"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			cmd := newSampleRAGCommand()
			cmd.SetArgs(tt.args)
			cmd.SetOut(io.Discard)
			cmd.SetErr(io.Discard)
			err := cmd.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
