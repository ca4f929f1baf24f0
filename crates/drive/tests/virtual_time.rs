//! The driver against a server of known truth, over in-memory pipes in virtual time: nothing
//! sleeps, and every instant is compared exactly.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inferometer_analysis::cell::cell;
use inferometer_analysis::fold::PassFold;
use inferometer_analysis::search::{Claim, Search, Settings, TrialFold, Watcher};
use inferometer_analysis::validity::judge;
use inferometer_analysis::verdict::Validity;
use inferometer_drive::{Driver, Encoder, Endpoint, Job, Live, Recorder};
use inferometer_load::arrival::Arrivals;
use inferometer_load::{Bound, OverLimit, PassPlan};
use inferometer_load::{CountOf, Curve, Level, Script, Stage, load_model};
use inferometer_metrics::RequestFigures;
use inferometer_metrics::Timeline;
use inferometer_metrics::slo;
use inferometer_model::outcome::{Outcome, Phase};
use inferometer_model::record::{CUT_OFF, Record};
use inferometer_model::request::{Prompt, Request, Sampling};
use inferometer_model::source::{Follows, Prepared, Source, Supply};
use inferometer_model::time::Nanos;
use inferometer_net::virtual_net::{self, VirtualNet};
use inferometer_net::{Actor, Close, ConnId, Net, ReadResult, Ready, Wake};
use inferometer_plan::Timeouts;
use inferometer_plan::search::criteria;
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
    /// Answers this request with an error, counted from 0 in the order in which they come.
    refuses: Option<usize>,
    /// The prompts, in the order in which they came.
    heard: Arc<Mutex<Vec<String>>>,
    parsers: BTreeMap<ConnId, RequestParser>,
    agenda: VecDeque<(Nanos, ConnId, u32)>,
}

impl Server {
    fn new(ttft: Duration, gap: Duration, tokens: u32) -> Self {
        let (parsers, agenda) = (BTreeMap::new(), VecDeque::new());
        let (stall_after, refuses, heard) = (None, None, Arc::default());
        Self { ttft, gap, tokens, stall_after, refuses, heard, parsers, agenda }
    }

