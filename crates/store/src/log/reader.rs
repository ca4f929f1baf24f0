//! Reads a run log from beginning to end. The reader never repairs or skips data: damage is an error with
//! its position, and ends the reading.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use inferometer_model::{Record, record::RECORD_VERSION};
use serde::de::DeserializeOwned;

use super::frame::{HEAD_BYTES, Head, Kind, MAGIC};
use super::{Entry, LOG_VERSION, LogHeader, PassBegin, PassEnd, batch, resolution::TICK_NS};
use crate::StoreError;

/// The reader of one run's log: an iterator over its entries.
///
/// If the writer did not finish, or has not finished yet, the last item is [`StoreError::LogCut`]; all
/// entries before it are valid. Damage is [`StoreError::LogCorrupt`]. The iterator ends after an error and
/// after the end of the run. If the log still grows, the iterator continues after a call of
/// [`LogReader::read_on`].
pub struct LogReader {
    file: BufReader<File>,
    path: PathBuf,
    header: LogHeader,
    streamed: bool,
    /// The byte positions at which the last frame that was read begins and ends.
    offset: u64,
    next_offset: u64,
    records: std::vec::IntoIter<Record>,
    /// For a range of requests that never began: the record of the next request, and the number of remaining
    /// requests, including this one.
    never_begun: Option<(Record, u32)>,
    /// The current pass, with the number of its records so far.
    pass: Option<(u32, u64)>,
    state: State,
}

/// The state of the reader.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Reading,
    /// The end of the run was read; the reader has not checked whether something follows.
    Ended,
    Done,
}

