-- Tags and notes of runs, the kind of each run, and views for common queries.

-- The file that the figures of an imported run come from. Absent for runs of this program.
ALTER TABLE runs ADD COLUMN imported_from TEXT AS (target ->> '$.facts."imported from"');

ALTER TABLE runs ADD COLUMN kind TEXT AS (
    CASE WHEN imported_from IS NOT NULL THEN 'imported' WHEN predicted THEN 'predicted' ELSE 'measured' END
);

-- The number of cells with results.
ALTER TABLE runs ADD COLUMN cells INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET cells = (SELECT count(*) FROM cells WHERE cells.run_id = runs.id);

CREATE TABLE tags (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    tag    TEXT NOT NULL,
    PRIMARY KEY (run_id, tag)
) STRICT, WITHOUT ROWID;

CREATE INDEX tags_by_tag ON tags (tag, run_id);

CREATE TABLE notes (
    run_id     TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    note       INTEGER NOT NULL,
    at         TEXT    NOT NULL,
    at_unix_ns INTEGER NOT NULL,
    text       TEXT    NOT NULL,
    PRIMARY KEY (run_id, note)
) STRICT, WITHOUT ROWID;

-- The columns of the list of runs. The documents of a run have some hundred kilobytes. Without this
-- index, SQLite would read the documents that are stored before a column.
CREATE INDEX runs_listed ON runs (
    started_unix_ns, id, started_at, finished_at, state, kind, engine, engine_version, model, card,
    simulated, predicted, imported_from, validity, cells, log_file
);
DROP INDEX runs_by_start;

-- The same view as before, with the kind of each run.
DROP VIEW v_table;
CREATE VIEW v_table AS
SELECT
    runs.id AS run_id, runs.kind AS kind, runs.model AS model, runs.card AS card,
    runs.engine AS engine, runs.engine_version AS engine_version, runs.simulated AS simulated,
    runs.predicted AS predicted, runs.state AS state, runs.validity AS validity,
    cells.input_length AS input_length, cells.output_length AS output_length,
    cells.requests_per_s AS requests_per_s, cells.output_tokens_per_s AS output_tokens_per_s,
    cells.latency_per_token_ms AS latency_per_token_ms,
    cells.latency_per_output_token_ms AS latency_per_output_token_ms
FROM cells
JOIN runs ON runs.id = cells.run_id
ORDER BY runs.started_unix_ns, runs.id, cells.cell;

-- One row for each run, without the documents.
CREATE VIEW v_runs AS
SELECT
    id AS run_id, started_at, finished_at, state, kind, model, engine, engine_version, card, url,
    dialect, simulated, predicted, imported_from, profile, host, validity, cells,
    (SELECT count(*) FROM passes WHERE passes.run_id = runs.id)          AS passes,
    (SELECT sum(planned) FROM passes WHERE passes.run_id = runs.id)      AS requests,
    (SELECT sum(complete) FROM passes WHERE passes.run_id = runs.id)     AS complete,
    (SELECT count(*) FROM findings WHERE findings.run_id = runs.id AND severity = 'warning')
                                                                         AS warnings,
    (SELECT group_concat(tag, ' ') FROM tags WHERE tags.run_id = runs.id) AS tags,
    plan_hash, workload_hash, body_hash, tool_version, log_file
FROM runs
ORDER BY started_unix_ns, id;

