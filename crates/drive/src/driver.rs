//! The driver: begins requests when the load model says so, carries them over connections, and
//! hands every one of them to the recorder, whatever became of it.
//!
//! An actor over a [`Net`]: nothing here sleeps, blocks or reads any other clock. Between a
//! socket read and its stamp nothing is done at all.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use inferometer_analysis::search::Watcher;
use inferometer_load::OverLimit;
use inferometer_load::{Due, Ended, LoadModel, Stages};
use inferometer_model::outcome::{Outcome, Phase};
use inferometer_model::record::{CUT_OFF, EARLIER_TURN_FAILED, Record, detail};
use inferometer_model::time::Nanos;
use inferometer_net::{Actor, Close, ConnId, Net, ReadResult, Ready, Wake};
use inferometer_plan::Timeouts;
use inferometer_wire::exchange::Progress;

use crate::connections::{Connections, Use};
use crate::encode::{Asked, Encoded, Encoder, Next};
use crate::exchange::{Exchange, Finished, MOST_EVENTS};
use crate::live::Live;
use crate::timers::Timers;
use crate::watch::Watch;

/// What one pass is to do.
pub struct Job {
    /// Index of the pass in the run, for its records.
    pub pass: u32,
    /// Decides when requests are due.
    pub load: Box<dyn LoadModel>,
    /// The stages of the load, by which requests are told apart.
    pub stages: Stages,
    /// Supplies the requests as bytes.
    pub encoder: Encoder,
    /// Where to connect.
    pub address: SocketAddr,
    /// When to give requests up.
    pub timeouts: Timeouts,
    /// How many requests the pass has, where that is known: those not begun when it is
    /// interrupted, or the source has no more, are recorded as skipped.
    pub planned: Option<u32>,
    /// The most in flight.
    pub max_in_flight: Option<u32>,
    /// What becomes of a request that is due beyond it.
    pub over_limit: OverLimit,
    /// Connections to open before the pass starts.
    pub connections_ahead: usize,
    /// Idle connections to keep while it runs, so that an arrival finds one open.
    pub spare_connections: usize,
    /// Let a connection carry one request after the other.
    pub reuse_connections: bool,
    /// Ends the pass as soon as this is certain of its outcome: what is in flight is cancelled, what
    /// has not begun is skipped, both are recorded.
    pub watcher: Option<Watcher>,
}

/// Receives every planned request once, when it has ended.
pub trait Recorder {
    /// A request that ended, with its output text if the encoder keeps it.
    fn record(&mut self, record: Record, text: Option<String>);
}

/// The most connections that are being opened at once, so that the server's queue of them does
/// not overflow.
const OPENING_AT_ONCE: usize = 64;
/// The most requests begun, or encoded ahead, in one turn, so that arrivals are read in between.
const BEGIN_PER_TURN: usize = 32;
const ENCODE_PER_TURN: usize = 8;
/// How soon a source that had nothing is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(1);
/// Room for one read. What does not fit is read in the next turn.
const READ_BUFFER: usize = 256 << 10;

/// What becomes of a request whose connection the server closed behind its last answer.
const CLOSED_AFTER_ANSWER: &str =
    "the server closed the connection after an earlier answer, without having said so";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Opening connections and encoding ahead; nothing is due yet.
    Preparing {
        opened: usize,
        until: Option<Nanos>,
    },
    Running,
    Done,
}

/// Performs a [`Job`].
pub struct Driver<R> {
    job: Job,
    recorder: R,
    live: Arc<Live>,
    stop: Arc<AtomicBool>,
    stage: Stage,
    start: Nanos,
    connections: Connections,
    timers: Timers,
    next_index: u32,
    in_flight: u32,
    /// The source gives no more, whatever the load model wants.
    dry: bool,
    buffer: Vec<u8>,
    watch: Option<Watch>,
}

