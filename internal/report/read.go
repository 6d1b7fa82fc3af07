package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Read reads a run document: what WriteJSON wrote, or what the HTTP API gave. A
// page of a run is a document with the cases of that page. Fields that are not
// known are passed over, so that a newer version's document can be read.
func Read(data []byte) (*Document, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	d := &Document{}
	if err := decoder.Decode(d); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return nil, fmt.Errorf("this is no run document: %s is a %s; give what assay run -o json writes", kind.Field, kind.Value)
		}
		return nil, fmt.Errorf("this is no JSON: %w; give what assay run -o json writes", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the run document: give one document")
	}
	if d.Run.Suite == "" || d.Settings.EvaluationDigest == "" {
		return nil, errors.New("this is no run document: run.suite or settings.evaluationDigest is missing; give what assay run -o json writes")
	}
	d.Total = max(d.Total, len(d.Cases))
	return d, nil
}
