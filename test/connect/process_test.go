package connect

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startTimeout is how long a process has to say that it is up.
const startTimeout = 60 * time.Second

// needs skips the test, loudly, where a program is not installed.
func needs(t *testing.T, what string, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			skipped := fmt.Sprintf("SKIPPED: %s is not installed: %s", p, what)
			fmt.Fprintln(os.Stderr, skipped)
			t.Skip(skipped)
		}
	}
}

// log keeps what a process printed.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// start runs a program until the test ends, and gives the rest of the line of its
// standard output that begins with up.
func start(t *testing.T, dir string, env []string, up, program string, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var said log
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		stop()
		t.Fatalf("start %s: %v", program, err)
	}
	ready, exited := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(exited)
		started := false
		for lines := bufio.NewScanner(io.TeeReader(out, &said)); lines.Scan(); {
			if rest, found := strings.CutPrefix(lines.Text(), up); found && !started {
				started = true
				ready <- rest
			}
		}
		_ = cmd.Wait() // How it ended is in what it said.
	}()
	t.Cleanup(func() {
		stop()
		<-exited
		if t.Failed() {
			t.Logf("%s said:\n%s", program, said.String())
		}
	})
	select {
	case rest := <-ready:
		return rest
	case <-exited:
		t.Fatalf("%s ended:\n%s", program, said.String())
	case <-time.After(startTimeout):
		t.Fatalf("%s is not up:\n%s", program, said.String())
	}
	return ""
}

// adapter starts a server of Assay's protocol, and gives its URL.
func adapter(t *testing.T, dir string, env []string, program string, args ...string) string {
	t.Helper()
	port := start(t, dir, append([]string{"HOST=127.0.0.1", "PORT=0"}, env...), "listening on port ", program, args...)
	return "http://127.0.0.1:" + port
}

// speaks holds an adapter to the protocol: what it refuses, and how.
func speaks(t *testing.T, url string) {
	t.Helper()
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{http.MethodGet, "/healthz", "", 200},
		{http.MethodGet, "/search", "", 404},
		{http.MethodPost, "/other", `{}`, 404},
		{http.MethodPost, "/search", ``, 400},
		{http.MethodPost, "/search", `{`, 400},
		{http.MethodPost, "/search", `null`, 400},
		{http.MethodPost, "/search", `[1]`, 400},
		{http.MethodPost, "/search", `{"top_k": 1}`, 400},
		{http.MethodPost, "/search", `{"query": 1, "top_k": 1}`, 400},
		{http.MethodPost, "/search", `{"query": "a", "top_k": 0}`, 400},
		{http.MethodPost, "/search", `{"query": "a", "top_k": true}`, 400},
		{http.MethodPost, "/search", `{"query": "a", "top_k": 1.5}`, 400},
		{http.MethodPost, "/search", `{"query": "a", "top_k": 1, "pad": "` + strings.Repeat("x", 2<<20) + `"}`, 0},
		{http.MethodPost, "/search", `{"query": "a", "top_k": 1}`, 200},
	} {
		request, err := http.NewRequestWithContext(t.Context(), c.method, url+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Close = true // What was refused half-read takes no other request.
		response, err := http.DefaultClient.Do(request)
		if c.status == 0 && err != nil {
			continue // It hung up on what is too large.
		}
		if err != nil {
			t.Errorf("%s %s %.60s: %v", c.method, c.path, c.body, err)
			continue
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if c.status == 0 && response.StatusCode >= 400 {
			continue
		}
		if response.StatusCode != c.status {
			t.Errorf("%s %s %.60s: %d, want %d", c.method, c.path, c.body, response.StatusCode, c.status)
		}
	}
}
