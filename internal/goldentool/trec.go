package goldentool

import (
	"bytes"
	"html"
	"regexp"
	"strings"

	"github.com/assay-dev/assay/internal/golden"
)

// topic is a query of TREC.
type topic struct {
	line   int
	fields map[string]string
}

// trec reads topics, as SGML or a line "id, tab, text" each.
func (m *importer) trec(topics, judgements golden.File) {
	q := m.readQrels(judgements)
	data, ok := m.open(topics)
	if !ok {
		return
	}
	var found []topic
	switch {
	case topStart.Match(data):
		found = sgmlTopics(data)
	case bytes.Contains(data, []byte("<topic")):
		m.problem(golden.Problem{File: topics.Name, Message: "is XML of <topic>: only <top> and tab-separated topics are read; write a line for each, its number, a tab and the query"})
		return
	default:
		found = m.tsvTopics(topics.Name, data)
	}
	field := m.options.TopicField
	if field == "" {
		field = "title"
	}
	asked := map[string]bool{}
	for _, t := range found {
		id := t.fields["num"]
		if id == "" {
			m.problem(golden.Problem{File: topics.Name, Line: t.line, Message: "is a topic without <num>"})
			continue
		}
		asked[id] = true
		c := golden.Case{ID: id, Question: t.fields[field], Answerable: true}
		if c.Question == "" {
			m.dropped.add("topic without <"+field+">", id)
			continue
		}
		if m.judged(q, &c) {
			m.cases = append(m.cases, c)
		}
	}
	m.unasked(q, asked)
}

var (
	topStart = regexp.MustCompile(`(?i)<top>`)
	topEnd   = regexp.MustCompile(`(?i)</top>`)
	// topicTag begins a field of a topic. Most collections do not close them.
	topicTag = regexp.MustCompile(`(?i)<(/?)(num|title|desc|narr|query|smry|con|fac|def|dom|head|cit|nat|time|querytime|querytweettime|description|narrative)\s*>`)
	// topicNames are other names of the fields that a question may be taken from.
	topicNames = map[string]string{"query": "title", "description": "desc", "narrative": "narr"}
	// topicLabel stands before the text in many collections: <num> Number: 301.
	topicLabel = regexp.MustCompile(`(?i)^\s*(number|topic|description|narrative)\s*:\s*`)
)

// sgmlTopics reads <top><num> Number: 301 <title> … <desc> Description: ….
// https://trec.nist.gov/data/topics_eng/
func sgmlTopics(data []byte) []topic {
	var found []topic
	starts := topStart.FindAllIndex(data, -1)
	line, counted := 1, 0
	for i, at := range starts {
		end := len(data)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		body := data[at[1]:end]
		if close := topEnd.FindIndex(body); close != nil {
			body = body[:close[0]]
		}
		line += bytes.Count(data[counted:at[0]], []byte("\n"))
		counted = at[0]
		found = append(found, topic{line, topicFields(string(body))})
	}
	return found
}

func topicFields(body string) map[string]string {
	fields := map[string]string{}
	tags := topicTag.FindAllStringSubmatchIndex(body, -1)
	for i, tag := range tags {
		if tag[2] < tag[3] { // it closes a field
			continue
		}
		name := strings.ToLower(body[tag[4]:tag[5]])
		if usual, ok := topicNames[name]; ok {
			name = usual
		}
		end := len(body)
		if i+1 < len(tags) {
			end = tags[i+1][0]
		}
		value := topicLabel.ReplaceAllString(body[tag[1]:end], "")
		// Lines are broken for paper, not for meaning.
		value = strings.Join(strings.Fields(html.UnescapeString(value)), " ")
		if fields[name] == "" {
			fields[name] = value
		}
	}
	return fields
}

func (m *importer) tsvTopics(name string, data []byte) []topic {
	var found []topic
	for n, line := range lines(data) {
		id, query, ok := strings.Cut(line, "\t")
		if !ok {
			m.problem(golden.Problem{File: name, Line: n, Message: "is neither <top> nor a line of number, tab and query"})
			continue
		}
		found = append(found, topic{n, map[string]string{"num": strings.TrimSpace(id), "title": strings.TrimSpace(query)}})
	}
	return found
}
