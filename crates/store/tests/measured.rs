//! Tests that recorded stores of earlier schema versions still open, with their run logs and with the same
//! content. One run has failures of many kinds, one run has conversations. The tests read only these recorded
//! files.

#![expect(clippy::unwrap_used, reason = "what a test prepares must work")]

use std::path::Path;

use inferometer_plan::Plan;
use inferometer_store::{Entry, LogReader, Store};
use tempfile::TempDir;

/// Opens a copy of the recorded store, because opening a store may write.
fn recorded() -> (TempDir, Store) {
    recorded_as("version-3.db")
}

/// Opens a copy of the recorded store that has this file as its database.
fn recorded_as(database_file: &str) -> (TempDir, Store) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let folder = TempDir::new().unwrap();
    let logs = folder.path().join("inferometer.runs");
    std::fs::create_dir(&logs).unwrap();
    for log in std::fs::read_dir(fixtures.join("version-3.runs")).unwrap() {
        let log = log.unwrap();
        std::fs::copy(log.path(), logs.join(log.file_name())).unwrap();
    }
    let database = folder.path().join("inferometer.db");
    std::fs::copy(fixtures.join(database_file), &database).unwrap();
    let store = Store::open_existing(database).unwrap();
    (folder, store)
}

#[test]
fn a_store_written_by_version_0_1_0_opens_with_its_plans_and_summaries() {
    let (_folder, store) = recorded();
    let rows = store.runs().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let run = store.run(row.id.as_str()).unwrap();
        let plan: Plan = serde_json::from_str(&run.plan_json).unwrap();
        let summary = run.summary.unwrap();
        assert_eq!(plan.hash(), summary.plan_hash, "{}", row.id);
        assert_eq!(serde_json::to_string(&plan).unwrap(), run.plan_json, "{}", row.id);
    }
}

#[test]
fn each_log_written_by_version_0_1_0_has_a_record_for_each_planned_request() {
    let (_folder, store) = recorded();
    for row in store.runs().unwrap() {
        let run = store.run(row.id.as_str()).unwrap();
        let log = LogReader::open(&run.log).unwrap();
        assert_eq!(log.header().format, 3);
        let entries: Vec<Entry> = log.map(Result::unwrap).collect();
        let count = |fits: fn(&Entry) -> bool| entries.iter().filter(|entry| fits(entry)).count();
        let summary = run.summary.unwrap();
        let passes = || summary.cells.iter().flat_map(|cell| &cell.passes);
        let planned: u64 = passes().map(|pass| pass.planned).sum();
        assert_eq!(count(|entry| matches!(entry, Entry::Record(_))) as u64, planned, "{}", row.id);
        assert_eq!(count(|entry| matches!(entry, Entry::PassEnd(_))), passes().count());
        assert_eq!(count(|entry| matches!(entry, Entry::Observed(_))), passes().count());
    }
}

#[test]
fn requests_of_a_version_4_store_are_migrated_with_server_and_rank_unset() {
    let (folder, store) = recorded_as("version-4.db");
    assert_eq!(store.runs().unwrap().len(), 2);
    let database = rusqlite::Connection::open(folder.path().join("inferometer.db")).unwrap();
    let ask = |what: &str| database.query_row(what, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(ask("PRAGMA user_version"), 5);
    let alone = ask("SELECT count(*) FROM v_requests WHERE server IS NULL AND rank IS NULL");
    assert_eq!(alone, ask("SELECT count(*) FROM requests"));
    assert!(alone > 0);
}
