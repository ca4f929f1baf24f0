//! Tests of recording: a run is written to its log first, and then to the database.

use inferometer_analysis::summary::Summary;
use inferometer_model::record::Record;
use inferometer_model::sample::{Observed, Sample};
use inferometer_model::target::Target;
use inferometer_model::time::Nanos;
use inferometer_store::log::as_stored;
use inferometer_store::{
    Ending, ImportHeader, LiveNote, LoggedPass, PassBegin, RunHeader, RunKind, RunRecording,
    RunState, Store,
};
use tempfile::TempDir;

use super::common::streamed;
use super::sample::{START_NS, plan, records, run_header, summary};
use super::{ask, store_path};

/// The beginning of a pass of the sample plan.
fn begin(pass: u32) -> PassBegin {
    let plan = run_header(0, 0).plan;
    PassBegin { pass, cell: plan.cells[0], plan: plan.passes[pass as usize].clone(), repeat: 1 }
}

#[test]
fn a_finished_recording_is_complete_in_log_index_and_results() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(store_path(&folder)).unwrap();
    let mut recording = RunRecording::begin(store, &run_header(0, 1)).unwrap();
    let run = recording.run().clone();
    let note = recording.live_note_path();
    LiveNote::default().write(&note).unwrap();
    let observed = Observed { samples: vec![Sample::default()], ..Observed::default() };
    for (pass, records) in (0..).zip(records()) {
        recording.begin_pass(&begin(pass)).unwrap();
        for record in records {
            recording.append(record).unwrap();
        }
        recording.end_pass(Ending::Complete, None, &observed).unwrap();
    }
    let finished = recording.finish(Ending::Complete, &summary(&run), RunState::Complete, START_NS);
    let stored = finished.unwrap().run("latest").unwrap();
    assert_eq!((&stored.row.id, stored.row.state), (&run, RunState::Complete));
    assert_eq!(stored.summary, Some(summary(&run)));
    let passes: Vec<LoggedPass> = stored.passes().unwrap().map(Result::unwrap).collect();
    for (pass, expected) in passes.iter().zip(records()) {
        assert_eq!(pass.records, expected.iter().map(as_stored).collect::<Vec<_>>());
        assert_eq!((&pass.observed, pass.begin.clone()), (&observed, begin(pass.begin.pass)));
    }
    assert_eq!(
        (passes.len(), ask(&folder, "SELECT count(*) FROM requests")),
        (2, vec!["7".into()])
    );
    assert!(!note.exists());
}

#[test]
fn a_dropped_recording_leaves_a_killed_run_with_the_flushed_records() {
    let folder = TempDir::new().unwrap();
    let mut store = Store::open(store_path(&folder)).unwrap();
    let mut recording = RunRecording::begin(&mut store, &run_header(0, 1)).unwrap();
    recording.begin_pass(&begin(0)).unwrap();
    recording.append(streamed(0, 0, 8)).unwrap();
    recording.flush().unwrap();
    recording.append(streamed(0, 1, 8)).unwrap();
    drop(recording);

    // The run is now in the state that a killed process leaves. The flushed records are found through the
    // database.
    let stored = Store::open_existing(store_path(&folder)).unwrap().run("latest").unwrap();
    assert_eq!(stored.row.state, RunState::Killed);
    let mut passes = stored.passes().unwrap();
    assert_eq!(passes.header().run_id, stored.row.id.as_str());
    assert_eq!(passes.header().origin_unix_ns, stored.origin_unix_ns);
    let pass = passes.next().unwrap().unwrap();
    assert_eq!((pass.records, pass.end), (vec![as_stored(&streamed(0, 0, 8))], None));
    assert!(passes.next().is_none() && passes.cut.is_some());
    assert_eq!(ask(&folder, "SELECT request FROM requests"), ["0"]);
}

#[test]
fn records_are_written_to_the_index_when_a_batch_is_full() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(store_path(&folder)).unwrap();
    let mut recording = RunRecording::begin(store, &run_header(0, 1)).unwrap();
    recording.begin_pass(&begin(0)).unwrap();
    for index in 0..4_097 {
        recording.append(streamed(0, index, 1)).unwrap();
    }
    assert_eq!(ask(&folder, "SELECT count(*) FROM requests"), ["4096"]);
}

