//! Helpers of the tests: a reference server, and a pass that runs against it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inferometer_drive::{
    Driver, Encoder, Endpoint, Job, Live, LoopPart, Order, Recorder, Waits, Watcher,
};
use inferometer_model::load::{Leavers, PassPlan, Share, load_model};
use inferometer_model::outcome::Outcome;
use inferometer_model::record::Record;
use inferometer_model::request::{Prompt, Request, Sampling};
use inferometer_model::source::{Prepared, Source};
use inferometer_model::time::Nanos;
use inferometer_net::virtual_net::{self, VirtualNet};
use inferometer_net::{Actor, Close, ConnId, Net, ReadResult, Ready, Wake};
use inferometer_plan::Timeouts;
use inferometer_wire::dialect::dialect;
use inferometer_wire::http::{LAST_CHUNK, RequestParser, response_head, write_chunk};

pub fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Responds to each request with a stream: the first token after `ttft`, then one token every `gap`.
pub struct Server {
    pub ttft: Duration,
    pub gap: Duration,
    pub tokens: u32,
    /// Sends this many tokens, and then nothing more.
    pub stall_after: Option<u32>,
    /// Responds to this request with an error; counted from 0 in the order of arrival.
    pub refuses: Option<usize>,
    /// Closes the connection of this request without an answer; counted from 0 in the order of arrival.
    pub hangs_up_on: Option<usize>,
    /// Responds to these requests with these bytes repeatedly, without an end.
    pub floods: Option<(Range<usize>, Vec<u8>)>,
    /// The connections of the requests in `floods`.
    pub flooded: Vec<ConnId>,
    /// The prompts in the order of arrival.
    pub prompts: Arc<Mutex<Vec<String>>>,
    pub parsers: BTreeMap<ConnId, RequestParser>,
    pub agenda: VecDeque<(Nanos, ConnId, u32)>,
}

impl Server {
    pub fn new(ttft: Duration, gap: Duration, tokens: u32) -> Self {
        let (parsers, agenda) = (BTreeMap::new(), VecDeque::new());
        let (stall_after, refuses, hangs_up_on, prompts) = (None, None, None, Arc::default());
        let (floods, flooded) = (None, Vec::new());
        Self {
            ttft,
            gap,
            tokens,
            stall_after,
            refuses,
            hangs_up_on,
            floods,
            flooded,
            prompts,
            parsers,
            agenda,
        }
    }

    /// Receives a request. Returns whether tokens follow.
    fn receive(&mut self, net: &mut VirtualNet, conn: ConnId, body: &[u8]) -> bool {
        let body: serde_json::Value = serde_json::from_slice(body).expect("JSON");
        let mut prompts = self.prompts.lock().expect("one thread");
        prompts.push(body["prompt"].as_str().expect("a prompt").to_owned());
        let number = prompts.len() - 1;
        if self.floods.as_ref().is_some_and(|(which, _)| which.contains(&number)) {
            self.flooded.push(conn);
        }
        let refused = self.refuses == Some(number);
        if refused {
            let answer = response_head(503, &[("content-length", "0")]);
            net.write(conn, &answer).expect("a client that listens");
        }
        let hangs_up = self.hangs_up_on == Some(number);
        if hangs_up {
            net.close(conn, Close::Gracefully);
        }
        !refused && !hangs_up
    }

    fn send(&self, net: &mut VirtualNet, conn: ConnId, index: u32) {
        let mut bytes = Vec::new();
        if index == 0 {
            let headers = [("content-type", "text/event-stream"), ("transfer-encoding", "chunked")];
            bytes = response_head(200, &headers);
        }
        if let Some((_, flood)) = self.floods.as_ref().filter(|_| self.flooded.contains(&conn)) {
            write_chunk(&mut bytes, flood);
            let _ = net.write(conn, &bytes);
            return;
        }
        let last = index + 1 == self.tokens;
        let reason = if last { "\"length\"" } else { "null" };
        let event = format!(
            "data: {{\"choices\":[{{\"index\":0,\"text\":\" w\",\"finish_reason\":{reason}}}]}}\n\n"
        );
        write_chunk(&mut bytes, event.as_bytes());
        if last {
            let usage = format!(
                "data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":3,\"completion_tokens\":{}}}}}\
                 \n\ndata: [DONE]\n\n",
                self.tokens
            );
            write_chunk(&mut bytes, usage.as_bytes());
            bytes.extend_from_slice(LAST_CHUNK);
        }
        // The client may have closed the connection.
        let _ = net.write(conn, &bytes);
    }
}

