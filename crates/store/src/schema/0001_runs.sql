-- Runs, their cells, passes and findings, and one row for each request.
--
-- A document is stored whole, as `--json` prints it. SQLite computes the columns below it from the
-- document, so a column always agrees with its document. docs/store.md has the units. The raw reads
-- and events of a request are in the run's log.

CREATE TABLE runs (
    id               TEXT    NOT NULL PRIMARY KEY,
    state            TEXT    NOT NULL CHECK (state IN ('running', 'complete', 'interrupted', 'failed')),
    started_at       TEXT    NOT NULL,
    started_unix_ns  INTEGER NOT NULL,
    finished_at      TEXT,
    finished_unix_ns INTEGER,
    origin_unix_ns   INTEGER NOT NULL,
    tool_version     TEXT    NOT NULL,
    predicted        INTEGER NOT NULL CHECK (predicted IN (0, 1)),
    log_file         TEXT    NOT NULL,
    plan_hash        TEXT    NOT NULL,
    workload_hash    TEXT,
    body_hash        TEXT,
    plan             TEXT    NOT NULL CHECK (json_valid(plan)),
    target           TEXT    NOT NULL CHECK (json_valid(target)),
    environment      TEXT    NOT NULL CHECK (json_valid(environment)),
    verdict          TEXT    CHECK (json_valid(verdict)),
    summary          TEXT    CHECK (json_valid(summary)),

    url            TEXT    AS (target ->> '$.url'),
    dialect        TEXT    AS (target ->> '$.dialect'),
    engine         TEXT    AS (target ->> '$.engine'),
    engine_version TEXT    AS (target ->> '$.engine_version'),
    model          TEXT    AS (target ->> '$.model'),
    card           TEXT    AS (target ->> '$.facts.card'),
    simulated      INTEGER AS (target ->> '$.simulated'),
    profile        TEXT    AS (target ->> '$.profile'),
    host           TEXT    AS (environment ->> '$.host'),
    validity       TEXT    AS (verdict ->> '$.validity')
) STRICT;

CREATE INDEX runs_by_start ON runs (started_unix_ns, id);

CREATE TABLE cells (
    run_id                      TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    cell                        INTEGER NOT NULL,
    input_length                INTEGER NOT NULL,
    output_length               INTEGER NOT NULL,
    requests_per_s              REAL,
    output_tokens_per_s         REAL,
    latency_per_token_ms        REAL,
    latency_per_output_token_ms REAL,
    PRIMARY KEY (run_id, cell)
) STRICT, WITHOUT ROWID;

