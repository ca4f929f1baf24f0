//! Tests of the database: stored runs are found again, SQL queries give the right rows, and several writers
//! lose nothing.

#![expect(clippy::unwrap_used, reason = "what a test prepares must work")]

#[path = "../common/mod.rs"]
mod common;
mod labels;
mod opening;
mod recording;
mod restoring;
mod sample;

use inferometer_model::metrics::{itl, registry, ttft};
use std::path::PathBuf;

use common::streamed;
use inferometer_model::record::Record;
use inferometer_plan::Plan;
use inferometer_store::{RunHeader, RunId, RunState, Store, StoreError};
use rusqlite::Connection;
use sample::{SECOND_NS, START_NS, plan, records, run_header, summary};
use tempfile::TempDir;

fn store_path(folder: &TempDir) -> PathBuf {
    folder.path().join("inferometer.db")
}

/// A store with one completed run.
fn finished(folder: &TempDir) -> (Store, RunId) {
    let mut store = Store::open(store_path(folder)).unwrap();
    let run = store.begin_run(&run_header(0, 0xab12)).unwrap();
    for pass in &records() {
        store.index_requests(&run, pass).unwrap();
    }
    store.finish_run(&run, &summary(&run), RunState::Complete, START_NS + 60 * SECOND_NS).unwrap();
    (store, run)
}