impl Actor<VirtualNet> for Server {
    fn turn(&mut self, net: &mut VirtualNet, ready: &[Ready]) -> Wake {
        let mut buffer = [0; 4096];
        for event in ready {
            match *event {
                Ready::Accepted(conn) => {
                    self.parsers.insert(conn, RequestParser::default());
                }
                Ready::Readable(conn) => match net.read(conn, &mut buffer) {
                    ReadResult::Data(arrived) => {
                        let parser = self.parsers.get_mut(&conn).expect("an accepted connection");
                        let request = parser.push(&buffer[..arrived.bytes]).expect("a request");
                        if request.is_some_and(|request| self.receive(net, conn, &request.body)) {
                            self.agenda.push_back((net.now() + self.ttft, conn, 0));
                        }
                    }
                    _ => {
                        net.close(conn, Close::Gracefully);
                        self.agenda.retain(|(_, open, _)| *open != conn);
                    }
                },
                _ => {}
            }
        }
        let now = net.now();
        let (due, later): (VecDeque<_>, VecDeque<_>) =
            self.agenda.drain(..).partition(|&(at, ..)| at <= now);
        self.agenda = later;
        for (at, conn, index) in due {
            self.send(net, conn, index);
            let next = index + 1;
            let endless = self.flooded.contains(&conn);
            if endless || next < self.tokens && self.stall_after.is_none_or(|limit| next < limit) {
                self.agenda.push_back((at + self.gap, conn, next));
            }
        }
        self.agenda.iter().map(|&(at, ..)| at).min().map_or(Wake::WhenReady, Wake::At)
    }
}

#[derive(Default)]
pub struct Records {
    pub records: Vec<Record>,
    /// How many more calls of `is_behind` return true.
    behind: Cell<u32>,
}

impl Recorder for Records {
    fn record(&mut self, record: Record, _text: Option<String>) {
        self.records.push(record);
    }

    fn is_behind(&self) -> bool {
        self.behind.replace(self.behind.get().saturating_sub(1)) > 0
    }
}

/// The parts of a pass that tests change.
pub struct Setup {
    pub pass: PassPlan,
    pub requests: u32,
    pub timeouts: Timeouts,
    pub max_in_prefill: Option<u32>,
    pub leavers: Option<Leavers>,
    pub stop: Arc<AtomicBool>,
    pub keep_text: bool,
    /// How many calls of the recorder's `is_behind` return true at first.
    pub behind: u32,
    /// The waits that the driver counted.
    pub waits: Cell<Waits>,
    pub watcher: Option<Watcher>,
    pub most_time: Option<Duration>,
    /// The number of event loops of the pass.
    pub loops: u32,
    /// The loops after the first get a processor only at multiples of this time.
    pub others_act_every: Duration,
    /// The hash of the request bodies.
    pub body_hash: RefCell<String>,
    /// The first loop gets a processor only at multiples of this time.
    pub client_acts_every: Duration,
}

pub const NO_TIMEOUTS: Timeouts =
    Timeouts { connect: None, first_token: None, between_events: None, total: None };

pub fn request(prompt: String, output_tokens: u32) -> Request {
    let request = Request::new(Prompt::Text(prompt), 3, output_tokens);
    Request { counted_tokens: Some(3), ..request }
}

impl Setup {
    pub fn of(pass: PassPlan, requests: u32) -> Self {
        let (timeouts, stop, watcher) = (NO_TIMEOUTS, Arc::default(), None);
        let (keep_text, client_acts_every) = (false, Duration::from_nanos(1));
        let (behind, waits) = (0, Cell::default());
        Self {
            behind,
            waits,
            pass,
            requests,
            timeouts,
            max_in_prefill: None,
            leavers: None,
            stop,
            keep_text,
            watcher,
            most_time: None,
            client_acts_every,
            loops: 1,
            others_act_every: client_acts_every,
            body_hash: RefCell::default(),
        }
    }

