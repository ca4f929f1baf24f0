//! The HTTP front over in-memory pipes in virtual time: every instant is exact.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use inferometer_engine::profile::profile;
use inferometer_engine::serve::{Fault, Front, FrontConfig};
use inferometer_engine::{Engine, EngineConfig, RequestId};
use inferometer_http::Server;
use inferometer_model::outcome::Outcome;
use inferometer_model::request::{Prompt, Request, Sampling};
use inferometer_model::time::Nanos;
use inferometer_model::tokenizer::{Tokenizer, TokenizerError};
use inferometer_net::virtual_net::{VirtualNet, hosts, play};
use inferometer_net::{Actor, Close, ConnId, Net, ReadResult, Ready, Wake};
use inferometer_wire::dialect::dialect;
use inferometer_wire::exchange::ResponseReader;
use inferometer_wire::http::{Piece, ResponseParser, request_head};
use serde_json::{Value, json};

/// One token per word.
struct Words;

impl Tokenizer for Words {
    fn name(&self) -> String {
        "words".to_owned()
    }

    fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        Ok(text.split_whitespace().map(|word| word.len() as u32).collect())
    }

    fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        Ok(ids.iter().map(|id| format!(" w{id}")).collect())
    }

    fn plain_ids(&self) -> &[u32] {
        &[1, 2, 3, 4, 5, 6, 7, 8, 9]
    }
}

/// What a client does on one connection, and what it hears.
#[derive(Default)]
struct Call {
    at: Nanos,
    send: Vec<u8>,
    /// Sends more at this instant.
    later: Option<(Nanos, Vec<u8>)>,
    /// Goes away at this instant.
    leave: Option<Nanos>,
    /// Responses after which it is content.
    expected: usize,
    conn: Option<ConnId>,
    reads: Vec<(Nanos, Vec<u8>)>,
    responses: usize,
    parser: ResponseParser,
    end: Option<&'static str>,
}

struct Client {
    to: SocketAddr,
    calls: Vec<Call>,
}

/// No test lasts longer.
const DEADLINE: Nanos = Nanos(100_000_000_000);

impl Client {
    fn hear(call: &mut Call, net: &mut VirtualNet, conn: ConnId) {
        let mut buffer = vec![0; 1 << 16];
        match net.read(conn, &mut buffer) {
            ReadResult::Data(arrived) => {
                let mut rest = &buffer[..arrived.bytes];
                call.reads.push((arrived.user, rest.to_vec()));
                // Cutting into single bytes finds the end of each response, whatever follows it.
                while !rest.is_empty() {
                    if call.parser.push(&rest[..1], &mut |_| ()).is_err() {
                        break;
                    }
                    rest = &rest[1..];
                    if call.parser.is_done() {
                        call.responses += 1;
                        call.parser = ResponseParser::new();
                    }
                }
                if call.responses == call.expected {
                    call.end = Some("complete");
                    net.close(conn, Close::Gracefully);
                }
            }
            ReadResult::Empty => {}
            ReadResult::Closed | ReadResult::Failed(_) => {
                call.end = Some("closed");
                net.close(conn, Close::Gracefully);
            }
        }
    }
}

impl Actor<VirtualNet> for Client {
    fn turn(&mut self, net: &mut VirtualNet, ready: &[Ready]) -> Wake {
        let now = net.now();
        let mut wake = Wake::At(DEADLINE);
        for call in &mut self.calls {
            match call.conn {
                None if call.at <= now => {
                    let conn = net.connect(self.to).expect("the server listens");
                    net.write(conn, &call.send).expect("the server reads");
                    call.conn = Some(conn);
                }
                None => wake = wake.or_at(call.at),
                Some(_) => {}
            }
            match (&call.later, call.conn) {
                (Some((at, _)), _) if *at > now => wake = wake.or_at(*at),
                (Some((_, more)), Some(conn)) => {
                    net.write(conn, more).expect("the server reads");
                    call.later = None;
                }
                _ => {}
            }
            match (call.leave, call.conn) {
                (Some(leave), _) if leave > now => wake = wake.or_at(leave),
                (Some(_), Some(conn)) if call.end.is_none() => {
                    call.end = Some("left");
                    net.close(conn, Close::Gracefully);
                }
                _ => {}
            }
        }
        for ready in ready {
            if let Ready::Readable(conn) = ready
                && let Some(call) = self.calls.iter_mut().find(|call| call.conn == Some(*conn))
                && call.end.is_none()
            {
                Self::hear(call, net, *conn);
            }
        }
        let all_ended = self.calls.iter().all(|call| call.end.is_some());
        if all_ended || now >= DEADLINE { Wake::Done } else { wake }
    }
}

