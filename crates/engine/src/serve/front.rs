//! The actor: takes requests in, plays the engine's steps on an absolute schedule, hands tokens out
//! when their step is over. A step that begins at T ends at T + duration / speed, and the next one
//! begins there, however late the actor had its turn.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use inferometer_model::time::Nanos;
use inferometer_model::tokenizer::Tokenizer;
use inferometer_net::{Actor, Close, ConnId, Net, ReadResult, Ready, Wake, wall_clock_ns};
use inferometer_wire::http::{CONTINUE, Request};
use serde_json::json;

use super::FrontConfig;
use super::accounts::{Account, Accounts};
use super::api::{self, Call, Host, Job, Reply};
use super::connection::{Answer, Connection};
use super::fault::FaultKind;
use super::latencies::Latencies;
use super::telling::{FAILURE, fail, name, tell};
use super::words::Words;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::request::{EngineRequest, Finish, Lengths, RequestId};
use crate::step::{Step, StepOutput};

/// The server as an actor over a network on which it was made to listen.
pub struct Front {
    engine: Engine,
    host: Host,
    config: FrontConfig,
    words: Words,
    connections: BTreeMap<ConnId, Connection>,
    clients: BTreeMap<RequestId, ConnId>,
    /// The step under way and when it is over.
    under_way: Option<(Nanos, Step)>,
    /// Connections on which nothing is written before an instant.
    held: BTreeSet<(Nanos, ConnId)>,
    accounts: Accounts,
    latencies: Latencies,
    requests: u64,
    dead: bool,
    buffer: Vec<u8>,
}

impl Front {
    /// A server of an idle engine.
    ///
    /// # Errors
    /// When the tokenizer cannot make texts, or the speed is no positive number.
    pub fn new(
        engine: Engine,
        config: FrontConfig,
        tokenizer: Arc<dyn Tokenizer>,
    ) -> Result<Self, EngineError> {
        if !(config.speed > 0.0 && config.speed.is_finite()) {
            return Err(EngineError::Invalid {
                flag: "--speed",
                found: config.speed.to_string(),
                expected: "must be a number above 0".to_owned(),
            });
        }
        let words = Words::new(&*tokenizer)?;
        let host = Host::new(&engine, &config, tokenizer, wall_clock_ns() / 1_000_000_000);
        Ok(Self {
            engine,
            host,
            config,
            words,
            connections: BTreeMap::new(),
            clients: BTreeMap::new(),
            under_way: None,
            held: BTreeSet::new(),
            accounts: Accounts::default(),
            latencies: Latencies::default(),
            requests: 0,
            dead: false,
            buffer: vec![0; 64 * 1024],
        })
    }

    fn handle(&mut self, net: &mut impl Net, ready: &Ready) {
        match ready {
            Ready::Accepted(id) => {
                self.connections.insert(*id, Connection::default());
            }
            Ready::Readable(id) => self.read(net, *id),
            Ready::Writable(id) => self.flush(net, *id),
            // This side never connects.
            Ready::Connected(_) | Ready::ConnectFailed(..) => {}
        }
    }

    fn read(&mut self, net: &mut impl Net, id: ConnId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        match net.read(id, &mut self.buffer) {
            ReadResult::Data(arrived) => {
                let parsed = connection.parser.push(&self.buffer[..arrived.bytes]);
                if connection.parser.take_wants_continue() {
                    connection.raw(CONTINUE);
                }
                match parsed {
                    Ok(request) => connection.queue.extend(request),
                    Err(error) => connection.refuse(&error),
                }
                self.take(net.now(), id);
                self.flush(net, id);
            }
            ReadResult::Empty => {}
            ReadResult::Closed | ReadResult::Failed(_) => {
                net.close(id, Close::Gracefully);
                self.forget(id);
            }
        }
    }

    /// Drops a connection; a request that was under way on it is aborted.
    fn forget(&mut self, id: ConnId) {
        let answer = self.connections.remove(&id).and_then(|connection| connection.answer);
        if let Some(answer) = answer {
            self.clients.remove(&answer.request);
            self.engine.abort(answer.request);
        }
    }

    /// Answers the requests that have come, one after another, until one has to wait for the
    /// engine.
    fn take(&mut self, now: Nanos, id: ConnId) {
        loop {
            let Some(connection) = self.connections.get_mut(&id) else { return };
            if connection.answer.is_some() || connection.closing.is_some() {
                return;
            }
            let next = match connection.queue.pop_front() {
                Some(request) => Ok(Some(request)),
                None => connection.parser.push(&[]),
            };
            match next {
                Ok(Some(request)) => self.answer(now, id, &request),
                Ok(None) => return,
                Err(error) => connection.refuse(&error),
            }
        }
    }

    fn answer(&mut self, now: Nanos, id: ConnId, request: &Request) {
        let call = api::call(&self.host, &self.engine.stats(), &self.latencies, request);
        let connection = self.connections.get_mut(&id).expect("invariant: it was just read from");
        connection.keep_alive = request.keep_alive;
        match call {
            Call::Reply(reply) => connection.reply(&reply),
            Call::Accounts => connection.reply(&Reply::json(200, &json!(self.accounts))),
            Call::Generate(job) => self.generate(now, id, job),
        }
    }

