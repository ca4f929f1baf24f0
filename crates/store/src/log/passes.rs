//! Reads the passes of a run log, one after another. Each pass is read as a stream of records, with only one
//! batch in memory, or as a whole. Damage is an error of the reader: nothing is repaired or skipped.

use std::path::Path;

use inferometer_model::{Observed, Record};

use super::{Entry, LogHeader, PassBegin, PassEnd, reader::LogReader};
use crate::StoreError;

/// The passes of one log, in the order in which they were measured.
///
/// As an iterator, it yields whole passes. For passes that may not fit into memory, [`Passes::next_pass`]
/// streams the records. A cut log is not an error: the passes end, and [`Passes::cut`] contains the position.
/// If the cut is within the last pass, this pass has no [`PassEnd`]. For a log that is still being written,
/// use [`LogReader`], because it can read on after a cut.
pub struct Passes {
    log: LogReader,
    /// The position at which the log is cut, as [`StoreError::LogCut`]; `None` as long as the reader has
    /// not reached such a position.
    pub cut: Option<StoreError>,
}

/// A pass of a log with all its records.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedPass {
    /// The number, the cell and the load of the pass.
    pub begin: PassBegin,
    /// The records of the pass, in the order of the log.
    pub records: Vec<Record>,
    /// The samples of the server and of the cards.
    pub observed: Observed,
    /// How the pass ended; absent if the log is cut within the pass.
    pub end: Option<PassEnd>,
}

/// Opens a log and reads its header. The returned value reads the passes.
///
/// # Errors
/// As [`LogReader::open`].
pub fn passes(log: impl AsRef<Path>) -> Result<Passes, StoreError> {
    LogReader::open(log).map(Passes::from)
}

impl From<LogReader> for Passes {
    fn from(log: LogReader) -> Self {
        Self { log, cut: None }
    }
}

/// An entry within a pass.
#[derive(Clone, Debug, PartialEq)]
pub enum PassItem {
    /// The record of one request.
    Record(Box<Record>),
    /// Samples of the server and of the cards; a long pass has several of these.
    Observed(Box<Observed>),
}

/// The items of one pass, read on demand.
pub struct PassStream<'a> {
    begin: PassBegin,
    passes: &'a mut Passes,
    end: Option<PassEnd>,
    is_over: bool,
}

impl Passes {
    /// The header of the log.
    pub fn header(&self) -> &LogHeader {
        self.log.header()
    }

    /// The next pass as a stream; `None` at the end of the run or where the log is cut. Unread items of
    /// the previous pass are skipped.
    ///
    /// # Errors
    /// As [`LogReader`], but without [`StoreError::LogCut`].
    pub fn next_pass(&mut self) -> Option<Result<PassStream<'_>, StoreError>> {
        loop {
            match self.log.next()? {
                Ok(Entry::PassBegin(begin)) => {
                    return Some(Ok(PassStream { begin, passes: self, end: None, is_over: false }));
                }
                Ok(_) => {}
                Err(error) if error.is_cut() => self.cut = Some(error),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Iterator for Passes {
    type Item = Result<LoggedPass, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.next_pass()?.and_then(PassStream::read))
    }
}

impl PassStream<'_> {
    /// The cell, the load and the number of the pass.
    pub fn begin(&self) -> &PassBegin {
        &self.begin
    }

    /// How the pass ended; `None` before the iterator has ended, or if the log is cut within the pass.
    pub fn end(&self) -> Option<&PassEnd> {
        self.end.as_ref()
    }

    /// Reads the rest of the pass into memory.
    ///
    /// # Errors
    /// As [`LogReader`], but without [`StoreError::LogCut`].
    pub fn read(mut self) -> Result<LoggedPass, StoreError> {
        let (mut records, mut observed) = (Vec::new(), Observed::default());
        for item in &mut self {
            match item? {
                PassItem::Record(record) => records.push(*record),
                PassItem::Observed(part) => observed.extend(*part),
            }
        }
        Ok(LoggedPass { begin: self.begin, records, observed, end: self.end })
    }
}

impl Iterator for PassStream<'_> {
    type Item = Result<PassItem, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        self.is_over = true;
        match self.passes.log.next()? {
            Ok(Entry::Record(record)) => {
                self.is_over = false;
                Some(Ok(PassItem::Record(record)))
            }
            Ok(Entry::Observed(observed)) => {
                self.is_over = false;
                Some(Ok(PassItem::Observed(observed)))
            }
            Ok(Entry::PassEnd(end)) => {
                self.end = Some(end);
                None
            }
            // The reader returns an error for these entries within a pass, so they do not occur.
            Ok(Entry::PassBegin(_) | Entry::RunEnd(_)) => None,
            Err(error) if error.is_cut() => {
                self.passes.cut = Some(error);
                None
            }
            Err(error) => Some(Err(error)),
        }
    }
}