impl LogReader {
    /// Opens a log and reads its header.
    ///
    /// # Errors
    /// [`StoreError::NotALog`], [`StoreError::LogVersion`], [`StoreError::LogCut`] if even the header is
    /// incomplete, [`StoreError::LogCorrupt`], [`StoreError::Io`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        let file = File::open(&path).map_err(StoreError::io("open", &path))?;
        let mut file = BufReader::new(file);
        let mut magic = Vec::new();
        read_up_to(&mut file, MAGIC.len(), &mut magic).map_err(StoreError::io("read", &path))?;
        if magic != MAGIC {
            return Err(if MAGIC.starts_with(&magic) {
                StoreError::LogCut { path, offset: 0, left: magic.len() as u64 }
            } else {
                StoreError::NotALog { path }
            });
        }
        let mut reader = Self {
            file,
            path,
            header: LogHeader::new("", 0),
            streamed: true,
            offset: 0,
            next_offset: MAGIC.len() as u64,
            records: Vec::new().into_iter(),
            never_begun: None,
            pass: None,
            state: State::Reading,
        };
        reader.header = match reader.frame()? {
            Some((Kind::Header, payload)) => reader.header_of(&payload)?,
            Some((other, _)) => return Err(reader.corrupt(format!("it is {other:?}, not Header"))),
            None => return Err(reader.cut(0)),
        };
        Ok(reader)
    }

    /// Sets whether the answers of the run were streamed, for logs of formats 1 to 3, which do not contain
    /// this fact. Without this call, answers count as streamed.
    #[must_use]
    pub fn streamed(mut self, streamed: bool) -> Self {
        self.streamed = streamed;
        self
    }

    /// Continues after [`StoreError::LogCut`], because the writer may have written more after this error.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn read_on(&mut self) -> Result<(), StoreError> {
        let from = SeekFrom::Start(self.next_offset);
        self.file.seek(from).map_err(StoreError::io("read", &self.path))?;
        self.state = State::Reading;
        Ok(())
    }

    /// The header of the log.
    pub fn header(&self) -> &LogHeader {
        &self.header
    }

    fn header_of(&self, payload: &[u8]) -> Result<LogHeader, StoreError> {
        let version = |what, found, known| StoreError::LogVersion {
            path: self.path.clone(),
            what,
            found,
            known,
        };
        // A newer header may have other fields, so its version is checked first.
        let value: serde_json::Value = self.json(payload)?;
        let format = value["format"].as_u64().and_then(|format| u32::try_from(format).ok());
        let format = format.ok_or_else(|| self.corrupt("its header has no version".to_owned()))?;
        if !(1..=LOG_VERSION).contains(&format) {
            return Err(version("the format of the log", format, LOG_VERSION));
        }
        let header: LogHeader = self.json(payload)?;
        if header.record_version != RECORD_VERSION {
            return Err(version("the meaning of records", header.record_version, RECORD_VERSION));
        }
        if header.tick_ns != TICK_NS {
            let what = format!("instants are in ticks of {} ns, not {TICK_NS}", header.tick_ns);
            return Err(self.corrupt(what));
        }
        Ok(header)
    }

    fn json<T: DeserializeOwned>(&self, payload: &[u8]) -> Result<T, StoreError> {
        serde_json::from_slice(payload).map_err(|error| self.corrupt(error.to_string()))
    }

    fn corrupt(&self, what: String) -> StoreError {
        StoreError::LogCorrupt { path: self.path.clone(), offset: self.offset, what }
    }

    fn cut(&self, left: usize) -> StoreError {
        StoreError::LogCut { path: self.path.clone(), offset: self.offset, left: left as u64 }
    }

    /// The next frame, checked; `None` at the end of the file. Afterwards `self.offset` is the beginning
    /// of the frame, for error messages.
    fn frame(&mut self) -> Result<Option<(Kind, Vec<u8>)>, StoreError> {
        self.offset = self.next_offset;
        let mut bytes = Vec::new();
        self.read(HEAD_BYTES, &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let Ok(head) = <&[u8; HEAD_BYTES]>::try_from(bytes.as_slice()) else {
            return Err(self.cut(bytes.len()));
        };
        let head = Head::decode(head).map_err(|what| self.corrupt(what.to_string()))?;
        let mut payload = Vec::new();
        self.read(head.payload_bytes, &mut payload)?;
        if payload.len() < head.payload_bytes {
            return Err(self.cut(HEAD_BYTES + payload.len()));
        }
        head.check(&payload).map_err(|what| self.corrupt(what.to_string()))?;
        self.next_offset += (HEAD_BYTES + payload.len()) as u64;
        Ok(Some((head.kind, payload)))
    }

    fn read(&mut self, count: usize, into: &mut Vec<u8>) -> Result<(), StoreError> {
        read_up_to(&mut self.file, count, into).map_err(StoreError::io("read", &self.path))
    }

    /// The next entry that is not a record. `None` if records were read instead, or if the log correctly
    /// ends here.
    fn step(&mut self) -> Result<Option<Entry>, StoreError> {
        if self.state == State::Ended {
            return self.nothing_more().map(|()| None);
        }
        let Some((kind, payload)) = self.frame()? else { return Err(self.cut(0)) };
        match kind {
            Kind::Header => Err(self.corrupt("it is a second header".to_owned())),
            Kind::PassBegin => self.pass_begin(&payload).map(Some),
            Kind::Records => self.load(&payload).map(|()| None),
            Kind::NeverBegun => self.load_never_begun(&payload).map(|()| None),
            Kind::Observed => self.observed(&payload).map(Some),
            Kind::PassEnd => self.pass_end(&payload).map(Some),
            Kind::RunEnd => {
                if let Some((open, _)) = self.pass {
                    return Err(self.corrupt(format!("the run ends before the end of pass {open}")));
                }
                self.state = State::Ended;
                self.json(&payload).map(|ending| Some(Entry::RunEnd(ending)))
            }
        }
    }

    fn nothing_more(&mut self) -> Result<(), StoreError> {
        self.state = State::Done;
        self.offset = self.next_offset;
        let mut bytes = Vec::new();
        self.read(1, &mut bytes)?;
        if bytes.is_empty() {
            Ok(())
        } else {
            Err(self.corrupt("there is data after the end of the run".to_owned()))
        }
    }

    fn pass_begin(&mut self, payload: &[u8]) -> Result<Entry, StoreError> {
        let begin: PassBegin = self.json(payload)?;
        if let Some((open, _)) = self.pass {
            return Err(
                self.corrupt(format!("pass {} begins before pass {open} ended", begin.pass))
            );
        }
        self.pass = Some((begin.pass, 0));
        Ok(Entry::PassBegin(begin))
    }

    fn observed(&mut self, payload: &[u8]) -> Result<Entry, StoreError> {
        if self.pass.is_none() {
            return Err(self.corrupt("its samples belong to no pass".to_owned()));
        }
        self.json(payload).map(|observed| Entry::Observed(Box::new(observed)))
    }

    fn pass_end(&mut self, payload: &[u8]) -> Result<Entry, StoreError> {
        let end: PassEnd = self.json(payload)?;
        if self.pass != Some((end.pass, end.records)) {
            let PassEnd { pass, records, .. } = end;
            return Err(self.corrupt(match self.pass {
                None => format!("pass {pass} ends, but it has not begun"),
                Some((open, read)) => format!(
                    "pass {pass} ends with {records} records, but pass {open} had {read} so far"
                ),
            }));
        }
        self.pass = None;
        Ok(Entry::PassEnd(end))
    }

    fn load(&mut self, payload: &[u8]) -> Result<(), StoreError> {
        let mut records = batch::decode(payload, self.header.format)
            .map_err(|malformed| self.corrupt(malformed.0))?;
        let Some((open, count)) = self.pass else {
            return Err(self.corrupt("its records belong to no pass".to_owned()));
        };
        if let Some(stray) = records.iter().find(|record| record.pass != open) {
            return Err(
                self.corrupt(format!("it has a record of pass {} in pass {open}", stray.pass))
            );
        }
        self.pass = Some((open, count + records.len() as u64));
        if self.header.format < 4 {
            records.iter_mut().for_each(|record| record.streamed = self.streamed);
        }
        self.records = records.into_iter();
        Ok(())
    }

    fn load_never_begun(&mut self, payload: &[u8]) -> Result<(), StoreError> {
        let (record, count) = batch::decode_never_begun(payload, self.header.format)
            .map_err(|malformed| self.corrupt(malformed.0))?;
        match &mut self.pass {
            Some((open, records)) if *open == record.pass => *records += u64::from(count),
            _ => return Err(self.corrupt("its records belong to no pass".to_owned())),
        }
        self.never_begun = Some((record, count));
        Ok(())
    }

    /// The record of the next request of a range of requests that never began.
    fn next_never_begun(&mut self) -> Option<Record> {
        let (record, left) = self.never_begun.take()?;
        if left > 1 {
            let next = Record { index: record.index + 1, ..record.clone() };
            self.never_begun = Some((next, left - 1));
        }
        Some(record)
    }
}

impl Iterator for LogReader {
    type Item = Result<Entry, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.records.next().or_else(|| self.next_never_begun()) {
                return Some(Ok(Entry::Record(Box::new(record))));
            }
            if self.state == State::Done {
                return None;
            }
            match self.step() {
                Ok(None) => {}
                Ok(Some(entry)) => return Some(Ok(entry)),
                Err(error) => {
                    self.state = State::Done;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// Reads `count` bytes, or fewer at the end of the file. Memory grows with the bytes that the file has, not
/// with `count`.
fn read_up_to(file: &mut BufReader<File>, count: usize, into: &mut Vec<u8>) -> std::io::Result<()> {
    file.take(count as u64).read_to_end(into).map(drop)
}
