-- Answers, verdicts and the cache of verdicts. {{bytes}} stands beside the words of
-- 00001_history.sql. The columns that may be long come last, for a scan of the
-- others not to read them.

-- +goose Up
ALTER TABLE eval_runs ADD COLUMN accuracy DOUBLE PRECISION;
ALTER TABLE eval_runs ADD COLUMN hallucination_rate DOUBLE PRECISION;
-- The newest run of a name, and the newest that may be a baseline: newest.go
-- has the same condition.
CREATE INDEX eval_runs_name ON eval_runs (namespace, suite, name, started_us, uid);
CREATE INDEX eval_runs_passed ON eval_runs (suite_uid, started_us, uid) WHERE verdict = 'Passed' AND full_run AND endpoint = '' AND NOT deleted;

ALTER TABLE eval_cases ADD COLUMN answer_seconds DOUBLE PRECISION; -- null where the answer service was not asked
ALTER TABLE eval_cases ADD COLUMN judge_usage TEXT; -- null where the judge was not asked
ALTER TABLE eval_cases ADD COLUMN verdict TEXT; -- null where there is none, as is
ALTER TABLE eval_cases ADD COLUMN relevance TEXT; -- the relevance of the contexts
ALTER TABLE eval_cases ADD COLUMN answer TEXT; -- null where there is none, empty where content is not stored
ALTER TABLE eval_cases ADD COLUMN contexts TEXT; -- null where there are none, or content is not stored

CREATE TABLE judge_cache (
    key        {{key}} PRIMARY KEY,
    value      {{bytes}} NOT NULL,
    created_us BIGINT NOT NULL,
    used_us    BIGINT NOT NULL -- to the day
);
CREATE INDEX judge_cache_used ON judge_cache (used_us);
