package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// platforms are those that releases are built for: each may link packages of
// its own.
var platforms = [][2]string{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// standardLibrary is the name that Go's own packages are listed under.
const standardLibrary = "Go standard library"

// module is a module of which packages are linked into Assay.
type module struct {
	path    string
	version string // empty for Go itself: it is that of the Go that builds
	dir     string
	// folders are those of the linked packages, below dir or dir itself.
	folders []string
}

// linkedPackage is what `go list -json` says of a package.
type linkedPackage struct {
	Dir    string
	Module *struct {
		Path, Version, Dir string
		Main               bool
		Replace            *struct{ Path, Version string }
	}
}

// linkedModules gives the modules that are linked into Assay on any platform, and
// Go itself, sorted by their paths.
func linkedModules(ctx context.Context) ([]module, error) {
	goroot, err := golang(ctx, nil, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	dir := strings.TrimSpace(string(goroot))
	all := map[string]*module{}
	for _, p := range platforms {
		list, err := golang(ctx, []string{"GOOS=" + p[0], "GOARCH=" + p[1], "CGO_ENABLED=0"}, "list", "-deps", "-json=Dir,Module", ".")
		if err != nil {
			return nil, fmt.Errorf("list the packages of %s/%s: %w", p[0], p[1], err)
		}
		if err := collect(all, list); err != nil {
			return nil, fmt.Errorf("read the packages of %s/%s: %w", p[0], p[1], err)
		}
	}
	modules := []module{{path: standardLibrary, dir: dir, folders: []string{dir}}}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		modules = append(modules, *all[path])
	}
	return modules, nil
}

// collect adds the modules of a list of packages.
func collect(all map[string]*module, list []byte) error {
	for decoder := json.NewDecoder(bytes.NewReader(list)); ; {
		var p linkedPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p.Module == nil || p.Module.Main {
			continue
		}
		m := all[p.Module.Path]
		if m == nil {
			m = &module{path: p.Module.Path, version: p.Module.Version, dir: p.Module.Dir}
			if r := p.Module.Replace; r != nil {
				m.path, m.version = r.Path, r.Version
			}
			all[p.Module.Path] = m
		}
		if !slices.Contains(m.folders, p.Dir) {
			m.folders = append(m.folders, p.Dir)
		}
	}
}

// golang runs the Go command in the folder of the main module.
func golang(ctx context.Context, env []string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Env = append(os.Environ(), env...)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(complaint.Bytes()))
	}
	return out, nil
}

// within gives the folders from one of a package up to that of its module.
func within(root, folder string) []string {
	var up []string
	for f := folder; ; f = filepath.Dir(f) {
		up = append(up, f)
		if f == root || f == filepath.Dir(f) {
			return up
		}
	}
}
