-- What the golden set says of a case besides its question: with it, what a run
-- was judged by can be read again after the golden set has moved on.

-- +goose Up
ALTER TABLE eval_cases ADD COLUMN unanswerable BOOLEAN NOT NULL DEFAULT FALSE; -- the corpus has no answer
ALTER TABLE eval_cases ADD COLUMN reference_answer TEXT; -- null where there is none
ALTER TABLE eval_cases ADD COLUMN turns TEXT; -- of the conversation before the question, null where there are none