    /// Runs the pass. If `listening` is false, no server listens. Returns the records of the pass, sorted by
    /// index, and its start.
    pub fn play(&self, server: Server, listening: bool) -> (Vec<Record>, Nanos) {
        let request = request("a b c".into(), server.tokens);
        let source = Box::new(Prepared::new(vec![request; self.requests as usize]));
        self.play_source(source, server, listening)
    }

    /// Like [`Setup::play`], with the requests of a source.
    pub fn play_source(
        &self,
        source: Box<dyn Source>,
        mut server: Server,
        listening: bool,
    ) -> (Vec<Record>, Nanos) {
        let loops = Share::WHOLE.loops(&self.pass, self.loops);
        let mut hosts = virtual_net::hosts(1 + loops as usize);
        let mut server_net = hosts.remove(0);
        hosts.iter_mut().for_each(|net| net.act_every(self.others_act_every));
        hosts[0].act_every(self.client_acts_every);
        let mut address = SocketAddr::from(([127, 0, 0, 1], 80));
        if listening {
            address = server_net.listen(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
        }
        let sampling = Sampling {
            temperature: 0.0,
            ignore_eos: true,
            stream: true,
            extra_body: serde_json::Map::new(),
        };
        let endpoint = Endpoint {
            dialect: dialect("openai-completions").expect("known"),
            authority: "h".into(),
            path: "/v1/completions".into(),
            headers: Vec::new(),
            model: "m".into(),
        };
        let ahead = self.pass.at_start().unwrap_or(0).max(1);
        let (max_in_flight, over_limit) = self.pass.limit();
        let job = Job {
            pass: 0,
            load: load_model(&self.pass, 1),
            stages: self.pass.stages(),
            encoder: Encoder::new(source, endpoint, sampling, self.keep_text),
            servers: inferometer_net::Address::from(address).into(),
            timeouts: self.timeouts,
            leavers: self.leavers,
            planned: self.pass.requests(),
            max_in_flight,
            over_limit,
            max_in_prefill: self.max_in_prefill,
            connections_ahead: ahead as usize,
            spare_connections: 0,
            reuse_connections: true,
            watcher: self.watcher.clone(),
            most_time: self.most_time,
        };
        let live = Arc::new(Live::default());
        let recorder = Records { behind: Cell::new(self.behind), ..Records::default() };
        let driver = Driver::new(job, recorder, live.clone(), self.stop.clone());
        let part = |which: u32| {
            let part = Share::WHOLE.of_loop(&self.pass, which, loops);
            LoopPart {
                part,
                load: part.load_model_of_loop(&self.pass, 1),
                connections_ahead: part.share_of(ahead) as usize,
                spare_connections: 0,
                waker: Some(hosts[which as usize].waker()),
            }
        };
        let mut drivers = match loops {
            1 => vec![driver],
            _ => driver.on_loops(Order::of(&self.pass), (0..loops).map(part).collect()),
        };
        let mut actors: Vec<(&mut dyn Actor<VirtualNet>, VirtualNet)> = Vec::new();
        for (driver, net) in drivers.iter_mut().zip(hosts) {
            actors.push((driver, net));
        }
        actors.push((&mut server, server_net));
        virtual_net::run_until(&mut actors, loops as usize);
        let driver = drivers.swap_remove(0);
        drop(drivers);
        let start = driver.start();
        self.waits.set(driver.waits());
        let (body_hash, recorder) = driver.into_parts();
        *self.body_hash.borrow_mut() = body_hash;
        let mut records = recorder.records;
        records.sort_by_key(|record| record.index);
        let (counts, all) = (live.look(), records.len() as u64);
        let never = [Outcome::Dropped, Outcome::Skipped];
        let never = records.iter().filter(|record| never.contains(&record.outcome)).count() as u64;
        assert_eq!((counts.begun, counts.ended), (all - never, all - never));
        assert_eq!((counts.never_begun, counts.over()), (never, all));
        (records, start)
    }
}