fn engine_config() -> EngineConfig {
    EngineConfig::of_model("chatglm3-6b").expect("a known model")
}

/// A server whose loop wakes late, as on a busy machine.
struct Late {
    front: Server<Front>,
    by: Duration,
}

impl Actor<VirtualNet> for Late {
    fn turn(&mut self, net: &mut VirtualNet, ready: &[Ready]) -> Wake {
        match self.front.turn(net, ready) {
            Wake::At(at) => Wake::At(at + self.by),
            other => other,
        }
    }
}

/// Plays calls against a fresh server.
fn with_front(change: impl FnOnce(&mut FrontConfig), calls: Vec<Call>) -> Vec<Call> {
    with_late_front(Duration::ZERO, change, calls)
}

fn with_late_front(
    by: Duration,
    change: impl FnOnce(&mut FrontConfig),
    calls: Vec<Call>,
) -> Vec<Call> {
    let mut config = FrontConfig::new("chatglm3-6b");
    config.chat_overhead_tokens = 5;
    change(&mut config);
    with_engine(engine_config(), config, by, calls)
}

fn with_engine(
    engine: EngineConfig,
    config: FrontConfig,
    by: Duration,
    calls: Vec<Call>,
) -> Vec<Call> {
    let engine = Engine::new(engine).expect("the defaults run");
    let front = Front::new(engine, config, Arc::new(Words)).expect("a front");
    let mut late = Late { front: Server::new(front), by };
    let mut hosts = hosts(2);
    let (mut server, client) = (hosts.remove(1), hosts.remove(0));
    let to = server.listen("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let mut caller = Client { to, calls };
    play(&mut [(&mut caller, client), (&mut late, server)]);
    caller.calls
}

fn bytes(method: &str, path: &str, body: Option<&Value>) -> Vec<u8> {
    let body = body.map(Value::to_string);
    let mut bytes = request_head(method, path, "engine", &[], body.as_ref().map(String::len));
    bytes.extend(body.unwrap_or_default().into_bytes());
    bytes
}

fn call(method: &str, path: &str, body: Option<&Value>) -> Call {
    Call { send: bytes(method, path, body), expected: 1, ..Call::default() }
}

/// The status and the body of the only response.
fn response(call: &Call) -> (u16, String) {
    let (mut status, mut body) = (0, Vec::new());
    let mut parser = ResponseParser::new();
    for (_, read) in &call.reads {
        let mut sink = |piece: Piece<'_>| match piece {
            Piece::Head(head) => status = head.status,
            Piece::Body(bytes) => body.extend_from_slice(bytes),
            Piece::End => {}
        };
        parser.push(read, &mut sink).expect("HTTP");
    }
    (status, String::from_utf8(body).expect("UTF-8"))
}

