//! The thread of one connection: it answers the messages of a rank and passes the rank's records on.

use std::{io, time::Duration};

use inferometer_net::{Nanos, monotonic_now};

use super::{RankLost, rank_states::Shared};
use crate::link::{Link, in_words};
use crate::message::{Down, Progress, Up};

/// A rank counts as lost if it sends nothing for this long. In a run of up to 1,250 ranks, a rank sends a message at
/// least every 250 ms. In a run of 100,000 ranks, it sends one at least every 20 s (see `pace`).
pub const LOST_AFTER: Duration = Duration::from_secs(30);

/// Answers the messages of a rank until the end of the run. If the connection fails earlier, or the rank is silent for
/// [`LOST_AFTER`], the rank counts as lost.
pub fn serve(shared: &Shared, number: u32, link: &mut Link) {
    let lost = loop {
        match answer(shared, number, link) {
            Ok(false) => {}
            Ok(true) => break None,
            Err(error) => break Some(in_words(&error, LOST_AFTER)),
        }
    };
    if let Some(why) = lost {
        shared.lock().lose(number, RankLost::Unreachable(why));
    }
    shared.changed();
}

/// Receives and answers the next message. Returns whether the message was the last one.
fn answer(shared: &Shared, number: u32, link: &mut Link) -> io::Result<bool> {
    let up: Up = link.receive(LOST_AFTER)?;
    // Read the clock first: the clock comparison needs an instant between the rank's message and this answer.
    let clock = monotonic_now();
    let (down, is_last) = reply(shared, number, up, clock);
    link.send(&down, LOST_AFTER)?;
    Ok(is_last)
}

/// Processes a message that arrived when rank 0's clock showed `clock`. Returns the answer, and whether this is the
/// last answer.
pub fn reply(shared: &Shared, number: u32, up: Up, clock: Nanos) -> (Down, bool) {
    let (mut is_last, mut sink) = (false, None);
    let (has, is_free, records) = match up {
        Up::Ping { order, progress } => {
            let mut states = shared.lock();
            let is_done = matches!(progress, Progress::Done(_));
            is_last = is_done && states.ends() && order == states.order();
            sink = states.hear(number, order, progress);
            (order, is_done || order == 0, Vec::new())
        }
        Up::Records { order, records } => (order, false, records),
        Up::Failed { why } => {
            shared.lock().lose(number, RankLost::Failed(why));
            is_last = true;
            (0, false, Vec::new())
        }
    };
    // Dropping a sink may wait for other threads, so the state must not be locked here.
    drop(sink);
    if !records.is_empty() {
        let sink = shared.lock().take_sink(number, has);
        if let Some(mut sink) = sink {
            sink(records);
            let unused = shared.lock().bring_back(number, has, sink);
            drop(unused);
        }
    }
    shared.changed();
    let down = {
        let states = shared.lock();
        // Each rank receives the orders one after the other. No order is skipped, even if the next one exists
        // already.
        let what = states.after(has).filter(|_| is_free).cloned();
        Down {
            clock,
            order: has + u64::from(what.is_some()),
            what,
            start: states.start.filter(|_| states.order() == has),
            stop: shared.is_interrupted() || states.stops(),
        }
    };
    (down, is_last)
}
