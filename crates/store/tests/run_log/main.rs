//! The run log holds what was written, says where it was cut, and never takes damage for data.

#![expect(clippy::unwrap_used, reason = "what a test prepares must work")]

mod any_record;
#[path = "../common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};

use common::streamed;
use inferometer_load::PassPlan;
use inferometer_model::cell::CellPlan;
use inferometer_model::outcome::{Outcome, Phase};
use inferometer_model::record::{Event, EventKind, Record};
use inferometer_model::sample::{Observed, Quantity, Sample, ServerSample};
use inferometer_model::time::Nanos;
use inferometer_store::log::as_stored;
use inferometer_store::{
    Ending, Entry, LogHeader, LogReader, LogWriter, PassBegin, PassEnd, StoreError,
};
use proptest::prelude::*;
use tempfile::TempDir;

const MAGIC_BYTES: u64 = 8;

fn header() -> LogHeader {
    LogHeader::new("20261120-051233-ab12", 1_795_151_553_000_000_000)
}

fn begin(pass: u32) -> PassBegin {
    PassBegin {
        pass,
        cell: CellPlan { input_length: 128, output_length: 32 },
        plan: PassPlan::Saturated { requests: 3 },
        repeat: 2,
    }
}

/// Writes passes with their records, flushed after every `flush_every`-th.
fn write(path: &Path, passes: &[Vec<Record>], flush_every: usize) {
    let mut writer = LogWriter::create(path, &header()).unwrap();
    for (pass, records) in (0..).zip(passes) {
        writer.begin_pass(&begin(pass)).unwrap();
        for (count, record) in (1..).zip(records) {
            writer.append(record).unwrap();
            if count % flush_every == 0 {
                writer.flush().unwrap();
            }
        }
        writer.end_pass(Ending::Complete).unwrap();
    }
    writer.finish(Ending::Interrupted).unwrap();
}

fn expected(passes: &[Vec<Record>]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (pass, records) in (0..).zip(passes) {
        entries.push(Entry::PassBegin(begin(pass)));
        entries.extend(records.iter().map(|record| Entry::Record(Box::new(as_stored(record)))));
        let records = records.len() as u64;
        entries.push(Entry::PassEnd(PassEnd {
            pass,
            ending: Ending::Complete,
            records,
            process: None,
        }));
    }
    entries.push(Entry::RunEnd(Ending::Interrupted));
    entries
}

/// All good entries, and the error that ended the reading.
fn read(path: &Path) -> (Vec<Entry>, Option<StoreError>) {
    let reader = match LogReader::open(path) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let format = reader.header().format;
    assert_eq!(reader.header(), &LogHeader { format, ..header() });
    let mut entries = Vec::new();
    let mut error = None;
    for item in reader {
        assert!(error.is_none(), "something follows an error: {item:?}");
        match item {
            Ok(entry) => entries.push(entry),
            Err(found) => error = Some(found),
        }
    }
    (entries, error)
}