fn ask(method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
    let calls = with_front(|_| (), vec![call(method, path, body)]);
    let (status, body) = response(&calls[0]);
    (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
}

const PROMPT: &str = "one two three four five six seven eight nine ten";

fn request(output_tokens: u32) -> Request {
    Request::new(Prompt::Text(PROMPT.to_owned()), 10, output_tokens)
}

fn sampling(stream: bool) -> Sampling {
    Sampling { temperature: 1.0, ignore_eos: true, stream, extra_body: serde_json::Map::new() }
}

/// A call as a client of that dialect makes it.
fn dialect_call(name: &str, stream: bool, output_tokens: u32) -> Call {
    let dialect = dialect(name).expect("a dialect");
    let body = dialect.body(&request(output_tokens), &sampling(stream), "chatglm3-6b");
    let body = body.expect("a body");
    let mut send = request_head("POST", dialect.path(stream), "engine", &[], Some(body.len()));
    send.extend(body);
    Call { send, expected: 1, ..Call::default() }
}

/// How a client of that dialect reads what came.
fn read_as(name: &str, stream: bool, call: &Call) -> ResponseReader {
    let dialect = dialect(name).expect("a dialect");
    let prompt = Prompt::Text(PROMPT.to_owned());
    let mut reader = ResponseReader::new(dialect, &prompt, stream, true);
    for (index, (_, bytes)) in call.reads.iter().enumerate() {
        reader.feed(index as u32, bytes);
    }
    if call.end == Some("closed") {
        reader.eof();
    }
    reader
}

const DIALECTS: [&str; 4] = ["openai-completions", "openai-chat", "vllm", "tgi"];

#[test]
fn every_dialect_gets_a_complete_answer_streamed_or_not() {
    for name in DIALECTS {
        for stream in [true, false] {
            let calls = with_front(|_| (), vec![dialect_call(name, stream, 6)]);
            let reader = read_as(name, stream, &calls[0]);
            assert_eq!(reader.verdict(), (Outcome::Complete, None), "{name} {stream}");
            let text = reader.parsed().text.clone().unwrap();
            assert_eq!(text.split_whitespace().count(), 6, "{name} {stream}: {text:?}");
            let prompt = if name == "openai-chat" { 15 } else { 10 };
            if dialect(name).unwrap().reports_usage {
                let usage = reader.parsed().usage;
                assert_eq!(usage.completion, Some(6), "{name} {stream}");
                assert!(usage.prompt.is_none_or(|tokens| tokens == prompt), "{name} {stream}");
            }
        }
    }
}

#[test]
fn each_event_says_when_it_was_sent_where_that_is_asked_for() {
    for name in DIALECTS {
        let change = |config: &mut FrontConfig| config.send_instants = true;
        let calls = with_front(change, vec![dialect_call(name, true, 6)]);
        let reader = read_as(name, true, &calls[0]);
        assert_eq!(reader.verdict(), (Outcome::Complete, None), "{name}");
        assert_eq!(reader.parsed().text.as_deref().unwrap().split_whitespace().count(), 6);
        let mut instants = 0;
        for (at, bytes) in &calls[0].reads {
            let text = String::from_utf8_lossy(bytes);
            for rest in text.split("\"sent_ns\":").skip(1) {
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                assert_eq!(digits, at.0.to_string(), "{name}");
                instants += 1;
            }
        }
        assert!(instants >= 6, "{name}: {instants}");
    }
}

#[test]
fn a_prompt_may_be_token_ids() {
    let body = json!({ "model": "chatglm3-6b", "prompt": [5, 6, 7], "max_tokens": 2 });
    let (status, answer) = ask("POST", "/v1/completions", Some(&body));
    assert_eq!((status, &answer["usage"]["prompt_tokens"]), (200, &json!(3)));
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
}

/// When the steps of one lone request of 10 prompt tokens are over.
fn steps(output_tokens: u32) -> Vec<Nanos> {
    let mut engine = Engine::new(engine_config()).expect("the defaults run");
    engine.add(RequestId(0), 10, output_tokens);
    let mut now = Nanos::ZERO;
    std::iter::from_fn(|| engine.step())
        .map(|step| {
            now = now + step.duration;
            now
        })
        .collect()
}

#[test]
fn tokens_come_when_their_step_is_over() {
    let calls = with_front(|_| (), vec![dialect_call("openai-completions", true, 5)]);
    let mut instants: Vec<_> = calls[0].reads.iter().map(|(at, _)| *at).collect();
    assert_eq!(instants.remove(0), Nanos::ZERO, "the head comes before any work");
    assert_eq!(instants, steps(5));
}

#[test]
fn ten_times_the_speed_takes_a_tenth_of_the_time() {
    let calls = with_front(|c| c.speed = 10.0, vec![dialect_call("openai-completions", false, 5)]);
    let tenth = steps(5).last().unwrap().0 / 10;
    assert!(calls[0].reads[0].0.0.abs_diff(tenth) <= 5);
}

#[test]
fn a_connection_carries_one_request_after_another() {
    let mut both = dialect_call("openai-completions", true, 3);
    both.send.extend(dialect_call("openai-chat", false, 2).send);
    both.send.extend(bytes("GET", "/health", None));
    both.expected = 3;
    let calls = with_front(|_| (), vec![both]);
    assert_eq!((calls[0].responses, calls[0].end), (3, Some("complete")));
}

#[test]
fn a_request_that_comes_early_waits_for_the_answer_before_it() {
    let mut both = dialect_call("openai-completions", false, 50);
    both.later = Some((Nanos(100_000_000), bytes("GET", "/version", None)));
    both.expected = 2;
    let calls = with_front(|_| (), vec![both]);
    assert_eq!((calls[0].responses, calls[0].end), (2, Some("complete")));
    let read: Vec<u8> = calls[0].reads.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
    let text = String::from_utf8(read).unwrap();
    assert!(text.find("text_completion").unwrap() < text.find("version").unwrap());
}

#[test]
fn a_client_that_asks_for_it_is_closed_on() {
    let send = b"GET /version HTTP/1.1\r\nconnection: close\r\n\r\n".to_vec();
    let calls = with_front(|_| (), vec![Call { send, expected: 2, ..Call::default() }]);
    assert_eq!((calls[0].responses, calls[0].end), (1, Some("closed")));
}

#[test]
fn the_engine_s_accounts_hold_its_schedule_however_late_its_loop_wakes() {
    for late_ms in [0, 3] {
        let mut accounts = call("GET", "/engine/accounts", None);
        accounts.at = Nanos(50_000_000_000);
        let calls = vec![dialect_call("openai-completions", true, 5), accounts];
        let calls = with_late_front(Duration::from_millis(late_ms), |_| (), calls);
        let (_, body) = response(&calls[1]);
        let steps = steps(5);
        let account = json!([{
            "id": "cmpl-0000000000000001", "prompt_tokens": 10, "output_tokens": 5, "arrived_ns": 0,
            "first_token_ns": steps[0].0, "finished_ns": steps[4].0
        }]);
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), account);
    }
}

