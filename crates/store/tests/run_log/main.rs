//! Tests of the run log: it contains what was written, the reader reports where it is cut, and damage is
//! never read as data.

#![expect(clippy::unwrap_used, reason = "what a test prepares must work")]

mod any_record;
#[path = "../common/mod.rs"]
mod common;
mod damage;
mod passes;
mod versions;
mod writing;

use std::path::{Path, PathBuf};

use common::streamed;
use inferometer_model::cell::CellPlan;
use inferometer_model::load::PassPlan;
use inferometer_model::outcome::{Outcome, Phase};
use inferometer_model::record::{Detail, Event, EventKind, Record};
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
        plan: PassPlan::saturated(3),
        repeat: 2,
    }
}

/// Writes passes with their records, and flushes after every `flush_every` records.
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
        writer.end_pass(Ending::Complete, None).unwrap();
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

/// Reads a log. Returns all valid entries, and the error that ended the reading.
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
        assert!(error.is_none(), "the reader returns an item after an error: {item:?}");
        match item {
            Ok(entry) => entries.push(entry),
            Err(found) => error = Some(found),
        }
    }
    (entries, error)
}

fn file(folder: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("changed.log");
    // On some file systems, truncating an existing file waits for the storage device.
    let _ = std::fs::remove_file(&path);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A log of two passes and four frames of records, as bytes and as entries.
fn small_log(folder: &TempDir) -> (Vec<u8>, Vec<Entry>) {
    let failed = Record { detail: Some("connection reset".into()), ..streamed(0, 2, 3) };
    let passes = [vec![streamed(0, 0, 5), streamed(0, 1, 5), failed], vec![streamed(1, 0, 2); 1]];
    let path = folder.path().join("small.log");
    write(&path, &passes, 1);
    (std::fs::read(path).unwrap(), expected(&passes))
}

/// The start of each frame, then the end of the file, computed from the lengths of the frames.
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
    fn every_record_is_read_back_with_times_rounded_to_the_tick(
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
    fn arbitrary_frame_data_with_valid_checksums_does_not_make_the_reader_panic(
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
    fn storing_rounds_times_by_less_than_a_tick_and_never_narrows_an_interval(
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

/// Records with every code that the first version of the format has: outcomes, phases, kinds of events, absent
/// and present values, and planes that are constant, compressed and raw.
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
        detail: Some(format!("{outcome}").into()),
        connected: Some(Nanos(1_000)),
        ended: Some(Nanos(123_456_700)),
        prompt_tokens_tokenizer: Some(index),
        tokens_tokenizer: Some(7),
        ..Record::planned(0, index, Nanos(900))
    };
    let mut records: Vec<_> = (0..).zip(outcomes).map(of).collect();
    let mut kinds = streamed(0, 100, 300);
    // The kinds are listed here in the order that logs use: a log stores the position of a kind in
    // `EventKind::ALL`.
    let stored = [
        EventKind::Role,
        EventKind::Text,
        EventKind::EmptyText,
        EventKind::Reasoning,
        EventKind::ToolCall,
        EventKind::Usage,
        EventKind::Finish,
        EventKind::Error,
        EventKind::Done,
        EventKind::Comment,
    ];
    for (event, kind) in kinds.events.iter_mut().zip(stored.into_iter().cycle()) {
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
fn many_requests_that_never_began_are_stored_as_one_entry_and_read_as_one_record_each() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run.log");
    let mut writer = LogWriter::create(&path, &header()).unwrap();
    writer.begin_pass(&begin(0)).unwrap();
    writer.append(&streamed(0, 0, 2)).unwrap();
    let never = |index: u32| Record {
        detail: Some(Detail::Interrupted),
        asked_output: 32,
        ..Record::planned(0, index, Nanos(1_000))
    };
    writer.append_never_begun(&never(1), 100_000).unwrap();
    writer.append_never_begun(&never(100_001), 2).unwrap();
    let begun = Record { outcome: Outcome::Cancelled, ..never(7) };
    for refused in [(&begun, 2), (&never(u32::MAX), 2), (&never(7), 0)] {
        let error = writer.append_never_begun(refused.0, refused.1).unwrap_err();
        assert!(matches!(error, StoreError::InvalidRecord { .. }), "{error}");
    }
    writer.end_pass(Ending::Interrupted, None).unwrap();
    writer.finish(Ending::Interrupted).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < 4_096);
    let (entries, error) = read(&path);
    assert!(error.is_none(), "{error:?}");
    let expected = std::iter::once(streamed(0, 0, 2)).chain((1..=100_002).map(never));
    let records = entries.into_iter().filter_map(|entry| match entry {
        Entry::Record(record) => Some(*record),
        _ => None,
    });
    assert!(records.eq(expected.map(|record| as_stored(&record))));
}

#[test]
fn a_log_of_a_newer_version_is_refused_with_both_version_numbers() {
    let folder = TempDir::new().unwrap();
    let newer_format = LogHeader { format: 13, ..header() };
    let newer_records = LogHeader { record_version: 7, ..header() };
    let cases = [
        (newer_format, "has version 13, but this program reads versions up to 12"),
        (newer_records, "has version 7, but this program reads versions up to 1"),
    ];
    for (index, (header, message)) in cases.into_iter().enumerate() {
        let path = folder.path().join(format!("{index}.log"));
        LogWriter::create(&path, &header).unwrap();
        let error = LogReader::open(&path).err().unwrap();
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn a_file_that_is_not_a_log_is_refused() {
    let folder = TempDir::new().unwrap();
    for bytes in [&b"hello, this is text"[..], &b"SQLite format 3\0"[..], &[0; 64][..], b"x"] {
        let error = LogReader::open(file(&folder, bytes)).err().unwrap();
        assert!(matches!(error, StoreError::NotALog { .. }), "{error}");
    }
}
