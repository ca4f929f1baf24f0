//! The driver: it begins requests when they are due according to the load model, and sends them over
//! connections. It gives the record of each request to the recorder, with any outcome.
//!
//! The driver is an actor over a [`Net`]: nothing here sleeps or reads another clock. While a request is in flight, the
//! only waits are short waits for the lock that event loops share. No other work is done between a socket read and its
//! time stamp.

mod begin;
mod common;
mod finish;
mod in_flight_limit;
mod prepare;
mod timeouts;
mod transfer;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::{sync::Arc, time::Duration};

use inferometer_model::load::{Leavers, LoadModel, Share};
use inferometer_model::{Detail, Nanos, Outcome, Phase, StopReason};
use inferometer_net::{Actor, Close, Net, Ready, Wake};
use inferometer_plan::Timeouts;

use self::common::{Common, Loop, State};
use self::in_flight_limit::InFlightLimit;
use crate::connections::{Connections, Purpose};
use crate::live::LoopCounts;
use crate::timers::Timers;
use crate::watch::{CHECK_PERIOD, Watch};
use crate::{Job, Live, LoopPart, Order, Recorder, Servers, StartGate};

/// The maximum number of requests encoded ahead in one turn. It is limited so that arrived data is read soon.
const ENCODE_PER_TURN: usize = 8;
/// The maximum size of one read, in bytes. More bytes are read in the next turn.
const READ_BUFFER: usize = 256 << 10;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Opening connections and encoding ahead. No request is due yet.
    Preparing {
        opened: usize,
        until: Option<Nanos>,
    },
    Running,
    Done,
}

/// Performs a [`Job`], or the part of a job that belongs to one of several event loops.
pub struct Driver<R> {
    /// The state that all event loops of the pass share.
    common: Arc<Common<R>>,
    /// The index of this event loop.
    which: usize,
    /// Decides when the requests of this loop are due.
    load: Box<dyn LoadModel>,
    /// The servers that this loop connects to.
    servers: Servers,
    timeouts: Timeouts,
    leavers: Option<Leavers>,
    most_time: Option<Duration>,
    connections_ahead: usize,
    spare_connections: usize,
    live: Arc<LoopCounts>,
    stage: Stage,
    start: Nanos,
    connections: Connections,
    timers: Timers,
    in_flight: u32,
    /// This loop's part of the limit of requests in flight, if there is a limit.
    most_in_flight: Option<u32>,
    /// Whether requests that wait for their first token are limited.
    limits_prefill: bool,
    /// The share of the process and the part of this loop, if each loop has separate conversations.
    own_conversations: Option<(Share, Share)>,
    /// Whether this loop begins no more requests, even if the load model has more.
    begins_no_more: bool,
    /// Whether there may be a request to encode ahead.
    may_encode: bool,
    buffer: Vec<u8>,
    /// When this loop next asks the watcher whether the pass must end early; `None` without a watcher.
    next_look: Option<Nanos>,
}

/// How often, and for how long, due requests could not begin because too many records were waiting to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// The number of such waits.
    pub count: u64,
    /// The total time of these waits.
    pub time: Duration,
    since: Option<Nanos>,
}

impl Waits {
    fn begin(&mut self, now: Nanos) {
        if self.since.is_none() {
            self.since = Some(now);
            self.count += 1;
        }
    }

    fn end(&mut self, now: Nanos) {
        self.time += self.since.take().map_or(Duration::ZERO, |since| now.since(since));
    }
}

