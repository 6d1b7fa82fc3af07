package main

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// flock takes the lock of a file, which goes with the file's closing; wait is
// called when somebody else has it. An interrupt ends the wait.
func flock(ctx context.Context, file *os.File, wait func()) error {
	fd := int(file.Fd())
	err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return err
	}
	wait()
	locked := make(chan error, 1)
	go func() {
		for {
			if err := syscall.Flock(fd, syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
				locked <- err
				return
			}
		}
	}()
	select {
	case err := <-locked:
		return err
	case <-ctx.Done():
		return ctx.Err() // the one who still waits ends with the process
	}
}
