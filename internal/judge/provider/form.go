package provider

import "sync"

// Format is how a server is held to the shape of a reply.
type Format int

// The formats, the strictest first.
const (
	// Structured sends the schema, by which the server constrains the model.
	Structured Format = iota
	// Loose is the vendor's older way: JSON mode, or a tool with the schema.
	Loose
	// Plain is text. The verdict must carry the token of its request.
	Plain
)

// Form is how a request is written for one server and model. Its zero value is
// what is tried first, and each field only grows, so that what a server refused
// is not tried again.
type Form struct {
	Format Format
	// OtherLimit says that the server knows the token limit by its other name.
	OtherLimit bool
}

// join leaves out what either form leaves out.
func (f Form) join(o Form) Form {
	return Form{Format: max(f.Format, o.Format), OtherLimit: f.OtherLimit || o.OtherLimit}
}

// Memory holds the form that each server and model took, for as long as the
// process lives. Its zero value knows none. It is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	forms map[formKey]Form
}

type formKey struct{ server, model string }

// maxForms bounds what suites of any number of models may take. Beyond it all is
// learned anew.
const maxForms = 4096

func (m *Memory) recall(k formKey) Form {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.forms[k]
}

func (m *Memory) learn(k formKey, f Form) {
	if f == (Form{}) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.forms == nil || len(m.forms) >= maxForms {
		m.forms = map[formKey]Form{}
	}
	m.forms[k] = m.forms[k].join(f)
}

// Forget has all servers asked in the form that is tried first.
func (m *Memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.forms)
}