impl<R: Recorder> Driver<R> {
    /// A driver that has done nothing yet. Setting `stop` and waking it ends the pass: what is in
    /// flight is cancelled, what has not begun is skipped, both are recorded.
    #[must_use]
    pub fn new(mut job: Job, recorder: R, live: Arc<Live>, stop: Arc<AtomicBool>) -> Self {
        let streamed = job.encoder.is_streamed();
        let watch = job.watcher.take().map(|watcher| Watch::new(watcher, streamed));
        Self {
            job,
            recorder,
            live,
            stop,
            stage: Stage::Preparing { opened: 0, until: None },
            start: Nanos::ZERO,
            connections: Connections::default(),
            timers: Timers::default(),
            next_index: 0,
            in_flight: 0,
            dry: false,
            buffer: vec![0; READ_BUFFER],
            watch,
        }
    }

    /// When the pass started: the origin of the load model's offsets.
    #[must_use]
    pub fn start(&self) -> Nanos {
        self.start
    }

    /// Whether connections may still carry one request after the other: false if the job said so,
    /// or the server closed one that it had said it would keep.
    #[must_use]
    pub fn reuses_connections(&self) -> bool {
        self.job.reuse_connections
    }

    /// The identity of the bodies that were encoded, and the recorder.
    #[must_use]
    pub fn into_parts(self) -> (String, R) {
        (self.job.encoder.body_hash(), self.recorder)
    }

    // ---- before the start ----

    fn prepare<N: Net>(&mut self, net: &mut N) -> Wake {
        let Stage::Preparing { mut opened, until } = self.stage else { return Wake::WhenReady };
        let now = net.now();
        let until = until.or_else(|| self.job.timeouts.connect.map(|limit| now + limit));
        while opened < self.job.connections_ahead
            && self.connections.opening_ahead() < OPENING_AT_ONCE
            && self.open_ahead(net)
        {
            opened += 1;
        }
        let more_to_encode = self.job.encoder.ahead(ENCODE_PER_TURN);
        let opening = self.connections.opening_ahead() > 0;
        let out_of_time = until.is_some_and(|until| now >= until);
        if more_to_encode || (opening && !out_of_time) {
            self.stage = Stage::Preparing { opened, until };
            return match (more_to_encode, until) {
                (true, _) => Wake::At(now),
                (false, Some(until)) => Wake::At(until),
                (false, None) => Wake::WhenReady,
            };
        }
        // A connection that could not be opened ahead is tried again by the request that needs
        // it, whose record then tells.
        self.stage = Stage::Running;
        self.start = net.now();
        self.run(net)
    }

    /// Begins to open a connection; false when that fails at once.
    fn open_ahead<N: Net>(&mut self, net: &mut N) -> bool {
        match net.connect(self.job.address) {
            Ok(conn) => {
                self.connections.put(conn, Use::Opening);
                true
            }
            Err(_) => false,
        }
    }

    // ---- while it runs ----

    fn run<N: Net>(&mut self, net: &mut N) -> Wake {
        self.expire(net);
        if self.is_certain(net.now()) {
            return self.break_off(net, Some(CUT_OFF), CUT_OFF);
        }
        let mut wake = self.begin_due(net);
        if wake == Wake::Done {
            return self.end(net);
        }
        let room = self
            .job
            .max_in_flight
            .map_or(usize::MAX, |most| (most as usize).saturating_sub(self.in_flight as usize));
        let wanted = self.job.spare_connections.min(room);
        while self.connections.idle() + self.connections.opening_ahead() < wanted
            && self.open_ahead(net)
        {}
        self.job.encoder.ahead(ENCODE_PER_TURN);
        if let Some(at) = self.timers.next() {
            wake = wake.or_at(at);
        }
        match &self.watch {
            Some(watch) => wake.or_at(watch.next()),
            None => wake,
        }
    }

    /// Whether nothing that could still happen changes what the pass is for.
    fn is_certain(&mut self, now: Nanos) -> bool {
        let connections = &self.connections;
        self.watch.as_mut().is_some_and(|watch| {
            let in_flight = connections.exchanges().map(|one| (&one.record, one.first_token()));
            now >= watch.next() && watch.is_certain(now, in_flight)
        })
    }

