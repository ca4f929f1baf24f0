//! Reports steps that take longer than a moment.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::events::Events;

/// A moment: what is over sooner needs no line.
const MOMENT: Duration = Duration::from_secs(2);

/// Does something, and says what it is once it takes longer than a moment.
pub(crate) fn told_if_slow<T>(events: &Events, what: &str, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (done, is_done) = channel::<()>();
        scope.spawn(move || {
            if is_done.recv_timeout(MOMENT) == Err(RecvTimeoutError::Timeout) {
                events.say(what);
            }
        });
        let result = work();
        drop(done);
        result
    })
}