    /// Begins an answer that the engine makes, or the fault that comes in its place.
    fn generate(&mut self, now: Nanos, id: ConnId, mut job: Job) {
        self.requests += 1;
        let number = self.requests;
        let befalling = self.config.faults.iter().filter(|fault| fault.befalls(number));
        let faults: Vec<FaultKind> = befalling.map(|fault| fault.kind).collect();
        let connection = self.connections.get_mut(&id).expect("invariant: it was just read from");
        for fault in &faults {
            match fault {
                FaultKind::Refuse => {
                    self.dead = true;
                    return;
                }
                FaultKind::Status(status) => {
                    return connection.reply(&Reply::error(*status, FAILURE));
                }
                FaultKind::Garbage => {
                    connection.raw(b"\x00\xff\x13 this is no HTTP\r\n\r\n");
                    connection.closing = Some(Close::Gracefully);
                    return;
                }
                FaultKind::SlowHeaders(ms) => {
                    let until = now + Duration::from_millis(u64::from(*ms));
                    connection.held_until = Some(until);
                    self.held.insert((until, id));
                }
                _ => {}
            }
        }
        let request = RequestId(number);
        if job.stream {
            connection.stream_head(job.form.stream_type());
            if let Some(opening) = job.form.opening(&name(&job, request)) {
                connection.event(&opening);
            }
        }
        let lengths = Lengths::from((job.prompt_tokens, job.max_tokens));
        let block_hashes = std::mem::take(&mut job.block_hashes);
        self.engine.add(request, EngineRequest { lengths, block_hashes });
        self.clients.insert(request, id);
        connection.answer = Some(Answer {
            request,
            job,
            faults,
            told: 0,
            told_bytes: 0,
            text: String::new(),
            arrived: now,
            first_token: None,
            last_token: None,
            silent: false,
        });
    }

    /// Ends the step that is over, begins the next, and so on up to now.
    fn play(&mut self, net: &mut impl Net) {
        let now = net.now();
        let mut begin = now;
        loop {
            if let Some((end, _)) = &self.under_way {
                if *end > now {
                    return;
                }
                let (end, step) = self.under_way.take().expect("invariant: a step is under way");
                for output in &step.outputs {
                    let sent = self.config.send_instants.then(|| net.now());
                    self.deliver(end, output, sent);
                }
                for output in &step.outputs {
                    self.settle(net, output.id);
                }
                begin = end;
                if self.dead {
                    // Nobody is left to play the steps that are overdue.
                    return;
                }
            }
            match self.engine.step() {
                Some(step) => {
                    let ns = step.duration.as_nanos() as f64 / self.config.speed;
                    self.under_way = Some((begin + Duration::from_nanos(ns.round() as u64), step));
                }
                None => return,
            }
        }
    }

    /// Tells a client what a step made for it.
    fn deliver(&mut self, at: Nanos, output: &StepOutput, sent: Option<Nanos>) {
        // A client that went away while the step was under way is not there any more.
        let Some(connection) =
            self.clients.get(&output.id).and_then(|id| self.connections.get_mut(id))
        else {
            return;
        };
        let Some(mut answer) = connection.answer.take() else { return };
        let made = output.finished != Some(Finish::Ignored);
        if made {
            match answer.last_token.replace(at) {
                None => self.latencies.first_token(at.since(answer.arrived)),
                Some(last) => self.latencies.further_token(at.since(last)),
            }
            answer.first_token.get_or_insert(at);
            let (_, word) = self.words.at(answer.job.seed, output.tokens_so_far - 1);
            answer.text.push_str(word);
        }
        if let Some(finish) = output.finished {
            self.latencies.ended(at.since(answer.arrived), finish);
            self.accounts.push(Account {
                id: name(&answer.job, answer.request),
                prompt_tokens: answer.job.prompt_tokens,
                output_tokens: output.tokens_so_far,
                arrived_ns: answer.arrived,
                first_token_ns: answer.first_token,
                finished_ns: at,
            });
        }
        let middle = (answer.job.max_tokens / 2).max(1);
        if output.tokens_so_far == middle && !answer.silent {
            self.dead |= answer.has(FaultKind::Die);
            answer.silent = !fail(connection, &answer);
            if let Some(spike) = answer.spike() {
                let until = at + spike;
                connection.held_until = Some(until);
                if let Some(&id) = self.clients.get(&output.id) {
                    self.held.insert((until, id));
                }
            }
        }
        if !answer.silent {
            tell(connection, &mut answer, output, &self.words, sent);
        }
        // What failed is over; what stalls stays, so that no further request is taken behind it.
        let stalls = answer.has(FaultKind::Stall);
        if stalls || (output.finished.is_none() && !answer.silent) {
            connection.answer = Some(answer);
        }
    }

    /// Writes what was queued; a connection whose answer has ended takes its next request.
    fn settle(&mut self, net: &mut impl Net, request: RequestId) {
        let Some(&id) = self.clients.get(&request) else { return };
        let Some(connection) = self.connections.get(&id) else { return };
        if connection.answer.is_none() {
            self.clients.remove(&request);
            self.engine.abort(request);
            self.take(net.now(), id);
        }
        self.flush(net, id);
    }

    fn flush(&mut self, net: &mut impl Net, id: ConnId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if !connection.flush(net, id) {
            self.forget(id);
        }
    }

    /// Writes what was held until now.
    fn release(&mut self, net: &mut impl Net) {
        while let Some(&(until, id)) = self.held.first() {
            if until > net.now() {
                return;
            }
            self.held.pop_first();
            self.flush(net, id);
        }
    }
}

impl<N: Net> Actor<N> for Front {
    fn turn(&mut self, net: &mut N, ready: &[Ready]) -> Wake {
        for ready in ready {
            self.handle(net, ready);
        }
        self.play(net);
        self.release(net);
        if self.dead {
            return Wake::Done;
        }
        let step = self.under_way.as_ref().map(|(end, _)| *end);
        let held = self.held.first().map(|(until, _)| *until);
        step.into_iter().chain(held).fold(Wake::WhenReady, Wake::or_at)
    }
}
