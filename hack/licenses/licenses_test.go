package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/licensecheck"
)

// textOf is the text of a licence as the library knows it.
func textOf(t *testing.T, id string) string {
	t.Helper()
	switch id {
	case "Apache-2.0":
		return read(t, filepath.Join("..", "..", "LICENSE"))
	case "BSD-3-Clause":
		return read(t, filepath.Join(runtime.GOROOT(), "LICENSE")) //nolint:staticcheck // the Go that runs the tests is the one that is asked for
	case "MIT":
		return `MIT License

Copyright (c) 2026 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`
	case "AGPL-3.0-or-later":
		return "This program is free software: you can redistribute it and/or modify it under the terms of the GNU Affero General Public License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version.\n\nThis program is distributed in the hope that it will be useful, but WITHOUT ANY WARRANTY; without even the implied warranty of MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE. See the GNU Affero General Public License for more details.\n\nYou should have received a copy of the GNU Affero General Public License along with this program. If not, see <https://www.gnu.org/licenses/>.\n"
	}
	t.Fatalf("no text of %s", id)
	return ""
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// moduleOf is a module with files, of which the package sub is linked.
func moduleOf(t *testing.T, files map[string]string) module {
	t.Helper()
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	for _, folder := range []string{sub, filepath.Join(dir, "unused")} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return module{path: "example.com/module", version: "v1.0.0", dir: dir, folders: []string{sub}}
}

func TestDetect(t *testing.T) {
	mit, apache, agpl := textOf(t, "MIT"), textOf(t, "Apache-2.0"), textOf(t, "AGPL-3.0-or-later")
	for name, tt := range map[string]struct {
		files map[string]string
		want  []string
		err   string
	}{
		"one licence":            {files: map[string]string{"LICENSE": mit}, want: []string{"MIT"}},
		"British":                {files: map[string]string{"Licence.md": mit}, want: []string{"MIT"}},
		"two in one file":        {files: map[string]string{"COPYING": mit + apache}, want: []string{"Apache-2.0", "MIT"}},
		"of a linked package":    {files: map[string]string{"LICENSE": apache, "sub/LICENSE": mit}, want: []string{"Apache-2.0", "MIT"}},
		"of an unlinked package": {files: map[string]string{"LICENSE": apache, "unused/LICENSE": agpl}, want: []string{"Apache-2.0"}},
		"a notice is no licence": {files: map[string]string{"LICENSE": mit, "NOTICE": "Made by people."}, want: []string{"MIT"}},
		"source is no licence":   {files: map[string]string{"LICENSE": mit, "license.go": "package license"}, want: []string{"MIT"}},
		"none":                   {err: "no licence file"},
		"copyleft":               {files: map[string]string{"LICENSE": agpl}, want: []string{"AGPL-3.0-or-later"}, err: "AGPL-3.0-or-later is not among"},
		"copyleft beside MIT":    {files: map[string]string{"LICENSE": mit, "sub/COPYING": agpl}, want: []string{"AGPL-3.0-or-later", "MIT"}, err: "AGPL-3.0-or-later is not among"},
		"unknown":                {files: map[string]string{"LICENSE": "You may look, and not touch."}, err: "is no well-known licence"},
		"empty":                  {files: map[string]string{"LICENSE": ""}, err: "is no well-known licence"},
		"no text":                {files: map[string]string{"LICENSE": "\x00\xff\xfe"}, err: "is no well-known licence"},
		"known with conditions":  {files: map[string]string{"LICENSE": mit + strings.Repeat("Not on Sundays, though. ", 40)}, err: "is no well-known licence"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := detect(moduleOf(t, tt.files))
			if err == nil {
				if diff := cmp.Diff(tt.want, l.licences); diff != "" {
					t.Errorf("licences (-want +got):\n%s", diff)
				}
				err = l.check()
			}
			switch {
			case tt.err == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("error %v, want one with %q", err, tt.err)
			case err != nil && !strings.Contains(err.Error(), "example.com/module v1.0.0"):
				t.Errorf("error %v does not name the module", err)
			}
		})
	}
}

// What is allowed is what the library can tell apart.
func TestAllowedAreKnown(t *testing.T) {
	known := map[string]bool{"blessing": true} // seen by a person alone: reviewed.go
	for _, l := range licensecheck.BuiltinLicenses() {
		known[l.ID] = true
	}
	for id := range allowed {
		if !known[id] {
			t.Errorf("%s is no identifier of licensecheck", id)
		}
	}
	for sum, r := range reviewed {
		for _, id := range r.licences {
			if !allowed[id] {
				t.Errorf("%s (%s) was found to be %s, which is not allowed", r.file, sum, id)
			}
		}
	}
}

func TestTextsStandOnce(t *testing.T) {
	mit := textOf(t, "MIT")
	var b bytes.Buffer
	err := writeTexts(&b, []licensed{
		{module: module{path: "example.com/a", version: "v1.0.0"}, files: []file{{"LICENSE", mit}}},
		{module: module{path: "example.com/b", version: "v2.0.0"}, files: []file{{"LICENSE", mit}, {"NOTICE", "Made by people."}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "Permission is hereby granted"); n != 1 {
		t.Errorf("the text stands there %d times", n)
	}
	for _, want := range []string{"example.com/a v1.0.0: LICENSE\nexample.com/b v2.0.0: LICENSE\n", "example.com/b v2.0.0: NOTICE", "Made by people."} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
}

func TestCollect(t *testing.T) {
	all := map[string]*module{}
	list := `{"Dir": "/go/src/fmt"}
{"Dir": "/m/a", "Module": {"Path": "example.com/a", "Version": "v1.0.0", "Dir": "/m/a"}}
{"Dir": "/m/a/x", "Module": {"Path": "example.com/a", "Version": "v1.0.0", "Dir": "/m/a"}}
{"Dir": "/f", "Module": {"Path": "example.com/b", "Version": "v1.0.0", "Dir": "/f", "Replace": {"Path": "example.com/fork", "Version": "v1.0.1"}}}
{"Dir": "/src", "Module": {"Path": "example.com/main", "Main": true, "Dir": "/src"}}
`
	// Two platforms link the same.
	for range 2 {
		if err := collect(all, []byte(list)); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]*module{
		"example.com/a": {path: "example.com/a", version: "v1.0.0", dir: "/m/a", folders: []string{"/m/a", "/m/a/x"}},
		"example.com/b": {path: "example.com/fork", version: "v1.0.1", dir: "/f", folders: []string{"/f"}},
	}
	if diff := cmp.Diff(want, all, cmp.AllowUnexported(module{})); diff != "" {
		t.Errorf("modules (-want +got):\n%s", diff)
	}
	for _, garbage := range []string{"{", "[]", `{"Dir": 7}`, "go: updates to go.mod needed"} {
		if err := collect(all, []byte(garbage)); err == nil {
			t.Errorf("%q was read as a list of packages", garbage)
		}
	}
}