#[test]
fn a_client_that_goes_away_frees_what_it_held() {
    let mut gone = dialect_call("openai-completions", true, 2000);
    gone.leave = Some(Nanos(1_000_000_000));
    let mut metrics = call("GET", "/metrics", None);
    metrics.at = Nanos(2_000_000_000);
    let (before, after) = (call("GET", "/metrics", None), metrics);
    let mut during = before;
    during.at = Nanos(900_000_000);
    let calls = with_front(|_| (), vec![gone, during, after]);
    let running = |call: &Call| {
        let (_, text) = response(call);
        let line = text.lines().find(|line| line.starts_with("vllm:num_requests_running"));
        line.unwrap().ends_with(" 1")
    };
    assert!(running(&calls[1]) && !running(&calls[2]));
}

#[test]
fn what_is_wrong_with_a_request_is_said_as_vllm_says_it() {
    let long = json!({ "model": "chatglm3-6b", "prompt": PROMPT, "max_tokens": 8183 });
    let (status, answer) = ask("POST", "/v1/completions", Some(&long));
    let message = answer["message"].as_str().unwrap();
    assert_eq!((status, &answer["object"]), (400, &json!("error")));
    assert!(
        message.starts_with(
            "This model's maximum context length is 8192 tokens. However, you requested 8193 \
             tokens (10 in the messages, 8183 in the completion)."
        ),
        "{message}"
    );
    let other = json!({ "model": "x", "prompt": PROMPT });
    let (status, answer) = ask("POST", "/v1/completions", Some(&other));
    assert_eq!((status, &answer["message"]), (404, &json!("The model `x` does not exist.")));
}

