package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are the licences, by SPDX identifier, that Assay may be shipped with: all
// ask for no more than that their text and notices are passed on. Whoever adds a
// copyleft licence here decides that for everybody who redistributes Assay.
var allowed = map[string]bool{
	"0BSD":         true,
	"Apache-2.0":   true,
	"BSD-2-Clause": true,
	"BSD-3-Clause": true,
	"CC0-1.0":      true,
	"ISC":          true,
	"MIT":          true,
	"MIT-0":        true,
	"Unlicense":    true,
	"Zlib":         true,
	"blessing":     true, // SQLite's dedication to the public domain
}

// wellKnown is how much of a text, in percent, must be that of known licences. What
// remains is room for copyright lines and a heading.
const wellKnown = 75

// named are the files that hold licences, in capitals or not, with any ending but
// that of source code.
var named = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)([-_.].*)?$`)

// notice are the files that the Apache License has its users pass on.
var notice = regexp.MustCompile(`(?i)^notice(\.(txt|md))?$`)

// licensed is a module and what its licence files say.
type licensed struct {
	module
	licences []string // SPDX identifiers, sorted
	files    []file   // licences and notices
}

// file is a licence or a notice, with its path below the module.
type file struct{ name, text string }

// detect reads the licence files of the linked packages of a module, up to its root.
func detect(m module) (licensed, error) {
	l := licensed{module: m}
	ids := map[string]bool{}
	for _, folder := range foldersOf(m) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return l, fmt.Errorf("%s: %w; run go mod download", m.path, err)
		}
		for _, e := range entries {
			isNotice := notice.MatchString(e.Name())
			if e.IsDir() || filepath.Ext(e.Name()) == ".go" || !isNotice && !named.MatchString(e.Name()) {
				continue
			}
			path := filepath.Join(folder, e.Name())
			text, err := os.ReadFile(path)
			if err != nil {
				return l, fmt.Errorf("%s: %w", m.path, err)
			}
			name, err := filepath.Rel(m.dir, path)
			if err != nil {
				return l, fmt.Errorf("%s: %w", m.path, err)
			}
			l.files = append(l.files, file{name: filepath.ToSlash(name), text: string(text)})
			if isNotice {
				continue
			}
			found, err := identify(text)
			if err != nil {
				return l, fmt.Errorf("%s %s: %s %w", m.path, m.version, name, err)
			}
			for _, id := range found {
				ids[id] = true
			}
		}
	}
	l.licences = slices.Sorted(maps.Keys(ids))
	return l, nil
}

// foldersOf gives each folder once that may hold a licence of what is linked.
func foldersOf(m module) []string {
	all := map[string]bool{m.dir: true}
	for _, folder := range m.folders {
		for _, f := range within(m.dir, folder) {
			all[f] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// identify gives the licences that a text consists of.
func identify(text []byte) ([]string, error) {
	sum := sha256.Sum256(text)
	if r, ok := reviewed[hex.EncodeToString(sum[:])]; ok {
		return r.licences, nil
	}
	coverage := licensecheck.Scan(text)
	var ids []string
	for _, match := range coverage.Match {
		if !match.IsURL && !slices.Contains(ids, match.ID) {
			ids = append(ids, match.ID)
		}
	}
	if coverage.Percent < wellKnown || len(ids) == 0 {
		return nil, fmt.Errorf("is no well-known licence (%.0f %% of it is %s): read it, and add it to hack/licenses/reviewed.go, or do without the module", coverage.Percent, or(ids, "known"))
	}
	return ids, nil
}

// check refuses a module without a licence and one with a licence that is not allowed.
func (l licensed) check() error {
	if len(l.licences) == 0 {
		return fmt.Errorf("%s %s: no licence file is to be found: nobody may pass it on; do without it", l.path, l.version)
	}
	var not []string
	for _, id := range l.licences {
		if !allowed[id] {
			not = append(not, id)
		}
	}
	if len(not) > 0 {
		return fmt.Errorf("%s %s: %s is not among the licences that Assay may be shipped with: do without the module, or see the list in hack/licenses/detect.go", l.path, l.version, strings.Join(not, ", "))
	}
	return nil
}

// or gives the identifiers, or a word where there are none.
func or(ids []string, none string) string {
	if len(ids) == 0 {
		return none
	}
	return strings.Join(ids, ", ")
}
