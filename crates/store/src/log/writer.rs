//! Writes a run log. The writer never overwrites or reorders data, and never retries a write. After a
//! failed write, it writes nothing more.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use inferometer_model::{Observed, Process, Record};
use serde::Serialize;

use super::batch::{self, Batch};
use super::frame::{self, Kind, MAGIC};
use super::{Ending, LogHeader, PassBegin, PassEnd, column::PayloadWriter};
use crate::StoreError;

/// The maximum number of samples in one frame. A sample has a few hundred bytes, or a few thousand with
/// histograms. So a frame stays far below the longest payload.
const SAMPLES_PER_FRAME: usize = 10_000;

/// The writer of one run's log.
///
/// A record becomes durable in three steps. [`LogWriter::append`] stores it in memory until a batch is full.
/// The batch is then written to the kernel as one frame, and this frame survives the end of this process.
/// [`LogWriter::flush`] writes the current batch, even if it is small, and returns when the storage device
/// has it (`fdatasync`). Its records are then acknowledged: they survive a crash of the machine. The ends of
/// passes and of the run are acknowledged in the same way. So the number of records that a crash can lose
/// depends on how often the caller flushes.
pub struct LogWriter {
    file: File,
    path: PathBuf,
    batch: Batch,
    payload: PayloadWriter,
    /// The current pass, with the number of its records so far.
    pass: Option<(u32, u64)>,
    broken: bool,
}

