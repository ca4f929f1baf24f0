//! Tests how a client sees injected faults.

use std::time::Duration;

use inferometer_engine::serve::{Fault, FrontConfig};
use inferometer_model::outcome::Outcome;
use inferometer_model::time::Nanos;

use super::client::{Call, call, dialect_call, read_as, with_front};

/// Returns the outcome that a client determines under a fault, and its call.
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
fn each_fault_gives_the_expected_outcome_at_the_client() {
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
fn a_reset_fault_closes_the_connection_in_the_middle_of_a_stream() {
    let (_, call) = under_fault("reset", true);
    assert_eq!((call.responses, call.end), (0, Some("closed")));
    assert_eq!(call.reads.len(), 1 + 4, "head and the tokens before the middle");
}

#[test]
fn a_stall_fault_stops_sending_without_closing_the_connection() {
    let (_, call) = under_fault("stall", true);
    assert_eq!((call.responses, call.end), (0, None));
    assert!(call.reads.last().unwrap().0 < Nanos::ZERO + Duration::from_secs(1));
}

#[test]
fn a_bundle_fault_sends_several_tokens_in_one_event() {
    let (_, call) = under_fault("bundle=4", true);
    assert_eq!(call.reads.len(), 1 + 3, "the head, then 4, 4 and 2 tokens");
}

#[test]
fn a_spike_fault_delays_the_middle_of_a_stream_without_losing_data() {
    let (outcome, call) = under_fault("spike=700", true);
    assert_eq!((outcome, call.end), (Outcome::Complete, Some("complete")));
    let gap = |pair: &[(Nanos, Vec<u8>)]| pair[1].0.since(pair[0].0);
    let longest = call.reads.windows(2).map(gap).max().unwrap();
    assert!(longest >= Duration::from_millis(700), "{longest:?}");
}

#[test]
fn a_slow_headers_fault_delays_the_whole_response() {
    let (_, call) = under_fault("slow-headers=700", true);
    assert_eq!(call.reads[0].0, Nanos(700_000_000));
}

#[test]
fn the_request_of_a_client_that_left_is_freed_at_once_or_after_the_planted_time() {
    let at = |ms: u64| Nanos(ms * 1_000_000);
    for (fault, running) in [(None, [1, 0, 0, 0]), (Some("linger=700"), [1, 1, 1, 0])] {
        let change = |config: &mut FrontConfig| {
            config.faults =
                fault.map(|fault| Fault::parse(fault).expect("a fault")).into_iter().collect();
        };
        let left = Call { leave: Some(at(100)), ..dialect_call("openai-completions", true, 1_000) };
        let reads =
            [90, 110, 790, 840].map(|ms| Call { at: at(ms), ..call("GET", "/metrics", None) });
        let calls = with_front(change, [left].into_iter().chain(reads).collect());
        let found = calls[1..].iter().map(|call| {
            let text: Vec<u8> = call.reads.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
            let text = String::from_utf8(text).expect("text");
            let line = text.lines().find(|line| line.starts_with("vllm:num_requests_running{"));
            line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).expect("a number")
        });
        assert_eq!(found.collect::<Vec<_>>(), running.map(f64::from), "{fault:?}");
    }
}
