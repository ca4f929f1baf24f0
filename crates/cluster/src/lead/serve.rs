//! The thread of one connection: answers what a rank asks, and hands its records on.

use std::io;
use std::time::Duration;

use inferometer_net::{Nanos, monotonic_now};

use super::board::Shared;
use crate::link::{Link, in_words};
use crate::message::{Down, Progress, Up};

/// A rank that says nothing for so long is lost. It asks four times a second.
pub const LOST_AFTER: Duration = Duration::from_secs(30);

/// Serves a rank to the end of the run. A rank whose connection ends before is lost.
pub fn serve(shared: &Shared, number: u32, link: &mut Link) {
    let lost = loop {
        match answer(shared, number, link) {
            Ok(false) => {}
            Ok(true) => break None,
            Err(error) => break Some(in_words(&error, LOST_AFTER)),
        }
    };
    if let Some(why) = lost {
        shared.lock().lose(number, format!("is lost: it {why}"));
    }
    shared.changed();
}

/// Answers the next question. Says whether it was the last.
fn answer(shared: &Shared, number: u32, link: &mut Link) -> io::Result<bool> {
    let up: Up = link.receive(LOST_AFTER)?;
    // Read before anything else: what the rank makes of it lies between its question and our answer.
    let clock = monotonic_now();
    let (down, is_last) = reply(shared, number, up, clock);
    link.send(&down, LOST_AFTER)?;
    Ok(is_last)
}

/// The answer to what a rank said, which was here when the clock of rank 0 showed `clock`. Says whether it is the last.
pub fn reply(shared: &Shared, number: u32, up: Up, clock: Nanos) -> (Down, bool) {
    let (mut is_last, mut sink) = (false, None);
    let (has, is_free, records) = match up {
        Up::Ping { order, progress } => {
            let mut board = shared.lock();
            let is_done = matches!(progress, Progress::Done(_));
            is_last = is_done && board.ends() && order == board.order();
            sink = board.hear(number, order, progress);
            (order, is_done || order == 0, Vec::new())
        }
        Up::Records { order, records } => (order, false, records),
        Up::Failed { why } => {
            shared.lock().lose(number, format!("cannot go on: {why}"));
            is_last = true;
            (0, false, Vec::new())
        }
    };
    // What a sink does at its end may wait for others.
    drop(sink);
    if !records.is_empty() {
        let sink = shared.lock().take_sink(number, has);
        if let Some(mut sink) = sink {
            sink(records);
            shared.lock().bring_back(number, sink);
        }
    }
    shared.changed();
    let down = {
        let board = shared.lock();
        // Orders are given one after the other: none is left out because the next one came soon.
        let what = board.after(has).filter(|_| is_free).cloned();
        Down {
            clock,
            order: has + u64::from(what.is_some()),
            what,
            start: board.start.filter(|_| board.order() == has),
            stop: shared.is_interrupted() || board.stops(),
        }
    };
    (down, is_last)
}
