//! Reads the log of a run in progress. Each read continues where the previous one ended. Statistics of
//! the records are stored, but not the records themselves. Nothing is written.

use std::time::Duration;

use inferometer_analysis::so_far::SoFar;
use inferometer_model::{Timeline, cell::trial_or_repeat_suffix};
use inferometer_net::{Nanos, monotonic_now};
use inferometer_store::{Ending, Entry, LogReader, PassBegin, StoreError};

/// The maximum number of log entries that one call of [`Follow::look`] reads, and its time limit. Both keep
/// pages fast.
const MAX_ENTRIES: usize = 20_000;
const MAX_LOOK: Duration = Duration::from_millis(200);
/// The number of entries that are read between two readings of the clock.
const ENTRIES_PER_CLOCK: usize = 64;

/// The log of a run in progress, and the statistics of the entries that were read so far.
pub(crate) struct Follow {
    reader: LogReader,
    /// Whether the passes are trials of a search or a sweep.
    is_search: bool,
    /// The passes that have begun so far.
    pub(crate) passes: Vec<PassSoFar>,
    /// How the run ended; `None` if the log has no end yet.
    pub(crate) ending: Option<Ending>,
    /// Whether the last call of [`Follow::look`] stopped before the end of the log.
    pub(crate) is_behind: bool,
    /// The time of the last call of [`Follow::look`], or of the creation.
    pub(crate) looked_at: Nanos,
}

/// The recorded part of a pass.
pub(crate) struct PassSoFar {
    pub(crate) begin: PassBegin,
    /// The name for people: `128 x 32, saturated`.
    pub(crate) name: String,
    pub(crate) ending: Option<Ending>,
    pub(crate) so_far: SoFar,
}

impl Follow {
    /// Begins at the current position of `reader`, without reading an entry.
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
    /// The errors of [`LogReader`]. A log that ends within an entry is not an error, because the run is
    /// still writing it.
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
                let nth = trial_or_repeat_suffix(self.is_search, begin.repeat);
                let name = format!("{}, {}{nth}", begin.cell, begin.plan);
                self.passes.push(PassSoFar { begin, name, ending: None, so_far: SoFar::default() });
            }
            (Entry::Record(record), Some(pass)) => pass.so_far.add(&Timeline::new(&record)),
            (Entry::Observed(observed), Some(pass)) => {
                let last = observed.samples.into_iter().rev().find_map(|sample| sample.server);
                pass.so_far.server = last.or_else(|| pass.so_far.server.take());
            }
            (Entry::PassEnd(end), Some(pass)) => pass.ending = Some(end.ending),
            (Entry::RunEnd(ending), _) => self.ending = Some(ending),
            // The reader returns no entries of a pass before the entry for its beginning, so this does
            // not happen.
            (Entry::Record(_) | Entry::Observed(_) | Entry::PassEnd(_), None) => {}
        }
    }
}
