//! The state that the event loops of a pass share: its requests in their order, its limits, the reasons to end it
//! early, and the recorder. A loop waits for the lock while it prepares, when a request begins or ends, when it checks
//! whether the pass must end early, and when it ends. Because of a token, it waits only for a limit of first tokens.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{sync::atomic::AtomicBool, time::Duration};

use inferometer_model::digits::with_unit;
use inferometer_model::load::{Share, Stages};
use inferometer_model::source::Said;
use inferometer_model::{Detail, Nanos, Outcome, OverLimit, Record, RequestFigures, Timeline};
use inferometer_net::Waker;

use super::{Waits, in_flight_limit::InFlightLimit};
use crate::encode::{Encoded, NextRequest, RequestInfo};
use crate::memory::AnswerMemory;
use crate::session::Session;
use crate::watch::Watch;
use crate::{Encoder, Live, Order, Recorder, Servers, StartGate};

/// How long the other loops may take to wake up before a pass starts.
const WAKING: Duration = Duration::from_millis(1);

/// The state that all event loops of a pass share.
pub(super) struct Common<R> {
    state: Mutex<State<R>>,
    /// Set when the user interrupts the run.
    pub interrupted: Arc<AtomicBool>,
    /// Whether the pass ends early. If so, each loop cancels its requests in flight.
    pub ends_early: AtomicBool,
    /// Whether a connection may still be used for several requests, one after the other.
    pub reuses_connections: AtomicBool,
    pub memory: AnswerMemory,
}

