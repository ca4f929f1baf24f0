//! The driver: begins requests when the load model says so, sends them over connections, and hands
//! every one of them to the recorder, whatever its outcome.
//!
//! An actor over a [`Net`]: nothing here sleeps, blocks or reads any other clock. Between a
//! socket read and its stamp nothing is done at all.

mod begin;
mod finish;
mod prepare;
mod timeouts;
mod transfer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use inferometer_model::outcome::{Outcome, Phase};
use inferometer_model::record::CUT_OFF;
use inferometer_model::time::Nanos;
use inferometer_net::{Actor, Close, Net, Ready, Wake};

use crate::connections::{Connections, Purpose};
use crate::job::{Job, Recorder};
use crate::live::Live;
use crate::memory::AnswerMemory;
use crate::timers::Timers;
use crate::watch::Watch;

/// Most requests encoded ahead in one turn, so that arrivals are read in between.
const ENCODE_PER_TURN: usize = 8;
/// Room for one read. What does not fit is read in the next turn.
const READ_BUFFER: usize = 256 << 10;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Opening connections and encoding ahead. Nothing is due yet.
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
    memory: AnswerMemory,
    /// The source has no more requests, whatever the load model asks for.
    source_exhausted: bool,
    buffer: Vec<u8>,
    watch: Option<Watch>,
    waits: Waits,
}

/// How often, and for how long, no request began because the recorder was behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// How often.
    pub count: u64,
    /// How long, in all.
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
    /// A driver that has not started. Setting `stop` and waking it ends the pass: requests in flight
    /// are cancelled, requests not begun are skipped, and all are recorded.
    pub fn new(mut job: Job, recorder: R, live: Arc<Live>, stop: Arc<AtomicBool>) -> Self {
        let watch = job.watcher.take().map(Watch::new);
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
            memory: AnswerMemory::default(),
            source_exhausted: false,
            buffer: vec![0; READ_BUFFER],
            watch,
            waits: Waits::default(),
        }
    }

    /// How long requests that were due waited for the recorder.
    pub fn waits(&self) -> Waits {
        self.waits
    }

    /// When the pass started: the origin of the load model's offsets.
    pub fn start(&self) -> Nanos {
        self.start
    }

    /// Whether connections may still carry one request after the other. False if the job did not
    /// allow it, or the server closed a connection that it had promised to keep.
    pub fn reuses_connections(&self) -> bool {
        self.job.reuse_connections
    }

    /// The hash of the bodies that were encoded, and the recorder.
    pub fn into_parts(self) -> (String, R) {
        (self.job.encoder.body_hash(), self.recorder)
    }

    fn run<N: Net>(&mut self, net: &mut N) -> Wake {
        self.expire(net);
        if self.is_certain(net.now()) {
            return self.abort(net, Some(CUT_OFF), CUT_OFF);
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

    /// Whether nothing that can still happen changes the outcome of the pass.
    fn is_certain(&mut self, now: Nanos) -> bool {
        let connections = &self.connections;
        self.watch.as_mut().is_some_and(|watch| {
            let in_flight = connections.exchanges().map(|one| (&one.record, one.first_token()));
            now >= watch.next() && watch.is_certain(now, in_flight)
        })
    }

    fn end<N: Net>(&mut self, net: &mut N) -> Wake {
        for conn in self.connections.ids() {
            self.connections.remove(conn);
            net.close(conn, Close::Gracefully);
        }
        self.waits.end(net.now());
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
            return self.abort(net, None, "the run was interrupted before it was due");
        }
        match self.stage {
            Stage::Preparing { .. } => self.prepare(net),
            Stage::Running => self.run(net),
            Stage::Done => Wake::Done,
        }
    }
}
