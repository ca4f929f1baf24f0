//! A run that is being recorded: its row in the database, its log, and the index of its requests. The log is
//! always written first, so each request with a row in the database is also in the log. This module computes
//! no figure.

use std::{borrow::BorrowMut, path::PathBuf};

use inferometer_analysis::Summary;
use inferometer_model::{Observed, Process, Record};

use crate::{
    Ending, ImportHeader, LiveNote, LogHeader, LogWriter, PassBegin, RowFigures, RunHeader, RunId,
    RunState, Store, StoreError, db::RowLimits, into_stored,
};

/// The maximum number of records that are added to the index in one transaction. Each transaction waits for
/// the storage device, so small transactions would be slow.
const INDEX_BATCH: usize = 4_096;

/// A run that is being recorded into a store. The value owns or borrows the store.
///
/// If the value is dropped before [`RunRecording::finish`], the run counts as killed. The store then has at
/// least all records up to the last [`RunRecording::flush`].
pub struct RunRecording<S = Store> {
    store: S,
    run: RunId,
    log: LogWriter,
    /// Records in the log that have no row yet, without their reads and events.
    unindexed: Vec<(Record, RowFigures)>,
    is_predicted: bool,
    /// Which further requests of the current pass have rows.
    limits: RowLimits,
}

impl<S: BorrowMut<Store>> RunRecording<S> {
    /// Adds the run to the database in the state `running`, and creates its log.
    ///
    /// # Errors
    /// [`StoreError::RunExists`] if another run began in the same second and has the same suffix,
    /// [`StoreError::Database`], [`StoreError::LogExists`], [`StoreError::Io`].
    pub fn begin(mut store: S, header: &RunHeader) -> Result<Self, StoreError> {
        let run = store.borrow_mut().begin_run(header)?;
        Self::with_log(store, run, header.origin_unix_ns, header.predicted)
    }

    /// As [`RunRecording::begin`], for imported results.
    ///
    /// # Errors
    /// As [`RunRecording::begin`].
    pub fn begin_import(mut store: S, header: &ImportHeader) -> Result<Self, StoreError> {
        let run = store.borrow_mut().begin_import(header)?;
        Self::with_log(store, run, header.imported_unix_ns, false)
    }

    fn with_log(
        store: S,
        run: RunId,
        origin_unix_ns: i64,
        is_predicted: bool,
    ) -> Result<Self, StoreError> {
        let header = LogHeader::new(run.as_str(), origin_unix_ns);
        let log = LogWriter::create(store.borrow().log_path(&run), &header)?;
        let unindexed = Vec::new();
        let limits = RowLimits::of_pass(is_predicted);
        Ok(Self { store, run, log, unindexed, is_predicted, limits })
    }

    /// The run's identity.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The path of the run's log.
    pub fn log_path(&self) -> PathBuf {
        self.store.borrow().log_path(&self.run)
    }

    /// The path of the [`LiveNote`] of the run.
    pub fn live_note_path(&self) -> PathBuf {
        self.store.borrow().live_note(&self.run)
    }

    /// Begins a pass.
    ///
    /// # Errors
    /// As [`LogWriter::begin_pass`].
    pub fn begin_pass(&mut self, pass: &PassBegin) -> Result<(), StoreError> {
        self.limits = RowLimits::of_pass(self.is_predicted);
        self.log.begin_pass(pass)
    }

    /// Adds the record of one request of the pass. The next [`RunRecording::flush`] writes the record to the
    /// storage device and to the index. A full batch is flushed automatically.
    ///
    /// # Errors
    /// As [`LogWriter::append`] and [`RunRecording::flush`].
    pub fn append(&mut self, record: Record) -> Result<(), StoreError> {
        let (record, figures) = RowFigures::read(into_stored(record));
        self.append_read(record, figures)
    }

    /// As [`RunRecording::append`], for a record in its stored form that was read for other uses too.
    ///
    /// # Errors
    /// As [`RunRecording::append`].
    pub fn append_read(&mut self, record: Record, figures: RowFigures) -> Result<(), StoreError> {
        self.log.append(&record)?;
        if self.limits.admits(&record) { self.add_row(record, figures) } else { Ok(()) }
    }

    /// Adds the records of `count` requests that differ only in their index. The indices count up from the
    /// index of `record`. If `count` is above 1, none of the requests may have begun.
    ///
    /// # Errors
    /// As [`LogWriter::append_never_begun`] and [`RunRecording::flush`].
    pub fn append_repeated(&mut self, mut record: Record, count: u32) -> Result<(), StoreError> {
        if count == 1 {
            return self.append(record);
        }
        self.log.append_never_begun(&record, count)?;
        for _ in 0..count {
            if !self.limits.admits(&record) {
                break;
            }
            let next = Record { index: record.index.wrapping_add(1), ..record.clone() };
            self.add_row(std::mem::replace(&mut record, next), RowFigures::default())?;
        }
        Ok(())
    }

    /// Adds a record to the next batch of the index.
    fn add_row(&mut self, record: Record, figures: RowFigures) -> Result<(), StoreError> {
        self.unindexed.push((Record { reads: Vec::new(), events: Vec::new(), ..record }, figures));
        if self.unindexed.len() >= INDEX_BATCH { self.flush() } else { Ok(()) }
    }

    /// Writes all records so far to the storage device, and then adds their rows to the index.
    ///
    /// # Errors
    /// As [`LogWriter::flush`], [`Store::check_file`] and [`Store::index_requests`].
    pub fn flush(&mut self) -> Result<(), StoreError> {
        self.log.flush()?;
        if self.unindexed.is_empty() {
            return Ok(());
        }
        self.store.borrow().check_file(&self.run)?;
        let rows = std::mem::take(&mut self.unindexed);
        self.store.borrow_mut().index_read_requests(&self.run, rows)
    }

    /// Ends the pass, and writes its samples and the client's resource use.
    ///
    /// # Errors
    /// As [`RunRecording::flush`], [`LogWriter::observed`] and [`LogWriter::end_pass`].
    pub fn end_pass(
        &mut self,
        ending: Ending,
        process: Option<Process>,
        observed: &Observed,
    ) -> Result<(), StoreError> {
        self.flush()?;
        self.log.observed(observed)?;
        self.log.end_pass(ending, process)
    }

    /// Ends the run with its results, and returns the store.
    ///
    /// # Errors
    /// As [`LogWriter::finish`], [`Store::check_file`] and [`Store::finish_run`].
    pub fn finish(
        self,
        ending: Ending,
        summary: &Summary,
        state: RunState,
        finished_unix_ns: i64,
    ) -> Result<S, StoreError> {
        let note = self.live_note_path();
        let Self { mut store, run, log, .. } = self;
        log.finish(ending)?;
        store.borrow().check_file(&run)?;
        LiveNote::remove(&note);
        store.borrow_mut().finish_run(&run, summary, state, finished_unix_ns)?;
        Ok(store)
    }
}