impl<R: Recorder> Driver<R> {
    /// A driver that has not started. If `stop` is set and the actor is woken, the pass ends: requests in
    /// flight are cancelled, requests that were not begun are skipped, and all of them are recorded.
    pub fn new(job: Job, recorder: R, live: Arc<Live>, stop: Arc<AtomicBool>) -> Self {
        let next_look = job.watcher.as_ref().map(|_| Nanos::ZERO);
        let counts = live.of_loop();
        let state = State {
            pass: job.pass,
            stages: job.stages,
            encoder: job.encoder,
            servers: job.servers.clone(),
            recorder,
            watch: job.watcher.map(Watch::new),
            never_begun: live,
            share: Share::WHOLE,
            planned: job.planned,
            next: 0,
            begun: 0,
            limit: InFlightLimit::new(job.max_in_flight, job.over_limit)
                .with_prefill(job.max_in_prefill),
            loops: vec![Loop::default()],
            order: Order::NextOfAll,
            gate: None,
            start: None,
            rest: None,
            cancelled: None,
            waits: Waits::default(),
        };
        Self {
            common: Arc::new(Common::new(state, stop, job.reuse_connections)),
            which: 0,
            load: job.load,
            servers: job.servers,
            timeouts: job.timeouts,
            leavers: job.leavers,
            most_time: job.most_time,
            connections_ahead: job.connections_ahead,
            spare_connections: job.spare_connections,
            live: counts,
            stage: Stage::Preparing { opened: 0, until: None },
            start: Nanos::ZERO,
            connections: Connections::default(),
            timers: Timers::default(),
            in_flight: 0,
            most_in_flight: job.max_in_flight,
            limits_prefill: job.max_in_prefill.is_some(),
            own_conversations: None,
            begins_no_more: false,
            may_encode: true,
            buffer: vec![0; READ_BUFFER],
            next_look,
        }
    }

    /// Makes the driver perform a share of a pass. The job must have the load model and the counts of the
    /// share; records have the indices of the whole pass. With `is_in_source`, the source contains only the
    /// requests of the share.
    #[must_use]
    pub fn of_share(self, share: Share, is_in_source: bool) -> Self {
        let mut state = self.common.lock();
        if !is_in_source {
            state.encoder.take_share(share);
        }
        state.share = share;
        drop(state);
        self
    }

    /// Makes a gate decide when the pass starts.
    #[must_use]
    pub fn starting_at(self, gate: Box<dyn StartGate>) -> Self {
        self.common.lock().gate = Some(gate);
        self
    }

    /// Splits the pass into several event loops, and returns the driver of each part. If the pass ends early, it
    /// ends in all loops, and the last loop to end records the requests that never began.
    #[must_use]
    pub fn on_loops(self, order: Order, parts: Vec<LoopPart>) -> Vec<Self> {
        let mut state = self.common.lock();
        state.order = order;
        state.loops.clear();
        if let Some(watch) = &mut state.watch {
            watch.of_loops(parts.len());
        }
        let loops = parts.len() as u32;
        let mut drivers = Vec::with_capacity(parts.len());
        for (which, one) in parts.into_iter().enumerate() {
            let (part, waker) = (Some(one.part), one.waker);
            state.loops.push(Loop { part, waker, ..Loop::default() });
            drivers.push(Self {
                common: Arc::clone(&self.common),
                which,
                load: one.load,
                servers: self.servers.clone(),
                connections_ahead: one.connections_ahead,
                spare_connections: one.spare_connections,
                live: state.never_begun.of_loop(),
                connections: Connections::default(),
                timers: Timers::default(),
                most_in_flight: self.most_in_flight.map(|most| most.div_ceil(loops)),
                own_conversations: (order == Order::OwnConversations)
                    .then_some((state.share, one.part)),
                buffer: vec![0; READ_BUFFER],
                ..self
            });
        }
        drop(state);
        drivers
    }

    /// How often, and for how long, due requests could not begin because the recorder had no room.
    pub fn waits(&self) -> Waits {
        self.common.lock().waits
    }

    /// When the pass started: the origin of the load model's offsets.
    pub fn start(&self) -> Nanos {
        self.start
    }

    /// Whether a connection may still be used for several requests, one after the other. False if the job did not allow
    /// this, or if the server closed a connection that it had announced to keep open.
    pub fn reuses_connections(&self) -> bool {
        self.common.reuses_connections.load(Relaxed)
    }

