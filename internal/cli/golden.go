package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/internal/golden"
)

func newGoldenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "golden",
		Short: "Check golden sets, make them of other tools' files, and add cases",
	}
	cmd.AddCommand(newGoldenCheckCommand(), newGoldenImportCommand(), newGoldenAddCommand())
	return cmd
}

// goldenProblems are those of an error about a golden set; nil where it is about
// something else.
func goldenProblems(err error) *golden.Error {
	if e, ok := errors.AsType[*golden.Error](err); ok {
		return e
	}
	return nil
}

// readStdin reads standard input up to a bound.
func readStdin(cmd *cobra.Command) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxGoldenBytes+1))
	if err == nil && len(data) > maxGoldenBytes {
		err = fmt.Errorf("it is over %d MiB", maxGoldenBytes>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	return data, nil
}

// createFile writes a file that is not there yet. One that cannot be written whole
// is taken away again.
func createFile(name string, data []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

// replaceFile writes a file whole or not at all: beside its place first, then
// over it. A link stays one, and the mode what it was. What another program has
// made of it since it was read is not overwritten.
func replaceFile(name string, was, data []byte) (err error) {
	if name, err = filepath.EvalSymlinks(name); err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary.Name())
		}
	}()
	_, err = temporary.Write(data)
	err = errors.Join(err, temporary.Chmod(info.Mode().Perm()), temporary.Sync(), temporary.Close())
	if err != nil {
		return err
	}
	now, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, was) {
		return fmt.Errorf("%s was changed meanwhile: nothing was written; do it again", name)
	}
	return os.Rename(temporary.Name(), name)
}

// fileExists says whether something is there by the name.
func fileExists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
