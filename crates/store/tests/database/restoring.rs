//! Tests of restoring: a run is copied from one store to another completely, or not at all.

use std::fs;
use std::path::PathBuf;

use inferometer_model::record::Record;
use inferometer_model::sample::Observed;
use inferometer_model::time::Nanos;
use inferometer_store::{
    Ending, PassBegin, RestoredRun, RunId, RunRecording, RunState, Store, StoreError, StoredRun,
};
use tempfile::TempDir;

use super::sample::{SECOND_NS, START_NS, records, run_header, summary};
use super::{ask, store_path};

/// Records a run in which many requests never began, and returns the stored run.
fn recorded(folder: &TempDir) -> StoredRun {
    let store = Store::open(store_path(folder)).unwrap();
    let mut recording = RunRecording::begin(store, &run_header(0, 1)).unwrap();
    let run = recording.run().clone();
    let plan = run_header(0, 0).plan;
    for (pass, records) in (0_u32..).zip(records()) {
        let load = plan.passes[pass as usize].clone();
        let begin = PassBegin { pass, cell: plan.cells[0], plan: load, repeat: 1 };
        recording.begin_pass(&begin).unwrap();
        for record in records {
            recording.append(record).unwrap();
        }
        if pass == 1 {
            recording.append_repeated(Record::planned(1, 5, Nanos(1_000)), 12_000).unwrap();
        }
        recording.end_pass(Ending::Complete, None, &Observed::default()).unwrap();
    }
    let ended_at = START_NS + 60 * SECOND_NS;
    let store =
        recording.finish(Ending::Complete, &summary(&run), RunState::Failed, ended_at).unwrap();
    store.run("latest").unwrap()
}

/// Returns a run as [`Store::restore_run`] expects it, and the path of a copy of its log in the log folder of
/// that store.
fn to_restore(stored: &StoredRun, store: &Store) -> (RestoredRun, PathBuf) {
    let run = RestoredRun {
        id: stored.row.id.clone(),
        state: stored.row.state,
        started_unix_ns: stored.started_unix_ns,
        finished_unix_ns: stored.finished_unix_ns,
        origin_unix_ns: stored.origin_unix_ns,
        tool_version: stored.tool_version.clone(),
        plan_json: stored.plan_json.clone(),
        plan_hash: stored.plan_hash.clone(),
        summary: stored.summary.clone().unwrap(),
    };
    let log = store.path_to_restore(&run.id).unwrap();
    fs::copy(&stored.log, &log).unwrap();
    (run, log)
}

const TABLES: [&str; 6] = ["runs", "cells", "passes", "findings", "requests", "v_runs"];

#[test]
fn a_restored_run_equals_the_original_in_every_row() {
    let (here, there) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let stored = recorded(&here);
    let mut store = Store::open(store_path(&there)).unwrap();
    let (run, log) = to_restore(&stored, &store);
    assert!(!store.has_run(&run.id).unwrap());
    store.restore_run(&run, &log).unwrap();
    assert!(store.has_run(&run.id).unwrap() && !log.exists());
    for table in TABLES {
        let query = format!("SELECT * FROM {table}");
        let rows = ask(&here, &query);
        assert!(!rows.is_empty() && rows == ask(&there, &query), "{table}");
    }
    assert_eq!(ask(&there, "SELECT count(*) FROM requests"), ["10007"]);
    let restored = store.run("latest").unwrap();
    assert_eq!(fs::read(&restored.log).unwrap(), fs::read(&stored.log).unwrap());
    assert_eq!(StoredRun { log: stored.log.clone(), ..restored }, stored);

    let (run, log) = to_restore(&stored, &store);
    let twice = store.restore_run(&run, &log).unwrap_err();
    assert!(matches!(twice, StoreError::RunExists { .. }), "{twice}");
}

#[test]
fn a_run_with_a_damaged_incomplete_or_foreign_log_is_refused_and_nothing_is_stored() {
    let (here, there) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let stored = recorded(&here);
    let mut store = Store::open(store_path(&there)).unwrap();
    let (run, log) = to_restore(&stored, &store);
    let whole = fs::read(&log).unwrap();
    let mut altered = whole.clone();
    altered[whole.len() / 2] ^= 1;
    let mut refused = |run: &RestoredRun, bytes: &[u8], words: &str| {
        fs::write(&log, bytes).unwrap();
        let error = store.restore_run(run, &log).unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
        for table in TABLES {
            assert!(ask(&there, &format!("SELECT * FROM {table}")).is_empty(), "{words}: {table}");
        }
        assert!(!store.log_path(&run.id).exists(), "{words}");
    };
    refused(&run, &whole[..whole.len() - 20], "is truncated");
    refused(&run, &altered, "is damaged");
    refused(&run, b"no log at all", "is not a run log");
    let other = RestoredRun { id: RunId::new(START_NS, 2), ..run.clone() };
    refused(&other, &whole, " is the log of run");
    // An existing log is never replaced, even if the store has no run for it.
    fs::write(store.log_path(&run.id), "something").unwrap();
    fs::write(&log, &whole).unwrap();
    let error = store.restore_run(&run, &log).unwrap_err();
    assert!(matches!(error, StoreError::LogExists { .. }), "{error}");
}

#[test]
fn only_well_formed_run_ids_are_parsed() {
    let id = RunId::new(START_NS, 0xab12);
    assert_eq!(RunId::parse(id.as_str()), Some(id.clone()));
    assert!(id.began_at(START_NS) && !id.began_at(START_NS + SECOND_NS));
    for bad in [
        "", "latest", "../../etc/passwd", "20261120-051233-ab1", "20261120-051233-AB12",
        "20261120-051233-ab12-1", "2026112x-051233-ab12", "20261120/051233-ab12",
        "20261120-051233-ab1/",
    ] {
        assert_eq!(RunId::parse(bad), None, "{bad}");
    }
}
