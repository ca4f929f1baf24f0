//! Checks from time to time whether the outcome of a pass is already certain, so that the rest can be
//! skipped. What makes it certain is decided by [`inferometer_analysis::search::Watcher`].

use std::time::Duration;

use inferometer_analysis::search::Watcher;
use inferometer_metrics::{RequestFigures, Timeline};
use inferometer_model::record::Record;
use inferometer_model::time::Nanos;

/// Time between two checks.
const CHECK_PERIOD: Duration = Duration::from_millis(50);
/// A request in flight must exceed a limit by this much: its response may have arrived in time and
/// not been read yet.
const READ_MARGIN: Duration = Duration::from_millis(100);

/// A watcher, and the time of its next check.
pub(crate) struct Watch {
    watcher: Watcher,
    next: Nanos,
}

impl Watch {
    /// Nothing seen yet.
    pub fn new(watcher: Watcher) -> Self {
        Self { watcher, next: Nanos::ZERO }
    }

    /// The time of the next check.
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// Adds a request that ended or was never begun.
    pub fn ended(&mut self, record: &Record) {
        self.watcher.ended(&RequestFigures::of(&Timeline::new(record)));
    }

    /// Whether the outcome is certain, given the requests in flight: each one's record so far, and the
    /// arrival of its first token.
    pub fn is_certain<'a>(
        &mut self,
        now: Nanos,
        in_flight: impl Iterator<Item = (&'a Record, Option<Nanos>)>,
    ) -> bool {
        self.next = now + CHECK_PERIOD;
        let read = now - READ_MARGIN;
        self.watcher.is_certain(in_flight.map(|(record, first)| {
            RequestFigures::in_flight(record.index, record.due, record.send_start, first, read)
        }))
    }
}
