package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxFileBytes bounds one manifest file: 64 times what a ConfigMap may hold.
const maxFileBytes = 64 << 20

// source is the text of one manifest file.
type source struct {
	name       string
	data       []byte
	fromFolder bool
}

// readSources reads the files, each once, folders in the order of their names.
func readSources(files []string, stdin io.Reader) ([]source, []Problem) {
	var sources []source
	var problems []Problem
	seen := map[string]bool{}
	read := func(name string, fromFolder bool, open func() (io.ReadCloser, error)) {
		if seen[name] {
			return
		}
		seen[name] = true
		data, err := readAll(open)
		if err != nil {
			problems = append(problems, Problem{File: name, Message: err.Error()})
			return
		}
		sources = append(sources, source{name: name, data: data, fromFolder: fromFolder})
	}
	for _, file := range files {
		if file == "-" {
			read("standard input", false, func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil })
			continue
		}
		names, isFolder, err := expand(file)
		if err != nil {
			problems = append(problems, Problem{File: file, Message: err.Error()})
			continue
		}
		for _, name := range names {
			read(name, isFolder, func() (io.ReadCloser, error) { return os.Open(name) })
		}
	}
	return sources, problems
}

// expand gives the manifest files of a folder, or the file itself.
func expand(file string) (names []string, isFolder bool, err error) {
	if strings.HasPrefix(file, "http://") || strings.HasPrefix(file, "https://") {
		return nil, false, errors.New("manifests are not read from URLs: download the file first")
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, false, pathless(err)
	}
	if !info.IsDir() {
		return []string{filepath.Clean(file)}, false, nil
	}
	entries, err := os.ReadDir(file)
	if err != nil {
		return nil, false, pathless(err)
	}
	for _, entry := range entries {
		ending := strings.ToLower(filepath.Ext(entry.Name()))
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, ending) {
			names = append(names, filepath.Join(file, entry.Name()))
		}
	}
	if len(names) == 0 {
		return nil, false, errors.New("the folder holds no .yaml, .yml or .json file")
	}
	return names, true, nil
}

// readAll reads a manifest of bounded size as UTF-8 without a byte-order mark.
func readAll(open func() (io.ReadCloser, error)) ([]byte, error) {
	r, err := open()
	if err != nil {
		return nil, pathless(err)
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the file: %w", pathless(err))
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("the file is over %d MiB", maxFileBytes>>20)
	}
	if bytes.HasPrefix(data, []byte{0xFF, 0xFE}) || bytes.HasPrefix(data, []byte{0xFE, 0xFF}) {
		return nil, errors.New("the file is UTF-16: save it as UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	if !utf8.Valid(data) {
		return nil, errors.New("the file is not UTF-8: save it as UTF-8")
	}
	return data, nil
}

// pathless drops operation and path, which stand in front of the message already.
func pathless(err error) error {
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
