//! Tests of the writer: when it writes, in which order, and which calls it refuses.

use inferometer_model::record::{Event, EventKind, Record};
use inferometer_model::sample::{Observed, Quantity, Sample, ServerSample};
use inferometer_model::time::Nanos;
use inferometer_store::log::as_stored;
use inferometer_store::{Ending, Entry, LogWriter, StoreError};
use tempfile::TempDir;

use super::common::streamed;
use super::{begin, header, read, small_log};

#[test]
fn flushed_records_are_readable_and_the_unfinished_log_is_reported_as_truncated() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("live.log");
    let mut writer = LogWriter::create(&path, &header()).unwrap();
    writer.begin_pass(&begin(0)).unwrap();
    writer.append(&streamed(0, 0, 4)).unwrap();
    assert_eq!(read(&path).0.len(), 1, "a record that was not flushed stays in memory");
    writer.flush().unwrap();
    let (entries, error) = read(&path);
    assert_eq!(entries[1], Entry::Record(Box::new(as_stored(&streamed(0, 0, 4)))));
    let error = error.unwrap();
    assert!(error.is_cut(), "{error}");
    let length = std::fs::metadata(&path).unwrap().len();
    assert!(error.to_string().contains(&format!("ends at byte {length}, 0 bytes")), "{error}");
}

#[test]
fn a_full_batch_is_written_without_a_flush() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("full.log");
    let mut writer = LogWriter::create(&path, &header()).unwrap();
    writer.begin_pass(&begin(0)).unwrap();
    for index in 0..5_000 {
        writer.append(&Record::planned(0, index, Nanos(u64::from(index) * 1_000))).unwrap();
    }
    let written = read(&path).0.len() - 1;
    assert_eq!(written, 4096);
    writer.end_pass(Ending::Complete, None).unwrap();
    writer.finish(Ending::Complete).unwrap();
    let (entries, error) = read(&path);
    assert!(error.is_none());
    assert_eq!(entries.len(), 5_003);
}

#[test]
fn a_log_is_never_overwritten() {
    let folder = TempDir::new().unwrap();
    let (bytes, _) = small_log(&folder);
    let path = folder.path().join("small.log");
    let error = LogWriter::create(&path, &header()).err().unwrap();
    assert!(matches!(error, StoreError::LogExists { .. }), "{error}");
    assert_eq!(std::fs::read(path).unwrap(), bytes);
}

#[test]
fn a_record_with_an_invalid_read_index_is_refused_and_the_log_stays_usable() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run.log");
    let mut writer = LogWriter::create(&path, &header()).unwrap();
    writer.begin_pass(&begin(0)).unwrap();
    let mut bad = streamed(0, 7, 2);
    bad.events.push(Event { read: 2, kind: EventKind::Done, chars: 0, tokens: None });
    let error = writer.append(&bad).unwrap_err();
    assert!(error.to_string().contains("request 7 of pass 0"), "{error}");
    writer.append(&streamed(0, 8, 2)).unwrap();
    writer.end_pass(Ending::Complete, None).unwrap();
    writer.finish(Ending::Complete).unwrap();
    assert_eq!(read(&path).0.len(), 4);
}

#[test]
fn calls_out_of_order_are_refused() {
    let folder = TempDir::new().unwrap();
    let mut writer = LogWriter::create(folder.path().join("a.log"), &header()).unwrap();
    let refused = |result: Result<(), StoreError>| {
        assert!(matches!(result, Err(StoreError::LogOrder { .. })), "{result:?}");
    };
    refused(writer.append(&streamed(0, 0, 1)));
    refused(writer.end_pass(Ending::Complete, None));
    refused(writer.observed(&Observed::default()));
    writer.begin_pass(&begin(0)).unwrap();
    refused(writer.begin_pass(&begin(1)));
    refused(writer.append(&streamed(1, 0, 1)));
    refused(writer.finish(Ending::Complete));
}

#[test]
fn many_samples_of_a_pass_are_read_back_as_written() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.log");
    let sample = |index: u64| {
        let value = (index as f64).sqrt() / 3.0;
        let values = [(Quantity::KvUse, value)].into_iter().collect();
        let server = ServerSample { values, ..ServerSample::default() };
        Sample { at: Nanos(index), server: Some(server), ..Sample::default() }
    };
    let samples = (0..25_000).map(sample).collect();
    let sources = vec!["a".to_owned()];
    let observed = Observed { asks_server: true, cpu_us: 7, cards_named: true, sources, samples };
    let mut writer = LogWriter::create(&path, &header()).unwrap();
    writer.begin_pass(&begin(0)).unwrap();
    writer.append(&streamed(0, 0, 1)).unwrap();
    writer.observed(&observed).unwrap();
    writer.end_pass(Ending::Complete, None).unwrap();
    writer.finish(Ending::Complete).unwrap();
    let (entries, error) = read(&path);
    assert!(error.is_none(), "{error:?}");
    let mut found = Observed::default();
    for entry in entries {
        if let Entry::Observed(part) = entry {
            found.extend(*part);
        }
    }
    assert_eq!(found, observed);
}
