package server

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	strictjson "sigs.k8s.io/json"
)

// Bounds of the fields, which are those of an EvalRun.
const (
	maxEndpoint = 63
	maxRevision = 128
	maxTags     = 16
	maxTag      = 128
	maxTopK     = 1000
)

// startBody is the body of the call that starts a run.
type startBody struct {
	Endpoint *string  `json:"endpoint"`
	Revision *string  `json:"revision"`
	Tags     []string `json:"tags"`
	TopK     *int32   `json:"topK"`
}

// readAsk reads the body, which may be left out.
func readAsk(w http.ResponseWriter, r *http.Request) (Ask, error) {
	body, err := readBody(w, r)
	if err != nil || len(body) == 0 {
		return Ask{}, err
	}
	if given := r.Header.Get("Content-Type"); given != "" {
		if media, _, err := mime.ParseMediaType(given); err != nil || media != "application/json" {
			return Ask{}, newProblem(http.StatusUnsupportedMediaType, "the body is sent as %q: send JSON, with Content-Type: application/json", given)
		}
	}
	return parseAsk(body)
}

// readBody gives a slow sender a time of its own, shorter than the call's.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	// Where it is not supported, the server's own bounds hold. The end of the body ends the deadline.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(r.Body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge(w)
	case err != nil:
		return nil, badRequest("the body could not be read to its end: %v", err)
	}
	return body, nil
}

// parseAsk reads what a caller wants; every error names the field.
func parseAsk(body []byte) (Ask, error) {
	if !utf8.Valid(body) {
		return Ask{}, badRequest("the body is not UTF-8")
	}
	var b startBody
	strict, err := strictjson.UnmarshalStrict(body, &b)
	if err != nil {
		return Ask{}, syntaxProblem(err)
	}
	if len(strict) > 0 {
		return Ask{}, badRequest("the body has %v; the fields are endpoint, revision, tags and topK, each at most once", strict[0])
	}
	if err := refuseNull(body); err != nil {
		return Ask{}, err
	}
	return b.ask()
}

func syntaxProblem(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return badRequest("the body is not JSON: %v", err)
	case wrong.Field == "":
		return badRequest(`the body is a JSON %s: send an object, for example {"endpoint": "canary"}`, wrong.Value)
	}
	return badRequest("%s is a JSON %s: it must be %s", wrong.Field, wrong.Value, fieldTypes[strings.SplitN(wrong.Field, ".", 2)[0]])
}

var fieldTypes = map[string]string{
	"endpoint": "a string",
	"revision": "a string",
	"tags":     "a list of strings",
	"topK":     "a whole number from 1 to 1000",
}

// refuseNull finds the nulls, which encoding/json takes for fields left out.
func refuseNull(body []byte) error {
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		return badRequest("the body is not JSON: %v", err)
	}
	if fields == nil {
		return badRequest(`the body is a JSON null: send an object, for example {"endpoint": "canary"}, or nothing`)
	}
	for _, name := range []string{"endpoint", "revision", "tags", "topK"} {
		value, given := fields[name]
		items, _ := value.([]any)
		if given && value == nil || slices.Contains(items, nil) {
			return badRequest("%s holds a JSON null: it must be %s", name, fieldTypes[name])
		}
	}
	return nil
}

// ask checks the fields as the EvalRun's own schema does.
func (b startBody) ask() (Ask, error) {
	var a Ask
	if b.Endpoint != nil {
		a.Endpoint = *b.Endpoint
	}
	if b.Revision != nil {
		a.Revision = *b.Revision
	}
	switch {
	case utf8.RuneCountInString(a.Endpoint) > maxEndpoint:
		return Ask{}, badRequest("endpoint is longer than %d characters", maxEndpoint)
	case utf8.RuneCountInString(a.Revision) > maxRevision:
		return Ask{}, badRequest("revision is longer than %d characters", maxRevision)
	case a.Revision != "" && a.Endpoint == "":
		return Ask{}, badRequest("revision may be given only together with endpoint: the revision behind the suite's own URL is found out by Assay")
	case len(b.Tags) > maxTags:
		return Ask{}, badRequest("tags has %d items: give at most %d", len(b.Tags), maxTags)
	}
	for i, tag := range b.Tags {
		if n := utf8.RuneCountInString(tag); n < 1 || n > maxTag {
			return Ask{}, badRequest("tags[%d] must have 1 to %d characters", i, maxTag)
		}
		if slices.Contains(b.Tags[:i], tag) {
			return Ask{}, badRequest("tags holds %q twice", tag)
		}
	}
	a.Tags = b.Tags
	if b.TopK != nil {
		if *b.TopK < 1 || *b.TopK > maxTopK {
			return Ask{}, badRequest("topK is %d: give a whole number from 1 to %d, or leave it out for the suite's own", *b.TopK, maxTopK)
		}
		a.TopK = *b.TopK
	}
	return a, nil
}
