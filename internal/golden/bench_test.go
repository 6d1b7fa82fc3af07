package golden

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// BenchmarkRead reads 100,000 cases, the largest set there is.
func BenchmarkRead(b *testing.B) {
	jsonl := manyCases(maxCases)
	list := append(append([]byte("["), bytes.ReplaceAll(bytes.TrimSpace(jsonl), []byte("\n"), []byte(",\n"))...), ']')
	for _, f := range []File{
		{"set.jsonl", jsonl},
		{"set.jsonl.gz", zipped(b, jsonl)},
		{"set.json", list},
		{"set.csv", tableOf(b, jsonl)},
		{"set.yaml", append([]byte("- "), bytes.ReplaceAll(bytes.TrimSpace(jsonl), []byte("\n"), []byte("\n- "))...)},
	} {
		b.Run(f.Name, func(b *testing.B) {
			b.SetBytes(int64(len(f.Data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReadBad reads 100,000 cases that all have something wrong.
func BenchmarkReadBad(b *testing.B) {
	data := bytes.ReplaceAll(manyCases(maxCases), []byte(`"relevant":`), []byte(`"unknown":1,"relevant":-1,"source_doc":`))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(File{"set.jsonl", data}); err == nil {
			b.Fatal("read a bad set")
		}
	}
}

func tableOf(b *testing.B, jsonl []byte) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.Write([]string{"id", "question", "relevant", "reference_answer", "tags", "metadata"})
	for line := range strings.Lines(string(jsonl)) {
		var c struct {
			ID, Question    string
			Relevant, Tags  []string
			ReferenceAnswer string `json:"reference_answer"`
			Metadata        json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			b.Fatal(fmt.Errorf("reading %s: %w", line, err))
		}
		_ = w.Write([]string{c.ID, c.Question, strings.Join(c.Relevant, ";"), c.ReferenceAnswer, strings.Join(c.Tags, ";"), string(c.Metadata)})
	}
	w.Flush()
	return out.Bytes()
}
