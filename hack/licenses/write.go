package main

import (
	"fmt"
	"io"
	"strings"
)

const head = `# Licences

<!-- Made by make generate (hack/licenses). Do not edit. -->

Assay is under the [Apache License 2.0](../LICENSE). These modules are linked into its binary, on one platform or another; none is under a
copyleft licence, and ` + "`make verify`" + ` refuses one that is. Their texts are in the file ` + "`THIRD_PARTY_LICENSES`" + ` of every release's archives, and in
` + "`/licenses`" + ` of the image. What only builds or tests Assay is not listed.

| module | version | licence |
| --- | --- | --- |
`

// writeList writes the page docs/licenses.md.
func writeList(w io.Writer, all []licensed) error {
	var b strings.Builder
	b.WriteString(head)
	for _, l := range all {
		version := l.version
		if version == "" {
			version = "of the Go that builds it"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", l.path, version, strings.Join(l.licences, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeTexts writes the licences and notices of all modules, equal texts once.
func writeTexts(w io.Writer, all []licensed) error {
	carriers := map[string][]string{}
	var texts []string
	for _, l := range all {
		for _, f := range l.files {
			if carriers[f.text] == nil {
				texts = append(texts, f.text)
			}
			carriers[f.text] = append(carriers[f.text], strings.TrimSpace(l.path+" "+l.version)+": "+f.name)
		}
	}
	const rule = "================================================================================"
	var b strings.Builder
	b.WriteString("Assay contains the software that is named here, under the licences that follow the names.\n")
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n\n%s\n", rule, strings.Join(carriers[text], "\n"), rule, strings.Trim(text, "\r\n"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
