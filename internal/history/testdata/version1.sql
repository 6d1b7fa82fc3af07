INSERT INTO eval_runs (uid, namespace, suite, suite_uid, name, triggered_by, endpoint, revision, golden_set_digest, evaluation_digest, corpus_version, full_run, started_us, completed_us, verdict, reason, message, total, hit_rate, mrr, stored_cases, stored_retrieved, document)
VALUES ('uid-docs-00000', 'team', 'docs', 'suite-uid', 'docs-0', 'Schedule', '', 'rev-1', 'sha256:g', 'sha256:e', 'c-7', TRUE, 1773489600000000, 1773489660000000, 'Passed', 'ObjectivesMet', 'all met', 3, 0.3, 0.3333333333333333, 1, 3, '{"metrics": [ 1.50, "é" ]}');
INSERT INTO eval_cases (run_id, case_id, position, digest, outcome, message, hit_rank, called, latency_seconds, metrics, tags, relevant, retrieved_bytes, question)
VALUES (1, 'case-00000', 0, 'sha256:c', 'Scored', 'm', 2, TRUE, 0.3, '{"hit_rate@5":1,"mrr":0.3333333333333333}', '["all","mod-0"]', '[{"id":"doc-b","grade":1},{"id":"doc-z","grade":0.5}]', 26, 'What is 0? 질문');
INSERT INTO eval_retrieved (run_id, case_id, position, item_rank, item_id, score, relevant, content)
VALUES (1, 'case-00000', 0, 1, 'doc-a', -0.1, FALSE, 'first'), (1, 'case-00000', 1, 2, 'doc-b', NULL, TRUE, '둘째'), (1, 'case-00000', 2, 3, 'doc-a', NULL, FALSE, '');
