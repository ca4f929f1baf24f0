//! The driver against a server of known truth, over in-memory pipes in virtual time: nothing
//! sleeps, and every instant is compared exactly.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use inferometer_core::arrival::Arrivals;
use inferometer_core::load::{Curve, Level, Stage, load_model};
use inferometer_core::outcome::{Outcome, Phase};
use inferometer_core::plan::{Bound, OverLimit, PassPlan, Timeouts};
use inferometer_core::record::Record;
use inferometer_core::request::{Prompt, Request, Sampling};
use inferometer_core::time::Nanos;
use inferometer_core::traits::Prepared;
use inferometer_drive::{Driver, Encoder, Endpoint, Job, Live, Recorder};
use inferometer_net::virtual_net::{self, VirtualNet};
use inferometer_net::{Actor, Close, ConnId, Net, ReadResult, Ready, Wake};
use inferometer_wire::dialect::dialect;
use inferometer_wire::http::{LAST_CHUNK, RequestParser, response_head, write_chunk};

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Answers each request with a stream: the first token after `ttft`, then one every `gap`.
struct Server {
    ttft: Duration,
    gap: Duration,
    tokens: u32,
    /// Sends this many tokens, then nothing more, ever.
    stall_after: Option<u32>,
    parsers: BTreeMap<ConnId, RequestParser>,
    agenda: VecDeque<(Nanos, ConnId, u32)>,
}

impl Server {
    fn new(ttft: Duration, gap: Duration, tokens: u32) -> Self {
        let (parsers, agenda) = (BTreeMap::new(), VecDeque::new());
        Self { ttft, gap, tokens, stall_after: None, parsers, agenda }
    }

