//! A batch of records as the payload of one frame: three tables (records, reads, events), and the strings
//! that the records use. This module accesses no file.
//!
//! An instant is stored as its difference to another instant of the same record, usually the previous one. The
//! first instant of a record is stored as its difference to the due time of the previous record in the batch.

use inferometer_model::record::{Event, Read};
use inferometer_model::{EventKind, Outcome, Record};

use crate::Unstorable;

use super::codes::{Chain, Strings, difference, instant, small, some, undo_difference, undo_some};
use super::column::{Malformed, PayloadReader, PayloadWriter};
use super::resolution::{empty_before, read_width_code, ticks};
use super::row::{self, Before, Row};

/// The maximum numbers of records, of reads or events, and of bytes of text in a batch. A reader refuses
/// larger numbers, so it allocates no more memory than for these numbers.
pub(super) const MAX_RECORDS: usize = 1 << 16;
pub(super) const MAX_ROWS: usize = 1 << 22;
pub(super) const MAX_STRING_BYTES: usize = 16 << 20;

/// The numbers at which a batch is full. Its frame is then written.
const FULL_RECORDS: usize = 4096;
const FULL_ROWS: usize = 1 << 16;
const FULL_STRING_BYTES: usize = 1 << 20;

const READ_COLUMNS: usize = 4;
const EVENT_COLUMNS: usize = 4;

/// Records that are not written yet. They become one frame.
#[derive(Default)]
pub(super) struct Batch {
    before: Before,
    records: Vec<Row>,
    reads: Vec<[u64; READ_COLUMNS]>,
    events: Vec<[u64; EVENT_COLUMNS]>,
    strings: Strings,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Whether the batch is full, so that its frame should be written now.
    pub fn is_full(&self) -> bool {
        self.records.len() >= FULL_RECORDS
            || self.reads.len().max(self.events.len()) >= FULL_ROWS
            || self.strings.bytes >= FULL_STRING_BYTES
    }

    /// Adds a record.
    ///
    /// # Errors
    /// If a log cannot store the record. The batch is then unchanged.
    pub fn push(&mut self, record: &Record) -> Result<(), Unstorable> {
        check(record)?;
        let text = |text: Option<&str>| text.map_or(0, str::len);
        let class = record.class.as_ref().map_or(0, |class| class.len());
        // The batch may be almost full before this record is added. The limits below leave room for the
        // earlier records, so a record is refused only because of its own size.
        if record.reads.len().max(record.events.len()) > MAX_ROWS - FULL_ROWS {
            return Err(Unstorable::TooManyRows(MAX_ROWS - FULL_ROWS));
        }
        let most = MAX_STRING_BYTES - FULL_STRING_BYTES;
        let skipped = row::skipped_text(record).map_or(0, |text| text.len());
        let job = row::job_text(record).map_or(0, |text| text.len());
        let form = row::form_text(record).map_or(0, |text| text.len());
        let texts = text(record.detail_text()) + text(record.finish_reason.as_deref());
        if texts + class + skipped + job + form > most {
            return Err(Unstorable::TooMuchText(most));
        }
        let mut chain = Chain(self.before.due);
        let row = row::encode(record, &self.before, &mut self.strings, &mut chain);
        self.records.push(row);
        self.before = Before { pass: record.pass, index: record.index, due: ticks(record.due) };
        self.push_reads(record, &mut chain);
        Ok(())
    }

    fn push_reads(&mut self, record: &Record, chain: &mut Chain) {
        if self.reads.capacity() == 0 {
            // The memory of a full batch, so that no row is copied when it grows.
            self.reads.reserve(FULL_ROWS);
            self.events.reserve(FULL_ROWS);
        }
        for read in &record.reads {
            let arrival = chain.put(read.arrival());
            let lateness = read.kernel.map_or(0, |kernel| Chain(ticks(kernel)).put(read.user) + 1);
            self.reads.push([arrival, lateness, read_width_code(read), u64::from(read.bytes)]);
        }
        let mut read_before = 0;
        for event in &record.events {
            let kind = EventKind::ALL.iter().position(|&kind| kind == event.kind);
            self.events.push([
                difference(event.read, read_before),
                kind.expect("invariant: ALL contains every kind") as u64,
                u64::from(event.chars),
                some(event.tokens),
            ]);
            read_before = event.read;
        }
    }

    /// Encodes the payload and empties the batch.
    ///
    /// # Errors
    /// The error of the compressor.
    pub fn encode(&mut self, out: &mut PayloadWriter) -> std::io::Result<Vec<u8>> {
        let Self { before, records, reads, events, strings } = self;
        for count in [records.len(), reads.len(), events.len(), strings.all.len(), strings.bytes] {
            out.varint(count as u64);
        }
        let lengths: Vec<_> = strings.all.iter().map(|text| [text.len() as u64]).collect();
        out.table(&lengths)?;
        out.plane(strings.all.concat().as_bytes())?;
        out.table(records)?;
        out.table(reads)?;
        out.table(events)?;
        // The next batch reuses the memory.
        records.clear();
        reads.clear();
        events.clear();
        (*before, *strings) = (Before::default(), Strings::default());
        Ok(out.take())
    }
}

/// Checks that each event of the record belongs to one of its reads.
fn check(record: &Record) -> Result<(), Unstorable> {
    match record.events.iter().find(|event| event.read as usize >= record.reads.len()) {
        None => Ok(()),
        Some(event) => Err(Unstorable::NoSuchRead { read: event.read, reads: record.reads.len() }),
    }
}