    /// Takes in a request; says whether it is answered by tokens.
    fn hear(&self, net: &mut VirtualNet, conn: ConnId, body: &[u8]) -> bool {
        let body: serde_json::Value = serde_json::from_slice(body).expect("JSON");
        let mut heard = self.heard.lock().expect("one thread");
        heard.push(body["prompt"].as_str().expect("a prompt").to_owned());
        let refused = self.refuses == Some(heard.len() - 1);
        if refused {
            let answer = response_head(503, &[("content-length", "0")]);
            net.write(conn, &answer).expect("a client that listens");
        }
        !refused
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
                        let request = parser.push(&buffer[..arrived.bytes]).expect("a request");
                        if request.is_some_and(|request| self.hear(net, conn, &request.body)) {
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
    keep_text: bool,
    watcher: Option<Watcher>,
    /// The client gets a processor at multiples of this only.
    client_acts_every: Duration,
}

const NO_TIMEOUTS: Timeouts =
    Timeouts { connect: None, first_token: None, between_events: None, total: None };

fn request(prompt: String, output_tokens: u32) -> Request {
    let request = Request::new(Prompt::Text(prompt), 3, output_tokens);
    Request { counted_tokens: Some(3), ..request }
}

impl Setup {
    fn of(pass: PassPlan, requests: u32) -> Self {
        let (timeouts, stop, watcher) = (NO_TIMEOUTS, Arc::default(), None);
        let (keep_text, client_acts_every) = (false, Duration::from_nanos(1));
        Self { pass, requests, timeouts, stop, keep_text, watcher, client_acts_every }
    }

    /// Plays the pass; returns its records by index, and when it started.
    fn play(&self, server: Server, listening: bool) -> (Vec<Record>, Nanos) {
        let request = request("a b c".into(), server.tokens);
        let source = Box::new(Prepared::new(vec![request; self.requests as usize]));
        self.play_source(source, server, listening)
    }

    /// As [`Setup::play`], with the requests of a source.
    fn play_source(
        &self,
        source: Box<dyn Source>,
        mut server: Server,
        listening: bool,
    ) -> (Vec<Record>, Nanos) {
        let mut hosts = virtual_net::hosts(2);
        let (mut server_net, mut client_net) = (hosts.remove(1), hosts.remove(0));
        client_net.act_every(self.client_acts_every);
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
        let ahead = self.pass.load().at_start().unwrap_or(0).max(1);
        let (max_in_flight, over_limit) = self.pass.limit();
        let job = Job {
            pass: 0,
            load: load_model(&self.pass, 1),
            stages: self.pass.stages(),
            encoder: Encoder::new(source, endpoint, sampling, self.keep_text),
            address,
            timeouts: self.timeouts,
            planned: self.pass.requests(),
            max_in_flight,
            over_limit,
            connections_ahead: ahead as usize,
            spare_connections: 0,
            reuse_connections: true,
            watcher: self.watcher.clone(),
        };
        let live = Arc::new(Live::default());
        let mut driver = Driver::new(job, Records::default(), live.clone(), self.stop.clone());
        virtual_net::play(&mut [(&mut driver, client_net), (&mut server, server_net)]);
        let start = driver.start();
        let mut records = driver.into_parts().1.0;
        records.sort_by_key(|record| record.index);
        let (counts, all) = (live.look(), records.len() as u64);
        let never = [Outcome::Dropped, Outcome::Skipped];
        let never = records.iter().filter(|record| never.contains(&record.outcome)).count() as u64;
        assert_eq!((counts.begun, counts.ended), (all - never, all - never));
        assert_eq!((counts.never_begun, counts.over()), (never, all));
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
fn a_busy_client_sends_late_reads_exactly_and_is_not_vouched_for() {
    // One due every 10 ms, and a processor every 12 ms.
    let pass = evenly(100.0, 100);
    for (acts_every, is_busy) in [(Duration::from_nanos(1), false), (ms(12), true)] {
        let mut setup = Setup::of(pass.clone(), 100);
        setup.client_acts_every = acts_every;
        let (records, start) = setup.play(Server::new(ms(20), ms(0), 1), true);
        let mut fold = PassFold::new(&pass, true, 1);
        for (k, record) in records.iter().enumerate() {
            let due = start + ms(10 * k as u64);
            let turn_ns = u64::try_from(acts_every.as_nanos()).expect("a short period");
            let sent = Nanos(due.0.next_multiple_of(turn_ns));
            assert_eq!((record.due, record.send_start), (due, Some(sent)));
            // The kernel stamps what it receives, whoever has the processor.
            let arrivals: Vec<Nanos> = record.token_events().map(|e| record.arrival(e)).collect();
            assert_eq!(arrivals, [sent + ms(20)]);
            fold.add(record);
        }
        let (validity, reasons) = judge(&[cell(3, 1, vec![fold.finish()])]);
        let expected = if is_busy { Validity::Suspect } else { Validity::Valid };
        assert_eq!((validity, reasons.len()), (expected, usize::from(is_busy)), "{reasons:?}");
        // Dues fall 0, 2, 4 ... 10 ms before a turn.
        let said = "the 99th percentile of send_delay is 10.000 ms, more than the 0.500 ms allowed";
        assert!(reasons.iter().all(|reason| reason.contains(said)), "{reasons:?}");
    }
}

#[test]
fn a_limit_in_flight_makes_requests_wait_and_the_wait_counts_from_due() {
    let bound = Bound::requests(4);
    let (records, start) = limited(bound, OverLimit::Queue, Some(2), f64::INFINITY);
    let starts: Vec<Nanos> = records.iter().map(|record| record.send_start.unwrap()).collect();
    assert_eq!(starts, [start, start, start + ms(18), start + ms(18)]);
    assert!(records.iter().all(|record| record.due == start));
}

/// An open loop with constant arrivals.
fn evenly(rate: f64, requests: u32) -> PassPlan {
    PassPlan::Open {
        rate: Level::Constant(rate),
        arrivals: Arrivals::Constant,
        bound: Bound::requests(requests),
        max_in_flight: None,
        over_limit: OverLimit::Queue,
    }
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
fn a_trial_is_cut_off_when_its_claim_is_certain_and_its_records_bear_the_claim_out() {
    let objectives = slo::parse("ttft_p99<50ms").expect("an objective");
    let criteria = criteria(&objectives, &[], 0.99, None).expect("a criterion");
    let settings = Settings {
        criteria: criteria.clone(),
        start: 1.0,
        stride: 2.0,
        lowest: 1.0,
        highest: None,
        whole: false,
        confidence: 0.95,
        precision: 0.05,
        max_requests: 1_000,
        max_trials: 40,
        latency_s: None,
    };
    // One each ms, and no answer within a second: of 300 the first 100 decide, when the last of them
    // is 50 ms late and 100 ms have gone by in which it could have been read: at 249 ms, of which
    // the next look is at 250 ms.
    let evenly = evenly(1_000.0, 300);
    for (ttft, outcome) in [(1_000, Outcome::Cancelled), (20, Outcome::Complete)] {
        let mut setup = Setup::of(evenly.clone(), 300);
        setup.watcher = Some(Watcher::new(&criteria, &evenly, settings.claim_level()));
        let (records, start) = setup.play(Server::new(ms(ttft), ms(1), 2), true);
        let of = |outcome| records.iter().filter(|record| record.outcome == outcome).count();
        let skipped = if outcome == Outcome::Complete { 0 } else { 50 };
        assert_eq!(
            (records.len(), of(outcome), of(Outcome::Skipped)),
            (300, 300 - skipped, skipped)
        );
        let mut fold = TrialFold::of(&evenly, &criteria).expect("a load");
        records.iter().for_each(|one| fold.add(&RequestFigures::of(&Timeline::new(one, true))));
        let mut search = Search::new(settings.clone());
        search.tell(fold.finish());
        let load = &search.loads()[0];
        if outcome == Outcome::Complete {
            assert_eq!((load.overwhelmed, load.claim()), (None, Claim::Open));
            continue;
        }
        assert!(load.overwhelmed.is_some_and(|by| by.cut_off > 0), "{load:?}");
        assert_eq!(search.requests(), 250);
        for record in &records {
            assert_eq!(record.detail.as_deref(), Some(CUT_OFF));
            assert!(record.outcome == Outcome::Skipped || record.ended == Some(start + ms(250)));
        }
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

#[test]
fn a_source_that_runs_dry_leaves_one_record_for_every_planned_request() {
    for pass in [
        PassPlan::closed(2, Bound::requests(7)),
        PassPlan::Saturated { requests: 7 },
        PassPlan::open(100.0, Bound::requests(7)),
    ] {
        let setup = Setup::of(pass, 4);
        let (records, _) = setup.play(Server::new(ms(5), ms(5), 5), true);
        assert_eq!(records.len(), 7, "{}", setup.pass);
        let skipped: Vec<&Record> =
            records.iter().filter(|record| record.outcome == Outcome::Skipped).collect();
        assert_eq!(skipped.len(), 3, "{}", setup.pass);
        for record in skipped {
            assert!(record.detail.as_deref().is_some_and(|why| why.contains("ran dry")));
        }
    }
}

/// Conversations of so many turns each: each turn is all that was said before it, and its name.
struct Talks {
    turns: Vec<u32>,
    begun: u32,
    at: BTreeMap<u32, (u32, String)>,
    tokens: u32,
    /// The conversation whose later turns the dialect cannot say.
    unspeakable: Option<u32>,
}

impl Talks {
    fn turn(&mut self, conversation: u32, turn: u32, before: &str) -> Request {
        let said = format!("{before}<{conversation}.{turn}>");
        self.at.insert(conversation, (turn, said.clone()));
        request(said, self.tokens)
    }
}

impl Source for Talks {
    fn next(&mut self) -> Supply {
        if self.begun as usize == self.turns.len() {
            return Supply::Exhausted;
        }
        self.begun += 1;
        Supply::Request(Box::new(self.turn(self.begun - 1, 0, "")))
    }

    fn ended(&mut self, conversation: u32, record: &Record, answer: &str) -> Follows {
        let (turn, said) = self.at[&conversation].clone();
        let rest = turn + 1..self.turns[conversation as usize];
        if rest.is_empty() {
            Follows::Nothing
        } else if record.outcome.is_complete() {
            let mut request = self.turn(conversation, turn + 1, &(said + answer));
            if self.unspeakable == Some(conversation) {
                request.prompt = Prompt::Messages(Vec::new());
            }
            Follows::Turn(Box::new(request))
        } else {
            Follows::Skipped(rest.map(|_| request("never".into(), self.tokens)).collect())
        }
    }
}

/// Plays conversations with these think times in milliseconds, one at a time, against a server
/// that takes 30 ms for the answer " w w". Returns their records, the start, and what was heard.
fn converse(think: &[&[u64]], refuses: Option<usize>, stop: bool) -> Conversed {
    let turns = think.iter().map(|talk| talk.len() as u32).collect();
    let source = Talks { turns, begun: 0, at: BTreeMap::new(), tokens: 2, unspeakable: None };
    converse_from(source, think, refuses, stop)
}

/// As [`converse`], with these conversations.
fn converse_from(source: Talks, think: &[&[u64]], refuses: Option<usize>, stop: bool) -> Conversed {
    let mut script = Script::of(0);
    script.write(think.iter().map(|talk| talk.iter().map(|&span| ms(span)).collect()));
    let begin = Box::new(PassPlan::closed(1, Bound::none()));
    let pass = PassPlan::Conversations { script, begin, of: CountOf::Conversations };
    let setup = Setup { keep_text: true, ..Setup::of(pass, 0) };
    setup.stop.store(stop, Ordering::Relaxed);
    let server = Server { refuses, ..Server::new(ms(20), ms(10), 2) };
    let heard = server.heard.clone();
    let (records, start) = setup.play_source(Box::new(source), server, true);
    let heard = heard.lock().expect("one thread").clone();
    Conversed { records, start, heard }
}

struct Conversed {
    records: Vec<Record>,
    start: Nanos,
    heard: Vec<String>,
}

#[test]
fn every_turn_is_due_at_the_end_of_the_one_before_and_its_think_time() {
    let played = converse(&[&[0, 50, 7], &[0, 20]], None, false);
    let truth = [0, 80, 117, 147, 197].map(|at| played.start + ms(at));
    assert_eq!(played.records.len(), truth.len());
    for (record, due) in played.records.iter().zip(truth) {
        assert_eq!((record.due, record.send_start), (due, Some(due)));
        assert_eq!(record.ended, Some(due + ms(30)));
        assert_eq!(record.outcome, Outcome::Complete);
    }
}

#[test]
fn every_turn_carries_the_answers_before_it_word_for_word() {
    let heard = converse(&[&[0, 50, 7], &[0, 20]], None, false).heard;
    let second = "<0.0> w w<0.1>";
    assert_eq!(heard, ["<0.0>", second, &format!("{second} w w<0.2>"), "<1.0>", "<1.0> w w<1.1>"]);
}

#[test]
fn a_turn_that_fails_ends_its_conversation_and_each_later_one_is_recorded_as_skipped() {
    let played = converse(&[&[0, 50, 7], &[0, 20]], Some(0), false);
    let outcomes: Vec<_> = played.records.iter().map(|record| record.outcome).collect();
    let (skipped, complete) = (Outcome::Skipped, Outcome::Complete);
    assert_eq!(outcomes[1..], [skipped, skipped, complete, complete]);
    assert_eq!(outcomes[0], Outcome::Rejected { status: 503 });
    for record in &played.records[1..3] {
        assert_eq!(record.due, played.start);
        let why = record.detail.as_deref().unwrap();
        assert_eq!(why, "an earlier turn of its conversation failed: rejected (503)");
    }
    assert_eq!(played.records[3].due, played.start);
    assert_eq!(played.heard, ["<0.0>", "<1.0>", "<1.0> w w<1.1>"]);
}

#[test]
fn interrupted_conversations_leave_one_record_for_every_planned_turn() {
    let played = converse(&[&[0, 50, 7], &[0, 20]], None, true);
    assert_eq!(played.records.len(), 5);
    assert!(played.records.iter().all(|record| record.outcome == Outcome::Skipped));
}

#[test]
fn nothing_is_sent_in_the_place_of_a_turn_that_the_dialect_cannot_say() {
    let think: [&[u64]; 2] = [&[0, 50, 7], &[0, 20]];
    let (turns, at, unspeakable) = (vec![3, 2], BTreeMap::new(), Some(0));
    let source = Talks { turns, begun: 0, at, tokens: 2, unspeakable };
    let played = converse_from(source, &think, None, false);
    assert_eq!(played.heard, ["<0.0>"]);
    let outcomes: Vec<_> = played.records.iter().map(|record| record.outcome).collect();
    let skipped = Outcome::Skipped;
    assert_eq!(outcomes, [Outcome::Complete, skipped, skipped, skipped, skipped]);
    assert_eq!(played.records[1].asked_output, 2);
}
