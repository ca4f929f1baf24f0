//! Tests of opening stores: new stores, stores of earlier and later versions, and files that are not
//! stores.

use std::path::PathBuf;

use inferometer_analysis::distributions::Distributions;
use inferometer_analysis::interval::Intervals;
use inferometer_analysis::summary::Summary;
use inferometer_model::load::PassKind;
use inferometer_model::metrics::{registry, send_delay};
use inferometer_store::{Store, StoreError};
use rusqlite::Connection;
use tempfile::TempDir;

use super::sample::{run_header, summary};
use super::{ask, finished, store_path};

#[test]
fn an_empty_file_becomes_a_store_and_opening_it_again_changes_nothing() {
    let folder = TempDir::new().unwrap();
    std::fs::write(store_path(&folder), b"").unwrap();
    Store::open(store_path(&folder)).unwrap();
    let schema = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name";
    let names = [
        "cells", "findings", "notes", "passes", "requests", "runs", "tags", "v_differences",
        "v_failures", "v_figures", "v_latencies", "v_passes", "v_requests", "v_runs", "v_table",
    ];
    assert_eq!(ask(&folder, schema), names);
    assert_eq!(ask(&folder, "PRAGMA user_version"), ["5"]);
    assert_eq!(ask(&folder, "PRAGMA journal_mode"), ["wal"]);
    Store::open(store_path(&folder)).unwrap();
    assert_eq!(ask(&folder, schema), names);
}

/// A summary as earlier versions computed it: without values that `stored` lacks, and with the earlier interval of the
/// send delay.
fn as_it_was_computed_then(mut summary: Summary, stored: &Summary) -> Summary {
    for (cell, then) in summary.cells.iter_mut().zip(&stored.cells) {
        cell.figures = then.figures.clone();
        for (pass, then) in cell.passes.iter_mut().zip(&then.passes) {
            pass.figures = then.figures.clone();
            let measured = pass.latencies.clone();
            let had = registry::in_results().filter(|(key, _)| then.latencies.has(key));
            let values = had.map(|(_, metric)| (metric, measured.get(metric).cloned()));
            pass.latencies = Distributions::of(values);
        }
    }
    for pass in summary.cells.iter_mut().flat_map(|cell| &mut cell.passes) {
        (pass.started_s, pass.intervals) = (None, Intervals::default());
        pass.instrument.end_width_us = 0.0;
        if pass.kind == PassKind::Saturated {
            let delay = pass.latencies.entry(&send_delay::DEFINITION);
            delay.as_mut().unwrap().mean_ci = Some([0.0, 0.0016]);
        }
    }
    summary
}

#[test]
fn stores_of_earlier_versions_are_migrated_without_losing_data() {
    for version in [1, 2] {
        let folder = TempDir::new().unwrap();
        let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        std::fs::copy(fixtures.join(format!("version-{version}.db")), store_path(&folder)).unwrap();
        assert_eq!(ask(&folder, "PRAGMA user_version"), [version.to_string()]);
        let mut store = Store::open(store_path(&folder)).unwrap();
        assert_eq!(ask(&folder, "PRAGMA user_version"), ["5"], "from {version}");
        let stored = store.run("latest").unwrap();
        assert_eq!(stored.row.id.as_str(), "20261120-051233-ab12");
        assert_eq!((stored.row.cells, stored.row.kind.name()), (1, "measured"));
        let results = stored.summary.unwrap();
        let expected = as_it_was_computed_then(summary(&stored.row.id), &results);
        assert_eq!(results, expected);
        assert_eq!(ask(&folder, "SELECT count(*) FROM requests"), ["7"]);
        assert_eq!(ask(&folder, "PRAGMA integrity_check"), ["ok"]);
        let views = ["v_runs|1", "v_table|1", "v_passes|2", "v_requests|7", "v_failures|2"];
        for view in views {
            let (name, rows) = view.split_once('|').unwrap();
            assert_eq!(ask(&folder, &format!("SELECT count(*) FROM {name}")), [rows], "{name}");
        }
        // New runs can be added.
        store.begin_run(&run_header(7, 7)).unwrap();
        assert_eq!(store.runs().unwrap().len(), 2);
    }
}

#[test]
fn a_store_of_a_newer_version_is_refused_and_not_changed() {
    let folder = TempDir::new().unwrap();
    finished(&folder);
    Connection::open(store_path(&folder)).unwrap().pragma_update(None, "user_version", 9).unwrap();
    let error = Store::open(store_path(&folder)).unwrap_err();
    assert!(matches!(error, StoreError::NewerStore { found: 9, known: 5, .. }), "{error}");
    assert_eq!(ask(&folder, "PRAGMA user_version"), ["9"]);
}

#[test]
fn a_file_that_is_not_a_store_is_refused_and_not_changed() {
    let folder = TempDir::new().unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "these are not the runs that you are looking for".repeat(40)).unwrap();
    let error = Store::open(&text).unwrap_err();
    assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");

    let other = folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE albums (name TEXT)").unwrap();
    let before = std::fs::read(&other).unwrap();
    let error = Store::open(&other).unwrap_err();
    assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
    assert_eq!(std::fs::read(&other).unwrap(), before);
}

#[test]
fn opening_an_existing_store_does_not_create_one() {
    let folder = TempDir::new().unwrap();
    let error = Store::open_existing(store_path(&folder)).unwrap_err();
    assert!(matches!(error, StoreError::NoStore { .. }), "{error}");
    assert!(!store_path(&folder).exists());
    let error = Store::open(folder.path().join("no/such/folder.db")).unwrap_err();
    assert!(matches!(error, StoreError::Database { .. }), "{error}");
}
