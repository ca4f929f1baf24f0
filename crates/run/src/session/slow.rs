//! Reports steps that take longer than two seconds.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::{thread, time::Duration};

use inferometer_net::spawn_scoped;
use inferometer_report::progress::{Notice, SlowStep};

use crate::Events;

/// A step that takes less time than this needs no message.
const MOMENT: Duration = Duration::from_secs(2);

/// Runs `work`; if it takes longer than [`MOMENT`], tells the step.
pub(crate) fn report_if_slow<T>(events: &Events, step: SlowStep, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (done, is_done) = channel::<()>();
        // If the system refuses the thread, the work is done without a message.
        let _ = spawn_scoped(scope, move || {
            if is_done.recv_timeout(MOMENT) == Err(RecvTimeoutError::Timeout) {
                events.say(&Notice::Slow { step });
            }
        });
        let result = work();
        drop(done);
        result
    })
}