CREATE TABLE passes (
    run_id  TEXT    NOT NULL,
    pass    INTEGER NOT NULL,
    cell    INTEGER NOT NULL,
    summary TEXT    NOT NULL CHECK (json_valid(summary)),

    kind                TEXT    AS (summary ->> '$.kind'),
    concurrency         INTEGER AS (summary ->> '$.concurrency'),
    rate                REAL    AS (summary ->> '$.rate'),
    planned             INTEGER AS (summary ->> '$.planned'),
    complete            INTEGER AS (summary ->> '$.outcomes.complete'),
    duration_s          REAL    AS (summary ->> '$.duration_s'),
    requests_per_s      REAL    AS (summary ->> '$.requests_per_s'),
    input_tokens        INTEGER AS (summary ->> '$.input_tokens'),
    output_tokens       INTEGER AS (summary ->> '$.output_tokens'),
    output_tokens_per_s REAL    AS (summary ->> '$.output_tokens_per_s'),
    tokens_from         TEXT    AS (summary ->> '$.tokens_from'),
    peak_concurrency    INTEGER AS (summary ->> '$.peak_concurrency'),
    mean_concurrency    REAL    AS (summary ->> '$.mean_concurrency'),
    ttft_mean_ms        REAL    AS (summary ->> '$.ttft_ms.mean'),
    ttft_p50_ms         REAL    AS (summary ->> '$.ttft_ms.p50'),
    ttft_p99_ms         REAL    AS (summary ->> '$.ttft_ms.p99'),
    tpot_mean_ms        REAL    AS (summary ->> '$.tpot_ms.mean'),
    tpot_p50_ms         REAL    AS (summary ->> '$.tpot_ms.p50'),
    tpot_p99_ms         REAL    AS (summary ->> '$.tpot_ms.p99'),
    itl_mean_ms         REAL    AS (summary ->> '$.itl_ms.mean'),
    itl_p50_ms          REAL    AS (summary ->> '$.itl_ms.p50'),
    itl_p99_ms          REAL    AS (summary ->> '$.itl_ms.p99'),
    e2e_mean_ms         REAL    AS (summary ->> '$.e2e_ms.mean'),
    e2e_p50_ms          REAL    AS (summary ->> '$.e2e_ms.p50'),
    e2e_p99_ms          REAL    AS (summary ->> '$.e2e_ms.p99'),
    send_delay_p50_ms   REAL    AS (summary ->> '$.send_delay_ms.p50'),
    send_delay_p99_ms   REAL    AS (summary ->> '$.send_delay_ms.p99'),
    latency_per_token_mean_ms        REAL AS (summary ->> '$.latency_per_token_ms.mean'),
    latency_per_output_token_mean_ms REAL AS (summary ->> '$.latency_per_output_token_ms.mean'),

    PRIMARY KEY (run_id, pass),
    FOREIGN KEY (run_id, cell) REFERENCES cells (run_id, cell) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE findings (
    run_id   TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    finding  INTEGER NOT NULL,
    code     TEXT    NOT NULL,
    severity TEXT    NOT NULL,
    place    TEXT,
    message  TEXT    NOT NULL,
    advice   TEXT,
    PRIMARY KEY (run_id, finding)
) STRICT, WITHOUT ROWID;

CREATE TABLE requests (
    run_id                  TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    pass                    INTEGER NOT NULL,
    request                 INTEGER NOT NULL,
    outcome                 TEXT    NOT NULL,
    phase                   TEXT,
    status                  INTEGER,
    detail                  TEXT,
    finish_reason           TEXT,
    asked_input             INTEGER NOT NULL,
    asked_output            INTEGER NOT NULL,
    prompt_tokens_usage     INTEGER,
    prompt_tokens_tokenizer INTEGER,
    cached_tokens_usage     INTEGER,
    tokens_usage            INTEGER,
    tokens_tokenizer        INTEGER,
    tokens_events           INTEGER NOT NULL,
    due_ns                  INTEGER NOT NULL,
    send_start_ns           INTEGER,
    first_token_ns          INTEGER,
    last_token_ns           INTEGER,
    ended_ns                INTEGER,
    ttft_ms                 REAL,
    e2e_ms                  REAL,
    PRIMARY KEY (run_id, pass, request)
) STRICT, WITHOUT ROWID;

-- The columns of published tables: one row for each cell of each run.
CREATE VIEW v_table AS
SELECT
    runs.id                           AS run_id,
    runs.model                        AS model,
    runs.card                         AS card,
    runs.engine                       AS engine,
    runs.engine_version               AS engine_version,
    runs.simulated                    AS simulated,
    runs.predicted                    AS predicted,
    runs.state                        AS state,
    runs.validity                     AS validity,
    cells.input_length                AS input_length,
    cells.output_length               AS output_length,
    cells.requests_per_s              AS requests_per_s,
    cells.output_tokens_per_s         AS output_tokens_per_s,
    cells.latency_per_token_ms        AS latency_per_token_ms,
    cells.latency_per_output_token_ms AS latency_per_output_token_ms
FROM cells
JOIN runs ON runs.id = cells.run_id
ORDER BY runs.started_unix_ns, runs.id, cells.cell;

-- The requests of each pass that did not complete: one row for each outcome, phase and status.
CREATE VIEW v_failures AS
SELECT
    requests.run_id        AS run_id,
    requests.pass          AS pass,
    passes.kind            AS kind,
    cells.input_length     AS input_length,
    cells.output_length    AS output_length,
    requests.outcome       AS outcome,
    requests.phase         AS phase,
    requests.status        AS status,
    count(*)               AS requests,
    min(requests.request)  AS first_request,
    min(requests.detail)   AS a_detail
FROM requests
LEFT JOIN passes ON passes.run_id = requests.run_id AND passes.pass = requests.pass
LEFT JOIN cells ON cells.run_id = passes.run_id AND cells.cell = passes.cell
WHERE requests.outcome <> 'complete'
GROUP BY requests.run_id, requests.pass, requests.outcome, requests.phase, requests.status
ORDER BY requests.run_id, requests.pass, requests DESC;
