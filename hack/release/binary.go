package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// platform is what a binary is built for.
type platform struct{ os, arch string }

var platformName = regexp.MustCompile(`^([a-z0-9]+)/([a-z0-9]+)$`)

func parsePlatform(s string) (platform, error) {
	m := platformName.FindStringSubmatch(s)
	if m == nil {
		return platform{}, fmt.Errorf("%q is no platform: give linux/amd64, say", s)
	}
	return platform{os: m[1], arch: m[2]}, nil
}

// String is linux/amd64.
func (p platform) String() string { return p.os + "/" + p.arch }

// goEnv are the settings that a build depends on, so that those of whoever makes
// the release do not. The commit is stamped by the linker's flags and not by Go,
// which would also stamp whether a tag stood there already.
func (p platform) goEnv() []string {
	return []string{
		"GOOS=" + p.os, "GOARCH=" + p.arch, "CGO_ENABLED=0",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off",
		"GOFLAGS=-buildvcs=false", "GOWORK=off",
	}
}

// binary builds Assay for a platform into a file.
func (r *release) binary(ctx context.Context, p platform, file string) error {
	flags, err := output(ctx, r.source, nil, filepath.Join("hack", "release", "ldflags.sh"), r.version, r.commit.hash, r.commit.date.Format(time.RFC3339))
	if err != nil {
		return err
	}
	_, err = output(ctx, r.source, p.goEnv(), "go", "build", "-trimpath", "-ldflags", flags, "-o", file, ".")
	return err
}

// archive builds the binary for a platform and writes its archive and its SBOM.
func (r *release) archive(ctx context.Context, p platform, licences []byte) error {
	work, err := os.MkdirTemp("", "assay-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	file := filepath.Join(work, "assay")
	if err := r.binary(ctx, p, file); err != nil {
		return err
	}
	base := fmt.Sprintf("assay_%s_%s_%s", r.version, p.os, p.arch)
	if err := r.sbom(ctx, file, r.path(base+".sbom.cdx.json")); err != nil {
		return err
	}

	program, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	entries := []entry{{name: "assay", mode: 0o755, data: program}, {name: "kubectl-assay", link: "assay"}}
	for _, name := range []string{"LICENSE", "README.md"} {
		data, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return err
		}
		entries = append(entries, entry{name: name, mode: 0o644, data: data})
	}
	entries = append(entries, entry{name: "THIRD_PARTY_LICENSES", mode: 0o644, data: licences})
	return writeArchive(r.path(base+".tar.gz"), r.commit.date, entries)
}

// licences are the texts that must go with the binaries.
func (r *release) licences(ctx context.Context) ([]byte, error) {
	texts, err := output(ctx, r.source, nil, "go", "run", "./hack/licenses", "-texts")
	if err != nil {
		return nil, err
	}
	return []byte(texts + "\n"), nil
}
