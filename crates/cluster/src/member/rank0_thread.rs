//! The thread that communicates with rank 0: it compares the clocks, receives orders and sends records. The caller
//! provides the connection and the clock.

use std::{io, sync::Arc, time::Duration};

use inferometer_model::{Nanos, Record};
use inferometer_net::monotonic_now;

use super::state::{MemberState, Rank0Lost, State};
use crate::clock::{Clock, Exchange};
use crate::link::{Link, in_words};
use crate::message::{Down, Up};
use crate::pace::{self, WaitsFor};
use crate::{ClockReport, Order, SentRecord};

/// Rank 0 counts as lost if it does not answer for this long.
const LOST_AFTER: Duration = Duration::from_secs(30);
/// The number of exchanges without pauses, at the first comparison of the clocks and after each pass.
const BURST: u32 = 16;
/// The limits of one message: the number of records, and the total number of their reads and events.
const MOST_RECORDS: usize = 4_096;
const MOST_ROWS: usize = 500_000;

/// The connection to rank 0, and this rank's clock.
pub trait Rank0Connection {
    /// The current time of this rank's clock.
    fn now(&self) -> Nanos;

    /// Sends a message and returns the answer.
    ///
    /// # Errors
    /// If the connection fails, or if rank 0 does not answer in time.
    fn ask(&mut self, up: &Up) -> io::Result<Down>;

    /// Waits for at most this time. Returns earlier if there is news for rank 0.
    fn wait(&mut self, shared: &MemberState, most: Duration);
}

impl Rank0Connection for Link {
    fn now(&self) -> Nanos {
        monotonic_now()
    }

    fn ask(&mut self, up: &Up) -> io::Result<Down> {
        self.send(up, LOST_AFTER)?;
        self.receive(LOST_AFTER)
    }

    fn wait(&mut self, shared: &MemberState, most: Duration) {
        let state = shared.lock();
        // A notification that was sent before this lock was taken has woken no thread, so check for news first.
        if !state.has_news() {
            drop(shared.wait(state, most));
        }
    }
}

/// Communicates with rank 0 until the run is over. `ranks` is the number of ranks of the run, including rank 0.
pub fn communicate<L: Rank0Connection>(line: L, shared: &Arc<MemberState>, ranks: u32) {
    let mut thread = Rank0Thread {
        line,
        ranks,
        clock: Clock::default(),
        least: u64::MAX,
        longest: 0,
        bound: 0,
        start: None,
    };
    let ended = thread.run(shared);
    let mut state = shared.lock();
    if let Err(error) = ended {
        state.lost = Some(Rank0Lost(in_words(&error, LOST_AFTER)));
        state.stop();
    }
    state.left = true;
    drop(state);
    shared.changed();
}

/// The start of a pass.
#[derive(Clone, Copy)]
struct PassStart {
    /// The start by rank 0's clock.
    at: Nanos,
    /// The start by this rank's clock.
    here: Nanos,
    /// Whether the plan determines when requests are due, as offsets from the start.
    is_scheduled: bool,
}

struct Rank0Thread<L> {
    line: L,
    ranks: u32,
    clock: Clock,
    /// The shortest round trip so far, in nanoseconds.
    least: u64,
    /// The longest round trip since the current order was received, in nanoseconds.
    longest: u64,
    /// The largest error bound of the instants in the pass's records, in nanoseconds.
    bound: u64,
    /// The start of the current pass.
    start: Option<PassStart>,
}

impl<L: Rank0Connection> Rank0Thread<L> {
    fn run(&mut self, shared: &MemberState) -> io::Result<()> {
        for _ in 0..BURST {
            self.ask(shared)?;
        }
        loop {
            let mut batch = Vec::new();
            let is_over = self.collect(shared, &mut batch);
            // This exchange is later than the instants of the collected records, so the offsets at these instants are
            // interpolated.
            self.ask(shared)?;
            if !batch.is_empty() {
                self.bring(shared, batch)?;
            }
            if is_over {
                for _ in 0..BURST {
                    self.ask(shared)?;
                }
                let clock = self.report();
                let mut state = shared.lock();
                if let Some(mut report) = state.played.take() {
                    report.clock = clock;
                    state.done = Some(Some(Box::new(report)));
                }
                drop(state);
                self.ask(shared)?;
            }
            let mut state = shared.lock();
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
                self.line.wait(shared, pace::period(waits_for, self.ranks));
            }
        }
    }

    /// Collects the available records, up to the limits of one message. Returns whether the pass is complete and these
    /// are its last records.
    fn collect(&mut self, shared: &MemberState, batch: &mut Vec<SentRecord>) -> bool {
        let mut state = shared.lock();
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
        shared.lock().records = Some(records);
        false
    }

    /// Sends a message and processes the answer.
    fn ask(&mut self, shared: &MemberState) -> io::Result<()> {
        let (order, progress) = {
            let mut state = shared.lock();
            (state.order, state.report(self.longest))
        };
        let is_done = matches!(progress, crate::message::Progress::Done(_));
        let sent = self.line.now();
        let down = self.line.ask(&Up::Ping { order, progress })?;
        let exchange = Exchange { sent, reference: down.clock, received: self.line.now() };
        self.least = self.least.min(exchange.round_trip_ns());
        self.longest = self.longest.max(exchange.round_trip_ns());
        self.clock.add(exchange);
        let mut state = shared.lock();
        state.told |= is_done && state.order == order;
        self.hear(&mut state, down);
        drop(state);
        shared.changed();
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

    fn bring(&mut self, shared: &MemberState, mut records: Vec<SentRecord>) -> io::Result<()> {
        for sent in &mut records {
            self.shift(&mut sent.record);
        }
        let order = shared.lock().order;
        let down = self.line.ask(&Up::Records { order, records })?;
        self.hear(&mut shared.lock(), down);
        shared.changed();
        Ok(())
    }

    /// Moves the instants of a record to rank 0's time axis. All instants move by the same offset, so the durations
    /// between them do not change. There is one exception: in a scheduled pass, the due time is computed from the start
    /// of the pass.
    fn shift(&mut self, record: &mut Record) {
        let at = record.picked.unwrap_or(record.due);
        let Some(offset) = self.clock.offset(at) else { return };
        self.bound = self.bound.max(offset.bound_ns);
        let due = record.due;
        record.shift(offset.ns);
        // The plan counts due times from the start by rank 0's clock. So due times do not depend on the drift of this
        // clock.
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