fn file(folder: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("changed.log");
    // Some file systems wait for the device when a file is replaced by truncation.
    let _ = std::fs::remove_file(&path);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A log of two passes and four frames of records, as bytes.
fn small_log(folder: &TempDir) -> (Vec<u8>, Vec<Entry>) {
    let failed = Record { detail: Some("connection reset".into()), ..streamed(0, 2, 3) };
    let passes = [vec![streamed(0, 0, 5), streamed(0, 1, 5), failed], vec![streamed(1, 0, 2); 1]];
    let path = folder.path().join("small.log");
    write(&path, &passes, 1);
    (std::fs::read(path).unwrap(), expected(&passes))
}

/// Where each frame begins, and at last where the file ends, read off the lengths.
fn frame_bounds(bytes: &[u8]) -> Vec<u64> {
    let mut bounds = vec![MAGIC_BYTES];
    while let Some(length) = bytes.get(*bounds.last().unwrap() as usize..).and_then(|b| b.get(..4))
    {
        let length = u32::from_le_bytes(length.try_into().unwrap());
        bounds.push(bounds.last().unwrap() + 13 + u64::from(length));
    }
    assert_eq!(*bounds.last().unwrap(), bytes.len() as u64);
    bounds
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 128,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_record_comes_back_up_to_the_tick(
        first in prop::collection::vec(any_record::record(0), 0..20),
        second in prop::collection::vec(any_record::record(1), 0..5),
        flush_every in 1_usize..10,
    ) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("run.log");
        let passes = [first, second];
        write(&path, &passes, flush_every);
        let (entries, error) = read(&path);
        prop_assert!(error.is_none(), "{:?}", error);
        prop_assert_eq!(entries, expected(&passes));
    }

    #[test]
    fn nonsense_under_good_checksums_is_an_error_or_records_but_no_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let folder = TempDir::new().unwrap();
        let (bytes, whole) = small_log(&folder);
        let bounds = frame_bounds(&bytes);
        let (start, end) = (bounds[2] as usize, bounds[3] as usize);
        let mut frame = bytes[start..end].to_vec();
        for (at, byte) in changes {
            let at = 13 + at.index(frame.len() - 13);
            frame[at] = byte;
        }
        let payload_crc = crc32fast::hash(&frame[13..]);
        frame[5..9].copy_from_slice(&payload_crc.to_le_bytes());
        let head_crc = crc32fast::hash(&frame[..9]);
        frame[9..13].copy_from_slice(&head_crc.to_le_bytes());
        let changed = [&bytes[..start], &frame, &bytes[end..]].concat();
        let (entries, _) = read(&file(&folder, &changed));
        prop_assert_eq!(&entries[0], &whole[0]);
    }

    #[test]
    fn storing_loses_less_than_a_tick_and_never_narrows_an_interval(
        record in any_record::record(0),
    ) {
        let stored = as_stored(&record);
        prop_assert_eq!(&as_stored(&stored), &stored);
        prop_assert_eq!(stored.due.0, record.due.0 / 100 * 100);
        for (kept, read) in stored.reads.iter().zip(&record.reads) {
            prop_assert_eq!(kept.user.0, read.user.0 / 100 * 100);
            prop_assert_eq!(kept.kernel.map(|at| at.0), read.kernel.map(|at| at.0 / 100 * 100));
            if read.empty_before <= read.arrival() {
                prop_assert!(kept.empty_before <= read.empty_before);
                let (width, before) = (
                    kept.arrival().0 - kept.empty_before.0,
                    read.arrival().0 - read.empty_before.0,
                );
                let grown = width.saturating_sub(before);
                prop_assert!(grown <= before / 32 + 200, "{} became {}", before, width);
            } else {
                prop_assert_eq!(kept.empty_before, kept.arrival());
            }
        }
    }
}

#[test]
fn a_log_cut_at_any_byte_is_readable_up_to_its_last_whole_frame() {
    let folder = TempDir::new().unwrap();
    let (bytes, whole) = small_log(&folder);
    let bounds = frame_bounds(&bytes);
    for length in 0..bytes.len() {
        let (entries, error) = read(&file(&folder, &bytes[..length]));
        let last_whole = bounds.iter().rposition(|&bound| bound <= length as u64);
        // The first frame is the header, and each other one here holds one entry.
        let good = last_whole.unwrap_or(0).saturating_sub(1);
        assert_eq!(entries, whole[..good], "cut at {length}");
        let end = last_whole.map_or(0, |frame| bounds[frame]);
        match error {
            Some(StoreError::LogCut { offset, left, .. }) => {
                assert_eq!((offset, left), (end, length as u64 - end), "cut at {length}");
            }
            other => panic!("cut at {length}: {other:?}"),
        }
    }
    let (entries, error) = read(&file(&folder, &bytes));
    assert!(error.is_none(), "{error:?}");
    assert_eq!(entries, whole);
}

