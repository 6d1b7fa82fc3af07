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

	"github.com/assay-dev/assay/api/v1alpha1"
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
	Stages   []string `json:"stages"`
}

// fields of the body, in the order in which they are named to callers.
var fields = []string{"endpoint", "revision", "tags", "topK", "stages"}

// stages in the order in which a run goes through them; each needs those before it.
var stages = []v1alpha1.Stage{v1alpha1.StageRetrieval, v1alpha1.StageAnswer, v1alpha1.StageJudge}

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
		return Ask{}, badRequest("the body has %v; the fields are %s, each at most once", strict[0], list(fields))
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
	"stages":   "a list of strings",
}

// refuseNull finds the nulls, which encoding/json takes for fields left out.
func refuseNull(body []byte) error {
	var given map[string]any
	if err := json.Unmarshal(body, &given); err != nil {
		return badRequest("the body is not JSON: %v", err)
	}
	if given == nil {
		return badRequest(`the body is a JSON null: send an object, for example {"endpoint": "canary"}, or nothing`)
	}
	for _, name := range fields {
		value, there := given[name]
		items, _ := value.([]any)
		if there && value == nil || slices.Contains(items, nil) {
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
	}
	if err := checkTags(b.Tags); err != nil {
		return Ask{}, err
	}
	a.Tags = b.Tags
	if b.TopK != nil {
		if *b.TopK < 1 || *b.TopK > maxTopK {
			return Ask{}, badRequest("topK is %d: give a whole number from 1 to %d, or leave it out for the suite's own", *b.TopK, maxTopK)
		}
		a.TopK = *b.TopK
	}
	var err error
	a.Stages, err = stagesOf(b.Stages)
	return a, err
}

func checkTags(tags []string) error {
	if len(tags) > maxTags {
		return badRequest("tags has %d items: give at most %d", len(tags), maxTags)
	}
	for i, tag := range tags {
		if n := utf8.RuneCountInString(tag); n < 1 || n > maxTag {
			return badRequest("tags[%d] must have 1 to %d characters", i, maxTag)
		}
		if slices.Contains(tags[:i], tag) {
			return badRequest("tags holds %q twice", tag)
		}
	}
	return nil
}

// stagesOf gives the stages in their order, in which two calls that ask the same
// are the same.
func stagesOf(given []string) ([]v1alpha1.Stage, error) {
	if len(given) == 0 {
		return nil, nil
	}
	for i, name := range given {
		switch {
		case !slices.Contains(stages, v1alpha1.Stage(name)):
			return nil, badRequest("stages[%d] is %.40q: the stages are Retrieval, Answer and Judge", i, name)
		case slices.Contains(given[:i], name):
			return nil, badRequest("stages holds %q twice", name)
		}
	}
	asked := stages[:len(given):len(given)]
	for _, stage := range asked {
		if !slices.Contains(given, string(stage)) {
			return nil, badRequest("stages build on one another, and %s is missing: give [Retrieval], [Retrieval, Answer] or [Retrieval, Answer, Judge]", stage)
		}
	}
	return slices.Clone(asked), nil
}
