package judge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/assay-dev/assay/internal/golden"
)

// Label is an answer with the verdict that a person gave.
type Label struct {
	// ID is for people; empty where the set gives none.
	ID       string        `json:"id,omitempty"`
	Question string        `json:"question"`
	History  []golden.Turn `json:"history,omitempty"`
	// Reference is what a right answer says; empty where there is none.
	Reference string   `json:"reference_answer,omitempty"`
	Contexts  []string `json:"contexts"`
	Answer    string   `json:"answer"`
	// Answerable is false where the right behaviour is to decline.
	Answerable bool `json:"answerable"`
	// Correct and Grounded are the person's; nil where the person did not say.
	Correct  *bool `json:"correct,omitempty"`
	Grounded *bool `json:"grounded,omitempty"`
	// Reason is for people: the judge's, in a set that is to be corrected. It is
	// not read back.
	Reason string `json:"reason,omitempty"`
}

// Input gives what the judge is asked.
func (l *Label) Input() Input {
	return Input{
		Question: l.Question, History: l.History, Reference: l.Reference,
		Answerable: l.Answerable, Contexts: l.Contexts, Answer: l.Answer,
	}
}

// LabelSet is a set of labels that was read without error.
type LabelSet struct {
	// Labels in the order of the files.
	Labels []Label
	// Digest as LabelsDigest gives it.
	Digest string
	// Warnings are problems that keep no label from being used.
	Warnings []golden.Problem
}

// LabelsDigest gives "sha256:" and the hexadecimal SHA-256 of what is judged
// and of the verdicts of people. Neither order nor ids are part of it.
func LabelsDigest(labels []Label) string {
	lines := make([][]byte, len(labels))
	for i, l := range labels {
		l.ID, l.Reason = "", ""
		if len(l.Contexts) == 0 {
			l.Contexts = nil
		}
		lines[i] = canonical(l)
	}
	slices.SortFunc(lines, bytes.Compare)
	h := sha256.New()
	for _, line := range lines {
		h.Write(line)
		h.Write([]byte{'\n'})
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// CalibrationDigest identifies a calibration: who judges, and the labels. The
// labels are judged again when it changes.
func CalibrationDigest(id Identity, labelsDigest string) string {
	sum := sha256.Sum256(canonical(struct {
		Identity Identity `json:"identity"`
		Labels   string   `json:"labels"`
	}{id, labelsDigest}))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// WriteLabels writes labels one a line, as ReadLabels reads them from a file
// whose name ends in .jsonl.
func WriteLabels(w io.Writer, labels []Label) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i := range labels {
		if err := enc.Encode(&labels[i]); err != nil {
			return fmt.Errorf("write label %d: %w", i+1, err)
		}
	}
	return nil
}

// canonical gives the JSON of a value whose fields are all JSON.
func canonical(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("judge: labels and identities are always JSON: " + err.Error())
	}
	return b
}