#[test]
fn a_flipped_bit_is_found_with_its_frame_and_what_stands_before_it_is_good() {
    let folder = TempDir::new().unwrap();
    let (bytes, whole) = small_log(&folder);
    let bounds = frame_bounds(&bytes);
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let (entries, error) = read(&file(&folder, &damaged));
        let frame = bounds.iter().rposition(|&bound| bound <= bit as u64 / 8);
        match (frame, error) {
            (None, Some(StoreError::NotALog { .. })) => assert!(entries.is_empty()),
            (Some(frame), Some(StoreError::LogCorrupt { offset, .. })) => {
                assert_eq!(offset, bounds[frame], "bit {bit}");
                assert_eq!(entries, whole[..frame.saturating_sub(1)], "bit {bit}");
            }
            (_, other) => panic!("bit {bit}: {other:?}"),
        }
    }
}

#[test]
fn a_frame_that_is_missing_doubled_or_misplaced_is_damage() {
    let folder = TempDir::new().unwrap();
    let (bytes, _) = small_log(&folder);
    let bounds = frame_bounds(&bytes);
    let frame = |index: usize| &bytes[bounds[index] as usize..bounds[index + 1] as usize];
    // Header, PassBegin, Records x 3, PassEnd, PassBegin, Records, PassEnd, RunEnd.
    let cases: [(&str, Vec<usize>, &str); 7] = [
        ("records are missing", vec![0, 1, 2, 3, 5], "had 2 so far"),
        ("records are doubled", vec![0, 1, 2, 2, 3, 4, 5], "had 4 so far"),
        ("records of another pass", vec![0, 1, 7], "a record of pass 1 in pass 0"),
        ("records of no pass", vec![0, 2], "belong to no pass"),
        ("a pass in a pass", vec![0, 1, 6], "before pass 0 ended"),
        ("a run that ends in a pass", vec![0, 1, 9], "before pass 0 did"),
        ("frames after the end", vec![0, 9, 9], "follows the end"),
    ];
    for (what, order, complaint) in cases {
        let mut changed = bytes[..MAGIC_BYTES as usize].to_vec();
        order.iter().for_each(|&index| changed.extend(frame(index)));
        match read(&file(&folder, &changed)).1 {
            Some(StoreError::LogCorrupt { what: found, .. }) => {
                assert!(found.contains(complaint), "{what}: {found}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
}

#[test]
fn bytes_after_the_end_of_the_run_are_damage_even_where_they_are_no_frame() {
    let folder = TempDir::new().unwrap();
    let (mut bytes, whole) = small_log(&folder);
    let end = bytes.len() as u64;
    bytes.push(0);
    let (entries, error) = read(&file(&folder, &bytes));
    assert_eq!(entries, whole);
    assert!(matches!(error, Some(StoreError::LogCorrupt { offset, .. }) if offset == end));
}

/// Records with every code that the format has: outcomes, phases, kinds of events, absent and
/// present values, and planes that are constant, packed and raw.
fn every_code() -> Vec<Record> {
    let phases = [
        Phase::Connect,
        Phase::Tls,
        Phase::Send,
        Phase::Headers,
        Phase::FirstToken,
        Phase::BetweenEvents,
        Phase::Total,
    ];
    let mut outcomes = vec![
        Outcome::Complete,
        Outcome::Truncated,
        Outcome::Rejected { status: 429 },
        Outcome::ServerError,
        Outcome::Malformed,
        Outcome::Cancelled,
        Outcome::Dropped,
        Outcome::Skipped,
    ];
    outcomes.extend(phases.map(|phase| Outcome::Connection { phase }));
    outcomes.extend(phases.map(|phase| Outcome::TimedOut { phase }));
    let of = |(index, outcome): (u32, Outcome)| Record {
        outcome,
        detail: Some(format!("{outcome}")),
        connected: Some(Nanos(1_000)),
        ended: Some(Nanos(123_456_700)),
        prompt_tokens_tokenizer: Some(index),
        tokens_tokenizer: Some(7),
        ..Record::planned(0, index, Nanos(900))
    };
    let mut records: Vec<_> = (0..).zip(outcomes).map(of).collect();
    let mut kinds = streamed(0, 100, 300);
    for (event, kind) in kinds.events.iter_mut().zip(EventKind::ALL.into_iter().cycle()) {
        *event = Event { kind, tokens: (event.read % 3 == 0).then_some(event.read), ..*event };
    }
    for (noise, read) in (0_u64..).zip(&mut kinds.reads) {
        read.user.0 += noise * noise % 257 * 100;
        read.kernel = read.kernel.filter(|_| noise % 5 > 0);
    }
    records.push(kinds);
    records
}

#[test]
fn a_log_written_by_the_first_version_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/version-1.log");
    assert_eq!(LogReader::open(&path).unwrap().header().format, 1);
    let (entries, error) = read(&path);
    assert!(error.is_none(), "{error:?}");
    let mut expected = expected(&[every_code()]);
    if let Entry::PassBegin(begin) = &mut expected[0] {
        // It knew nothing of repeats: there was one.
        begin.repeat = 1;
    }
    assert_eq!(entries, expected);
}

#[test]
fn records_are_readable_once_they_are_flushed_and_the_log_says_that_it_goes_on() {
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
    writer.end_pass(Ending::Complete).unwrap();
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
fn a_record_that_names_a_read_it_does_not_have_is_refused_and_the_log_goes_on() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run.log");
    let mut writer = LogWriter::create(&path, &header()).unwrap();
    writer.begin_pass(&begin(0)).unwrap();
    let mut bad = streamed(0, 7, 2);
    bad.events.push(Event { read: 2, kind: EventKind::Done, chars: 0, tokens: None });
    let error = writer.append(&bad).unwrap_err();
    assert!(error.to_string().contains("request 7 of pass 0"), "{error}");
    writer.append(&streamed(0, 8, 2)).unwrap();
    writer.end_pass(Ending::Complete).unwrap();
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
    refused(writer.end_pass(Ending::Complete));
    refused(writer.observed(&Observed::default()));
    writer.begin_pass(&begin(0)).unwrap();
    refused(writer.begin_pass(&begin(1)));
    refused(writer.append(&streamed(1, 0, 1)));
    refused(writer.finish(Ending::Complete));
}

#[test]
fn samples_of_a_pass_are_read_as_they_were_written_however_many_they_are() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.log");
    let sample = |index: u64| {
        let value = (index as f64).sqrt() / 3.0;
        let values = [(Quantity::KvUse, value)].into_iter().collect();
        let server = ServerSample { values, ..ServerSample::default() };
        Sample { at: Nanos(index), server: Some(server), ..Sample::default() }
    };
    let samples = (0..25_000).map(sample).collect();
    let observed = Observed { asks_server: true, cpu_us: 7, cards_named: true, samples };
    let mut writer = LogWriter::create(&path, &header()).unwrap();
    writer.begin_pass(&begin(0)).unwrap();
    writer.append(&streamed(0, 0, 1)).unwrap();
    writer.observed(&observed).unwrap();
    writer.end_pass(Ending::Complete).unwrap();
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

#[test]
fn a_log_of_a_newer_version_is_refused_by_name() {
    let folder = TempDir::new().unwrap();
    let newer_format = LogHeader { format: 4, ..header() };
    let newer_records = LogHeader { record_version: 7, ..header() };
    let cases = [
        (newer_format, "the format of the log is version 4, this program reads version 3"),
        (newer_records, "the meaning of records is version 7, this program reads version 1"),
    ];
    for (index, (header, message)) in cases.into_iter().enumerate() {
        let path = folder.path().join(format!("{index}.log"));
        LogWriter::create(&path, &header).unwrap();
        let error = LogReader::open(&path).err().unwrap();
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn a_file_of_another_kind_is_no_log() {
    let folder = TempDir::new().unwrap();
    for bytes in [&b"hello, this is text"[..], &b"SQLite format 3\0"[..], &[0; 64][..], b"x"] {
        let error = LogReader::open(file(&folder, bytes)).err().unwrap();
        assert!(matches!(error, StoreError::NotALog { .. }), "{error}");
    }
}
