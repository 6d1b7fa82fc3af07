package judge

import "encoding/json"

// The schemas use what every provider's structured output takes: all fields
// required, no others, and an enumeration instead of bounds. The reason comes
// first, so that a model thinks before it decides.
var (
	verdictSchema = Schema{Name: "verdict", JSON: json.RawMessage(`{
  "type": "object",
  "properties": {
    "reason": {"type": "string", "description": "One or two sentences, in the language of the question."},
    "correct": {"type": "boolean", "description": "The answer is right, going by the reference answer."},
    "grounded": {"type": "boolean", "description": "The contexts support all that the answer asserts."},
    "abstained": {"type": "boolean", "description": "The answer declines to answer."}
  },
  "required": ["reason", "correct", "grounded", "abstained"],
  "additionalProperties": false
}`)}

	relevanceSchema = Schema{Name: "relevance", JSON: json.RawMessage(`{
  "type": "object",
  "properties": {
    "reasoning": {"type": "string", "description": "One sentence a context, in the language of the question."},
    "scores": {"type": "array", "description": "A score from 1 to 5 for each context, in their order.", "items": {"type": "integer", "enum": [1, 2, 3, 4, 5]}}
  },
  "required": ["reasoning", "scores"],
  "additionalProperties": false
}`)}
)