    fn send(&self, net: &mut VirtualNet, conn: ConnId, index: u32) {
        let mut bytes = Vec::new();
        if index == 0 {
            let headers = [("content-type", "text/event-stream"), ("transfer-encoding", "chunked")];
            bytes = response_head(200, &headers);
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
        // A client that has gone takes nothing, and that is all right here.
        let _ = net.write(conn, &bytes);
    }
}

impl Actor<VirtualNet> for Server {
    fn turn(&mut self, net: &mut VirtualNet, ready: &[Ready]) -> Wake {
        let mut buffer = [0; 4096];
        for event in ready {
            match *event {
                Ready::Accepted(conn) => {
                    self.parsers.insert(conn, RequestParser::new());
                }
                Ready::Readable(conn) => match net.read(conn, &mut buffer) {
                    ReadResult::Data(arrived) => {
                        let parser = self.parsers.get_mut(&conn).expect("an accepted connection");
                        if parser.push(&buffer[..arrived.bytes]).expect("a request").is_some() {
                            self.agenda.push_back((net.now() + self.ttft, conn, 0));
                        }
                    }
                    _ => net.close(conn, Close::Gracefully),
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
            if next < self.tokens && self.stall_after.is_none_or(|limit| next < limit) {
                self.agenda.push_back((at + self.gap, conn, next));
            }
        }
        self.agenda.iter().map(|&(at, ..)| at).min().map_or(Wake::WhenReady, Wake::At)
    }
}

#[derive(Default)]
struct Records(Vec<Record>);

impl Recorder for Records {
    fn record(&mut self, record: Record, _text: Option<String>) {
        self.0.push(record);
    }
}

/// What a test changes of an ordinary pass.
struct Setup {
    pass: PassPlan,
    requests: u32,
    timeouts: Timeouts,
    stop: Arc<AtomicBool>,
}

const NO_TIMEOUTS: Timeouts =
    Timeouts { connect: None, first_token: None, between_events: None, total: None };

impl Setup {
    fn of(pass: PassPlan, requests: u32) -> Self {
        Self { pass, requests, timeouts: NO_TIMEOUTS, stop: Arc::default() }
    }

    /// Plays the pass; returns its records by index, and when it started.
    fn play(&self, mut server: Server, listening: bool) -> (Vec<Record>, Nanos) {
        let mut hosts = virtual_net::hosts(2);
        let (mut server_net, client_net) = (hosts.remove(1), hosts.remove(0));
        let mut address = SocketAddr::from(([127, 0, 0, 1], 80));
        if listening {
            address = server_net.listen(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
        }
        let request = Request {
            prompt: Prompt::Text("a b c".into()),
            input_tokens: 3,
            counted_tokens: Some(3),
            output_tokens: server.tokens,
        };
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
        let source = Box::new(Prepared::new(vec![request; self.requests as usize]));
        let ahead = self.pass.load().at_start().unwrap_or(0).max(1);
        let (max_in_flight, over_limit) = self.pass.limit();
        let job = Job {
            pass: 0,
            load: load_model(&self.pass, 1),
            encoder: Encoder::new(source, endpoint, sampling, false),
            address,
            timeouts: self.timeouts,
            planned: self.pass.requests(),
            max_in_flight,
            over_limit,
            connections_ahead: ahead as usize,
            spare_connections: 0,
            reuse_connections: true,
        };
        let live = Arc::new(Live::default());
        let mut driver = Driver::new(job, Records::default(), live.clone(), self.stop.clone());
        virtual_net::play(&mut [(&mut driver, client_net), (&mut server, server_net)]);
        let start = driver.start();
        let mut records = driver.into_parts().1.0;
        records.sort_by_key(|record| record.index);
        assert_eq!(live.look().ended, records.len() as u64);
        (records, start)
    }
}

#[test]
fn a_thousand_streams_have_every_instant_equal_to_the_truth() {
    let setup = Setup::of(PassPlan::Saturated { requests: 1_000 }, 1_000);
    let (records, start) = setup.play(Server::new(ms(100), ms(10), 100), true);
    assert_eq!(records.len(), 1_000);
    for record in &records {
        assert_eq!(record.outcome, Outcome::Complete, "{:?}", record.detail);
        assert_eq!(record.due, start);
        assert_eq!(record.send_start, Some(start));
        assert_eq!(record.usage.completion, Some(100));
        let arrivals: Vec<Nanos> =
            record.token_events().map(|event| record.arrival(event)).collect();
        let truth: Vec<Nanos> = (0..100).map(|k| start + ms(100 + 10 * k)).collect();
        assert_eq!(arrivals, truth);
        assert_eq!(record.ended, Some(start + ms(100 + 990)));
    }
}

#[test]
fn one_by_one_makes_each_request_due_at_the_end_of_the_one_before() {
    let setup = Setup::of(PassPlan::OneByOne { bound: Bound::requests(5) }, 5);
    let (records, start) = setup.play(Server::new(ms(20), ms(5), 3), true);
    for (k, record) in records.iter().enumerate() {
        assert_eq!(record.due, start + ms(30 * k as u64));
        assert_eq!(record.ended, Some(record.due + ms(30)));
        assert!(record.connected.is_none(), "the connection was opened ahead and kept alive");
    }
}

#[test]
fn an_open_loop_sends_at_its_own_schedule_whatever_the_server_does() {
    let bound = Bound::requests(200);
    let setup = Setup::of(PassPlan::open(100.0, bound), 200);
    let (records, start) = setup.play(Server::new(ms(500), ms(50), 20), true);
    let plan: Vec<Nanos> = Arrivals::Poisson
        .seconds(1)
        .take(200)
        .map(|second| start + Duration::from_nanos((second / 100.0 * 1e9) as u64))
        .collect();
    let due: Vec<Nanos> = records.iter().map(|record| record.due).collect();
    let sent: Vec<Nanos> = records.iter().map(|record| record.send_start.unwrap()).collect();
    assert_eq!(due, plan);
    assert_eq!(sent, plan);
}

#[test]
fn a_limit_in_flight_makes_requests_wait_and_the_wait_counts_from_due() {
    let bound = Bound::requests(4);
    let (records, start) = limited(bound, OverLimit::Queue, Some(2), f64::INFINITY);
    let starts: Vec<Nanos> = records.iter().map(|record| record.send_start.unwrap()).collect();
    assert_eq!(starts, [start, start, start + ms(18), start + ms(18)]);
    assert!(records.iter().all(|record| record.due == start));
}

/// An open loop with constant arrivals and a limit, against a server that takes 18 ms.
fn limited(
    bound: Bound,
    over_limit: OverLimit,
    max_in_flight: Option<u32>,
    rate: f64,
) -> (Vec<Record>, Nanos) {
    let rate = rate.into();
    let arrivals = Arrivals::Constant;
    let pass = PassPlan::Open { rate, arrivals, bound, max_in_flight, over_limit };
    let requests = bound.requests.expect("a count");
    Setup::of(pass, requests).play(Server::new(ms(9), ms(9), 2), true)
}

#[test]
fn beyond_a_limit_requests_are_dropped_at_their_due_time_and_counted() {
    // One due every 5 ms, each takes 18 ms, two may be in flight: of every four, two are sent.
    let (records, start) = limited(Bound::requests(12), OverLimit::Drop, Some(2), 200.0);
    assert_eq!(records.len(), 12);
    for (k, record) in records.iter().enumerate() {
        assert_eq!(record.due, start + ms(5 * k as u64));
        assert_eq!((record.index, record.asked_output), (k as u32, 2));
        if k % 4 < 2 {
            assert_eq!(record.outcome, Outcome::Complete);
            assert_eq!(record.send_start, Some(record.due));
        } else {
            assert_eq!((record.outcome, record.send_start), (Outcome::Dropped, None));
            assert!(record.detail.as_ref().unwrap().starts_with("2 were in flight"));
        }
    }
}

#[test]
fn a_ramp_of_concurrency_sends_at_its_own_instants() {
    // From 1 to 3 in 400 ms: the second place opens at 100 ms and the third at 300 ms.
    let stage = Stage { duration: ms(400), from: 1.0, to: 3.0, curve: Curve::Linear };
    let pass = PassPlan::Closed { concurrency: Level::Stages(vec![stage]), bound: Bound::none() };
    let (records, start) = Setup::of(pass, 20).play(Server::new(ms(100), ms(50), 2), true);
    let sent: Vec<Nanos> = records.iter().map(|record| record.send_start.unwrap()).collect();
    let truth = [0, 100, 150, 250, 300, 300].map(|at| start + ms(at));
    assert_eq!(sent, truth);
    assert!(records.iter().all(|record| record.due == record.send_start.unwrap()));
}

#[test]
fn each_timeout_names_its_phase_and_is_exact() {
    let limit = Some(ms(70));
    for (timeouts, server, stall, phase, ended) in [
        (Timeouts { first_token: limit, ..NO_TIMEOUTS }, 100, None, Phase::Headers, 70),
        (Timeouts { between_events: limit, ..NO_TIMEOUTS }, 5, Some(2), Phase::BetweenEvents, 85),
        (Timeouts { total: limit, ..NO_TIMEOUTS }, 5, None, Phase::Total, 70),
    ] {
        let mut setup = Setup::of(PassPlan::OneByOne { bound: Bound::requests(1) }, 1);
        setup.timeouts = timeouts;
        let mut server = Server::new(ms(server), ms(10), 50);
        server.stall_after = stall;
        let (records, start) = setup.play(server, true);
        assert_eq!(records[0].outcome, Outcome::TimedOut { phase });
        assert_eq!(records[0].ended, Some(start + ms(ended)));
    }
}

#[test]
fn a_server_that_does_not_listen_gives_each_request_its_refusal() {
    let setup = Setup::of(PassPlan::closed(2, Bound::requests(5)), 5);
    let (records, _) = setup.play(Server::new(ms(1), ms(1), 1), false);
    assert_eq!(records.len(), 5);
    for record in &records {
        assert_eq!(record.outcome, Outcome::Connection { phase: Phase::Connect });
    }
}

#[test]
fn an_interruption_leaves_one_record_for_every_planned_request() {
    let setup = Setup::of(PassPlan::closed(2, Bound::requests(7)), 7);
    setup.stop.store(true, Ordering::Relaxed);
    let (records, _) = setup.play(Server::new(ms(5), ms(5), 5), true);
    assert_eq!(records.len(), 7);
    assert!(records.iter().all(|record| record.outcome == Outcome::Skipped));
}
