//! Logs of earlier format versions, each written by a program of its time.

use std::path::{Path, PathBuf};

use inferometer_model::outcome::Outcome;
use inferometer_model::record::{Record, ServerTimes, Usage};
use inferometer_store::{Entry, LogReader};

use super::{every_code, expected, read};

fn fixture(version: u32) -> PathBuf {
    let name = format!("tests/fixtures/version-{version}.log");
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The five completed requests of a fixture.
fn records(version: u32) -> Vec<Record> {
    let log = LogReader::open(fixture(version)).unwrap();
    assert_eq!(log.header().format, version);
    let records = log.map(Result::unwrap).filter_map(|entry| match entry {
        Entry::Record(record) => Some(*record),
        _ => None,
    });
    let records: Vec<Record> = records.collect();
    assert_eq!(records.len(), 5);
    assert!(records.iter().all(|record| record.outcome == Outcome::Complete));
    records
}

#[test]
fn a_log_of_format_version_1_is_read() {
    let path = fixture(1);
    assert_eq!(LogReader::open(&path).unwrap().header().format, 1);
    let (entries, error) = read(&path);
    assert!(error.is_none(), "{error:?}");
    let mut expected = expected(&[every_code()]);
    if let Entry::PassBegin(begin) = &mut expected[0] {
        // The first version had no repeats, so the repeat is 1.
        begin.repeat = 1;
    }
    assert_eq!(entries, expected);
}

#[test]
fn a_log_of_format_version_4_is_read_with_connection_reuse_unset() {
    let is_as_written = |record: &Record| record.streamed && record.kept_connection.is_none();
    assert!(records(4).iter().all(is_as_written));
}

#[test]
fn a_log_of_format_version_5_is_read_with_server_and_rank_unset() {
    let is_as_written = |record: &Record| {
        record.kept_connection.is_some() && (record.server, record.rank) == (None, None)
    };
    assert!(records(5).iter().all(is_as_written));
}

#[test]
fn a_log_of_format_version_6_is_read_without_server_times() {
    let records = records(6);
    let is_as_written = |record: &Record| {
        record.usage.completion == Some(4)
            && record.server_times == ServerTimes::default()
            && record.events.iter().all(|event| (event.read as usize) < record.reads.len())
    };
    assert!(records.iter().all(is_as_written));
    // The fixture is of a run with two servers.
    for (server, count) in [(0, 3), (1, 2)] {
        assert_eq!(records.iter().filter(|record| record.server == Some(server)).count(), count);
    }
}

#[test]
fn a_log_of_format_version_7_is_read_without_reasoning_answers_and_skipped_messages() {
    let is_as_written = |record: &Record| {
        record.usage == Usage { prompt: Some(8), completion: Some(4), ..Usage::default() }
            && record.skipped.is_empty()
            && record.choices == 0
            && record.token_events().count() == 4
    };
    assert!(records(7).iter().all(is_as_written));
}

#[test]
fn a_log_of_format_version_11_is_read_with_its_server_times_in_microseconds() {
    let mut queues_us = Vec::new();
    for record in records(11) {
        let [queue, inference, total, rest @ ..] = record.server_times.0;
        let queue_us = queue.expect("a stated queue");
        assert_eq!((inference, total), (Some(7_000), Some(7_000 + queue_us)));
        assert_eq!(rest, [None; 4]);
        queues_us.push(queue_us);
    }
    queues_us.sort_unstable();
    assert_eq!(queues_us, [0, 1_000, 2_000, 2_000, 3_000]);
}

#[test]
fn a_log_of_format_version_10_is_read_without_media() {
    let is_as_written =
        |record: &Record| record.media.is_none() && record.usage.completion == Some(4);
    assert!(records(10).iter().all(is_as_written));
}

#[test]
fn a_log_of_format_version_8_is_read_without_jobs() {
    let is_as_written =
        |record: &Record| record.job.is_none() && record.usage.completion == Some(4);
    assert!(records(8).iter().all(is_as_written));
}

#[test]
fn a_log_of_format_version_9_is_read_without_forms_of_answers() {
    let is_as_written =
        |record: &Record| record.structured.is_none() && record.usage.completion == Some(4);
    assert!(records(9).iter().all(is_as_written));
}
