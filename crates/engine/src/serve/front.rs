//! The handler of the engine's server. It passes requests to the engine, runs the engine's steps on an absolute
//! schedule, and sends tokens when their step ends. A step that begins at T ends at T + duration / speed. The next step
//! begins at that instant, even if the server runs late. The handler reads no socket.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use inferometer_model::{Nanos, Tokenizer};
use inferometer_net::http::{Connections, Handler, answer_waiting};
use inferometer_net::{Close, ConnId, Net, Wake, wall_clock_ns};
use inferometer_wire::http::Request;
use serde_json::json;

use super::accounts::{Account, Accounts};
use super::api::{self, Call, Host, Job, Reply};
use super::connection::{Connection, Generation, respond, stream_head};
use super::output::{FAILURE, fail, name, queue_output};
use super::{FrontConfig, fault::FaultKind, latencies::Latencies, words::Words};
use crate::front_end::FrontEnd;
use crate::{Engine, EngineError, EngineRequest, Finish, Lengths, RequestId, Step, StepOutput};

/// Responds to requests as a serving engine does. An [`inferometer_net::http::Server`] runs this handler.
pub struct Front {
    engine: Engine,
    /// Requests that have not reached the scheduler yet.
    front_end: FrontEnd,
    host: Host,
    config: FrontConfig,
    words: Words,
    clients: BTreeMap<RequestId, ConnId>,
    /// Requests whose clients have left, and until when the engine goes on with them.
    lingering: BTreeSet<(Nanos, RequestId)>,
    /// The running step and the instant of its end.
    under_way: Option<(Nanos, Step)>,
    /// Until when the time of the engine, with its idle time, was counted.
    ended: Nanos,
    accounts: Accounts,
    latencies: Latencies,
    requests: u64,
    dead: bool,
}