#[test]
fn bad_requests_have_their_statuses() {
    let model = "chatglm3-6b";
    for (method, path, body, expected) in [
        ("POST", "/v1/completions", json!([]), 400),
        ("POST", "/v1/completions", json!({ "model": model }), 400),
        ("POST", "/v1/completions", json!({ "model": model, "prompt": "" }), 400),
        ("POST", "/v1/completions", json!({ "model": model, "prompt": ["a", "b"] }), 400),
        ("POST", "/v1/completions", json!({ "model": model, "prompt": "a", "max_tokens": 0 }), 400),
        ("POST", "/v1/completions", json!({ "model": model, "prompt": "a", "n": 2 }), 400),
        ("POST", "/v1/chat/completions", json!({ "model": model, "messages": [] }), 400),
        ("POST", "/generate", json!({ "max_tokens": 3 }), 400),
        ("POST", "/generate", json!({ "inputs": "" }), 422),
        (
            "POST",
            "/generate",
            json!({ "inputs": "a", "parameters": { "max_new_tokens": 9000 } }),
            422,
        ),
        ("GET", "/v1/completions", json!({}), 405),
        ("POST", "/nowhere", json!({}), 404),
    ] {
        let (status, answer) = ask(method, path, Some(&body));
        assert_eq!(status, expected, "{path} {body}: {answer}");
    }
    let not_json = Call {
        send: b"POST /generate HTTP/1.1\r\ncontent-length: 1\r\n\r\n{".to_vec(),
        expected: 1,
        ..Call::default()
    };
    assert_eq!(response(&with_front(|_| (), vec![not_json])[0]).0, 400);
    let not_http =
        Call { send: b"\x16\x03\x01 hello\r\n\r\n".to_vec(), expected: 2, ..Call::default() };
    let calls = with_front(|_| (), vec![not_http]);
    assert_eq!((response(&calls[0]).0, calls[0].end), (400, Some("closed")));
}

#[test]
fn the_server_says_what_it_is() {
    let (_, models) = ask("GET", "/v1/models", None);
    assert_eq!(models["data"][0]["id"], "chatglm3-6b");
    assert_eq!(models["data"][0]["max_model_len"], 8192);
    assert_eq!(ask("GET", "/version", None).1["version"], "0.2.7");
    assert_eq!(ask("GET", "/health", None).0, 200);
    assert_eq!(ask("GET", "/info", None).1["max_total_tokens"], 8192);
    let body = json!({ "model": "chatglm3-6b", "prompt": PROMPT });
    let (_, tokens) = ask("POST", "/tokenize", Some(&body));
    assert_eq!((&tokens["count"], &tokens["max_model_len"]), (&json!(10), &json!(8192)));
    assert_eq!(tokens["tokens"][2], 5);
    let (_, text) = ask("POST", "/detokenize", Some(&json!({ "tokens": [4, 2] })));
    assert_eq!(text["prompt"], " w4 w2");
}

#[test]
fn todays_engine_shares_beginnings_of_prompts_and_has_todays_metrics() {
    let mut engine = engine_config();
    engine.profile = profile("a100-40g-vllm-0.32").expect("a known profile");
    let prompt = "word ".repeat(64);
    let body = json!({ "model": "chatglm3-6b", "prompt": prompt, "max_tokens": 2 });
    let mut calls = vec![call("POST", "/v1/completions", Some(&body))];
    for second in 1..=2_u64 {
        let body = (second == 1).then_some(&body);
        let mut later = match body {
            Some(body) => call("POST", "/v1/completions", Some(body)),
            None => call("GET", "/metrics", None),
        };
        later.at = Nanos(second * 1_000_000_000);
        calls.push(later);
    }
    let calls = with_engine(engine, FrontConfig::new("chatglm3-6b"), Duration::ZERO, calls);
    let (_, metrics) = response(&calls[2]);
    for line in [
        "vllm:prefix_cache_queries_total{model_name=\"chatglm3-6b\"} 128",
        "vllm:prefix_cache_hits_total{model_name=\"chatglm3-6b\"} 48",
        "vllm:kv_cache_usage_perc{model_name=\"chatglm3-6b\"} 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
    }
    for gone in ["gpu_cache_usage_perc", "time_per_output_token_seconds"] {
        assert!(!metrics.contains(gone), "{gone}");
    }
}

#[test]
fn a_prompt_that_the_engine_ignores_gets_an_empty_answer() {
    let prompt = "a ".repeat(8193);
    let body = json!({ "prompt": prompt, "max_tokens": 5 });
    let (status, answer) = ask("POST", "/generate", Some(&body));
    assert_eq!((status, &answer["text"][0]), (200, &json!(prompt)));
}

