package history

import (
	"encoding/json"
	"errors"

	"github.com/assay-dev/assay/internal/judge"
)

// answerColumns are the columns of eval_cases for the later stages, null where
// there is nothing.
type answerColumns struct{ usage, verdict, relevance, answer, contexts *string }

func answerColumnsOf(c *Case) (out answerColumns, err error) {
	var errs [4]error
	if c.Usage != (judge.Usage{}) {
		out.usage, errs[0] = toJSON(c.Usage)
	}
	if v := c.Verdict; v != nil {
		kept := *v
		kept.Reason = clean(v.Reason)
		out.verdict, errs[1] = toJSON(kept)
	}
	if r := c.Relevance; r != nil {
		out.relevance, errs[2] = toJSON(judge.Relevance{Scores: r.Scores, Average: orZero(r.Average), Reasoning: clean(r.Reasoning)})
	}
	if a := c.Answer; a != nil {
		text := clean(a.Text)
		out.answer = &text
		if len(a.Contexts) > 0 {
			out.contexts, errs[3] = toJSON(cleanAll(a.Contexts))
		}
	}
	return out, errors.Join(errs[:]...)
}

func toJSON(v any) (*string, error) {
	text, err := jsonText(v)
	return &text, err
}

// columns to scan into.
func (a *answerColumns) columns() []any {
	return []any{&a.usage, &a.verdict, &a.relevance, &a.answer, &a.contexts}
}

// into puts what was scanned into a case.
func (a *answerColumns) into(c *Case) error {
	var errs [4]error
	if a.answer != nil {
		c.Answer = &Answer{Text: *a.answer}
		errs[0] = fromJSON(a.contexts, &c.Answer.Contexts)
	}
	errs[1], errs[2], errs[3] = fromJSON(a.usage, &c.Usage), fromJSON(a.verdict, &c.Verdict), fromJSON(a.relevance, &c.Relevance)
	return errors.Join(errs[:]...)
}

// fromJSON reads a column; null leaves what is there.
func fromJSON(text *string, into any) error {
	if text == nil {
		return nil
	}
	return json.Unmarshal([]byte(*text), into)
}