#[test]
fn the_log_has_every_request_that_never_began_and_the_index_only_the_first_10000() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(store_path(&folder)).unwrap();
    let mut recording = RunRecording::begin(store, &run_header(0, 1)).unwrap();
    recording.begin_pass(&begin(0)).unwrap();
    recording.append(streamed(0, 0, 1)).unwrap();
    let never = |index: u32| Record::planned(0, index, Nanos(1_000));
    recording.append_repeated(never(1), 4_000).unwrap();
    recording.append_repeated(never(4_001), 1).unwrap();
    recording.append_repeated(never(4_002), 100_000).unwrap();
    recording.end_pass(Ending::Interrupted, None, &Observed::default()).unwrap();
    let rows = "SELECT count(*), max(request) FROM requests WHERE outcome = 'skipped'";
    assert_eq!(ask(&folder, rows), ["10000|10000"]);
    drop(recording);
    let stored = Store::open_existing(store_path(&folder)).unwrap().run("latest").unwrap();
    let pass = stored.passes().unwrap().next().unwrap().unwrap();
    assert_eq!(pass.end.map(|end| end.records), Some(104_002));
    let indices = pass.records.iter().map(|record| record.index);
    assert!(indices.eq(0..104_002));
}

#[test]
fn stored_records_say_whether_they_were_streamed() {
    let folder = TempDir::new().unwrap();
    for stream in [false, true] {
        let store = Store::open(store_path(&folder)).unwrap();
        let header = RunHeader { plan: plan(stream), ..run_header(0, u16::from(stream)) };
        let mut recording = RunRecording::begin(store, &header).unwrap();
        let run = recording.run().to_string();
        recording.begin_pass(&begin(0)).unwrap();
        recording.append(Record { streamed: stream, ..streamed(0, 0, 8) }).unwrap();
        recording.flush().unwrap();
        let stored = Store::open_existing(store_path(&folder)).unwrap().run(&run).unwrap();
        let pass = stored.passes().unwrap().next().unwrap().unwrap();
        assert_eq!(pass.records[0].streamed, stream);
    }
}

#[test]
fn an_import_is_recorded_as_a_run_of_kind_imported_without_passes() {
    let folder = TempDir::new().unwrap();
    let mut store = Store::open(store_path(&folder)).unwrap();
    let mut target = Target::default();
    target.facts.others.insert("imported from".to_owned(), "table.md".to_owned());
    let header = ImportHeader {
        imported_unix_ns: START_NS,
        suffix: 1,
        target: target.clone(),
        tool_version: "0.1.0".to_owned(),
    };
    let recording = RunRecording::begin_import(&mut store, &header).unwrap();
    let run = recording.run().clone();
    let summary = Summary { target, ..summary(&run) };
    recording.finish(Ending::Complete, &summary, RunState::Complete, START_NS).unwrap();
    let stored = store.run("latest-imported").unwrap();
    assert_eq!((stored.row.kind, stored.passes().unwrap().count()), (RunKind::Imported, 0));
}

#[test]
fn the_server_and_the_rank_of_a_request_are_in_the_log_and_in_the_index() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(store_path(&folder)).unwrap();
    let mut recording = RunRecording::begin(store, &run_header(0, 1)).unwrap();
    recording.begin_pass(&begin(0)).unwrap();
    let of = |index: u32, server, rank| Record { server, rank, ..streamed(0, index, 2) };
    let records = [of(0, Some(0), Some(7)), of(1, Some(1), Some(0)), of(2, None, None)];
    records.iter().for_each(|record| recording.append(record.clone()).unwrap());
    recording.end_pass(Ending::Complete, None, &Observed::default()).unwrap();
    let run = recording.run().clone();
    let finished = recording.finish(Ending::Complete, &summary(&run), RunState::Complete, START_NS);
    let stored = finished.unwrap().run("latest").unwrap();
    let logged = stored.passes().unwrap().next().unwrap().unwrap().records;
    let places: Vec<_> = logged.iter().map(|record| (record.server, record.rank)).collect();
    assert_eq!(places, [(Some(0), Some(7)), (Some(1), Some(0)), (None, None)]);
    let of_index =
        "SELECT server || ' ' || rank FROM v_requests WHERE server IS NOT NULL ORDER BY request";
    assert_eq!(ask(&folder, of_index), ["0 7", "1 0"]);
}
