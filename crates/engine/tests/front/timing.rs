//! Tests the times at which responses arrive, and how requests on one connection wait for each other.

use std::time::Duration;

use inferometer_engine::serve::FrontConfig;
use inferometer_engine::{Engine, EngineConfig, RequestId, simulate};
use inferometer_model::load::{Bound, Open};
use inferometer_model::outcome::Outcome;
use inferometer_model::time::Nanos;
use serde_json::{Value, json};

use super::client::{
    Call, DIALECTS, bytes, call, dialect_call, engine_config, read_as, response, with_engine,
    with_front, with_late_front,
};

/// Returns when each step of a single request with 10 prompt tokens ends.
fn steps(output_tokens: u32) -> Vec<Nanos> {
    let mut engine = Engine::new(engine_config()).expect("the defaults run");
    engine.add(RequestId(0), (10, output_tokens));
    let mut now = Nanos::ZERO;
    std::iter::from_fn(|| engine.step())
        .map(|step| {
            now = now + step.duration;
            now
        })
        .collect()
}

#[test]
fn tokens_are_sent_when_their_engine_step_ends() {
    let calls = with_front(|_| (), vec![dialect_call("openai-completions", true, 5)]);
    let mut instants: Vec<_> = calls[0].reads.iter().map(|(at, _)| *at).collect();
    assert_eq!(instants.remove(0), Nanos::ZERO, "the head comes before any work");
    assert_eq!(instants, steps(5));
}

/// The engine's front end takes time. The first request arrives at an idle engine, the second while the first is in the
/// front end, and the third while the first decodes.
#[test]
fn a_served_engine_generates_tokens_at_the_same_times_as_its_simulation() {
    for profile in ["vllm-0.23-h100-sxm", "vllm-0.11-h100-sxm"] {
        let engine = EngineConfig::of("qwen3-14b", Some(profile)).expect("known");
        let due = [Nanos(0), Nanos(3_000_000), Nanos(60_000_000)];
        let load = &mut Open::new(due.into_iter(), Bound::requests(3));
        let mut lengths = std::iter::repeat((10, 9));
        let expected: Vec<_> =
            simulate(&mut Engine::new(engine.clone()).expect("it runs"), load, &mut lengths)
                .iter()
                .map(|record| (record.sent, record.first_token, Some(record.ended)))
                .collect();
        for late_ms in [0, 1] {
            let call_at = |at| Call { at, ..dialect_call("openai-completions", true, 9) };
            let mut calls: Vec<Call> = due.into_iter().map(call_at).collect();
            let mut accounts = call("GET", "/engine/accounts", None);
            accounts.at = Nanos(5_000_000_000);
            calls.push(accounts);
            let config = FrontConfig::new("chatglm3-6b");
            let late = Duration::from_millis(late_ms);
            let calls = with_engine(engine.clone(), config, late, calls);
            let (_, body) = response(&calls[3]);
            let body: Value = serde_json::from_str(&body).expect("JSON");
            let instant = |account: &Value, key: &str| account[key].as_u64().map(Nanos);
            let mut found: Vec<_> = (0..3)
                .map(|at| {
                    let of = |key| instant(&body[at], key);
                    (of("arrived_ns").expect("an instant"), of("first_token_ns"), of("finished_ns"))
                })
                .collect();
            found.sort();
            assert_eq!(found, expected, "{profile}, {late_ms} ms late");
        }
    }
}

#[test]
fn ten_times_the_speed_takes_a_tenth_of_the_time() {
    let calls = with_front(|c| c.speed = 10.0, vec![dialect_call("openai-completions", false, 5)]);
    let tenth = steps(5).last().unwrap().0 / 10;
    assert!(calls[0].reads[0].0.0.abs_diff(tenth) <= 5);
}

#[test]
fn each_event_states_its_send_time_if_send_instants_is_set() {
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
fn a_connection_is_reused_for_several_requests() {
    let mut both = dialect_call("openai-completions", true, 3);
    both.send.extend(dialect_call("openai-chat", false, 2).send);
    both.send.extend(bytes("GET", "/health", None));
    both.expected = 3;
    let calls = with_front(|_| (), vec![both]);
    assert_eq!((calls[0].responses, calls[0].end), (3, Some("complete")));
}

#[test]
fn a_pipelined_request_waits_for_the_previous_response() {
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
fn the_server_closes_the_connection_if_the_client_requests_it() {
    let send = b"GET /version HTTP/1.1\r\nconnection: close\r\n\r\n".to_vec();
    let calls = with_front(|_| (), vec![Call { send, expected: 2, ..Call::default() }]);
    assert_eq!((calls[0].responses, calls[0].end), (1, Some("closed")));
}

#[test]
fn engine_accounts_report_scheduled_times_even_if_the_event_loop_wakes_late() {
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
fn a_client_that_disconnects_stops_its_running_request() {
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