-- One row for each pass, with its run.
CREATE VIEW v_passes AS
SELECT
    passes.run_id AS run_id, runs.kind AS run_kind, runs.model AS model, runs.engine AS engine,
    runs.engine_version AS engine_version, runs.card AS card, passes.pass AS pass,
    passes.cell AS cell, cells.input_length AS input_length, cells.output_length AS output_length,
    passes.kind AS kind, passes.summary ->> '$.load' AS load,
    coalesce(passes.summary ->> '$.repeat', 1) AS repeat, passes.concurrency AS concurrency,
    passes.rate AS rate, passes.planned AS planned, passes.complete AS complete,
    passes.duration_s AS duration_s, passes.requests_per_s AS requests_per_s,
    passes.input_tokens AS input_tokens, passes.output_tokens AS output_tokens,
    passes.output_tokens_per_s AS output_tokens_per_s, passes.tokens_from AS tokens_from,
    passes.peak_concurrency AS peak_concurrency, passes.mean_concurrency AS mean_concurrency,
    passes.ttft_mean_ms AS ttft_mean_ms, passes.ttft_p50_ms AS ttft_p50_ms,
    passes.ttft_p99_ms AS ttft_p99_ms, passes.tpot_mean_ms AS tpot_mean_ms,
    passes.tpot_p50_ms AS tpot_p50_ms, passes.tpot_p99_ms AS tpot_p99_ms,
    passes.itl_mean_ms AS itl_mean_ms, passes.itl_p50_ms AS itl_p50_ms,
    passes.itl_p99_ms AS itl_p99_ms, passes.e2e_mean_ms AS e2e_mean_ms,
    passes.e2e_p50_ms AS e2e_p50_ms, passes.e2e_p99_ms AS e2e_p99_ms,
    passes.send_delay_p50_ms AS send_delay_p50_ms, passes.send_delay_p99_ms AS send_delay_p99_ms,
    passes.latency_per_token_mean_ms AS latency_per_token_mean_ms,
    passes.latency_per_output_token_mean_ms AS latency_per_output_token_mean_ms
FROM passes
JOIN runs ON runs.id = passes.run_id
JOIN cells ON cells.run_id = passes.run_id AND cells.cell = passes.cell
ORDER BY runs.started_unix_ns, runs.id, passes.pass;

-- One row for each latency of each pass, with its percentiles.
CREATE VIEW v_latencies AS
SELECT
    passes.run_id AS run_id, passes.pass AS pass, cells.input_length AS input_length,
    cells.output_length AS output_length, passes.kind AS kind,
    passes.summary ->> '$.load' AS load, coalesce(passes.summary ->> '$.repeat', 1) AS repeat,
    metric.value AS metric,
    figure.value ->> '$.mean' AS mean,
    figure.value ->> '$.mean_ci[0]' AS mean_lo, figure.value ->> '$.mean_ci[1]' AS mean_hi,
    figure.value ->> '$.p50' AS p50,
    figure.value ->> '$.p50_ci[0]' AS p50_lo, figure.value ->> '$.p50_ci[1]' AS p50_hi,
    figure.value ->> '$.p90' AS p90, figure.value ->> '$.p95' AS p95,
    figure.value ->> '$.p99' AS p99,
    figure.value ->> '$.p99_ci[0]' AS p99_lo, figure.value ->> '$.p99_ci[1]' AS p99_hi,
    figure.value ->> '$.p999' AS p999, figure.value ->> '$.max' AS max,
    figure.value ->> '$.n' AS n
FROM passes
JOIN cells ON cells.run_id = passes.run_id AND cells.cell = passes.cell
JOIN json_each('["ttft_ms","tpot_ms","itl_ms","e2e_ms","ttft_from_due_ms","e2e_from_due_ms",
    "send_delay_ms","latency_per_token_ms","latency_per_output_token_ms"]') AS metric
JOIN json_each(passes.summary) AS figure ON figure.key = metric.value
WHERE figure.type = 'object'
ORDER BY passes.run_id, passes.pass, metric.key;

