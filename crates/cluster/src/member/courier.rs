//! The thread that talks with rank 0: asks for the time and for orders, and brings records. Over which line, and by
//! which clock, is not decided here.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use inferometer_model::record::Record;
use inferometer_model::time::Nanos;
use inferometer_net::monotonic_now;

use super::desk::{Desk, State};
use crate::clock::{Clock, Exchange};
use crate::link::{Link, in_words};
use crate::message::{ClockReport, Down, Order, Sent, Up};
use crate::pace::{self, WaitsFor};

/// Rank 0 is lost when it does not answer for so long.
const LOST_AFTER: Duration = Duration::from_secs(30);
/// Exchanges in a row when the clocks are first compared with each other, and after each pass.
const BURST: u32 = 16;
/// The most records of a message, and the most of their reads and events.
const MOST_RECORDS: usize = 4_096;
const MOST_ROWS: usize = 500_000;

/// The way to rank 0, and the clock that its answers are held against.
pub trait Line {
    /// What this rank's clock shows.
    fn now(&self) -> Nanos;

    /// A question and its answer.
    ///
    /// # Errors
    /// When rank 0 does not answer in time.
    fn ask(&mut self, up: &Up) -> io::Result<Down>;

    /// Lets so much time pass, less where there is news.
    fn wait(&mut self, desk: &Desk, most: Duration);
}

impl Line for Link {
    fn now(&self) -> Nanos {
        monotonic_now()
    }

    fn ask(&mut self, up: &Up) -> io::Result<Down> {
        self.send(up, LOST_AFTER)?;
        self.receive(LOST_AFTER)
    }

    fn wait(&mut self, desk: &Desk, most: Duration) {
        let state = desk.lock();
        // News that came meanwhile woke nobody.
        if !state.has_news() {
            drop(desk.wait(state, most));
        }
    }
}

/// Talks with rank 0 until the run is over, for one of so many ranks.
pub fn carry<L: Line>(line: L, desk: &Arc<Desk>, ranks: u32) {
    let mut courier = Courier {
        line,
        ranks,
        clock: Clock::default(),
        least: u64::MAX,
        longest: 0,
        bound: 0,
        start: None,
    };
    let ended = courier.run(desk);
    let mut state = desk.lock();
    if let Err(error) = ended {
        let why = format!("rank 0 is lost: it {}", in_words(&error, LOST_AFTER));
        state.lost = Some(why);
        state.stop();
    }
    state.left = true;
    drop(state);
    desk.changed();
}

/// When the pass started.
#[derive(Clone, Copy)]
struct PassStart {
    /// By rank 0's clock.
    at: Nanos,
    /// By this clock.
    here: Nanos,
    /// Whether requests are due at offsets from it that the plan gives.
    is_scheduled: bool,
}

struct Courier<L> {
    line: L,
    ranks: u32,
    clock: Clock,
    /// The least round trip so far, in nanoseconds.
    least: u64,
    /// The longest round trip since the order, in nanoseconds.
    longest: u64,
    /// The largest bound of a record of the pass.
    bound: u64,
    /// The start of the pass.
    start: Option<PassStart>,
}

impl<L: Line> Courier<L> {
    fn run(&mut self, desk: &Desk) -> io::Result<()> {
        for _ in 0..BURST {
            self.ask(desk)?;
        }
        loop {
            let mut batch = Vec::new();
            let is_over = self.collect(desk, &mut batch);
            // Instants of the records that were just collected lie before this exchange.
            self.ask(desk)?;
            if !batch.is_empty() {
                self.bring(desk, batch)?;
            }
            if is_over {
                for _ in 0..BURST {
                    self.ask(desk)?;
                }
                let clock = self.report();
                let mut state = desk.lock();
                if let Some(mut report) = state.played.take() {
                    report.clock = clock;
                    state.done = Some(Some(Box::new(report)));
                }
                drop(state);
                self.ask(desk)?;
            }
            let mut state = desk.lock();
            if let Some(why) = state.failed.take() {
                drop(state);
                self.line.ask(&Up::Failed { why })?;
                return Ok(());
            }
            if matches!(state.what, Some(Order::End { .. })) && state.told {
                return Ok(());
            }
            let waits_for_start = state.prepared.is_some() && state.start.is_none();
            let waits_for = match (waits_for_start, state.told || state.order == 0) {
                (true, _) => WaitsFor::Start,
                (false, true) => WaitsFor::Order,
                (false, false) => WaitsFor::Nothing,
            };
            let has_news = state.has_news();
            drop(state);
            if !has_news {
                self.line.wait(desk, pace::period(waits_for, self.ranks));
            }
        }
    }