    /// Begins every request that is due, and says when the next one is.
    fn begin_due<N: Net>(&mut self, net: &mut N) -> Wake {
        for _ in 0..BEGIN_PER_TURN {
            let full = self.job.max_in_flight.is_some_and(|most| self.in_flight >= most);
            if full && self.job.over_limit == OverLimit::Queue {
                return Wake::WhenReady;
            }
            let due = match self.job.load.next_due() {
                Due::At(offset) if !self.dry => self.start + offset.since(Nanos::ZERO),
                Due::AfterEnd if !self.dry => return Wake::WhenReady,
                _ if self.in_flight > 0 => return Wake::WhenReady,
                _ => return Wake::Done,
            };
            let now = net.now();
            if due > now {
                return Wake::At(due);
            }
            match self.job.encoder.next(self.job.load.continues()) {
                Next::Request(encoded) if full => self.drop_due(due, &encoded),
                Next::Request(encoded) => self.begin(net, due, now, *encoded),
                // What it waits for may be an end, or requests that are being made elsewhere.
                Next::Wait => return Wake::At(now + ASK_AGAIN),
                Next::Exhausted => {
                    self.skip_rest(now, "the source of requests ran dry before it was due");
                    self.dry = true;
                }
                Next::Unspeakable(why) => {
                    // No request of this source can be said, so the rest is skipped.
                    self.skip_rest(now, &why);
                    self.dry = true;
                }
            }
        }
        Wake::At(net.now())
    }

    fn begin<N: Net>(&mut self, net: &mut N, due: Nanos, now: Nanos, encoded: Encoded) {
        self.job.load.take();
        self.in_flight += 1;
        self.live.begin();
        let mut record = self.planned_record(due, Some(&encoded.asked));
        record.picked = Some(now);
        let mut exchange = Box::new(Exchange::new(record, encoded));
        if let Some((conn, used)) = self.connections.take_idle() {
            exchange.on_used_connection = used;
            self.carry(net, conn, exchange);
            return;
        }
        match net.connect(self.job.address) {
            Ok(conn) => {
                self.arm(conn, &exchange);
                self.connections.put(conn, Use::OpeningFor(exchange));
            }
            Err(error) => {
                let outcome = Outcome::Connection { phase: Phase::Connect };
                self.finish(exchange.abandon(outcome, Some(error.to_string()), net.now()));
            }
        }
    }

    fn planned_record(&mut self, due: Nanos, asked: Option<&Asked>) -> Record {
        let mut record = Record::planned(self.job.pass, self.next_index, due);
        self.next_index += 1;
        if let Some(asked) = asked {
            asked.tell(&mut record);
        }
        let offset = Nanos::ZERO + due.since(self.start);
        record.class = self.job.stages.class(offset, record.class.take());
        record
    }

    /// Sends a request over an open connection.
    fn carry<N: Net>(&mut self, net: &mut N, conn: ConnId, mut exchange: Box<Exchange>) {
        exchange.record.send_start = Some(net.now());
        self.arm(conn, &exchange);
        self.connections.put(conn, Use::Carrying(exchange));
        self.send(net, conn);
    }

    fn send<N: Net>(&mut self, net: &mut N, conn: ConnId) {
        let Some(exchange) = self.connections.carried(conn) else { return };
        match net.write(conn, exchange.unsent()) {
            Ok(written) => exchange.wrote(written, net.now()),
            // The server may have answered before it stopped to listen: the answer counts.
            Err(_) => self.receive(net, conn),
        }
    }