impl<R> Common<R> {
    pub fn new(state: State<R>, interrupted: Arc<AtomicBool>, reuses_connections: bool) -> Self {
        Self {
            state: Mutex::new(state),
            interrupted,
            ends_early: AtomicBool::new(false),
            reuses_connections: AtomicBool::new(reuses_connections),
            memory: AnswerMemory::default(),
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the state; `None` if another loop has the lock.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, State<R>>> {
        self.state.try_lock().ok()
    }

    pub fn into_state(self) -> State<R> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state that only one event loop at a time may use.
pub(super) struct State<R> {
    /// Index of the pass in the run.
    pub pass: u32,
    pub stages: Stages,
    pub encoder: Encoder,
    /// The servers, and whose turn it is.
    pub servers: Servers,
    pub recorder: R,
    pub watch: Option<Watch>,
    /// Counts requests that were never begun.
    pub never_begun: Arc<Live>,
    /// Which requests of the pass belong to this process.
    pub share: Share,
    /// The number of requests of this process, if it is known.
    pub planned: Option<u32>,
    /// The number of requests of this process that have a record or are in flight.
    pub next: u32,
    /// The number of requests begun or dropped, without the later turns of conversations.
    pub begun: u32,
    pub limit: InFlightLimit,
    pub loops: Vec<Loop>,
    /// Which loop takes which request.
    pub order: Order,
    /// Decides when the pass starts; `None`: as soon as all loops are prepared.
    pub gate: Option<Box<dyn StartGate>>,
    /// When the pass starts, once this is decided.
    pub start: Option<Nanos>,
    /// Why the remaining requests will never begin; `None` while requests may begin.
    pub rest: Option<Rest>,
    /// The detail of requests that are cancelled because the pass ends early.
    pub cancelled: Option<Detail>,
    pub waits: Waits,
}

/// One of the event loops.
#[derive(Default)]
pub(super) struct Loop {
    /// The part of the requests that this loop sends; `None` if the pass is not split into loops.
    pub part: Option<Share>,
    /// The number of requests of its part that this loop has begun or dropped, without the later turns of
    /// conversations.
    pub begun: u32,
    pub is_prepared: bool,
    pub is_done: bool,
    pub waker: Option<Waker>,
}

/// Why requests are never begun.
#[derive(Clone)]
pub(super) struct Rest {
    /// The due time of these requests in their records; `None`: the time when the last loop ends.
    at: Option<Nanos>,
    why: Detail,
}

/// The result of [`State::take`].
pub(super) enum TakeResult {
    Begun(Box<Encoded>, Record),
    /// The request was dropped and recorded. Contains its conversation, its place there, and its record.
    Dropped((u32, u32), Record),
    /// No request now: the encoder has no request ready, or too many records wait to be written.
    Later,
    /// No request until another request has ended: the limit of requests in flight is reached.
    Full,
    /// There will be no more requests.
    Over,
}

impl<R: Recorder> State<R> {
    /// Takes the next request of the loop with the index `which`. The request is due at `due`. If it is a later
    /// request of a conversation, `continues` is the number of this conversation in the loop, and its place there.
    pub fn take(
        &mut self,
        which: usize,
        due: Nanos,
        now: Nanos,
        continues: Option<(u32, u32)>,
    ) -> TakeResult {
        if self.rest.is_some() || self.planned.is_some_and(|planned| self.next >= planned) {
            return TakeResult::Over;
        }
        let full = !self.limit.is_free_for(which, due);
        if full && self.limit.over_limit == OverLimit::Queue {
            self.limit.wait(which, due);
            self.wake_next(which);
            return TakeResult::Full;
        }
        if self.recorder.is_behind() {
            // This wait limits the memory of the records that wait to be written. The record of the request
            // shows that the request begins late.
            self.waits.begin(now);
            return TakeResult::Later;
        }
        self.waits.end(now);
        let number = self.number(which);
        let next = match continues {
            Some((conversation, call)) => {
                let conversation = self.of_process(which, conversation);
                self.encoder.turn((conversation, call))
            }
            None => self.encoder.request(number),
        };
        let why = match next {
            NextRequest::Request(mut encoded) => {
                self.loops[which].begun += u32::from(continues.is_none());
                self.begun += u32::from(continues.is_none());
                // If loops have no separate requests, numbers are given in the order in which requests begin.
                let number = if self.order == Order::Own { number } else { self.next };
                if full {
                    let why = format!(
                        "when it was due, the limit of {} was reached",
                        with_unit(&self.limit.in_flight().to_string(), "requests in flight")
                    );
                    let (why, info) = (Detail::said(&why), Some(encoded.info));
                    let record = self.record_unsent(number, due, Outcome::Dropped, why, info);
                    return TakeResult::Dropped(encoded.of, record);
                }
                self.limit.begin(which);
                self.wake_next(which);
                let mut record = self.planned_record(number, due, Some(&encoded.info));
                record.picked = Some(now);
                record.media = encoded.media;
                record.pooled.inputs = encoded.inputs;
                let server = self.servers.choose(encoded.session.map(Session::number));
                record.server = self.servers.recorded(server);
                self.encoder.address_to(&mut encoded, server, &mut record);
                return TakeResult::Begun(encoded, record);
            }
            // Either the source waits for the end of a request or for a thread that generates requests, or other
            // loops are far behind.
            NextRequest::Wait => return TakeResult::Later,
            NextRequest::Exhausted => Detail::said("the source ended before this request was due"),
            // The dialect does not support a request of this source, so all remaining requests are skipped.
            NextRequest::Unsupported(why) => Detail::said(&why),
        };
        self.rest = Some(Rest { at: Some(now), why });
        self.skip_rest_if_alone(now);
        TakeResult::Over
    }

    /// Records a request that has ended. If later turns of its conversation will not be sent, they are
    /// recorded as skipped. `figures` are those of the record, if there is a watcher.
    pub fn end(
        &mut self,
        which: usize,
        of: (u32, u32),
        (record, figures): (Record, Option<RequestFigures>),
        (answer, reasoning): (Option<String>, Option<String>),
    ) {
        self.limit.end();
        self.servers.ended(record.server);
        self.wake_next(which);
        if let Some((watch, figures)) = self.watch.as_mut().zip(figures) {
            watch.ended(&figures);
        }
        let said = Said {
            answer: answer.as_deref().unwrap_or_default(),
            reasoning: reasoning.as_deref().unwrap_or_default(),
        };
        self.notify(of, &record, said);
        // Reasoning is part of the output.
        let text = answer.map(|answer| reasoning.unwrap_or_default() + &answer);
        self.recorder.record(record, text);
    }

    /// Notifies the source that a request ended, or was dropped. If later turns of its conversation will
    /// therefore not be sent, records these turns as skipped.
    pub fn notify(&mut self, of: (u32, u32), record: &Record, said: Said<'_>) {
        let skipped = self.encoder.ended(of, record, said);
        for info in skipped {
            let (index, at) = (self.next, record.ended_or_due());
            let why = Detail::earlier_turn(record.outcome);
            self.record_unsent(index, at, record.outcome.of_waiting(), why, Some(info));
        }
    }

    /// Ends the pass early: requests in flight are cancelled with the detail `cancelled`, and requests that
    /// were not begun are skipped with the detail `skipped`.
    pub fn end_early(&mut self, which: usize, cancelled: Option<Detail>, skipped: Detail) {
        self.cancelled = cancelled;
        self.rest.get_or_insert(Rest { at: None, why: skipped });
        self.wake_others(which);
    }

    /// Records that a loop has no request in flight and begins no more requests.
    pub fn loop_ends(&mut self, which: usize, now: Nanos) {
        self.skip_rest_if_alone(now);
        self.loops[which].is_done = true;
        if let Some(watch) = &mut self.watch {
            watch.loop_ends(which);
        }
        self.waits.end(now);
    }

    /// Records that a loop is prepared. Returns the start of the pass, or what the loop must wait for.
    pub fn prepared(&mut self, which: usize, now: Nanos) -> Prepared {
        self.loops[which].is_prepared = true;
        if let Some(start) = self.start {
            return Prepared::Starts(start);
        }
        if !self.loops.iter().all(|one| one.is_prepared) {
            return Prepared::WaitsForLoops;
        }
        let start = match &mut self.gate {
            // This delay gives the other loops time to wake up.
            None if self.loops.len() > 1 => now + WAKING,
            None => now,
            Some(gate) => match gate.start(now) {
                None => return Prepared::WaitsForGate,
                Some(start) => start,
            },
        };
        self.start = Some(start);
        self.wake_others(which);
        Prepared::Starts(start)
    }

    /// Converts the number of a request or conversation within a loop to its number within the process.
    fn of_process(&self, which: usize, number: u32) -> u32 {
        match self.loops[which].part {
            Some(part) => self.share.count_of(part.index_of(number)),
            None => number,
        }
    }

    /// The number, within the process, of a loop's next request that is not a later turn of a conversation.
    fn number(&self, which: usize) -> u32 {
        match self.order {
            Order::NextOfAll => self.begun,
            Order::Own | Order::OwnConversations => self.of_process(which, self.loops[which].begun),
        }
    }

    /// Whether the request with this number within the process has a record or is in flight. The request must
    /// not be a later turn of a conversation.
    fn is_taken(&self, number: u32) -> bool {
        let index = self.share.index_of(number);
        let of = |one: &&Loop| one.part.is_some_and(|part| part.owns(index.into()));
        let owner = self.loops.iter().find(of);
        owner.is_some_and(|one| one.part.is_some_and(|part| part.count_of(index) < one.begun))
    }

    /// Creates the record of the request with this number within the process, and counts the request as
    /// taken.
    fn planned_record(&mut self, number: u32, due: Nanos, info: Option<&RequestInfo>) -> Record {
        let mut record = Record::planned(self.pass, self.share.index_of(number), due);
        record.streamed = self.encoder.is_streamed();
        self.next += 1;
        if let Some(info) = info {
            info.write_to(&mut record);
        }
        let offset = Nanos::ZERO + due.since(self.start.unwrap_or(Nanos::ZERO));
        record.class = self.stages.class(offset, record.class.take());
        record
    }

    /// Records a request that is never begun.
    fn record_unsent(
        &mut self,
        number: u32,
        due: Nanos,
        outcome: Outcome,
        why: Detail,
        info: Option<RequestInfo>,
    ) -> Record {
        let mut record = self.planned_record(number, due, info.as_ref());
        record.outcome = outcome;
        record.detail = Some(why);
        if let Some(watch) = &mut self.watch {
            watch.ended(&RequestFigures::of(&Timeline::new(&record)));
        }
        self.never_begun.never_begin();
        self.recorder.record(record.clone(), None);
        record
    }

    /// Records the requests that will never begin, unless another loop may still take requests.
    fn skip_rest_if_alone(&mut self, now: Nanos) {
        let running = self.loops.iter().filter(|one| !one.is_done).count();
        let Some(Rest { at, why }) = self.rest.clone().filter(|_| running == 1) else { return };
        let now = at.unwrap_or(now);
        let Some(planned) = self.planned else { return };
        // There may be millions of such requests: successive requests that differ only in their index are
        // recorded together.
        let mut alike: Option<(Option<RequestInfo>, Record, u32)> = None;
        let by_loops = self.order == Order::Own;
        let mut number = if by_loops { 0 } else { self.next };
        while self.next < planned {
            number += 1;
            if by_loops && self.is_taken(number - 1) {
                continue;
            }
            let info = self.encoder.unsent();
            self.never_begun.never_begin();
            let index = self.share.index_of(number - 1);
            match &mut alike {
                Some((same, first, count)) if *same == info && first.index + *count == index => {
                    *count += 1;
                    self.next += 1;
                }
                _ => {
                    let mut record = self.planned_record(number - 1, now, info.as_ref());
                    record.outcome = Outcome::Skipped;
                    record.detail = Some(why.clone());
                    self.record_alike(alike.replace((info, record, 1)));
                }
            }
        }
        self.record_alike(alike);
    }

    fn record_alike(&mut self, alike: Option<(Option<RequestInfo>, Record, u32)>) {
        let Some((_, record, count)) = alike else { return };
        if self.limit.in_flight() == 0 {
            self.recorder.wait_for_room();
        }
        self.recorder.record_never_begun(record, count);
    }

    /// Wakes the loop that may begin its request now, unless it is the calling loop.
    pub fn wake_next(&self, which: usize) {
        let next = self.limit.next().filter(|next| *next != which);
        if let Some(waker) = next.and_then(|next| self.loops[next].waker.as_ref()) {
            waker.wake();
        }
    }

    fn wake_others(&self, which: usize) {
        let others = self.loops.iter().enumerate().filter(|(at, _)| *at != which);
        others.filter_map(|(_, one)| one.waker.as_ref()).for_each(Waker::wake);
    }
}

/// When a prepared loop starts, or what it waits for.
pub(super) enum Prepared {
    Starts(Nanos),
    WaitsForLoops,
    WaitsForGate,
}
