//! Tests of filters, tags and notes, and of removing runs.

use std::collections::BTreeMap;

use inferometer_model::target::Target;
use inferometer_store::{
    LogHeader, LogWriter, RunFilter, RunHeader, RunId, RunKind, RunState, Store, StoreError,
};
use tempfile::TempDir;

use super::sample::{START_NS, run_header, summary};
use super::{ask, finished, store_path};

/// A store with a measured, a predicted and an imported run, which began at different times.
fn three_kinds(folder: &TempDir) -> (Store, [RunId; 3]) {
    let mut store = Store::open(store_path(folder)).unwrap();
    let header = |second| run_header(second, 1);
    let of = |model: &str, engine: &str, version: &str| Target {
        model: model.to_owned(),
        engine: Some(engine.to_owned()),
        engine_version: Some(version.to_owned()),
        ..header(0).target
    };
    let headers = [
        RunHeader { target: of("Qwen-14B", "vllm", "0.2.7"), ..header(0) },
        RunHeader { predicted: true, target: of("qwen-14b", "vllm", "0.3.0"), ..header(1) },
        RunHeader {
            target: Target {
                facts: [("imported from", "表.md"), ("card", "A100")]
                    .map(|(name, fact)| (name.to_owned(), fact.to_owned()))
                    .into_iter()
                    .collect::<BTreeMap<_, _>>()
                    .into(),
                ..of("模型-6b", "sglang", "0.4")
            },
            ..header(86_400)
        },
    ];
    let runs = headers.map(|header| store.begin_run(&header).unwrap());
    for run in &runs {
        let ended = store.finish_run(
            run,
            &inferometer_analysis::summary::Summary {
                target: store.run(run.as_str()).unwrap().target,
                ..summary(run)
            },
            RunState::Complete,
            START_NS,
        );
        ended.unwrap();
    }
    (store, runs)
}

#[test]
fn runs_are_found_by_part_of_their_id_or_by_tag_and_a_tag_can_match_several_runs() {
    let folder = TempDir::new().unwrap();
    let (mut store, runs) = three_kinds(&folder);
    store.tag(&runs[0], &["base".to_owned(), "only".to_owned()], &[]).unwrap();
    store.tag(&runs[1], &["base".to_owned()], &[]).unwrap();
    // The part is the day and the time at which the run began.
    for run in &runs {
        let part = &run.as_str()[6..15];
        assert_eq!(store.find(part).unwrap(), *run, "{part}");
    }
    // A tag has priority over a part of the id of another run.
    store.tag(&runs[0], &[runs[2].as_str()[4..8].to_owned()], &[]).unwrap();
    assert_eq!(store.find(&runs[2].as_str()[4..8]).unwrap(), runs[0]);
    assert_eq!(store.find("only").unwrap(), runs[0]);
    assert_eq!(store.find_all("base").unwrap(), runs[..2]);
    let error = store.find("base").unwrap_err();
    assert!(matches!(&error, StoreError::AmbiguousRun { .. }), "{error}");
    for nothing in ["", "no-such"] {
        let error = store.find_all(nothing).unwrap_err();
        assert!(matches!(&error, StoreError::NoSuchRun { .. }), "{nothing}: {error}");
    }
}

