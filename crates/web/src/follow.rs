//! Reads the log of a run in progress; each look continues where the last one ended. It keeps no records and writes
//! nothing.

use std::time::Duration;

use inferometer_analysis::so_far::SoFar;
use inferometer_model::cell::which;
use inferometer_net::{Nanos, monotonic_now};
use inferometer_store::{Ending, Entry, LogReader, PassBegin, StoreError};

/// Most log entries that one look reads, and the longest time it takes, so that pages stay fast.
const MAX_ENTRIES: usize = 20_000;
const MAX_LOOK: Duration = Duration::from_millis(200);
/// Entries between two readings of the clock.
const ENTRIES_PER_CLOCK: usize = 64;

/// A log that grows.
pub(crate) struct Follow {
    reader: LogReader,
    /// Whether its passes are trials of a search.
    is_search: bool,
    passes: Vec<PassSoFar>,
    ending: Option<Ending>,
    /// Whether the last look stopped before the end of the log.
    is_behind: bool,
    /// When it was last looked at.
    looked_at: Nanos,
}

/// A pass, as far as it is recorded.
pub(crate) struct PassSoFar {
    pub(crate) begin: PassBegin,
    /// Its name for people: `128 x 32, saturated`.
    pub(crate) name: String,
    pub(crate) ending: Option<Ending>,
    pub(crate) so_far: SoFar,
}

impl Follow {
    /// A log of which nothing has been read yet.
    pub(crate) fn of(reader: LogReader, is_search: bool) -> Self {
        Self {
            reader,
            is_search,
            passes: Vec::new(),
            ending: None,
            is_behind: false,
            looked_at: monotonic_now(),
        }
    }

    /// Reads to the end of the log, or until a limit is reached.
    ///
    /// # Errors
    /// As [`LogReader`]. A log that ends inside an entry is no error: it is still being written.
    pub(crate) fn look(&mut self) -> Result<(), StoreError> {
        (self.is_behind, self.looked_at) = (false, monotonic_now());
        for read in 0.. {
            let is_late = read % ENTRIES_PER_CLOCK == ENTRIES_PER_CLOCK - 1
                && monotonic_now().since(self.looked_at) > MAX_LOOK;
            if read == MAX_ENTRIES || is_late {
                self.is_behind = true;
                break;
            }
            match self.reader.next() {
                Some(Ok(entry)) => self.take(entry),
                Some(Err(error)) if error.is_cut() => {
                    self.reader.read_on()?;
                    break;
                }
                Some(Err(error)) => return Err(error),
                None => break,
            }
        }
        Ok(())
    }

    fn take(&mut self, entry: Entry) {
        match (entry, self.passes.last_mut()) {
            (Entry::PassBegin(begin), _) => {
                let nth = which(self.is_search, begin.repeat);
                let name = format!("{}, {}{nth}", begin.cell, begin.plan.load());
                self.passes.push(PassSoFar { begin, name, ending: None, so_far: SoFar::default() });
            }
            (Entry::Record(record), Some(pass)) => pass.so_far.add(&record),
            (Entry::Observed(observed), Some(pass)) => {
                let last = observed.samples.into_iter().rev().find_map(|sample| sample.server);
                pass.so_far.server = last.or_else(|| pass.so_far.server.take());
            }
            (Entry::PassEnd(end), Some(pass)) => pass.ending = Some(end.ending),
            (Entry::RunEnd(ending), _) => self.ending = Some(ending),
            // The reader returns no entry of a pass that has not begun.
            (Entry::Record(_) | Entry::Observed(_) | Entry::PassEnd(_), None) => {}
        }
    }

    /// When it was last looked at.
    pub(crate) fn looked_at(&self) -> Nanos {
        self.looked_at
    }

    /// The passes so far.
    pub(crate) fn passes(&self) -> &[PassSoFar] {
        &self.passes
    }

    /// How the run ended, if it did.
    pub(crate) fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Whether there is more to read now.
    pub(crate) fn is_behind(&self) -> bool {
        self.is_behind
    }
}
