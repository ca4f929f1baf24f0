//! A run in progress as its log tells of it: read on from where the last look ended. It keeps no
//! record, and writes nothing.

use std::path::Path;
use std::time::Duration;

use inferometer_analysis::so_far::SoFar;
use inferometer_model::cell::which;
use inferometer_net::{Nanos, monotonic_now};
use inferometer_store::{Ending, Entry, LogReader, PassBegin, StoreError};

/// The most entries of a log that one look reads, and the longest that it takes, so that no reader
/// waits long for a page.
const MOST_ENTRIES: usize = 20_000;
const LONGEST_LOOK: Duration = Duration::from_millis(200);
/// Entries between two looks at the clock.
const BY_THE_CLOCK: usize = 64;

/// A log that is followed.
pub(crate) struct Follow {
    reader: LogReader,
    /// Whether answers of this run are streams.
    streamed: bool,
    /// Whether its passes are trials of a search.
    is_search: bool,
    passes: Vec<Seen>,
    ending: Option<Ending>,
    /// Whether the last look ended before what was there did.
    is_behind: bool,
    /// When it was last looked at.
    looked_at: Nanos,
}

/// A pass, as far as it was recorded.
pub(crate) struct Seen {
    pub(crate) begin: PassBegin,
    /// How people call it: `128 x 32, saturated`.
    pub(crate) place: String,
    pub(crate) ending: Option<Ending>,
    pub(crate) so_far: SoFar,
}

impl Follow {
    /// Begins with a log.
    ///
    /// # Errors
    /// As [`LogReader::open`].
    pub(crate) fn open(log: &Path, streamed: bool, is_search: bool) -> Result<Self, StoreError> {
        let reader = LogReader::open(log)?;
        Ok(Self {
            reader,
            streamed,
            is_search,
            passes: Vec::new(),
            ending: None,
            is_behind: false,
            looked_at: monotonic_now(),
        })
    }

    /// Reads on.
    ///
    /// # Errors
    /// As [`LogReader`] has them, but for a log that is cut: that is one that still grows.
    pub(crate) fn look(&mut self) -> Result<(), StoreError> {
        (self.is_behind, self.looked_at) = (false, monotonic_now());
        for read in 0.. {
            let is_late = read % BY_THE_CLOCK == BY_THE_CLOCK - 1
                && monotonic_now().since(self.looked_at) > LONGEST_LOOK;
            if read == MOST_ENTRIES || is_late {
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
                let so_far = SoFar::new(self.streamed);
                let nth = which(self.is_search, begin.repeat);
                let place = format!("{}, {}{nth}", begin.cell, begin.plan.load());
                self.passes.push(Seen { begin, place, ending: None, so_far });
            }
            (Entry::Record(record), Some(pass)) => pass.so_far.add(&record),
            (Entry::Observed(said), Some(pass)) => {
                let last = said.samples.into_iter().rev().find_map(|sample| sample.server);
                pass.so_far.server = last.or_else(|| pass.so_far.server.take());
            }
            (Entry::PassEnd(end), Some(pass)) => pass.ending = Some(end.ending),
            (Entry::RunEnd(ending), _) => self.ending = Some(ending),
            // The reader gives nothing of a pass that did not begin.
            (Entry::Record(_) | Entry::Observed(_) | Entry::PassEnd(_), None) => {}
        }
    }

    /// When it was last looked at.
    pub(crate) fn looked_at(&self) -> Nanos {
        self.looked_at
    }

    /// The passes so far.
    pub(crate) fn passes(&self) -> &[Seen] {
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