#[test]
fn runs_can_be_filtered_by_their_properties() {
    let folder = TempDir::new().unwrap();
    let (mut store, runs) = three_kinds(&folder);
    store.tag(&runs[1], &["基线".to_owned(), "a".to_owned()], &[]).unwrap();
    store.tag(&runs[2], &["a".to_owned()], &[]).unwrap();
    let text = |text: &str| Some(text.to_owned());
    let all = RunFilter::default;
    let cases = [
        (all(), vec![0, 1, 2]),
        (RunFilter { model: text("QWEN"), ..all() }, vec![0, 1]),
        (RunFilter { model: text("模型"), ..all() }, vec![2]),
        (RunFilter { model: text("%"), ..all() }, vec![]),
        (RunFilter { engine: text("vllm 0.3"), ..all() }, vec![1]),
        (RunFilter { card: text("a100"), ..all() }, vec![0, 1, 2]),
        (RunFilter { card: text("h200"), ..all() }, vec![]),
        (RunFilter { tags: vec!["a".to_owned()], ..all() }, vec![1, 2]),
        (RunFilter { tags: vec!["a".to_owned(), "基线".to_owned()], ..all() }, vec![1]),
        (RunFilter { since: text("2026-11-21"), ..all() }, vec![2]),
        (RunFilter { until: text("2026-11-20"), ..all() }, vec![0, 1]),
        (RunFilter { until: text("2026-11-20T05:12:33"), ..all() }, vec![0]),
        (RunFilter { kind: Some(RunKind::Measured), ..all() }, vec![0]),
        (RunFilter { kind: Some(RunKind::Predicted), ..all() }, vec![1]),
        (RunFilter { kind: Some(RunKind::Imported), ..all() }, vec![2]),
        (RunFilter { state: Some(RunState::Complete), ..all() }, vec![0, 1, 2]),
        (RunFilter { state: Some(RunState::Killed), ..all() }, vec![]),
        (RunFilter { words: vec!["QWEN".to_owned(), "0.3".to_owned()], ..all() }, vec![1]),
        (RunFilter { words: vec!["基".to_owned()], ..all() }, vec![1]),
        (RunFilter { limit: Some(2), ..all() }, vec![1, 2]),
        (RunFilter { limit: Some(0), ..all() }, vec![]),
    ];
    for (filter, expected) in cases {
        let found = store.runs_that_fit(&filter).unwrap();
        let found: Vec<&RunId> = found.iter().map(|row| &row.id).collect();
        let expected: Vec<&RunId> = expected.iter().map(|&index: &usize| &runs[index]).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
}

#[test]
fn latest_finds_the_newest_measured_run_and_not_a_predicted_or_imported_one() {
    let folder = TempDir::new().unwrap();
    let (store, runs) = three_kinds(&folder);
    for (name, index) in [("latest", 0), ("latest-predicted", 1), ("latest-imported", 2)] {
        assert_eq!(store.find(name).unwrap(), runs[index], "{name}");
    }
    let stored = store.run("latest-imported").unwrap();
    assert_eq!(stored.row.imported_from.as_deref(), Some("表.md"));
    let (empty, _) = (Store::open(folder.path().join("empty.db")).unwrap(), ());
    let error = empty.find("latest").unwrap_err();
    assert!(matches!(error, StoreError::NoneOfItsKind { kind: "measured", .. }), "{error}");
}

#[test]
fn tags_are_added_and_removed_atomically_and_invalid_tags_are_refused() {
    let folder = TempDir::new().unwrap();
    let (mut store, run) = finished(&folder);
    let tags = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(store.tag(&run, &tags(&["b", "a", "b"]), &[]).unwrap(), ["a", "b"]);
    let missing = store.tag(&run, &tags(&["c"]), &tags(&["a", "x"])).unwrap_err();
    assert!(matches!(missing, StoreError::NoSuchTag { .. }), "{missing}");
    for bad in ["", "two words", "a,b", "-a", "+a", "tab\t"] {
        let error = store.tag(&run, &tags(&[bad]), &[]).unwrap_err();
        assert!(matches!(error, StoreError::InvalidTag { .. }), "{bad:?}: {error}");
    }
    assert_eq!(store.tag(&run, &[], &tags(&["a"])).unwrap(), ["b"]);
    assert_eq!(store.runs().unwrap()[0].tags, ["b"]);
    let stranger = RunId::new(0, 0);
    assert!(matches!(store.tag(&stranger, &[], &[]), Err(StoreError::NoSuchRun { .. })));
}

#[test]
fn notes_are_returned_in_the_order_of_writing() {
    let folder = TempDir::new().unwrap();
    let (mut store, run) = finished(&folder);
    store.note(&run, "风扇坏了", START_NS).unwrap();
    store.note(&run, "fixed", START_NS).unwrap();
    let notes = store.notes(&run).unwrap();
    let said: Vec<_> = notes.iter().map(|note| (note.at.as_str(), note.text.as_str())).collect();
    let at = "2026-11-20T05:12:33.250Z";
    assert_eq!(said, [(at, "风扇坏了"), (at, "fixed")]);
}

#[test]
fn removing_a_run_removes_all_its_data_and_no_other_run() {
    let folder = TempDir::new().unwrap();
    let (mut store, run) = finished(&folder);
    let other = store.begin_run(&run_header(9, 9)).unwrap();
    store.tag(&run, &["a".to_owned()], &[]).unwrap();
    store.note(&run, "gone soon", START_NS).unwrap();
    std::fs::write(store.log_path(&run), b"twelve bytes").unwrap();
    let note = store.live_note(&run);
    let notes = [note.with_extension("live.new"), note];
    notes.iter().for_each(|note| std::fs::write(note, b"{}").unwrap());
    let row = store.run(run.as_str()).unwrap().row;
    assert_eq!(store.remove(&row, START_NS).unwrap(), 12);
    assert!(!store.log_path(&run).exists());
    assert!(notes.iter().all(|note| !note.exists()), "{notes:?}");
    for table in ["cells", "passes", "findings", "requests", "tags", "notes"] {
        assert_eq!(ask(&folder, &format!("SELECT count(*) FROM {table}")), ["0"], "{table}");
    }
    assert_eq!(ask(&folder, "SELECT id FROM runs"), [other.as_str()]);
    assert!(matches!(store.remove(&row, START_NS), Err(StoreError::NoSuchRun { .. })));
}

#[test]
fn a_run_without_a_log_writer_counts_as_killed_and_a_run_being_written_is_not_removed() {
    let folder = TempDir::new().unwrap();
    let mut store = Store::open(store_path(&folder)).unwrap();
    let run = store.begin_run(&run_header(0, 1)).unwrap();
    let state = |store: &Store| store.runs().unwrap()[0].state;
    assert_eq!(state(&store), RunState::Killed, "it has no log");
    // The process of the run may be about to create the log.
    let begun = store.runs().unwrap().remove(0);
    let refused = store.remove(&begun, START_NS + 59 * 1_000_000_000).unwrap_err();
    assert!(matches!(refused, StoreError::BeingWritten { .. }), "{refused}");
    let log = LogWriter::create(store.log_path(&run), &LogHeader::new(run.as_str(), 0)).unwrap();
    assert_eq!(state(&store), RunState::Running);
    let row = store.runs().unwrap().remove(0);
    let refused = store.remove(&row, START_NS).unwrap_err();
    assert!(matches!(refused, StoreError::BeingWritten { .. }), "{refused}");
    // The run is also not removed if a process began to write it after its row was read.
    let stale = inferometer_store::RunRow { state: RunState::Killed, ..row.clone() };
    let refused = store.remove(&stale, START_NS).unwrap_err();
    assert!(matches!(refused, StoreError::BeingWritten { .. }), "{refused}");
    drop(log);
    assert_eq!(state(&store), RunState::Killed);
    let killed = store.runs().unwrap().remove(0);
    store.remove(&killed, START_NS).unwrap();
    assert_eq!(store.runs().unwrap(), []);
}

#[test]
fn a_run_that_never_created_a_log_can_be_removed_after_a_minute() {
    let folder = TempDir::new().unwrap();
    let mut store = Store::open(store_path(&folder)).unwrap();
    store.begin_run(&run_header(0, 1)).unwrap();
    let row = store.runs().unwrap().remove(0);
    assert_eq!(store.remove(&row, START_NS + 60 * 1_000_000_000).unwrap(), 0);
    assert_eq!(store.runs().unwrap(), []);
}