#[test]
fn a_model_may_end_its_text_by_itself_unless_told_not_to() {
    let body = |ignore: bool| {
        let mut body = json!({ "model": "chatglm3-6b", "prompt": PROMPT, "max_tokens": 500 });
        body["ignore_eos"] = json!(ignore);
        body
    };
    let finish = |ignore| {
        let change = |config: &mut FrontConfig| config.end_of_text_within = Some(20);
        let calls = with_front(change, vec![call("POST", "/v1/completions", Some(&body(ignore)))]);
        let answer: Value = serde_json::from_str(&response(&calls[0]).1).unwrap();
        let tokens = answer["usage"]["completion_tokens"].as_u64().unwrap();
        (answer["choices"][0]["finish_reason"].as_str().unwrap().to_owned(), tokens)
    };
    let (reason, tokens) = finish(false);
    assert!(reason == "stop" && tokens <= 20, "{reason} {tokens}");
    assert_eq!(finish(true), ("length".to_owned(), 500));
}

/// What a client makes of a fault, with and without a stream.
fn under_fault(fault: &str, stream: bool) -> (Outcome, Call) {
    let name = "openai-completions";
    let change = |config: &mut FrontConfig| {
        config.faults = vec![Fault::parse(fault).expect("a fault")];
    };
    let mut calls = with_front(change, vec![dialect_call(name, stream, 10)]);
    let call = calls.remove(0);
    (read_as(name, stream, &call).verdict().0, call)
}

#[test]
fn faults_are_seen_as_what_they_are() {
    let connection_ended = Some("closed");
    for (fault, stream, outcome, end) in [
        ("error-event", true, Outcome::ServerError, Some("complete")),
        ("error-event", false, Outcome::Rejected { status: 500 }, Some("complete")),
        ("cut", true, Outcome::Truncated, connection_ended),
        ("cut", false, Outcome::Truncated, connection_ended),
        ("status=429", true, Outcome::Rejected { status: 429 }, Some("complete")),
        ("status=503", false, Outcome::Rejected { status: 503 }, Some("complete")),
        ("garbage", true, Outcome::Malformed, connection_ended),
        ("malformed", true, Outcome::Malformed, Some("complete")),
        ("malformed", false, Outcome::Malformed, Some("complete")),
        ("bundle=4", true, Outcome::Complete, Some("complete")),
        ("comments", true, Outcome::Complete, Some("complete")),
        ("slow-headers=700", true, Outcome::Complete, Some("complete")),
        ("cut@2", true, Outcome::Complete, Some("complete")),
    ] {
        let (found, call) = under_fault(fault, stream);
        assert_eq!((found, call.end), (outcome, end), "{fault}, stream: {stream}");
    }
}

#[test]
fn a_reset_ends_the_connection_in_the_middle() {
    let (_, call) = under_fault("reset", true);
    assert_eq!((call.responses, call.end), (0, Some("closed")));
    assert_eq!(call.reads.len(), 1 + 4, "head and the tokens before the middle");
}

#[test]
fn a_stall_sends_nothing_more_and_does_not_end() {
    let (_, call) = under_fault("stall", true);
    assert_eq!((call.responses, call.end), (0, None));
    assert!(call.reads.last().unwrap().0 < Nanos::ZERO + Duration::from_secs(1));
}

#[test]
fn bundles_carry_several_tokens_in_an_event() {
    let (_, call) = under_fault("bundle=4", true);
    assert_eq!(call.reads.len(), 1 + 3, "the head, then 4, 4 and 2 tokens");
}

#[test]
fn a_spike_holds_back_the_middle_and_loses_nothing() {
    let (outcome, call) = under_fault("spike=700", true);
    assert_eq!((outcome, call.end), (Outcome::Complete, Some("complete")));
    let gap = |pair: &[(Nanos, Vec<u8>)]| pair[1].0.since(pair[0].0);
    let longest = call.reads.windows(2).map(gap).max().unwrap();
    assert!(longest >= Duration::from_millis(700), "{longest:?}");
}

#[test]
fn slow_headers_hold_back_everything() {
    let (_, call) = under_fault("slow-headers=700", true);
    assert_eq!(call.reads[0].0, Nanos(700_000_000));
}
