package main

import (
	"errors"
	"os"
	"syscall"
)

// flock takes the lock of a file, which goes with the file's closing; wait is
// called when somebody else has it.
func flock(file *os.File, wait func()) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return err
	}
	wait()
	for {
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
