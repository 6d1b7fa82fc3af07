package compare

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The names are what others read: they do not change.
func TestDocument(t *testing.T) {
	base, head := side("before", ranked("1", 1), ranked("2", 0)), side("after", ranked("1", 0), ranked("2", 2))
	base.Judge, head.Judge = "j", "k"
	base.Cases[0] = answered(base.Cases[0], true, true)
	head.Cases[0] = answered(head.Cases[0], true, true)
	c := Compare(base, head, Options{Relative: []Relative{{Metric: "mrr", MaxDrop: "0.1"}}})
	got, err := json.MarshalIndent(c.Document(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "base": {
    "name": "before",
    "uid": "uid-before",
    "revision": "r1",
    "goldenSetDigest": "sha256:g1",
    "evaluationDigest": "sha256:e1",
    "topK": 10,
    "unit": "Chunk",
    "tokenizer": "Whitespace",
    "judge": "j"
  },
  "head": {
    "name": "after",
    "uid": "uid-after",
    "revision": "r1",
    "goldenSetDigest": "sha256:g1",
    "evaluationDigest": "sha256:e1",
    "topK": 10,
    "unit": "Chunk",
    "tokenizer": "Whitespace",
    "judge": "k"
  },
  "comparable": true,
  "reason": "JudgeChanged",
  "message": "compared with before on 2 of 2 cases; the judge is another (provider, model, parameters or prompt): accuracy and hallucination_rate are not compared",
  "common": 2,
  "total": 2,
  "added": 0,
  "edited": 0,
  "removed": 0,
  "goldenSetChanged": false,
  "revisionChanged": false,
  "differences": [
    {
      "setting": "judge",
      "base": "j",
      "head": "k",
      "metrics": [
        "accuracy",
        "hallucination_rate"
      ]
    }
  ],
  "metrics": [
    {
      "name": "hit_rate@5",
      "tag": "",
      "value": 0.5,
      "baseline": 0.5,
      "count": 2,
      "delta": 0,
      "deltaLow": -1,
      "deltaHigh": 1,
      "pValue": 0.75
    },
    {
      "name": "mrr",
      "tag": "",
      "value": 0.25,
      "baseline": 0.5,
      "count": 2,
      "delta": -0.25,
      "deltaLow": -1,
      "deltaHigh": 0.5,
      "pValue": 0.5,
      "corrected": true
    },
    {
      "name": "error_rate",
      "tag": "",
      "value": 0,
      "baseline": 0,
      "count": 2,
      "delta": 0,
      "deltaLow": 0,
      "deltaHigh": 0,
      "pValue": 1,
      "lowerIsBetter": true
    }
  ],
  "worse": [
    {
      "id": "1",
      "baselineRank": 1,
      "outcome": "Scored",
      "baselineOutcome": "Scored",
      "metrics": [
        {
          "name": "hit_rate@5",
          "value": 0,
          "baseline": 1
        },
        {
          "name": "mrr",
          "value": 0,
          "baseline": 1
        }
      ]
    }
  ],
  "better": [
    {
      "id": "2",
      "rank": 2,
      "outcome": "Scored",
      "baselineOutcome": "Scored",
      "metrics": [
        {
          "name": "hit_rate@5",
          "value": 1,
          "baseline": 0
        },
        {
          "name": "mrr",
          "value": 0.5,
          "baseline": 0
        }
      ]
    }
  ],
  "worseCount": 1,
  "betterCount": 1,
  "sameCount": 0
}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestDocumentHasNoNull(t *testing.T) {
	text, err := json.Marshal(Compare(side("b"), side("h"), Options{}).Document())
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for name, value := range fields {
		if value == nil {
			t.Errorf("%s is null", name)
		}
	}
}
