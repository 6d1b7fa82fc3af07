-- One schema for both engines. {{id}} and {{key}} are the only words that
-- differ: sqlite.go and postgres.go say what stands there. Times are microseconds
-- since 1970 in UTC, lists and maps are JSON.

-- +goose Up
CREATE TABLE eval_runs (
    id                {{id}},
    uid               {{key}} NOT NULL UNIQUE,
    namespace         {{key}} NOT NULL,
    suite             {{key}} NOT NULL,
    suite_uid         TEXT NOT NULL,
    name              TEXT NOT NULL,
    triggered_by      TEXT NOT NULL,
    endpoint          TEXT NOT NULL,
    revision          TEXT NOT NULL,
    golden_set_digest TEXT NOT NULL,
    evaluation_digest TEXT NOT NULL,
    corpus_version    TEXT NOT NULL,
    full_run          BOOLEAN NOT NULL,
    started_us        BIGINT NOT NULL,
    completed_us      BIGINT, -- null while the run goes
    verdict           TEXT NOT NULL,
    reason            TEXT NOT NULL,
    message           TEXT NOT NULL,
    total             BIGINT NOT NULL,
    hit_rate          DOUBLE PRECISION,
    mrr               DOUBLE PRECISION,
    stored_cases      BIGINT NOT NULL DEFAULT 0, -- rows of the run in eval_cases,
    stored_retrieved  BIGINT NOT NULL DEFAULT 0, -- and in eval_retrieved: counting those tables reads them whole
    deleted           BOOLEAN NOT NULL DEFAULT FALSE, -- being pruned: no longer to be seen
    document          TEXT NOT NULL -- last, for a scan of the other columns not to read it
);
-- Pages of a suite's history, newest first.
CREATE INDEX eval_runs_suite ON eval_runs (namespace, suite, started_us, uid);

CREATE TABLE eval_cases (
    run_id          BIGINT NOT NULL REFERENCES eval_runs (id) ON DELETE CASCADE,
    case_id         {{key}} NOT NULL,
    position        BIGINT NOT NULL, -- in the golden set
    digest          TEXT NOT NULL,
    outcome         TEXT NOT NULL,
    message         TEXT NOT NULL,
    hit_rank        BIGINT NOT NULL, -- of the first relevant result, 0: none
    called          BOOLEAN NOT NULL,
    latency_seconds DOUBLE PRECISION NOT NULL,
    metrics         TEXT NOT NULL,
    tags            TEXT NOT NULL,
    relevant        TEXT NOT NULL,
    retrieved_bytes BIGINT NOT NULL, -- what reading its rows of eval_retrieved brings
    question        TEXT NOT NULL,
    PRIMARY KEY (run_id, case_id)
);
-- Pages of a run's cases, in the order of the golden set.
CREATE INDEX eval_cases_position ON eval_cases (run_id, position, case_id);

-- No foreign key: cases and their results are written and deleted together, and
-- a check for every result would cost much of the time that writing a run takes.
CREATE TABLE eval_retrieved (
    run_id    BIGINT NOT NULL,
    case_id   {{key}} NOT NULL,
    position  BIGINT NOT NULL, -- in the list, from 0
    item_rank BIGINT NOT NULL,
    item_id   TEXT NOT NULL,
    score     DOUBLE PRECISION, -- null where the retriever gave none
    relevant  BOOLEAN NOT NULL,
    content   TEXT NOT NULL, -- empty where content is not stored
    PRIMARY KEY (run_id, case_id, position)
);
