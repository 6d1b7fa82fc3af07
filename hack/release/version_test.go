package main

import (
	"os"
	"strings"
	"testing"
)

func TestCheckVersion(t *testing.T) {
	for _, v := range []string{"v0.1.0", "v1.2.3-rc.1", "v10.20.30"} {
		if err := checkVersion(v); err != nil {
			t.Errorf("checkVersion(%q): %v", v, err)
		}
	}
	for _, v := range []string{
		"", "0.1.0", "v1", "v1.2", "v1.2.3.4", "v01.2.3", "v1.2.3+build", "v1.2.3-", "v1.2.3 ", "latest", "v0.1.0-3-g0123456-dirty/x", "$(id)",
	} {
		err := checkVersion(v)
		if err == nil {
			t.Errorf("checkVersion(%q) is nil", v)
		} else if !strings.Contains(err.Error(), "give VERSION=v1.2.3") {
			t.Errorf("checkVersion(%q) does not say what to do: %v", v, err)
		}
	}
}

const changelog = `# Changelog

## [Unreleased]

- Something that nobody has yet.

## [0.2.0] - 2026-12-24

### Added

- A thing.

### Fixed

- Another.

[0.2.0]: https://example.com/compare

## [0.1.1]

- Without a date.

## [0.1.0] - 2026-12-01

## [0.0.1] - 2026-11-01

- The last line has no end`

func TestSection(t *testing.T) {
	for name, tt := range map[string]struct {
		changelog, version, want, err string
	}{
		"between others":      {changelog, "v0.2.0", "### Added\n\n- A thing.\n\n### Fixed\n\n- Another.\n", ""},
		"the last":            {changelog, "v0.0.1", "- The last line has no end\n", ""},
		"Windows' line ends":  {strings.ReplaceAll(changelog, "\n", "\r\n"), "v0.2.0", "### Added\n\n- A thing.\n\n### Fixed\n\n- Another.\n", ""},
		"none":                {changelog, "v0.3.0", "", `rename its section [Unreleased] to "## [0.3.0] - YYYY-MM-DD"`},
		"of another version":  {changelog, "v0.2.0-rc.1", "", "no section about 0.2.0-rc.1"},
		"a part of a version": {changelog, "v0.2.", "", "no section"},
		"undated":             {changelog, "v0.1.1", "", "has no date"},
		"empty":               {changelog, "v0.1.0", "", "is empty"},
		"an empty changelog":  {"", "v0.1.0", "", "no section"},
		"no changelog":        {"\x00\xff## [0.1.0", "v0.1.0", "", "no section"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := section(tt.changelog, tt.version)
			switch {
			case tt.err == "" && err != nil:
				t.Errorf("error %v", err)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("error %v, want one with %q", err, tt.err)
			case got != tt.want:
				t.Errorf("section = %q, want %q", got, tt.want)
			}
		})
	}
}

// The project's own changelog is in the format that is read here.
func TestOwnChangelog(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := section(string(text), "v0.1.0"); err != nil {
		t.Error(err)
	}
}

func TestParsePlatform(t *testing.T) {
	got, err := parsePlatform("linux/arm64")
	if want := (platform{"linux", "arm64"}); err != nil || got != want {
		t.Errorf("parsePlatform = %v, %v, want %v", got, err, want)
	}
	for _, s := range []string{"", "linux", "linux/", "/amd64", "linux/arm/v7", "linux amd64", "../x/y"} {
		if p, err := parsePlatform(s); err == nil {
			t.Errorf("parsePlatform(%q) = %v", s, p)
		}
	}
}
