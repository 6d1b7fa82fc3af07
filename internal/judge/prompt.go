package judge

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-dev/assay/internal/golden"
)

// section is one piece of data that a model judges.
type section struct{ name, text string }

// promptParts is what a model is asked, before the random parts are drawn.
type promptParts struct {
	instructions string
	shape        string
	schema       Schema
	data         []section
	// task is what the user's message ends with, behind the data.
	task []string
}

// verdictPrompt asks for a verdict. The contexts are those with text.
func verdictPrompt(instructed string, in *Input) *promptParts {
	p := &promptParts{
		instructions: instructions(instructed, DefaultPrompt),
		shape:        verdictShape,
		schema:       verdictSchema,
		data:         conversation(in.Question, in.History),
	}
	if in.Reference != "" {
		p.data = append(p.data, section{"REFERENCE ANSWER", in.Reference})
	} else {
		p.task = append(p.task, noReference)
	}
	p.data = append(p.data, numbered(in.Contexts)...)
	if len(in.Contexts) == 0 {
		p.task = append(p.task, noContexts)
	}
	p.data = append(p.data, section{"ANSWER", in.Answer})
	p.task = append(p.task, verdictTask)
	return p
}

// relevancePrompt asks for the scores of contexts, all of which have text.
func relevancePrompt(instructed, question string, history []golden.Turn, contexts []string) *promptParts {
	return &promptParts{
		instructions: instructions(instructed, defaultRelevancePrompt),
		shape:        relevanceShape,
		schema:       relevanceSchema,
		data:         append(conversation(question, history), numbered(contexts)...),
		task:         []string{fmt.Sprintf(relevanceTask, len(contexts), len(contexts))},
	}
}

func conversation(question string, history []golden.Turn) []section {
	sections := make([]section, 0, len(history)+1)
	for i, turn := range history {
		// The role is data as well: whoever wrote the golden set chose it.
		sections = append(sections, section{fmt.Sprintf("EARLIER TURN %d", i+1), turn.Role + ": " + turn.Content})
	}
	return append(sections, section{"QUESTION", question})
}

func numbered(contexts []string) []section {
	sections := make([]section, len(contexts))
	for i, c := range contexts {
		sections[i] = section{fmt.Sprintf("CONTEXT %d", i+1), c}
	}
	return sections
}

// repaired asks once more, and shows the model the reply that could not be read
// and what was wrong with it. Both are data: a reply may quote a document.
func (p *promptParts) repaired(reply string, problem error) *promptParts {
	again := *p
	again.data = append(slices.Clip(p.data), section{"LAST REPLY", cut(reply, maxRepairBytes)}, section{"FAULT", problem.Error()})
	again.task = append(slices.Clip(p.task), repairTask)
	return &again
}

// maxRepairBytes bounds how much of a malformed reply is shown to the model.
const maxRepairBytes = 8 << 10

// request draws a delimiter and a token that no document can know, and writes
// the prompt with them. Every request has its own.
func (p *promptParts) request(maxOutputTokens int, random func() string) (r Request, token string) {
	delimiter := random()
	for p.contains(delimiter) {
		delimiter = random()
	}
	token = random()
	fill := strings.NewReplacer("{delimiter}", delimiter)

	var user strings.Builder
	for _, s := range p.data {
		fmt.Fprintf(&user, "<<<%s %s>>>\n%s\n<<<END %s %s>>>\n\n", s.name, delimiter, strings.ToValidUTF8(s.text, "\uFFFD"), s.name, delimiter)
	}
	user.WriteString(strings.Join(p.task, "\n"))
	return Request{
		System:          p.instructions + "\n\n" + fill.Replace(fenceRules) + "\n\n" + p.shape,
		User:            user.String(),
		Plain:           fmt.Sprintf(plainTokenFormat, token),
		Schema:          p.schema,
		MaxOutputTokens: maxOutputTokens,
	}, token
}

func (p *promptParts) contains(delimiter string) bool {
	for _, s := range p.data {
		if strings.Contains(s.text, delimiter) {
			return true
		}
	}
	return false
}

// randomText gives 26 letters and digits, 130 bits, of the system's secure source.
func randomText() string { return rand.Text() }

// withText keeps the texts that are more than white space.
func withText(texts []string) []string {
	kept := make([]string, 0, len(texts))
	for _, t := range texts {
		if !blank(t) {
			kept = append(kept, t)
		}
	}
	return kept
}