-- One row for each request, with its run and its wall-clock times.
CREATE VIEW v_requests AS
SELECT
    requests.*, runs.kind AS run_kind, runs.model AS model, runs.engine AS engine,
    cells.input_length AS input_length, cells.output_length AS output_length,
    passes.kind AS kind, passes.summary ->> '$.load' AS load,
    coalesce(passes.summary ->> '$.repeat', 1) AS repeat,
    coalesce(requests.tokens_usage, requests.tokens_tokenizer, requests.tokens_events)
                                                             AS output_tokens,
    (requests.send_start_ns - requests.due_ns) / 1e6         AS send_delay_ms,
    runs.origin_unix_ns + requests.due_ns                    AS due_unix_ns,
    runs.origin_unix_ns + requests.send_start_ns             AS send_start_unix_ns,
    runs.origin_unix_ns + requests.ended_ns                  AS ended_unix_ns
FROM requests
JOIN runs ON runs.id = requests.run_id
LEFT JOIN passes ON passes.run_id = requests.run_id AND passes.pass = requests.pass
LEFT JOIN cells ON cells.run_id = passes.run_id AND cells.cell = passes.cell;

-- One row for each figure of each pass. A comparison joins this view with itself.
CREATE VIEW v_figures AS
SELECT
    passes.run_id AS run_id, passes.pass AS pass, cells.input_length AS input_length,
    cells.output_length AS output_length, passes.kind AS kind,
    passes.summary ->> '$.load' AS load, coalesce(passes.summary ->> '$.repeat', 1) AS repeat,
    names.value ->> '$[0]' AS figure, passes.summary ->> (names.value ->> '$[1]') AS value
FROM passes
JOIN cells ON cells.run_id = passes.run_id AND cells.cell = passes.cell
JOIN json_each('[["requests_per_s","$.requests_per_s"],
    ["output_tokens_per_s","$.output_tokens_per_s"],
    ["mean_concurrency","$.mean_concurrency"],
    ["ttft_mean_ms","$.ttft_ms.mean"],["ttft_p50_ms","$.ttft_ms.p50"],
    ["ttft_p90_ms","$.ttft_ms.p90"],["ttft_p99_ms","$.ttft_ms.p99"],
    ["tpot_mean_ms","$.tpot_ms.mean"],["tpot_p50_ms","$.tpot_ms.p50"],
    ["tpot_p90_ms","$.tpot_ms.p90"],["tpot_p99_ms","$.tpot_ms.p99"],
    ["itl_mean_ms","$.itl_ms.mean"],["itl_p50_ms","$.itl_ms.p50"],
    ["itl_p90_ms","$.itl_ms.p90"],["itl_p99_ms","$.itl_ms.p99"],
    ["e2e_mean_ms","$.e2e_ms.mean"],["e2e_p50_ms","$.e2e_ms.p50"],
    ["e2e_p90_ms","$.e2e_ms.p90"],["e2e_p99_ms","$.e2e_ms.p99"],
    ["latency_per_token_mean_ms","$.latency_per_token_ms.mean"],
    ["latency_per_output_token_mean_ms","$.latency_per_output_token_ms.mean"]]') AS names
WHERE passes.summary ->> (names.value ->> '$[1]') IS NOT NULL
ORDER BY passes.run_id, passes.pass, names.key;

-- Figures of two runs side by side, for each cell and load that both runs have. Values are means
-- over repeats. `inferometer compare` says whether a difference is significant.
CREATE VIEW v_differences AS
WITH means AS NOT MATERIALIZED (
    SELECT run_id, input_length, output_length, load, figure, avg(value) AS value,
        count(*) AS repeats
    FROM v_figures
    GROUP BY run_id, input_length, output_length, load, figure
)
SELECT
    one.run_id AS baseline, other.run_id AS contender, one.input_length AS input_length,
    one.output_length AS output_length, one.load AS load, one.figure AS figure,
    one.value AS baseline_value, other.value AS contender_value,
    100.0 * (other.value - one.value) / one.value AS difference_pct,
    min(one.repeats, other.repeats) AS repeats
FROM means AS one
JOIN means AS other
    ON other.input_length = one.input_length AND other.output_length = one.output_length
    AND other.load = one.load AND other.figure = one.figure AND other.run_id <> one.run_id;
