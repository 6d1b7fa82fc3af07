package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// stopTimeout is how long a process gets to end by itself.
const stopTimeout = 15 * time.Second

// controlPlane gives the folder with etcd, kube-apiserver and kubectl.
func controlPlane(ctx context.Context) (string, error) {
	cmd := command(ctx, "go", "run", "./hack/controlplane")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("get a control plane: %w", err)
	}
	return strings.TrimSpace(out.String()), nil
}

// command is a command whose words go where the demo's go. It has a group of
// its own, all of which is interrupted when the demo is: make and go run wait
// for what they started, and pass nothing on.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = stopTimeout
	return cmd
}

// errNoStatus is the end of a process that gave no error.
var errNoStatus = errors.New("exit status 0")

// process is one that runs beside the demo, its log in a file.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// start starts a process in a group of its own, so that a Ctrl-C on the
// terminal reaches the demo alone, which then stops everything in order.
func (d *demo) start(name string, env []string, args ...string) error {
	p := &process{name: name, log: filepath.Join(d.logs, name+".log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return fmt.Errorf("make the log of %s: %w", name, err)
	}
	p.cmd = exec.Command(d.assay, args...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", name, err), log.Close())
	}
	go func() {
		p.err = errors.Join(p.cmd.Wait(), log.Close())
		close(p.done)
	}()
	d.processes = append(d.processes, p)
	return nil
}

// ended says that a process ended which should not have.
func (p *process) ended() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	log, _ := os.ReadFile(p.log)
	const last = 2000
	if len(log) > last {
		log = log[len(log)-last:]
	}
	return fmt.Errorf("%s ended by itself: %w; the end of its log:\n%s", p.name, cmp.Or(p.err, errNoStatus), log)
}

// stop ends the processes, the last first, and waits for them.
func (d *demo) stop() {
	for i := len(d.processes) - 1; i >= 0; i-- {
		p := d.processes[i]
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(stopTimeout):
			_ = p.cmd.Process.Kill()
			<-p.done
		}
	}
}

// until waits until the check holds, as long as the processes run.
func (d *demo) until(ctx context.Context, what string, limit time.Duration, check func(context.Context) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s took longer than %s", what, limit))
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !check(ctx) {
		for _, p := range d.processes {
			if err := p.ended(); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// freeAddress is a loopback address that nobody listens at.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}
