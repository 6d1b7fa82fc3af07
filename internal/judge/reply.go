package judge

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// ParserVersion is part of every cache key and of a judge's identity. It goes
// up when some reply is read otherwise than before.
const ParserVersion = 1

const (
	// maxReplyBytes bounds a reply that is read at all: the largest output limit,
	// doubled, at eight bytes a token.
	maxReplyBytes = 1 << 20
	// maxQuotedBytes bounds what a message shows of what somebody else wrote.
	maxQuotedBytes = 256
	// maxReasonBytes bounds the reason that is kept of a verdict.
	maxReasonBytes = 4 << 10
)

// ReadOptions is what is known of a reply beside its text.
type ReadOptions struct {
	// Truncated says that the reply was cut at the token limit. It is then not
	// trusted, even where it looks whole.
	Truncated bool
	// Refusal is why the model or its provider declined; empty: it did not.
	Refusal string
	// Token is the random text of a request in plain-text mode: only an object
	// that carries it under "token" counts. Empty: a schema or JSON mode held the
	// reply, and any object counts.
	Token string
}

// RawVerdict is a verdict as the model gave it.
type RawVerdict struct {
	Correct, Grounded, Abstained bool
	Reason                       string
}

// ReadVerdict reads a verdict out of a reply: the last whole object that has
// correct, grounded and reason. Thoughts, fences, comments and prose around it
// are gone over; "true" and "False" are read as what they mean; a field that is
// missing, null, a number or given twice makes an object none. The error is an
// *Error: Malformed, Truncated or Refused.
func ReadVerdict(reply string, o ReadOptions) (RawVerdict, error) {
	return read(reply, o, func(v *value) (r RawVerdict, err error) {
		if r.Correct, err = truthOf(v, "correct"); err != nil {
			return r, err
		}
		if r.Grounded, err = truthOf(v, "grounded"); err != nil {
			return r, err
		}
		if found, _ := v.field("abstained"); found != nil {
			if r.Abstained, err = truthOf(v, "abstained"); err != nil {
				return r, err
			}
		}
		r.Reason, err = proseOf(v, "reason")
		return r, err
	})
}

// ReadRelevance reads the scores of a number of contexts out of a reply, as
// ReadVerdict does: {"scores": […], "reasoning": "…"}. Scores are whole numbers
// from 1 to 5, as many as contexts. The average is computed, not believed.
func ReadRelevance(reply string, contexts int, o ReadOptions) (Relevance, error) {
	return read(reply, o, func(v *value) (r Relevance, err error) {
		if r.Scores, err = scoresOf(v, contexts); err != nil {
			return r, err
		}
		r.Average = average(r.Scores)
		r.Reasoning, err = proseOf(v, "reasoning")
		return r, err
	})
}

// read finds the last object of a reply that decode accepts.
func read[T any](reply string, o ReadOptions, decode func(*value) (T, error)) (result T, err error) {
	switch {
	case o.Refusal != "":
		return result, &Error{Outcome: Refused, Message: "the judge declined: " + cut(clean(o.Refusal), maxQuotedBytes)}
	case o.Truncated:
		return result, &Error{Outcome: Truncated, Message: "the judge's reply was cut at the token limit"}
	case len(reply) > maxReplyBytes:
		return result, malformed(fmt.Errorf("it is larger than %d MiB", maxReplyBytes>>20))
	}
	objects, rest := scan(reply)
	if rest.unread {
		return result, malformed(errors.New("it is too tangled to be read"))
	}
	var wrong error
	for _, v := range slices.Backward(objects) {
		if problem := tokenProblem(&v, o.Token); problem != nil {
			wrong = firstError(wrong, problem)
			continue
		}
		decoded, problem := decode(&v)
		if problem == nil {
			return decoded, nil
		}
		wrong = firstError(wrong, problem)
	}
	switch {
	case wrong != nil:
		return result, malformed(wrong)
	case strings.TrimSpace(reply) == "":
		return result, malformed(errors.New("it is empty"))
	case rest.broken:
		return result, malformed(errors.New("it has an object that does not end, or is not JSON"))
	case rest.list:
		return result, malformed(errors.New("it is a list, where one JSON object belongs"))
	}
	return result, malformed(errors.New("there is no JSON object in it"))
}

// malformed says what is wrong with a reply: its message to people, its cause to
// the model that is asked to mend it.
func malformed(problem error) *Error {
	return &Error{Outcome: Malformed, Message: "the judge's reply cannot be read: " + problem.Error(), Err: problem}
}

func firstError(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// tokenProblem holds a verdict in plain text to the token of its request, which
// a verdict that is quoted from a document cannot know.
func tokenProblem(v *value, token string) error {
	if token == "" {
		return nil
	}
	if _, err := one(v, "token"); err != nil {
		return err
	}
	if found, _ := v.field("token"); found.kind != kindText || found.text != token {
		return errors.New(`"token" is not the one of this request`)
	}
	return nil
}

// one gives a field that must be there, once.
func one(v *value, name string) (*value, error) {
	found, once := v.field(name)
	switch {
	case found == nil:
		return nil, fmt.Errorf("%q is missing", name)
	case !once:
		return nil, fmt.Errorf("%q is given twice", name)
	}
	return found, nil
}

func truthOf(v *value, name string) (bool, error) {
	found, err := one(v, name)
	if err != nil {
		return false, err
	}
	if found.kind == kindBool {
		return found.truth, nil
	}
	if found.kind == kindText {
		switch word := strings.TrimSpace(found.text); {
		case strings.EqualFold(word, "true"):
			return true, nil
		case strings.EqualFold(word, "false"):
			return false, nil
		}
	}
	return false, fmt.Errorf("%q must be true or false, is %s", name, found.describe())
}

func proseOf(v *value, name string) (string, error) {
	found, err := one(v, name)
	if err != nil {
		return "", err
	}
	if found.kind != kindText {
		return "", fmt.Errorf("%q must be text, is %s", name, found.describe())
	}
	return cut(clean(found.text), maxReasonBytes), nil
}

func scoresOf(v *value, contexts int) ([]int, error) {
	found, err := one(v, "scores")
	switch {
	case err != nil:
		return nil, err
	case found.kind != kindList:
		return nil, fmt.Errorf(`"scores" must be a list of numbers, is %s`, found.describe())
	case len(found.items) != contexts:
		return nil, fmt.Errorf(`"scores" must have a number for each of the %d contexts, has %d`, contexts, len(found.items))
	}
	scores := make([]int, contexts)
	for i := range found.items {
		item := &found.items[i]
		n, ok := item.whole()
		if !ok || n < minScore || n > maxScore {
			return nil, fmt.Errorf(`"scores" must be whole numbers from 1 to 5, number %d is %s`, i+1, item.describe())
		}
		scores[i] = n
	}
	return scores, nil
}

// The range of a context's relevance.
const (
	minScore = 1
	maxScore = 5
)

func average(scores []int) float64 {
	sum := 0
	for _, s := range scores {
		sum += s
	}
	return float64(sum) / float64(len(scores))
}

// clean takes out what no store and no terminal should get from a model.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// cut shortens a text to a number of bytes, at the border of a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