/// Runs a query. Returns its rows as text, with columns separated by `|`.
fn ask(folder: &TempDir, query: &str) -> Vec<String> {
    let connection = Connection::open(store_path(folder)).unwrap();
    let mut statement = connection.prepare(query).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let texts: Vec<String> = (0..columns)
            .map(|column| match row.get_unwrap::<_, rusqlite::types::Value>(column) {
                rusqlite::types::Value::Null => "-".to_owned(),
                rusqlite::types::Value::Integer(value) => value.to_string(),
                rusqlite::types::Value::Real(value) => format!("{value:.3}"),
                rusqlite::types::Value::Text(value) => value,
                rusqlite::types::Value::Blob(_) => "blob".to_owned(),
            })
            .collect();
        Ok(texts.join("|"))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_stored_run_is_read_back_with_exactly_the_same_summary() {
    let folder = TempDir::new().unwrap();
    let (store, run) = finished(&folder);
    assert_eq!(run.as_str(), "20261120-051233-ab12");
    let stored = store.run("latest").unwrap();
    assert_eq!(stored.summary, Some(summary(&run)));
    assert_eq!(serde_json::from_str::<Plan>(&stored.plan_json).unwrap(), plan(true));
    assert_eq!(stored.plan_hash, plan(true).hash());
    assert_eq!(stored.target, summary(&run).target);
    assert_eq!(stored.origin_unix_ns, START_NS - 7);
    assert_eq!(stored.log, folder.path().join("inferometer.runs").join("20261120-051233-ab12.log"));
    assert_eq!(stored.log, store.log_path(&run));
    let row = &store.runs().unwrap()[0];
    assert_eq!(&stored.row, row);
    assert_eq!(row.state, RunState::Complete);
    assert_eq!(row.started_at, "2026-11-20T05:12:33.250Z");
    assert_eq!(row.finished_at.as_deref(), Some("2026-11-20T05:13:33.250Z"));
    assert_eq!(row.engine_version.as_deref(), Some("0.2.8"));
    assert_eq!(row.validity.as_deref(), Some("suspect"));
    assert_eq!((row.model.as_str(), row.simulated, row.cells), ("chatglm3-6b", false, 1));
    let grid = row.grid.unwrap();
    assert_eq!(grid.to_string(), "128 x 8");
    let cell = &stored.summary.as_ref().unwrap().cells[0];
    assert!(cell.output_tokens_per_s.is_some());
    assert_eq!(grid.requests_per_s, cell.requests_per_s);
    assert_eq!(grid.output_tokens_per_s, cell.output_tokens_per_s);
}

#[test]
fn a_run_is_found_by_an_unambiguous_part_of_its_id() {
    let folder = TempDir::new().unwrap();
    let mut store = Store::open(store_path(&folder)).unwrap();
    for (second, suffix) in [(0, 0xab12), (0, 0xab34), (7, 0x0001)] {
        store.begin_run(&run_header(second, suffix)).unwrap();
    }
    let found = |id: &str| store.run(id).unwrap().row.id.to_string();
    assert_eq!(found("20261120-051233-ab12"), "20261120-051233-ab12");
    assert_eq!(found("20261120-051233-ab3"), "20261120-051233-ab34");
    assert_eq!(found("20261120-05124"), "20261120-051240-0001");
    assert_eq!(found("ab12"), "20261120-051233-ab12");
    assert_eq!(found("latest"), "20261120-051240-0001");
    match store.run("20261120-051233").unwrap_err() {
        StoreError::AmbiguousRun { candidates, .. } => {
            assert_eq!(candidates, ["20261120-051233-ab12", "20261120-051233-ab34"]);
        }
        other => panic!("{other}"),
    }
    for id in ["", "2025", "%", "20261120_051233", "ab1_"] {
        let error = store.run(id).unwrap_err();
        assert!(matches!(error, StoreError::NoSuchRun { .. }), "{id:?}: {error}");
    }
}

#[test]
fn an_unfinished_run_has_no_summary_and_a_failed_run_has_the_state_failed() {
    let folder = TempDir::new().unwrap();
    let mut store = Store::open(store_path(&folder)).unwrap();
    let run = store.begin_run(&run_header(0, 1)).unwrap();
    let stored = store.run(run.as_str()).unwrap();
    // The database contains `running`. The reader finds that no process writes the log.
    assert_eq!((stored.row.state, stored.summary), (RunState::Killed, None));
    assert_eq!(ask(&folder, "SELECT state FROM runs"), ["running"]);
    store.finish_run(&run, &summary(&run), RunState::Failed, START_NS).unwrap();
    assert_eq!(store.run(run.as_str()).unwrap().row.state, RunState::Failed);
}

#[test]
fn writes_for_an_unknown_run_and_duplicate_writes_are_refused_and_change_nothing() {
    let folder = TempDir::new().unwrap();
    let (mut store, run) = finished(&folder);
    let stranger = RunId::new(0, 0);
    let missing = |result: Result<(), StoreError>| {
        assert!(matches!(result, Err(StoreError::NoSuchRun { .. })), "{result:?}");
    };
    missing(store.index_requests(&stranger, &records()[0]));
    missing(store.finish_run(&stranger, &summary(&stranger), RunState::Failed, 0));
    let again = store.begin_run(&run_header(0, 0xab12));
    assert!(matches!(again, Err(StoreError::RunExists { .. })), "{again:?}");
    // The second of these requests already has a row, so no row is added for the first one either.
    let twice = store.index_requests(&run, [streamed(0, 99, 1), streamed(0, 1, 8)]);
    assert!(matches!(twice, Err(StoreError::Database { .. })), "{twice:?}");
    let twice = store.finish_run(&run, &summary(&run), RunState::Interrupted, 0);
    assert!(matches!(twice, Err(StoreError::Database { .. })), "{twice:?}");
    assert_eq!(
        ask(&folder, "SELECT count(*), (SELECT state FROM runs) FROM requests"),
        ["7|complete"]
    );
}

#[test]
fn an_invalid_stored_document_is_an_error_that_names_its_run() {
    let folder = TempDir::new().unwrap();
    let (store, run) = finished(&folder);
    let imported = "json_set(target, '$.facts.\"imported from\"', 'page.md')";
    for (section, good) in [
        ("json_array('A100', 'vllm')", true),
        ("NULL", true),
        ("'A100'", false),
        ("json_array(1)", false),
    ] {
        let summary = format!("json_set(summary, '$.imported', json_object('section', {section}))");
        let update = format!("UPDATE runs SET target = {imported}, summary = {summary}");
        Connection::open(store_path(&folder)).unwrap().execute(&update, []).unwrap();
        match store.runs() {
            Ok(rows) => assert!(good && rows.len() == 1, "{section}"),
            Err(error) => {
                let told = error.to_string();
                assert!(!good && told.contains(run.as_str()), "{section}: {told}");
                assert!(told.contains("imported section"), "{section}: {told}");
            }
        }
    }
}

#[test]
fn requests_can_be_queried_in_sql() {
    let folder = TempDir::new().unwrap();
    finished(&folder);
    let query = "SELECT pass, request, outcome, phase, status, tokens_usage, tokens_events,
                     due_ns, send_start_ns, first_token_ns, last_token_ns, ttft_ms, e2e_ms
                 FROM requests WHERE pass = 1 ORDER BY request";
    assert_eq!(
        ask(&folder, query),
        [
            "1|0|complete|-|200|8|8|0|2000|50000000|120000000|49.998|119.998",
            "1|1|complete|-|200|8|8|1000000|1002000|51000000|121000000|49.998|119.998",
            "1|2|rejected|-|503|-|0|0|0|-|-|-|-",
            "1|3|rejected|-|503|-|0|0|0|-|-|-|-",
            "1|4|connection|first_token|-|-|0|0|0|-|-|-|-",
        ]
    );
}

#[test]
fn a_non_streamed_response_has_no_first_token_time_and_its_e2e_ends_with_the_body() {
    let folder = TempDir::new().unwrap();
    let mut store = Store::open(store_path(&folder)).unwrap();
    let header = RunHeader { plan: plan(false), ..run_header(0, 0) };
    let run = store.begin_run(&header).unwrap();
    let whole = Record { streamed: false, ..streamed(0, 0, 8) };
    store.index_requests(&run, [whole]).unwrap();
    let query = "SELECT first_token_ns, ttft_ms, ended_ns, e2e_ms FROM requests";
    assert_eq!(ask(&folder, query), ["-|-|130040000|130.038"]);
}

#[test]
fn each_of_many_rows_has_the_values_of_its_own_record() {
    let folder = TempDir::new().unwrap();
    let (mut store, run) = finished(&folder);
    // Only some records have the optional values. The periods of these values (3, 5, 7, 11) do not divide the
    // number of rows of a statement.
    let record = |index: u32| Record {
        class: (index % 3 == 1).then(|| "chat".into()),
        rank: (index % 5 > 1).then_some(index % 7),
        detail: (index % 11 == 4).then(|| format!("detail {index}").into()),
        ..streamed(7, index, 1 + index % 2)
    };
    store.index_requests(&run, (0..100).map(record)).unwrap();
    let text = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let expected = (0..100).map(record).map(|record| {
        let Record { index, asked_output, class, rank, detail, ended, .. } = record;
        let class = text(class.map(String::from));
        let rank = text(rank.map(|rank| rank.to_string()));
        let (detail, ended) = (text(detail.map(String::from)), ended.unwrap().0);
        format!("{index}|{class}|{rank}|{detail}|{asked_output}|{ended}")
    });
    let expected: Vec<String> = expected.collect();
    let query = "SELECT request, class, rank, detail, asked_output, ended_ns FROM requests
                 WHERE pass = 7 ORDER BY request";
    assert_eq!(ask(&folder, query), expected);
}

#[test]
fn the_columns_of_a_pass_equal_the_values_of_its_summary() {
    let folder = TempDir::new().unwrap();
    let (_, run) = finished(&folder);
    let summary = summary(&run);
    let pass = &summary.cells[0].passes[1];
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    let ttft = pass.latencies.get(&ttft::FROM_SENT).copied().unwrap();
    let query = "SELECT pass, cell, kind, planned, complete, output_tokens, tokens_from,
                     peak_concurrency, output_tokens_per_s, ttft_p50_ms, ttft_p99_ms, itl_mean_ms
                 FROM passes WHERE kind = 'saturated'";
    let expected = format!(
        "1|0|saturated|5|2|16|usage|{}|{}|{}|{}|{}",
        pass.peak_concurrency.unwrap(),
        number(pass.output_tokens_per_s),
        number(Some(ttft.p50)),
        number(Some(ttft.p99)),
        number(pass.latencies.get(&itl::DEFINITION).map(|itl| itl.mean)),
    );
    assert_eq!(ask(&folder, query), [expected]);
    // Every column has a value here, except the columns that only other kinds of passes have. A column with a
    // mistyped path into the document would be NULL.
    let connection = Connection::open(store_path(&folder)).unwrap();
    let mut statement = connection.prepare("SELECT * FROM passes WHERE pass = 0").unwrap();
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let empty: Vec<String> = statement
        .query_row([], |row| {
            let is_null =
                |column: &usize| row.get_ref(*column).unwrap().data_type().to_string() == "Null";
            Ok((0..names.len()).filter(is_null).map(|column| names[column].clone()).collect())
        })
        .unwrap();
    assert_eq!(empty, ["concurrency", "rate"]);
}

#[test]
fn the_views_return_the_expected_rows() {
    let folder = TempDir::new().unwrap();
    finished(&folder);
    let query = "SELECT model, card, engine, engine_version, input_length, output_length,
                     latency_per_token_ms, latency_per_output_token_ms FROM v_table";
    assert_eq!(ask(&folder, query), ["chatglm3-6b|A100 40G|vllm|0.2.8|128|8|0.333|-"]);
    let query = "SELECT pass, kind, input_length, outcome, phase, status, requests,
                     first_request, a_detail FROM v_failures";
    assert_eq!(
        ask(&folder, query),
        [
            "1|saturated|128|rejected|-|503|2|2|overloaded",
            "1|saturated|128|connection|first_token|-|1|4|connection reset by peer",
        ]
    );
    let query = "SELECT kind, model, card, cells, passes, requests, complete, warnings, tags
                 FROM v_runs";
    assert_eq!(ask(&folder, query), ["measured|chatglm3-6b|A100 40G|1|2|7|4|1|-"]);
    let query = "SELECT pass, kind, load, repeat, planned, ttft_p50_ms FROM v_passes";
    let passes = ["0|one_by_one|one by one|1|2|49.998", "1|saturated|saturated|1|5|49.998"];
    assert_eq!(ask(&folder, query), passes);
    let query = "SELECT pass, metric, p50, p99, n FROM v_latencies WHERE kind = 'saturated'
                 AND metric IN ('ttft_ms', 'tpot_ms', 'ttft_from_due_ms')";
    let latencies = [
        "1|ttft_ms|49.998|49.998|2",
        "1|tpot_ms|10.000|10.000|2",
        "1|ttft_from_due_ms|50.000|50.000|2",
    ];
    assert_eq!(ask(&folder, query), latencies);
    let query = "SELECT pass, load, outcome, output_tokens, send_delay_ms, e2e_ms,
                     send_start_unix_ns - due_unix_ns FROM v_requests WHERE request = 1";
    let requests =
        ["0|one by one|complete|8|0.002|119.998|2000", "1|saturated|complete|8|0.002|119.998|2000"];
    assert_eq!(ask(&folder, query), requests);
    let query = "SELECT code, severity, place, message, advice FROM findings";
    let finding = "cached_prompt_tokens|warning|128 x 8, saturated|12 were cached|use another salt";
    assert_eq!(ask(&folder, query), [finding]);
}

#[test]
fn views_of_an_earlier_program_get_every_metric_when_the_store_is_opened() {
    let folder = TempDir::new().unwrap();
    drop(finished(&folder));
    let earlier = "DROP VIEW v_latencies; CREATE VIEW v_latencies AS SELECT 1; DROP VIEW v_figures";
    Connection::open(store_path(&folder)).unwrap().execute_batch(earlier).unwrap();
    drop(Store::open(store_path(&folder)).unwrap());
    let view = |name: &str| {
        ask(&folder, &format!("SELECT sql FROM sqlite_master WHERE name = '{name}'")).concat()
    };
    let (latencies, figures) = (view("v_latencies"), view("v_figures"));
    for (key, metric) in registry::in_results() {
        assert!(latencies.contains(&format!("\"{key}\"")), "{key}");
        assert!(figures.contains(&format!("\"{}_p99_", metric.name)), "{key}");
    }
    for (key, _) in registry::of_passes() {
        assert!(figures.contains(&format!("\"{key}\"")), "{key}");
    }
    let query = "SELECT figure, value > 0 FROM v_figures WHERE pass = 1 AND figure LIKE '%put_tokens_per_s'";
    assert_eq!(ask(&folder, query), ["input_tokens_per_s|1", "output_tokens_per_s|1"]);
}

#[test]
fn the_differences_between_two_runs_can_be_queried_in_sql() {
    let folder = TempDir::new().unwrap();
    let (mut store, first) = finished(&folder);
    let other = store.begin_run(&run_header(5, 5)).unwrap();
    let mut faster = summary(&other);
    for pass in &mut faster.cells[0].passes {
        pass.requests_per_s = pass.requests_per_s.map(|rate| rate * 1.25);
    }
    store.finish_run(&other, &faster, RunState::Complete, START_NS).unwrap();
    let query = format!(
        "SELECT load, figure, difference_pct, repeats FROM v_differences
         WHERE baseline = '{first}' AND contender = '{other}' AND figure IN ('requests_per_s', 'output_tokens_per_s')
         ORDER BY load, figure"
    );
    assert_eq!(
        ask(&folder, &query),
        [
            "one by one|output_tokens_per_s|0.000|1",
            "one by one|requests_per_s|25.000|1",
            "saturated|output_tokens_per_s|0.000|1",
            "saturated|requests_per_s|25.000|1",
        ]
    );
}

#[test]
fn a_writer_takes_the_write_lock_before_it_reads() {
    let folder = TempDir::new().unwrap();
    let (mut store, run) = finished(&folder);
    let other = Connection::open(store_path(&folder)).unwrap();
    other.busy_timeout(std::time::Duration::ZERO).unwrap();
    // If another process could write after this process has read, SQLite would refuse the write of this
    // process.
    let records = std::iter::once_with(|| {
        other.execute_batch("BEGIN IMMEDIATE").unwrap_err();
        streamed(0, 99, 1)
    });
    store.index_requests(&run, records).unwrap();
}

#[test]
fn concurrent_writers_lose_no_data() {
    let folder = TempDir::new().unwrap();
    let path = store_path(&folder);
    std::thread::scope(|scope| {
        for writer in 0..4_u16 {
            let path = &path;
            scope.spawn(move || {
                // All threads open a file that does not exist yet, and one of them creates it.
                let mut store = Store::open(path).unwrap();
                for turn in 0..5_u16 {
                    let suffix = writer * 100 + turn;
                    let run = store.begin_run(&run_header(0, suffix)).unwrap();
                    records().iter().for_each(|pass| store.index_requests(&run, pass).unwrap());
                    store.finish_run(&run, &summary(&run), RunState::Complete, START_NS).unwrap();
                    assert_eq!(store.run(run.as_str()).unwrap().row.state, RunState::Complete);
                }
            });
        }
    });
    assert_eq!(ask(&folder, "SELECT count(*) FROM runs WHERE state = 'complete'"), ["20"]);
    assert_eq!(ask(&folder, "SELECT count(*) FROM requests"), ["140"]);
    assert_eq!(ask(&folder, "SELECT count(*) FROM passes"), ["40"]);
    assert_eq!(ask(&folder, "PRAGMA integrity_check"), ["ok"]);
}
