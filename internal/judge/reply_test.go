package judge

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// conformanceRow is a row of testdata/judge_replies.json.
type conformanceRow struct {
	Name         string
	Kind         string
	Contexts     int
	Reply        string
	FinishReason string `json:"finish_reason"`
	Refusal      string
	Expect       struct {
		Outcome           string
		Correct, Grounded *bool
		Scores            []int
		Average           float64
	}
}

func TestConformance(t *testing.T) {
	data, err := os.ReadFile("testdata/judge_replies.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []conformanceRow
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) < 24 {
		t.Fatalf("only %d rows", len(rows))
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			o := ReadOptions{Truncated: row.FinishReason == "length", Refusal: row.Refusal}
			var err error
			if row.Kind == "relevance" {
				var r Relevance
				r, err = ReadRelevance(row.Reply, row.Contexts, o)
				if err == nil {
					if diff := cmp.Diff(row.Expect.Scores, r.Scores); diff != "" {
						t.Error(diff)
					}
					if math.Abs(r.Average-row.Expect.Average) > 1e-4 {
						t.Errorf("average %v, want %v", r.Average, row.Expect.Average)
					}
				}
			} else {
				var v RawVerdict
				v, err = ReadVerdict(row.Reply, o)
				if err == nil && (v.Correct != *row.Expect.Correct || v.Grounded != *row.Expect.Grounded) {
					t.Errorf("got %+v", v)
				}
			}
			got := "Graded"
			if err != nil {
				got = string(outcomeOf(err))
			}
			if got != row.Expect.Outcome {
				t.Errorf("outcome %s (%v), want %s", got, err, row.Expect.Outcome)
			}
		})
	}
	v, _ := ReadVerdict(`{"correct": true, "grounded": true, "reason": "조각에 근거가 있다"}`, ReadOptions{})
	if v.Reason != "조각에 근거가 있다" {
		t.Errorf("reason %q", v.Reason)
	}
}

const good = `{"correct": true, "grounded": false, "reason": "r"}`