impl Front {
    /// A server with an idle engine.
    ///
    /// # Errors
    /// If the tokenizer fails, or the speed is not a positive number.
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
            front_end: FrontEnd::of(&engine, config.speed),
            engine,
            host,
            config,
            words,
            clients: BTreeMap::new(),
            lingering: BTreeSet::new(),
            under_way: None,
            ended: Nanos::ZERO,
            accounts: Accounts::default(),
            latencies: Latencies::default(),
            requests: 0,
            dead: false,
        })
    }

    /// Begins a response that the engine generates, or injects the fault that replaces it.
    fn generate(&mut self, now: Nanos, connection: &mut Connection, mut job: Job) {
        self.requests += 1;
        let number = self.requests;
        let befalling = self.config.faults.iter().filter(|fault| fault.applies_to(number));
        let faults: Vec<FaultKind> = befalling.map(|fault| fault.kind).collect();
        for fault in &faults {
            match fault {
                FaultKind::Refuse => {
                    self.dead = true;
                    return;
                }
                FaultKind::Status(status) => {
                    return respond(connection, &Reply::error(*status, FAILURE));
                }
                FaultKind::Garbage => {
                    connection.output.push(b"\x00\xff\x13 this is no HTTP\r\n\r\n");
                    connection.output.close_after(Close::Gracefully);
                    return;
                }
                FaultKind::SlowHeaders(ms) => {
                    let until = now + Duration::from_millis(u64::from(*ms));
                    connection.output.hold_until(until);
                }
                _ => {}
            }
        }
        let request = RequestId(number);
        if job.stream {
            stream_head(connection, job.form.stream_type());
            if let Some(opening) = job.form.opening(&name(&job, request)) {
                connection.chunk(&opening);
            }
        }
        let lengths = Lengths::from((job.prompt_tokens, job.max_tokens));
        let block_hashes = std::mem::take(&mut job.block_hashes);
        let given = EngineRequest { lengths, block_hashes };
        match self.front_end.takes_time() {
            true => self.front_end.take(now, request, given, self.clients.len() as u32),
            false => self.engine.add(request, given),
        }
        self.clients.insert(request, connection.id());
        connection.response = Some(Generation {
            request,
            job,
            faults,
            sent_tokens: 0,
            sent_bytes: 0,
            text: String::new(),
            arrived: now,
            first_token: None,
            last_token: None,
            sends_nothing: false,
        });
    }

    /// Completes the steps that have ended and begins the next one.
    fn play<N: Net>(&mut self, net: &mut N, connections: &mut Connections<Generation>) {
        let now = net.now();
        // If no step is running, the engine was idle until a request reached the scheduler.
        let mut begin = self.front_end.next().map_or(now, |next| next.min(now));
        loop {
            if let Some((end, _)) = &self.under_way {
                if *end > now {
                    return;
                }
                let (end, step) = self.under_way.take().expect("invariant: a step is under way");
                self.ended = end;
                for output in &step.outputs {
                    let sent = self.config.send_instants.then(|| net.now());
                    self.deliver(connections, end, output, sent);
                }
                for output in &step.outputs {
                    self.settle(net, connections, output.id);
                }
                begin = end;
                if self.dead {
                    // A fault has ended the server, so the remaining steps are not processed.
                    return;
                }
            }
            self.front_end.hand_over(&mut self.engine, begin);
            let idle_ns = begin.since(self.ended).as_nanos() as f64 * self.config.speed;
            self.engine.rest(Duration::from_nanos(idle_ns.round() as u64));
            self.ended = begin;
            match self.engine.step() {
                Some(step) => {
                    let ns = step.duration.as_nanos() as f64 / self.config.speed;
                    self.under_way = Some((begin + Duration::from_nanos(ns.round() as u64), step));
                }
                None => match self.front_end.next() {
                    Some(next) if next <= now => begin = next,
                    _ => return,
                },
            }
        }
    }

    /// Queues the output of a step for a request.
    fn deliver(
        &mut self,
        connections: &mut Connections<Generation>,
        at: Nanos,
        output: &StepOutput,
        sent: Option<Nanos>,
    ) {
        // The client may have disconnected during the step.
        let Some(connection) = self.clients.get(&output.id).and_then(|id| connections.get_mut(*id))
        else {
            return;
        };
        let Some(mut generation) = connection.response.take() else { return };
        let made = output.finished != Some(Finish::Ignored);
        if made {
            match generation.last_token.replace(at) {
                None => self.latencies.first_token(at.since(generation.arrived)),
                Some(last) => self.latencies.further_token(at.since(last)),
            }
            generation.first_token.get_or_insert(at);
            let (_, word) = self.words.at(generation.job.seed, output.tokens_so_far - 1);
            generation.text.push_str(word);
        }
        if let Some(finish) = output.finished {
            self.latencies.ended(at.since(generation.arrived), finish);
            self.accounts.push(Account {
                id: name(&generation.job, generation.request),
                prompt_tokens: generation.job.prompt_tokens,
                output_tokens: output.tokens_so_far,
                arrived_ns: generation.arrived,
                first_token_ns: generation.first_token,
                finished_ns: at,
            });
        }
        let middle = (generation.job.max_tokens / 2).max(1);
        if output.tokens_so_far == middle && !generation.sends_nothing {
            self.dead |= generation.has(FaultKind::Die);
            generation.sends_nothing = !fail(connection, &generation);
            if let Some(spike) = generation.spike() {
                connection.output.hold_until(at + spike);
            }
        }
        if !generation.sends_nothing {
            queue_output(connection, &mut generation, output, &self.words, sent);
        }
        // A failed response is dropped. A stalled response remains, so that the connection handles no further request.
        let stalls = generation.has(FaultKind::Stall);
        if stalls || (output.finished.is_none() && !generation.sends_nothing) {
            connection.response = Some(generation);
        }
    }

    /// Writes the queued data. A connection whose response has ended handles its next request.
    fn settle<N: Net>(
        &mut self,
        net: &mut N,
        connections: &mut Connections<Generation>,
        request: RequestId,
    ) {
        let Some(&id) = self.clients.get(&request) else { return };
        let Some(connection) = connections.get_mut(id) else { return };
        if connection.response.is_none() {
            self.abort(request);
            answer_waiting(self, net, connections, id);
        }
        if let Some(generation) = connections.flush(net, id) {
            self.abort(generation.request);
        }
    }

    /// Stops generating tokens for a request.
    fn abort(&mut self, request: RequestId) {
        self.clients.remove(&request);
        self.front_end.abort(request);
        self.engine.abort(request);
    }
}

impl Handler for Front {
    type Response = Generation;

    fn request<N: Net>(&mut self, net: &mut N, connection: &mut Connection, request: &Request) {
        match api::call(&self.host, &self.engine.stats(), &self.latencies, request) {
            Call::Reply(reply) => respond(connection, &reply),
            Call::Accounts => respond(connection, &Reply::json(200, &json!(self.accounts))),
            Call::Generate(job) => self.generate(net.now(), connection, job),
        }
    }

    fn refuse(&mut self, connection: &mut Connection, _status: u16, why: &str) {
        // Serving engines answer all malformed requests with the same status.
        respond(connection, &Reply::error(400, why));
    }

    fn client_left(&mut self, now: Nanos, generation: Generation) {
        match generation.lingers() {
            Some(time) => {
                self.clients.remove(&generation.request);
                self.lingering.insert((now + time, generation.request));
            }
            None => self.abort(generation.request),
        }
    }

    fn turn<N: Net>(&mut self, net: &mut N, connections: &mut Connections<Generation>) -> Wake {
        while let Some((at, request)) = self.lingering.pop_first() {
            if at > net.now() {
                self.lingering.insert((at, request));
                break;
            }
            self.abort(request);
        }
        self.play(net, connections);
        let end = self.under_way.as_ref().map(|(end, _)| *end);
        let lingers = self.lingering.first().map(|first| first.0);
        match end.or(self.front_end.next()).into_iter().chain(lingers).min() {
            _ if self.dead => Wake::Done,
            Some(at) => Wake::At(at),
            None => Wake::WhenReady,
        }
    }
}