/// Decodes the records of a payload. `format` is the version of the log.
///
/// # Errors
/// If the payload is malformed.
pub(super) fn decode(payload: &[u8], format: u32) -> Result<Vec<Record>, Malformed> {
    let mut input = PayloadReader::new(payload);
    let record_count = input.count("records", MAX_RECORDS)?;
    let read_count = input.count("reads", MAX_ROWS)?;
    let event_count = input.count("events", MAX_ROWS)?;
    let strings = decode_strings(&mut input)?;
    let rows = row::table(&mut input, record_count, format)?;
    let reads = input.table::<READ_COLUMNS>(read_count)?;
    let events = input.table::<EVENT_COLUMNS>(event_count)?;
    input.end()?;

    let (mut reads, mut events) = (reads.as_slice(), events.as_slice());
    let mut before = Before::default();
    let mut records = Vec::with_capacity(record_count);
    for row in rows {
        let mut chain = Chain(before.due);
        let mut record = row::decode(row, &before, &strings, &mut chain)?;
        before = Before { pass: record.pass, index: record.index, due: ticks(record.due) };
        let [.., read_count, event_count] = row;
        record.reads = decode_reads(split(&mut reads, read_count)?, &mut chain)?;
        record.events = decode_events(split(&mut events, event_count)?)?;
        check(&record).map_err(|why| Malformed(why.to_string()))?;
        records.push(record);
    }
    if reads.is_empty() && events.is_empty() {
        Ok(records)
    } else {
        Err(Malformed::new("reads or events belong to no record"))
    }
}

/// Encodes requests that never began and differ only in their index. The payload has their number, and a
/// batch with the record of the first request.
///
/// # Errors
/// The outer error says why a log cannot store the requests. The inner error is the error of the
/// compressor.
pub(super) fn encode_never_begun(
    record: &Record,
    count: u32,
    out: &mut PayloadWriter,
) -> Result<std::io::Result<Vec<u8>>, Unstorable> {
    if !is_range(record, count) {
        return Err(Unstorable::NoRange { count });
    }
    let mut batch = Batch::default();
    batch.push(record)?;
    out.varint(u64::from(count));
    Ok(batch.encode(out))
}

/// Returns the record of the first of several requests that never began, and their number.
///
/// # Errors
/// If the payload is malformed.
pub(super) fn decode_never_begun(payload: &[u8], format: u32) -> Result<(Record, u32), Malformed> {
    let mut input = PayloadReader::new(payload);
    let count = small(input.varint()?)?;
    let mut records = decode(input.rest(), format)?.into_iter();
    match (records.next(), records.next()) {
        (Some(record), None) if is_range(&record, count) => Ok((record, count)),
        _ => Err(Malformed::new("it does not contain a range of requests that never began")),
    }
}

/// Whether `count` requests can be stored as one record: `count` is not 0, none has begun, and no index is too
/// large.
fn is_range(record: &Record, count: u32) -> bool {
    let is_unsent = record.outcome == Outcome::Skipped && record.reads.is_empty();
    is_unsent && count > 0 && record.index.checked_add(count - 1).is_some()
}

fn split<'a, T>(rows: &mut &'a [T], count: u64) -> Result<&'a [T], Malformed> {
    let halves = usize::try_from(count).ok().and_then(|count| rows.split_at_checked(count));
    let (taken, rest) =
        halves.ok_or_else(|| Malformed::new("a record has more reads or events than the frame"))?;
    *rows = rest;
    Ok(taken)
}

fn decode_strings(input: &mut PayloadReader<'_>) -> Result<Strings, Malformed> {
    // Each record uses at most four strings.
    let count = input.count("strings", 4 * MAX_RECORDS)?;
    let bytes = input.count("bytes of text", MAX_STRING_BYTES)?;
    let lengths = input.table::<1>(count)?;
    let text = input.plane(bytes)?;
    let mut text =
        std::str::from_utf8(&text).map_err(|_| Malformed::new("a string is not UTF-8"))?;
    let mut all = Vec::with_capacity(count);
    for [length] in lengths {
        let halves = usize::try_from(length).ok().and_then(|at| text.split_at_checked(at));
        let (one, rest) = halves.ok_or_else(|| Malformed::new("a string does not fit the text"))?;
        all.push(one.to_owned());
        text = rest;
    }
    if text.is_empty() {
        Ok(Strings { all, bytes })
    } else {
        Err(Malformed::new("text belongs to no string"))
    }
}

fn decode_reads(rows: &[[u64; READ_COLUMNS]], chain: &mut Chain) -> Result<Vec<Read>, Malformed> {
    let decode = |&[arrival, lateness, width, bytes]: &[u64; READ_COLUMNS]| {
        let arrival = chain.take(arrival)?;
        let user = Chain(chain.0).take_some(lateness)?;
        let start = empty_before(chain.0, width)
            .ok_or_else(|| Malformed::new(format!("no width has code {width}")))?;
        Ok(Read {
            kernel: user.map(|_| arrival),
            user: user.unwrap_or(arrival),
            empty_before: instant(start)?,
            bytes: small(bytes)?,
        })
    };
    rows.iter().map(decode).collect()
}

fn decode_events(rows: &[[u64; EVENT_COLUMNS]]) -> Result<Vec<Event>, Malformed> {
    let mut read_before = 0;
    let decode = |&[read, kind, chars, tokens]: &[u64; EVENT_COLUMNS]| {
        read_before = undo_difference(read, read_before)?;
        let index = usize::try_from(kind).ok();
        let kind = index.and_then(|index| EventKind::ALL.get(index)).copied();
        Ok(Event {
            read: read_before,
            kind: kind.ok_or_else(|| Malformed::new("an event has an unknown kind"))?,
            chars: small(chars)?,
            tokens: undo_some(tokens)?,
        })
    };
    rows.iter().map(decode).collect()
}
