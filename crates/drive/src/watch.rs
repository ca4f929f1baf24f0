//! Looks, now and then, whether the outcome of a pass is certain already, so that what is left of it
//! need not be waited for. What makes it certain is [`inferometer_analysis::search::Watcher`]'s.

use std::time::Duration;

use inferometer_analysis::search::Watcher;
use inferometer_metrics::RequestFigures;
use inferometer_metrics::Timeline;
use inferometer_model::record::Record;
use inferometer_model::time::Nanos;

/// How often it is looked: no pass is ended later than that.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How much older than a limit a request in flight must be: its answer may have come in time and not
/// be read yet.
const UNREAD: Duration = Duration::from_millis(100);

/// A watcher, and when it looks next.
pub(crate) struct Watch {
    watcher: Watcher,
    streamed: bool,
    next: Nanos,
}

impl Watch {
    /// `streamed` is the plan's [`inferometer_model::request::Sampling::stream`].
    pub fn new(watcher: Watcher, streamed: bool) -> Self {
        Self { watcher, streamed, next: Nanos::ZERO }
    }

    /// When it looks next.
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// Takes in a request that ended, or was not begun.
    pub fn ended(&mut self, record: &Record) {
        self.watcher.ended(&RequestFigures::of(&Timeline::new(record, self.streamed)));
    }

    /// Whether the outcome is certain, with what is in flight: each request's record so far, and
    /// when its first token came.
    pub fn is_certain<'a>(
        &mut self,
        now: Nanos,
        in_flight: impl Iterator<Item = (&'a Record, Option<Nanos>)>,
    ) -> bool {
        self.next = now + LOOK_EVERY;
        let read = now - UNREAD;
        self.watcher.is_certain(in_flight.map(|(record, first)| {
            RequestFigures::in_flight(record.index, record.due, record.send_start, first, read)
        }))
    }
}