    /// The hash of the encoded bodies, and the recorder. For a share, the hash includes the bodies of the other shares
    /// if all requests of this share were sent.
    ///
    /// # Panics
    /// If the driver of another event loop of the pass still exists.
    pub fn into_parts(self) -> (String, R) {
        let common =
            Arc::into_inner(self.common).expect("this must be the last event loop of its pass");
        let State { mut encoder, recorder, .. } = common.into_state();
        encoder.hash_the_others();
        (encoder.body_hash(), recorder)
    }

    fn run<N: Net>(&mut self, net: &mut N) -> Wake {
        self.expire(net);
        if let Some(why) = self.why_to_end(net.now()) {
            return self.abort(net, Some(why.clone()), why);
        }
        let mut wake = self.begin_due(net);
        if wake == Wake::Done {
            return self.end(net);
        }
        self.open_spare(net);
        if self.may_encode
            && let Some(mut state) = self.common.try_lock()
        {
            self.may_encode = state.encoder.ahead(ENCODE_PER_TURN);
        }
        if let Some(at) = self.timers.next() {
            wake = wake.or_at(at);
        }
        self.next_look.into_iter().chain(self.ends_at()).fold(wake, Wake::or_at)
    }

    /// The instant at which the pass must end, if it has a time limit.
    fn ends_at(&self) -> Option<Nanos> {
        self.most_time.map(|most| self.start + most)
    }

    /// The reason to end the pass early now; `None` if there is none.
    fn why_to_end(&mut self, now: Nanos) -> Option<Detail> {
        if self.ends_at().is_some_and(|at| now >= at) {
            return Some(Detail::Stopped(StopReason::MaxTime));
        }
        self.next_look.filter(|at| now >= *at)?;
        self.next_look = Some(now + CHECK_PERIOD);
        let in_flight = self.connections.exchanges().map(|one| one.in_flight(now));
        let mut state = self.common.lock();
        state.watch.as_mut()?.why_to_end(now, self.which, in_flight)
    }

    fn end<N: Net>(&mut self, net: &mut N) -> Wake {
        for conn in self.connections.ids() {
            self.connections.remove(conn);
            net.close(conn, Close::Gracefully);
        }
        self.common.lock().loop_ends(self.which, net.now());
        self.stage = Stage::Done;
        Wake::Done
    }

    fn handle<N: Net>(&mut self, net: &mut N, event: &Ready) {
        match *event {
            Ready::Connected(conn) => match self.connections.remove(conn) {
                Some(Purpose::OpeningFor(mut exchange)) => {
                    exchange.record.connected = Some(net.now());
                    exchange.record.kept_connection = Some(false);
                    self.carry(net, conn, exchange);
                }
                Some(Purpose::Opening) => self.connections.put(conn, Purpose::Idle { used: false }),
                Some(_) | None => {}
            },
            Ready::ConnectFailed(conn, ref error) => {
                if let Some(Purpose::OpeningFor(exchange)) = self.connections.remove(conn) {
                    let outcome = Outcome::Connection { phase: Phase::Connect };
                    self.finish(exchange.abandon(
                        outcome,
                        Some(Detail::said(&error.to_string())),
                        net.now(),
                    ));
                }
            }
            Ready::Readable(conn) => self.receive(net, conn),
            Ready::Writable(conn) => self.send(net, conn),
            Ready::Accepted(conn) => net.close(conn, Close::Reset),
        }
    }
}

impl<N: Net, R: Recorder> Actor<N> for Driver<R> {
    fn turn(&mut self, net: &mut N, ready: &[Ready]) -> Wake {
        for event in ready {
            self.handle(net, event);
        }
        let Common { interrupted, ends_early, .. } = &*self.common;
        if self.stage != Stage::Done && (interrupted.load(Relaxed) || ends_early.load(Relaxed)) {
            return self.abort(net, None, Detail::Interrupted);
        }
        match self.stage {
            Stage::Preparing { .. } => self.prepare(net),
            Stage::Running => self.run(net),
            Stage::Done => Wake::Done,
        }
    }
}