    /// Reads what a connection has, once.
    fn receive<N: Net>(&mut self, net: &mut N, conn: ConnId) {
        let result = net.read(conn, &mut self.buffer);
        let Some(exchange) = self.connections.carried(conn) else {
            // An idle connection: whatever comes, it is of no use any more.
            if !matches!(result, ReadResult::Empty) {
                self.connections.remove(conn);
                net.close(conn, Close::Gracefully);
            }
            return;
        };
        match result {
            ReadResult::Data(arrived) => {
                let (progress, tokens) = exchange.feed(&arrived, &self.buffer[..arrived.bytes]);
                if tokens > 0 {
                    self.live.tokens(tokens);
                    // Armed anew by the first token; later ones find it armed and cost nothing.
                    if let Some(limit) = self.job.timeouts.between_events {
                        self.timers.arm(conn, arrived.user + limit);
                    }
                }
                if progress == Progress::Ended {
                    self.end_exchange(net, conn, |exchange, _| exchange.finish());
                } else if exchange.is_endless() {
                    self.end_exchange(net, conn, |exchange, now| {
                        let why = format!("an answer of more than {MOST_EVENTS} reads or events");
                        exchange.abandon(Outcome::Malformed, Some(why), now)
                    });
                }
            }
            ReadResult::Empty => {}
            ReadResult::Closed | ReadResult::Failed(_)
                if exchange.on_used_connection && !exchange.answered() =>
            {
                // The server had said that it keeps the connection, and did not. The request is
                // lost and recorded so; from here on each one gets a connection of its own.
                self.job.reuse_connections = false;
                self.end_exchange(net, conn, |exchange, now| {
                    let outcome = Outcome::Connection { phase: exchange.phase() };
                    exchange.abandon(outcome, Some(CLOSED_AFTER_ANSWER.to_owned()), now)
                });
            }
            ReadResult::Closed => self.end_exchange(net, conn, |exchange, now| {
                if exchange.answered() {
                    exchange.finish_closed(now)
                } else {
                    let outcome = Outcome::Connection { phase: exchange.phase() };
                    let why = "the server closed the connection without an answer".to_owned();
                    exchange.abandon(outcome, Some(why), now)
                }
            }),
            ReadResult::Failed(error) => self.end_exchange(net, conn, |exchange, now| {
                let outcome = Outcome::Connection { phase: exchange.phase() };
                exchange.abandon(outcome, Some(error.to_string()), now)
            }),
        }
    }

    /// Takes an exchange off its connection and records how it ended.
    fn end_exchange<N: Net>(
        &mut self,
        net: &mut N,
        conn: ConnId,
        end: impl FnOnce(Exchange, Nanos) -> Finished,
    ) {
        let Some(Use::Carrying(exchange) | Use::OpeningFor(exchange)) =
            self.connections.remove(conn)
        else {
            return;
        };
        let finished = end(*exchange, net.now());
        if finished.reusable && self.job.reuse_connections {
            self.connections.put(conn, Use::Idle { used: true });
        } else {
            net.close(conn, Close::Gracefully);
        }
        self.finish(finished);
    }

    fn finish(&mut self, finished: Finished) {
        let Finished { mut record, conversation, answer, reasoning, .. } = finished;
        // A server may quote what it was sent.
        record.detail = record.detail.map(|detail| self.job.encoder.endpoint().redact(&detail));
        self.in_flight -= 1;
        self.live.end(record.outcome.is_complete());
        if let Some(watch) = &mut self.watch {
            watch.ended(&record);
        }
        self.tell_end(conversation, &record, answer.as_deref().unwrap_or_default());
        // Reasoning is output too.
        let text = answer.map(|answer| reasoning.unwrap_or_default() + &answer);
        self.recorder.record(record, text);
    }

    /// Tells the load and the source that a request ended. What was to follow it and will not is
    /// recorded.
    fn tell_end(&mut self, conversation: u32, record: &Record, answer: &str) {
        let at = record.ended_or_due();
        let complete = record.outcome.is_complete();
        let offset = Nanos::ZERO + at.since(self.start);
        self.job.load.ended(offset, Ended { conversation, complete });
        let skipped = self.job.encoder.ended(conversation, record, answer);
        let why = || format!("{EARLIER_TURN_FAILED}: {}", record.outcome);
        for asked in skipped {
            self.never_begun(at, Outcome::Skipped, &why(), Some(asked));
        }
    }

