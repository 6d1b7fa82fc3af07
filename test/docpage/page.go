// Package docpage reads from a page of documentation what a test can do with it:
// the commands that it shows, the files that it has the reader write, and the
// manifests of Kubernetes objects.
//
// A command stands in a console block behind "$ " and goes on over lines that end
// in a backslash, or to the end of a here-document. What stands between commands
// is their output.
//
// Directives are HTML comments, which no reader sees, before a block:
//
//	<!-- test: file NAME -->        the block is written to this file
//	<!-- test: before COMMAND -->   a command that goes first, such as one that makes what the page takes for given
//	<!-- test: fails -->            the block's last command fails, and is meant to
//	<!-- test: until TEXT -->       the block's commands go on; the test does, once they have printed the text
//	<!-- test: skip REASON -->      the block is not for this test
package docpage

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Step is one thing to do, in the order of the page. Exactly one of Command,
// File and Manifest is set.
type Step struct {
	// Line of the page where it stands, counted from 1.
	Line int
	// Command for a shell.
	Command string
	// Output that the page shows for the command, by lines.
	Output []string
	// Fails says that the command is meant to fail.
	Fails bool
	// Until is the text by which a command that goes on shows that it is up.
	Until string
	// File is the name of a file to write, Text what is in it.
	File string
	Text string
	// Manifest is a YAML document, or several, of Kubernetes objects.
	Manifest string
	// Skip is why the step is left out; empty: it is not.
	Skip string
}

var (
	fence     = regexp.MustCompile("^( *)```([a-z]*)$")
	directive = regexp.MustCompile(`^ *<!-- test: ([a-z]+) ?(.*?) ?-->$`)
	object    = regexp.MustCompile(`(?m)^apiVersion: `)
	heredoc   = regexp.MustCompile(`<<-?\s*['"]?(\w+)['"]?`)
)

// marks are the directives before a block.
type marks struct {
	file, until, skip string
	fails             bool
	line              int
}

// Parse reads a page. Its error names the line.
func Parse(text string) ([]Step, error) {
	var steps []Step
	var before marks
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if m := directive.FindStringSubmatch(lines[i]); m != nil {
			if m[1] == "before" {
				steps = append(steps, Step{Line: i + 1, Command: m[2]})
				continue
			}
			if err := before.set(m[1], m[2]); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			before.line = i + 1
			continue
		}
		if strings.HasPrefix(strings.TrimLeft(lines[i], " "), "<!-- test") {
			return nil, fmt.Errorf("line %d: %s is no directive: write <!-- test: NAME … --> on one line", i+1, lines[i])
		}
		m := fence.FindStringSubmatch(lines[i])
		if m == nil {
			if strings.TrimSpace(lines[i]) != "" && before.line > 0 {
				return nil, fmt.Errorf("line %d: no block follows the directive", before.line)
			}
			continue
		}
		end := i + 1
		for end < len(lines) && lines[end] != m[1]+"```" {
			end++
		}
		if end == len(lines) {
			return nil, fmt.Errorf("line %d: the block has no end", i+1)
		}
		body := unindent(lines[i+1:end], m[1])
		made, err := block(m[2], body, i+2, before)
		if err != nil {
			return nil, err
		}
		steps = append(steps, made...)
		before = marks{}
		i = end
	}
	if before.line > 0 {
		return nil, fmt.Errorf("line %d: no block follows the directive", before.line)
	}
	return steps, nil
}

func (m *marks) set(name, value string) error {
	switch name {
	case "file":
		if value == "" || path.IsAbs(value) || strings.Contains(value, "..") {
			return fmt.Errorf("%q is no file name", value)
		}
		m.file = value
	case "until":
		if value == "" {
			return fmt.Errorf("until what? Write <!-- test: until TEXT -->")
		}
		m.until = value
	case "skip":
		if len(strings.Fields(value)) < 2 {
			return fmt.Errorf("say why it is left out: <!-- test: skip REASON -->")
		}
		m.skip = value
	case "fails":
		m.fails = true
	default:
		return fmt.Errorf("there is no directive %q", name)
	}
	return nil
}

func unindent(lines []string, indent string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimPrefix(l, indent)
	}
	return out
}

// block gives the steps of one block, whose first line has the number given.
func block(language string, body []string, line int, m marks) ([]Step, error) {
	text := strings.Join(body, "\n") + "\n"
	switch {
	case m.file != "":
		return []Step{{Line: line, File: m.file, Text: text, Skip: m.skip}}, nil
	case language == "console":
		return commands(body, line, m)
	case m.fails || m.until != "":
		return nil, fmt.Errorf("line %d: only a console block fails or goes on", m.line)
	case language == "yaml" && object.MatchString(text):
		return []Step{{Line: line, Manifest: text, Skip: m.skip}}, nil
	}
	return nil, nil
}

func commands(body []string, line int, m marks) ([]Step, error) {
	var steps []Step
	for i := 0; i < len(body); i++ {
		command, found := strings.CutPrefix(body[i], "$ ")
		if !found {
			if len(steps) == 0 {
				return nil, fmt.Errorf("line %d: a console block begins with \"$ \" and a command", line+i)
			}
			last := &steps[len(steps)-1]
			last.Output = append(last.Output, body[i])
			continue
		}
		step := Step{Line: line + i, Skip: m.skip, Until: m.until}
		for strings.HasSuffix(command, `\`) && i+1 < len(body) {
			i++
			command += "\n" + body[i]
		}
		if h := heredoc.FindStringSubmatch(command); h != nil {
			for i+1 < len(body) {
				i++
				command += "\n" + body[i]
				if strings.TrimSpace(body[i]) == h[1] {
					break
				}
			}
		}
		step.Command = command
		steps = append(steps, step)
	}
	if len(steps) > 0 {
		steps[len(steps)-1].Fails = m.fails
	}
	return steps, nil
}