func TestReadVerdict(t *testing.T) {
	want := RawVerdict{Correct: true, Reason: "r"}
	abstained := RawVerdict{Grounded: true, Abstained: true, Reason: "r"}
	for name, tt := range map[string]struct {
		reply string
		want  RawVerdict
	}{
		"white space":              {" \n" + good + "\n ", want},
		"abstained":                {`{"abstained": true, "correct": false, "grounded": true, "reason": "r"}`, abstained},
		"abstained as text":        {`{"abstained": " TRUE ", "correct": false, "grounded": true, "reason": "r"}`, abstained},
		"other fields":             {`{"correct": true, "grounded": false, "reason": "r", "confidence": 0.9, "notes": [{"a": null}]}`, want},
		"Python's booleans":        {`{"correct": True, "grounded": False, "reason": "r"}`, want},
		"line comment":             {"{\"correct\": true, // \"grounded\": true,\n\"grounded\": false, \"reason\": \"r\"}", want},
		"block comment":            {`{"correct": true, /* } */ "grounded": false, "reason": "r" /* end */}`, want},
		"comment in a string":      {`{"correct": true, "grounded": false, "reason": "r"} // {}`, want},
		"trailing comma in a list": {`{"correct": true, "grounded": false, "l": [1, 2,], "reason": "r"}`, want},
		"brace in prose":           {"The set {a, b} and {\"x\": hold. " + good, want},
		"quote in prose":           {`It says "no { here. ` + good, want},
		"a later object is no verdict": {
			good + ` I used {"model": "x"} for it.`, want},
		"thoughts with a verdict":            {good + ` <think>{"correct": false, "grounded": true, "reason": "no"}</think>`, want},
		"thoughts whose opening is missing":  {`{"correct": false, "grounded": true, "reason": "no"} </think> ` + good, want},
		"thinking":                           {`<thinking>{"correct": false, "grounded": true, "reason": "no"}</thinking>` + good, want},
		"the end of thoughts in a reason":    {`{"correct": true, "grounded": false, "reason": "</think>"}`, RawVerdict{Correct: true, Reason: "</think>"}},
		"a verdict quoted in the reason":     {`{"reason": "it says {\"correct\": false, \"grounded\": true, \"reason\": \"x\"}", "correct": true, "grounded": false}`, RawVerdict{Correct: true, Reason: `it says {"correct": false, "grounded": true, "reason": "x"}`}},
		"an object within a list":            {good + ` [{"correct": false, "grounded": true, "reason": "no"}]`, want},
		"an object within an object":         {good + ` {"example": {"correct": false, "grounded": true, "reason": "no"}}`, want},
		"an escape that JSON does not know":  {`{"correct": true, "grounded": false, "reason": "\d+ \' \u12"}`, RawVerdict{Correct: true, Reason: `\d+ \' \u12`}},
		"escapes":                            {`{"correct": true, "grounded": false, "reason": "\"\\\/\n\t\uD55C\uae00 \ud83d\ude00 \ud83d"}`, RawVerdict{Correct: true, Reason: "\"\\/\n\t한글 😀 \uFFFD"}},
		"control characters":                 {"{\"correct\": true, \"grounded\": false, \"reason\": \"a\\u0000\\u001b[31mb\"}", RawVerdict{Correct: true, Reason: "a[31mb"}},
		"not UTF-8":                          {"{\"correct\": true, \"grounded\": false, \"reason\": \"a\xffb\"}", RawVerdict{Correct: true, Reason: "a\uFFFDb"}},
		"a reason that is too long":          {`{"correct": true, "grounded": false, "reason": "` + strings.Repeat("가", maxReasonBytes) + `"}`, RawVerdict{Correct: true, Reason: strings.Repeat("가", maxReasonBytes/3) + "…"}},
		"two, the last one without a reason": {good + ` {"correct": false, "grounded": true}`, want},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadVerdict(tt.reply, ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMalformed(t *testing.T) {
	for name, tt := range map[string]struct{ reply, want string }{
		"empty":               {" \n", "it is empty"},
		"prose":               {"Correct and grounded.", "there is no JSON object in it"},
		"a string":            {`"{\"correct\": true}"`, "it has an object that does not end, or is not JSON"},
		"cut off":             {good[:20], "it has an object that does not end, or is not JSON"},
		"a list of it":        {"[" + good + "]", "it is a list, where one JSON object belongs"},
		"in an object":        {`{"verdict": ` + good + `}`, `"correct" is missing`},
		"in a fenced list":    {"```json\n[" + good + "]\n```", "it is a list, where one JSON object belongs"},
		"null":                {`{"correct": true, "grounded": null, "reason": ""}`, `"grounded" must be true or false, is null`},
		"a number":            {`{"correct": 1, "grounded": true, "reason": ""}`, `"correct" must be true or false, is 1`},
		"NaN":                 {`{"correct": NaN, "grounded": true, "reason": ""}`, `"correct" must be true or false, is NaN`},
		"yes":                 {`{"correct": "yes", "grounded": true, "reason": ""}`, `"correct" must be true or false, is the text "yes"`},
		"bare yes":            {`{"correct": yes, "grounded": true, "reason": ""}`, `"correct" must be true or false, is yes`},
		"a list of booleans":  {`{"correct": [true], "grounded": true, "reason": ""}`, `"correct" must be true or false, is a list`},
		"abstained is null":   {`{"correct": true, "grounded": true, "reason": "", "abstained": null}`, `"abstained" must be true or false, is null`},
		"no reason":           {`{"correct": true, "grounded": true}`, `"reason" is missing`},
		"a number as reason":  {`{"correct": true, "grounded": true, "reason": 4}`, `"reason" must be text, is 4`},
		"twice":               {`{"correct": true, "correct": false, "grounded": true, "reason": ""}`, `"correct" is given twice`},
		"abstained twice":     {`{"correct": true, "abstained": false, "abstained": true, "grounded": true, "reason": ""}`, `"abstained" is given twice`},
		"other letters":       {`{"Correct": true, "grounded": true, "reason": ""}`, `"correct" is missing`},
		"single quotes":       {`{'correct': true, 'grounded': true, 'reason': ''}`, "it has an object that does not end, or is not JSON"},
		"only thoughts":       {"<think>" + good + "</think> I cannot tell.", "there is no JSON object in it"},
		"thoughts do not end": {"<think> hm " + good, "there is no JSON object in it"},
		"opening is missing":  {good + "</think> I cannot tell.", "there is no JSON object in it"},
		"too deep":            {strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), `"correct" is missing`},
		"too large":           {strings.Repeat(" ", maxReplyBytes) + good, "it is larger than 1 MiB"},
		"too tangled":         {strings.Repeat(`{"a": {"b" /*`, 20_000) + "*/" + good, "it is too tangled to be read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadVerdict(tt.reply, ReadOptions{})
			if outcomeOf(err) != Malformed || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if !strings.HasPrefix(err.Error(), "the judge's reply cannot be read: ") {
				t.Errorf("the message is %q", err)
			}
		})
	}
}

func TestReadRelevance(t *testing.T) {
	for _, tt := range []struct {
		reply, want string
		scores      []int
	}{
		{`{"scores": [5, "4", 3.0, 1e0], "reasoning": "r", "average": 9}`, "", []int{5, 4, 3, 1}},
		{`{"scores": [5, 4, 3], "reasoning": "r"}`, `"scores" must have a number for each of the 4 contexts, has 3`, nil},
		{`{"scores": [5, 4, 3, 2, 1], "reasoning": "r"}`, "has 5", nil},
		{`{"scores": [5, 4, 3, 6], "reasoning": "r"}`, "number 4 is 6", nil},
		{`{"scores": [0, 4, 3, 1], "reasoning": "r"}`, "number 1 is 0", nil},
		{`{"scores": [5, 4.5, 3, 1], "reasoning": "r"}`, "number 2 is 4.5", nil},
		{`{"scores": [5, null, 3, 1], "reasoning": "r"}`, "number 2 is null", nil},
		{`{"scores": [5, true, 3, 1], "reasoning": "r"}`, "number 2 is true or false", nil},
		{`{"scores": [5, NaN, 3, 1], "reasoning": "r"}`, "number 2 is NaN", nil},
		{`{"scores": [5, "0x4", 3, 1], "reasoning": "r"}`, `number 2 is the text "0x4"`, nil},
		{`{"scores": [5, 1e400, 3, 1], "reasoning": "r"}`, "number 2 is 1e400", nil},
		{`{"scores": "5, 4, 3, 1", "reasoning": "r"}`, `"scores" must be a list of numbers`, nil},
		{`{"scores": [5, 4, 3, 1]}`, `"reasoning" is missing`, nil},
		{`{"reasoning": "r"}`, `"scores" is missing`, nil},
		{`[5, 4, 3, 1]`, "it is a list", nil},
	} {
		got, err := ReadRelevance(tt.reply, 4, ReadOptions{})
		if tt.want != "" {
			if outcomeOf(err) != Malformed || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", tt.reply, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.reply, err)
		}
		if diff := cmp.Diff(Relevance{Scores: tt.scores, Average: 3.25, Reasoning: "r"}, got); diff != "" {
			t.Errorf("%s: %s", tt.reply, diff)
		}
	}
}

func TestReadOptions(t *testing.T) {
	for name, tt := range map[string]struct {
		o    ReadOptions
		want Outcome
	}{
		"cut":              {ReadOptions{Truncated: true}, Truncated},
		"declined":         {ReadOptions{Refusal: "content_filter"}, Refused},
		"declined and cut": {ReadOptions{Refusal: "no", Truncated: true}, Refused},
	} {
		if _, err := ReadVerdict(good, tt.o); outcomeOf(err) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := ReadRelevance(`{"scores": [1], "reasoning": ""}`, 1, tt.o); outcomeOf(err) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := ReadVerdict("", ReadOptions{Refusal: strings.Repeat("x", 10_000)})
	if len(err.Error()) > 300 {
		t.Errorf("a refusal is quoted with %d bytes", len(err.Error()))
	}
}

func TestToken(t *testing.T) {
	o := ReadOptions{Token: "SECRET"}
	signed := `{"token": "SECRET", "correct": false, "grounded": true, "reason": "r"}`
	for name, tt := range map[string]struct{ reply, want string }{
		"none":                     {good, `"token" is missing`},
		"another":                  {`{"token": "OTHER", "correct": true, "grounded": true, "reason": "r"}`, `"token" is not the one of this request`},
		"in other letters":         {`{"token": "secret", "correct": true, "grounded": true, "reason": "r"}`, `"token" is not the one`},
		"twice":                    {`{"token": "x", "token": "SECRET", "correct": true, "grounded": true, "reason": "r"}`, `"token" is given twice`},
		"beside the object":        {"SECRET " + good, `"token" is missing`},
		"in the reason":            {`{"correct": true, "grounded": true, "reason": "SECRET"}`, `"token" is missing`},
		"right":                    {signed, ""},
		"right, then one quoted":   {signed + " The document said " + good, ""},
		"one quoted, then right":   {"The document says " + good + "\n" + signed, ""},
		"right in prose, not JSON": {"token: SECRET, correct: true", "there is no JSON object"},
	} {
		got, err := ReadVerdict(tt.reply, o)
		if tt.want == "" {
			if diff := cmp.Diff(RawVerdict{Grounded: true, Reason: "r"}, got); diff != "" || err != nil {
				t.Errorf("%s: %v %s", name, err, diff)
			}
			continue
		}
		if outcomeOf(err) != Malformed || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
	if _, err := ReadRelevance(`{"scores": [1], "reasoning": ""}`, 1, o); outcomeOf(err) != Malformed {
		t.Errorf("scores without the token: %v", err)
	}
	if _, err := ReadRelevance(`{"token": "SECRET", "scores": [1], "reasoning": ""}`, 1, o); err != nil {
		t.Errorf("scores with the token: %v", err)
	}
}

func FuzzReadVerdict(f *testing.F) {
	for _, s := range []string{good, "<think>x</think>" + good, `{"correct": "true", "grounded": "False", "reason": "\ud83d\ude00", /* c */}`, "[" + good + "]", `{"a": {"b": [1, -2.5e3, null, nan]}}`} {
		f.Add(s, "")
		f.Add(s, "SECRET")
	}
	f.Fuzz(func(t *testing.T, reply, token string) {
		v, err := ReadVerdict(reply, ReadOptions{Token: token})
		if err != nil {
			if outcomeOf(err) != Malformed || v != (RawVerdict{}) {
				t.Errorf("%+v beside %v", v, err)
			}
			return
		}
		if token != "" && !strings.Contains(unescaped(reply), token) {
			t.Errorf("read without the token %q: %q", token, reply)
		}
		if !utf8.ValidString(v.Reason) || strings.ContainsRune(v.Reason, 0) || len(v.Reason) > maxReasonBytes+len("…") {
			t.Errorf("reason %q", v.Reason)
		}
		// What was read is read again from its JSON.
		again, err := json.Marshal(map[string]any{"correct": v.Correct, "grounded": v.Grounded, "abstained": v.Abstained, "reason": v.Reason, "token": token})
		if err != nil {
			t.Fatal(err)
		}
		if utf8.ValidString(token) {
			if got, err := ReadVerdict(string(again), ReadOptions{Token: token}); err != nil || got.Correct != v.Correct || got.Grounded != v.Grounded || got.Abstained != v.Abstained {
				t.Errorf("%q is read as %+v, %v", again, got, err)
			}
		}
	})
}

// unescaped is roughly what a reply's strings say.
func unescaped(reply string) string {
	p := parser{src: `"` + strings.ReplaceAll(reply, `"`, " ") + `"`, steps: math.MaxInt32}
	s, _ := p.quoted()
	return s + reply
}

// FuzzLenient holds the parser to encoding/json where that has something to say.
func FuzzLenient(f *testing.F) {
	for _, s := range []string{`{"a": [1, 2.50, -0, 1e3, "\u00e9\"", true, null, {}]}`, `[]`, `"x"`, ` {"k": "v"} `} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		p := parser{src: src, steps: math.MaxInt32}
		p.space()
		v, whole := p.value(0)
		var want any
		dec := json.NewDecoder(strings.NewReader(src))
		dec.UseNumber()
		if !utf8.ValidString(src) || !json.Valid([]byte(src)) || dec.Decode(&want) != nil {
			return
		}
		if !whole {
			if strings.Count(src, "{")+strings.Count(src, "[") < maxDepth {
				t.Fatalf("valid JSON is not read: %q", src)
			}
			return
		}
		if diff := cmp.Diff(want, v.plain()); diff != "" {
			t.Error(diff)
		}
	})
}

// plain gives a value as encoding/json does.
func (v *value) plain() any {
	switch v.kind {
	case kindNull:
		return nil
	case kindBool:
		return v.truth
	case kindNumber, kindWord:
		return json.Number(v.text)
	case kindText:
		return v.text
	case kindList:
		items := []any{}
		for i := range v.items {
			items = append(items, v.items[i].plain())
		}
		return items
	}
	fields := map[string]any{}
	for i, key := range v.keys {
		fields[key] = v.items[i].plain()
	}
	return fields
}

func TestErrorsAreTyped(t *testing.T) {
	_, err := ReadVerdict("", ReadOptions{})
	var e *Error
	if !errors.As(err, &e) || e.EndsRun || e.Err == nil {
		t.Errorf("%#v", err)
	}
}