    // ---- timeouts ----

    fn arm(&mut self, conn: ConnId, exchange: &Exchange) {
        if let Some((at, _)) = exchange.deadline(&self.job.timeouts) {
            self.timers.arm(conn, at);
        }
    }

    /// Gives up what has outlived its timeout.
    fn expire<N: Net>(&mut self, net: &mut N) {
        let now = net.now();
        while let Some(conn) = self.timers.due(now) {
            let deadline = match self.connections.get(conn) {
                Some(Use::Carrying(exchange) | Use::OpeningFor(exchange)) => {
                    exchange.deadline(&self.job.timeouts)
                }
                _ => None,
            };
            match deadline {
                None => {}
                Some((at, _)) if at > now => self.timers.arm(conn, at),
                Some((_, phase)) => self.end_exchange(net, conn, |exchange, now| {
                    exchange.abandon(Outcome::TimedOut { phase }, None, now)
                }),
            }
        }
    }

    // ---- the end ----

    /// Cancels what is in flight and skips what has not begun.
    fn break_off<N: Net>(&mut self, net: &mut N, cancelled: Option<&str>, skipped: &str) -> Wake {
        for conn in self.connections.ids() {
            self.end_exchange(net, conn, |exchange, now| {
                exchange.abandon(Outcome::Cancelled, cancelled.map(str::to_owned), now)
            });
        }
        self.skip_rest(net.now(), skipped);
        self.end(net)
    }

    fn skip_rest(&mut self, now: Nanos, why: &str) {
        while self.job.planned.is_some_and(|planned| self.next_index < planned) {
            let asked = self.job.encoder.unsent();
            self.never_begun(now, Outcome::Skipped, why, asked);
        }
    }

    /// Gives up a request that is due while as many are in flight as may be.
    fn drop_due(&mut self, due: Nanos, encoded: &Encoded) {
        self.job.load.take();
        let why = format!("{} were in flight when it was due, the most allowed", self.in_flight);
        let record = self.never_begun(due, Outcome::Dropped, &why, Some(encoded.asked.clone()));
        self.tell_end(encoded.conversation, &record, "");
    }

    /// Records a request that is not begun.
    fn never_begun(
        &mut self,
        due: Nanos,
        outcome: Outcome,
        why: &str,
        asked: Option<Asked>,
    ) -> Record {
        let mut record = self.planned_record(due, asked.as_ref());
        record.outcome = outcome;
        record.detail = Some(detail(why));
        if let Some(watch) = &mut self.watch {
            watch.ended(&record);
        }
        self.live.never_begin();
        self.recorder.record(record.clone(), None);
        record
    }

    fn end<N: Net>(&mut self, net: &mut N) -> Wake {
        for conn in self.connections.ids() {
            self.connections.remove(conn);
            net.close(conn, Close::Gracefully);
        }
        self.stage = Stage::Done;
        Wake::Done
    }

    fn handle<N: Net>(&mut self, net: &mut N, event: &Ready) {
        match *event {
            Ready::Connected(conn) => match self.connections.remove(conn) {
                Some(Use::OpeningFor(mut exchange)) => {
                    exchange.record.connected = Some(net.now());
                    self.carry(net, conn, exchange);
                }
                Some(Use::Opening) => self.connections.put(conn, Use::Idle { used: false }),
                Some(_) | None => {}
            },
            Ready::ConnectFailed(conn, ref error) => {
                if let Some(Use::OpeningFor(exchange)) = self.connections.remove(conn) {
                    let outcome = Outcome::Connection { phase: Phase::Connect };
                    self.finish(exchange.abandon(outcome, Some(error.to_string()), net.now()));
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
        if self.stop.load(Relaxed) && self.stage != Stage::Done {
            return self.break_off(net, None, "the run was interrupted before it was due");
        }
        match self.stage {
            Stage::Preparing { .. } => self.prepare(net),
            Stage::Running => self.run(net),
            Stage::Done => Wake::Done,
        }
    }
}
