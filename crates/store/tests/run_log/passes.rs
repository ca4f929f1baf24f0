//! Tests of reading passes, as streams and as a whole, from complete, cut and damaged logs.

use inferometer_model::record::Record;
use inferometer_model::sample::{Observed, Sample};
use inferometer_model::time::Nanos;
use inferometer_store::log::as_stored;
use inferometer_store::{Ending, LogWriter, LoggedPass, PassEnd, PassItem, StoreError, passes};
use tempfile::TempDir;

use super::common::streamed;
use super::{begin, file, frame_bounds, header};

fn observed(pass: u32) -> Observed {
    let sample = Sample { at: Nanos(u64::from(pass)), ..Sample::default() };
    Observed { asks_server: true, cpu_us: 7, samples: vec![sample; 2], ..Observed::default() }
}

/// Writes a log of three passes with two, zero and one records. Returns the bytes of the log and the
/// passes.
fn log(folder: &TempDir) -> (Vec<u8>, Vec<LoggedPass>) {
    let path = folder.path().join("run.log");
    let mut writer = LogWriter::create(&path, &header()).unwrap();
    let mut expected = Vec::new();
    for (pass, count) in [(0, 2), (1, 0), (2, 1)] {
        writer.begin_pass(&begin(pass)).unwrap();
        let records: Vec<Record> = (0..count).map(|index| streamed(pass, index, 3)).collect();
        for record in &records {
            writer.append(record).unwrap();
            writer.flush().unwrap();
        }
        writer.observed(&observed(pass)).unwrap();
        writer.end_pass(Ending::Complete, None).unwrap();
        let (ending, process) = (Ending::Complete, None);
        expected.push(LoggedPass {
            begin: begin(pass),
            records: records.iter().map(as_stored).collect(),
            observed: observed(pass),
            end: Some(PassEnd { pass, ending, records: u64::from(count), process }),
        });
    }
    writer.finish(Ending::Complete).unwrap();
    (std::fs::read(path).unwrap(), expected)
}

#[test]
fn a_complete_log_returns_all_passes_as_they_were_written() {
    let folder = TempDir::new().unwrap();
    let (_, expected) = log(&folder);
    let mut found = passes(folder.path().join("run.log")).unwrap();
    assert_eq!(found.header(), &header());
    let whole: Vec<LoggedPass> = found.by_ref().map(Result::unwrap).collect();
    assert_eq!(whole, expected);
    assert!(found.cut.is_none() && found.next().is_none());
}

#[test]
fn a_pass_read_as_a_stream_returns_its_items_in_order_and_then_its_end() {
    let folder = TempDir::new().unwrap();
    let (_, expected) = log(&folder);
    let mut found = passes(folder.path().join("run.log")).unwrap();
    for expected in &expected {
        let mut stream = found.next_pass().unwrap().unwrap();
        assert_eq!((stream.begin(), stream.end()), (&expected.begin, None));
        let mut records = Vec::new();
        for item in &mut stream {
            match item.unwrap() {
                PassItem::Record(record) => records.push(*record),
                PassItem::Observed(samples) => assert_eq!(*samples, expected.observed),
            }
        }
        assert_eq!((&records, stream.end()), (&expected.records, expected.end.as_ref()));
    }
    assert!(found.next_pass().is_none());
}

#[test]
fn unread_items_of_a_pass_are_skipped_before_the_next_pass() {
    let folder = TempDir::new().unwrap();
    let (_, expected) = log(&folder);
    let mut found = passes(folder.path().join("run.log")).unwrap();
    let mut first = found.next_pass().unwrap().unwrap();
    assert!(matches!(first.next(), Some(Ok(PassItem::Record(_)))));
    assert_eq!(found.next().unwrap().unwrap(), expected[1]);
    assert_eq!(found.next_pass().unwrap().unwrap().read().unwrap(), expected[2]);
}

#[test]
fn a_log_truncated_at_any_byte_returns_the_passes_up_to_the_cut_and_reports_the_cut() {
    let folder = TempDir::new().unwrap();
    let (bytes, expected) = log(&folder);
    let header_end = frame_bounds(&bytes)[1] as usize;
    for length in header_end..bytes.len() {
        let mut found = passes(file(&folder, &bytes[..length])).unwrap();
        let whole: Vec<LoggedPass> = found.by_ref().map(Result::unwrap).collect();
        assert!(found.cut.as_ref().is_some_and(StoreError::is_cut), "{length}");
        for (at, (found, expected)) in whole.iter().zip(&expected).enumerate() {
            if at + 1 < whole.len() || found.end.is_some() {
                assert_eq!(found, expected, "{length}");
            } else {
                assert_eq!(found.begin, expected.begin, "{length}");
                assert!(expected.records.starts_with(&found.records), "{length}");
            }
        }
    }
}

#[test]
fn after_a_corrupt_frame_the_reader_returns_one_error_and_then_nothing() {
    let folder = TempDir::new().unwrap();
    let (mut bytes, expected) = log(&folder);
    // The damaged byte is in the second-to-last frame, which ends the last pass.
    let bounds = frame_bounds(&bytes);
    let last_byte = bounds[bounds.len() - 2] as usize - 1;
    bytes[last_byte] ^= 1;
    let mut found = passes(file(&folder, &bytes)).unwrap();
    assert_eq!(found.next().unwrap().unwrap(), expected[0]);
    assert_eq!(found.next().unwrap().unwrap(), expected[1]);
    assert!(matches!(found.next(), Some(Err(StoreError::LogCorrupt { .. }))));
    assert!(found.next().is_none() && found.cut.is_none());
}