    /// Takes the records that are there. Says whether the pass was played and these are its last.
    fn collect(&mut self, desk: &Desk, batch: &mut Vec<Sent>) -> bool {
        let mut state = desk.lock();
        let is_played = state.played.is_some();
        let Some(mut records) = state.records.take() else { return is_played };
        drop(state);
        let mut rows = 0;
        while batch.len() < MOST_RECORDS && rows < MOST_ROWS {
            match records() {
                Ok(Some(sent)) => {
                    rows += sent.record.reads.len() + sent.record.events.len();
                    batch.push(sent);
                }
                Ok(None) => break,
                Err(_) => return is_played,
            }
        }
        desk.lock().records = Some(records);
        false
    }

    /// One question and its answer.
    fn ask(&mut self, desk: &Desk) -> io::Result<()> {
        let (order, progress) = {
            let state = desk.lock();
            (state.order, state.progress(self.longest))
        };
        let is_done = matches!(progress, crate::message::Progress::Done(_));
        let sent = self.line.now();
        let down = self.line.ask(&Up::Ping { order, progress })?;
        let exchange = Exchange { sent, reference: down.clock, received: self.line.now() };
        self.least = self.least.min(exchange.round_trip_ns());
        self.longest = self.longest.max(exchange.round_trip_ns());
        self.clock.add(exchange);
        let mut state = desk.lock();
        state.told |= is_done && state.order == order;
        self.hear(&mut state, down);
        drop(state);
        desk.changed();
        Ok(())
    }

    fn hear(&mut self, state: &mut State, Down { order, what, start, stop, .. }: Down) {
        if let Some(what) = what.filter(|_| order != state.order) {
            state.take_order(order, what);
            (self.bound, self.longest, self.start) = (0, 0, None);
        }
        if let Some(at) = start.filter(|_| order == state.order && state.start.is_none()) {
            state.start = self.clock.to_local(at);
            let is_scheduled = state.is_scheduled;
            self.start = state.start.map(|here| PassStart { at, here, is_scheduled });
        }
        if stop && !state.stopped {
            state.stop();
        }
    }

    fn bring(&mut self, desk: &Desk, mut records: Vec<Sent>) -> io::Result<()> {
        for sent in &mut records {
            self.shift(&mut sent.record);
        }
        let order = desk.lock().order;
        let down = self.line.ask(&Up::Records { order, records })?;
        self.hear(&mut desk.lock(), down);
        desk.changed();
        Ok(())
    }

    /// Moves the instants of a record to rank 0's axis: all by the same time, so that what lies between them
    /// is what this clock measured.
    fn shift(&mut self, record: &mut Record) {
        let at = record.picked.unwrap_or(record.due);
        let Some(offset) = self.clock.offset(at) else { return };
        self.bound = self.bound.max(offset.bound_ns);
        let due = record.due;
        record.shift(offset.ns);
        // By the plan it is due so long after the start, by rank 0's clock, however this one drifts.
        if let Some(PassStart { at, here, is_scheduled: true }) = self.start {
            let planned = at + due.since(here);
            record.due = record.picked.map_or(planned, |picked| planned.min(picked));
        }
    }

    fn report(&self) -> ClockReport {
        let offset = self.clock.offset(self.line.now());
        ClockReport {
            offset_ns: offset.map_or(0, |offset| offset.ns),
            bound_ns: self.bound.max(offset.map_or(0, |offset| offset.bound_ns)),
            drift_ppm: self.clock.drift().map(|drift| (drift.ppm, drift.bound_ppm)),
            round_trip_ns: self.least,
        }
    }
}
