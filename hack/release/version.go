package main

import (
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"
)

// checkVersion refuses what is no version of a release: v1.2.3 or v1.2.3-rc.1. A
// build part (+…) cannot stand in the tag of an image.
func checkVersion(v string) error {
	if v == "" || semver.Canonical(v) != v {
		return fmt.Errorf("%q is no version of a release: give VERSION=v1.2.3 or v1.2.3-rc.1 (https://semver.org, with a v before it)", v)
	}
	return nil
}

var (
	sectionHead = regexp.MustCompile(`^## \[([^\]]+)\]( - \d{4}-\d{2}-\d{2})?$`)
	linkLine    = regexp.MustCompile(`^\[[^\]]+\]: `)
)

// section is the part of the changelog about a version, without its heading. It is
// in the format of Keep a Changelog: "## [0.1.0] - 2026-12-01".
func section(changelog, version string) (string, error) {
	number := strings.TrimPrefix(version, "v")
	var b strings.Builder
	found, dated := false, false
	for line := range strings.Lines(changelog) {
		line = strings.TrimRight(line, " \t\r\n")
		if strings.HasPrefix(line, "## ") {
			if found {
				break
			}
			if m := sectionHead.FindStringSubmatch(line); m != nil && m[1] == number {
				found, dated = true, m[2] != ""
			}
			continue
		}
		if found && !linkLine.MatchString(line) {
			b.WriteString(line + "\n")
		}
	}
	text := strings.TrimSpace(b.String())
	switch {
	case !found:
		return "", fmt.Errorf("CHANGELOG.md has no section about %s: rename its section [Unreleased] to \"## [%s] - YYYY-MM-DD\", with an empty [Unreleased] before it, and commit that", number, number)
	case !dated:
		return "", fmt.Errorf("the section of CHANGELOG.md about %s has no date: write \"## [%s] - YYYY-MM-DD\" and commit that", number, number)
	case text == "":
		return "", fmt.Errorf("the section of CHANGELOG.md about %s is empty: say there what changed, and commit that", number)
	}
	return text + "\n", nil
}