impl LogWriter {
    /// Creates the file, which must not exist, and writes its header. When this function returns, the
    /// storage device has the file and the header.
    ///
    /// # Errors
    /// [`StoreError::LogExists`], [`StoreError::Io`].
    pub fn create(path: impl AsRef<Path>, header: &LogHeader) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        let opened = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = opened.map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => StoreError::LogExists { path: path.clone() },
            _ => StoreError::Io { action: "create", path: path.clone(), source },
        })?;
        // As long as this process lives, the lock shows other processes that the log is being written. A
        // process that checks the lock holds it for a short time, so this call may wait. On a file system
        // without locks, no process can check the lock.
        let _ = file.lock();
        let payload =
            PayloadWriter::new().map_err(StoreError::io("make a compressor for", &path))?;
        let mut writer =
            Self { file, path, batch: Batch::default(), payload, pass: None, broken: false };
        writer.write(&MAGIC)?;
        writer.frame(Kind::Header, &json(header))?;
        writer.sync()?;
        // The storage device has the name of a new file only after its folder is synchronised.
        if let Some(folder) = writer.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(StoreError::io("write", folder))?;
        }
        Ok(writer)
    }

    /// Begins a pass. [`LogWriter::append`] then adds its records.
    ///
    /// # Errors
    /// [`StoreError::LogOrder`] if another pass has not ended; [`StoreError::Io`] and
    /// [`StoreError::LogBroken`] if the write fails.
    pub fn begin_pass(&mut self, pass: &PassBegin) -> Result<(), StoreError> {
        if let Some((open, _)) = self.pass {
            return Err(self.order(format!("pass {} begins before pass {open} ended", pass.pass)));
        }
        self.frame(Kind::PassBegin, &json(pass))?;
        self.pass = Some((pass.pass, 0));
        Ok(())
    }

    /// Adds the record of one request. The record is written to the file when its batch is full or flushed.
    ///
    /// # Errors
    /// [`StoreError::InvalidRecord`] for a record that a log cannot store, [`StoreError::LogOrder`] for a
    /// record that does not belong to the current pass, [`StoreError::Io`] and [`StoreError::LogBroken`] if
    /// the write fails.
    pub fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        match &mut self.pass {
            Some((pass, records)) if *pass == record.pass => {
                self.batch.push(record).map_err(|what| StoreError::InvalidRecord {
                    pass: record.pass,
                    index: record.index,
                    what,
                })?;
                *records += 1;
            }
            _ => {
                return Err(self.order(format!(
                    "a record of pass {} was added while another pass, or no pass, was open",
                    record.pass
                )));
            }
        }
        if self.batch.is_full() { self.write_batch() } else { Ok(()) }
    }

    /// Adds the records of `count` requests of the pass that never began. They differ only in their indices,
    /// which count up from the index of `record`. Together they take about as much space as one record.
    ///
    /// # Errors
    /// As [`LogWriter::append`].
    pub fn append_never_begun(&mut self, record: &Record, count: u32) -> Result<(), StoreError> {
        self.write_batch()?;
        let Some((pass, records)) = self.pass.filter(|(pass, _)| *pass == record.pass) else {
            let what = format!("records of pass {} were added outside of this pass", record.pass);
            return Err(self.order(what));
        };
        let payload = batch::encode_never_begun(record, count, &mut self.payload);
        let payload = payload.map_err(|what| StoreError::InvalidRecord {
            pass: record.pass,
            index: record.index,
            what,
        })?;
        let payload = payload.map_err(StoreError::io("compress records for", &self.path))?;
        self.pass = Some((pass, records + u64::from(count)));
        self.frame(Kind::NeverBegun, &payload)
    }

    /// Acknowledges all records so far: when this function returns, the storage device has them.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::LogBroken`].
    pub fn flush(&mut self) -> Result<(), StoreError> {
        self.write_batch()?;
        self.sync()
    }

    /// Adds the samples of the server and of the cards during the pass, if there are any.
    ///
    /// # Errors
    /// [`StoreError::LogOrder`] outside of a pass, [`StoreError::Io`], [`StoreError::LogBroken`].
    pub fn observed(&mut self, observed: &Observed) -> Result<(), StoreError> {
        if self.pass.is_none() {
            return Err(self.order("samples were added outside of a pass".to_owned()));
        }
        self.write_batch()?;
        for (samples, part) in observed.samples.chunks(SAMPLES_PER_FRAME).zip(0..) {
            let part = Observed {
                cpu_us: if part == 0 { observed.cpu_us } else { 0 },
                samples: samples.to_vec(),
                asks_server: observed.asks_server,
                cards_named: observed.cards_named,
                sources: observed.sources.clone(),
            };
            self.frame(Kind::Observed, &json(&part))?;
        }
        Ok(())
    }

    /// Ends the pass and acknowledges its records, with the resource use of the client's process if it is known.
    ///
    /// # Errors
    /// [`StoreError::LogOrder`] outside of a pass, [`StoreError::Io`], [`StoreError::LogBroken`].
    pub fn end_pass(&mut self, ending: Ending, process: Option<Process>) -> Result<(), StoreError> {
        let Some((pass, records)) = self.pass else {
            return Err(self.order("a pass was ended, but no pass has begun".to_owned()));
        };
        self.write_batch()?;
        self.frame(Kind::PassEnd, &json(&PassEnd { pass, ending, records, process }))?;
        self.pass = None;
        self.sync()
    }

    /// Ends the log and acknowledges all of it. A log without this end mark counts as cut.
    ///
    /// # Errors
    /// [`StoreError::LogOrder`] if a pass has not ended, [`StoreError::Io`], [`StoreError::LogBroken`].
    pub fn finish(mut self, ending: Ending) -> Result<(), StoreError> {
        if let Some((open, _)) = self.pass {
            return Err(self.order(format!("the run ends before pass {open} ended")));
        }
        self.frame(Kind::RunEnd, &json(&ending))?;
        self.sync()
    }

    /// The path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn order(&self, what: String) -> StoreError {
        StoreError::LogOrder { path: self.path.clone(), what }
    }

    fn write_batch(&mut self) -> Result<(), StoreError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let payload = self.batch.encode(&mut self.payload);
        let payload = payload.map_err(StoreError::io("compress records for", &self.path))?;
        self.frame(Kind::Records, &payload)
    }

    fn frame(&mut self, kind: Kind, payload: &[u8]) -> Result<(), StoreError> {
        self.write(&frame::encode(kind, payload))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.guarded("write", |file| file.write_all(bytes))
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        // After a failed fdatasync, the kernel may have dropped the data. So a later call that succeeds does
        // not prove that the data is stored.
        self.guarded("flush", |file| {
            file.sync_data()?;
            // A file that was deleted disappears when this process ends.
            match file.metadata()?.nlink() {
                0 => {
                    Err(io::Error::new(ErrorKind::NotFound, "it was deleted while it was written"))
                }
                _ => Ok(()),
            }
        })
    }

    fn guarded(
        &mut self,
        action: &'static str,
        act: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        if self.broken {
            return Err(StoreError::LogBroken { path: self.path.clone() });
        }
        let done = act(&mut self.file);
        self.broken = done.is_err();
        done.map_err(StoreError::io(action, &self.path))
    }
}

/// Whether a process, including this one, is writing a log. The lock on the log ends with the process of its
/// writer, even if this process is killed. False if there is no log. `None` if the file exists but cannot be
/// opened, or if the file system has no locks.
pub fn is_being_written(path: &Path) -> Option<bool> {
    match File::open(path) {
        Ok(file) => match file.try_lock_shared() {
            Ok(()) => Some(false),
            Err(TryLockError::WouldBlock) => Some(true),
            Err(TryLockError::Error(_)) => None,
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Some(false),
        Err(_) => None,
    }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("invariant: this entry can always be written as JSON")
}
