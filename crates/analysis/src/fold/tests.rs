//! Tests summaries of passes and cells, on records that are small enough to compute by hand.

use super::*;
use crate::cell::cell;
use inferometer_model::fixture::{ms, steady, stream};
use inferometer_model::metrics::{
    e2e, itl, latency_per_output_token, latency_per_token, send_delay, tpot, ttft,
};
use inferometer_model::record::EventKind::{Finish, Text};
use inferometer_model::{Bound, Outcome};

const SATURATED: PassPlan = PassPlan::saturated(3);

fn fold(pass: &PassPlan, streamed: bool, records: &[Record]) -> PassSummary {
    let mut fold = PassFold::new(pass);
    records
        .iter()
        .for_each(|record| fold.add(&Timeline::new(&Record { streamed, ..record.clone() })));
    fold.finish()
}

/// Rounds to 9 decimal places.
fn round(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

/// Two requests complete, with 3 and 5 tokens. A third one is cut off after its first token.
fn pass() -> Vec<Record> {
    let mut cut = stream(0.0, &[(20.0, Text, None)]);
    cut.outcome = Outcome::Truncated;
    cut.usage.completion = Some(77);
    cut.due = ms(0.0);
    cut.send_start = Some(ms(4.0));
    cut.ended = Some(ms(400.0));
    vec![steady(0.0, 40.0, 10.0, 3), steady(2.0, 98.0, 25.0, 5), cut]
}

#[test]
fn throughput_uses_only_completed_requests_and_outcomes_count_all_requests() {
    let got = fold(&SATURATED, true, &pass());
    assert_eq!((got.kind, got.planned), (PassKind::Saturated, 3));
    assert_eq!((got.outcomes.complete, got.outcomes.truncated), (2, 1));
    assert_eq!((got.input_tokens, got.output_tokens), (Some(16), 8));
    assert_eq!(got.tokens_from, Some(TokensFrom::Usage));
    // The pass lasts from the first send at 0 to the end of the failed request at 400 ms.
    assert_eq!(got.duration_s.map(round), Some(0.4));
    assert_eq!(got.requests_per_s.map(round), Some(5.0));
    assert_eq!(got.output_tokens_per_s.map(round), Some(20.0));
    assert_eq!(got.peak_concurrency, Some(3));
    // The requests are in flight for 60 + 198 + 396 ms, within 400 ms.
    assert_eq!(got.mean_concurrency.map(round), Some(1.635));
}

#[test]
fn each_latency_summarizes_the_values_of_its_metric() {
    let got = fold(&SATURATED, true, &pass());
    for (name, distribution, mean, max, n) in [
        ("ttft", got.latencies.get(&ttft::FROM_SENT).copied(), 69.0, 98.0, 2),
        ("ttft_from_due", got.latencies.get(&ttft::FROM_DUE).copied(), 69.0, 98.0, 2),
        ("tpot", got.latencies.get(&tpot::DEFINITION).copied(), 17.5, 25.0, 2),
        // Two gaps of 10 ms and four of 25 ms.
        ("itl", got.latencies.get(&itl::DEFINITION).copied(), 20.0, 25.0, 6),
        ("e2e", got.latencies.get(&e2e::FROM_SENT).copied(), 129.0, 198.0, 2),
        ("e2e_from_due", got.latencies.get(&e2e::FROM_DUE).copied(), 129.0, 198.0, 2),
        // The failed request was sent too, 4 ms late.
        ("send_delay", got.latencies.get(&send_delay::DEFINITION).copied(), 4.0 / 3.0, 4.0, 3),
        // The latencies are divided by 8 + 3 and by 8 + 5 tokens.
        (
            "latency_per_token",
            got.latencies.get(&latency_per_token::DEFINITION).copied(),
            (60.0 / 11.0 + 198.0 / 13.0) / 2.0,
            198.0 / 13.0,
            2,
        ),
        (
            "latency_per_output_token",
            got.latencies.get(&latency_per_output_token::DEFINITION).copied(),
            29.8,
            39.6,
            2,
        ),
    ] {
        let got = distribution.unwrap_or_else(|| panic!("{name} is absent"));
        assert_eq!(
            (round(got.mean), round(got.max), got.n),
            (round(mean), round(max), n),
            "{name}"
        );
    }
}

#[test]
fn the_order_of_records_does_not_change_the_summary() {
    let mut records = pass();
    records.extend((0..20).map(|i| steady(f64::from(i) * 0.3, 7.1 * f64::from(i), 3.3, 3 + i % 5)));
    let forward = fold(&SATURATED, true, &records);
    records.rotate_left(7);
    records.reverse();
    assert_eq!(fold(&SATURATED, true, &records), forward);
}

#[test]
fn a_pass_without_streaming_has_e2e_latencies_but_no_token_times() {
    let got = fold(&SATURATED, false, &pass());
    assert_eq!(
        (
            got.latencies.get(&ttft::FROM_SENT).copied(),
            got.latencies.get(&tpot::DEFINITION).copied(),
            got.latencies.get(&itl::DEFINITION).copied()
        ),
        (None, None, None)
    );
    assert_eq!(
        (got.latencies.get(&ttft::FROM_DUE).copied(), got.instrument.arrival_width_us),
        (None, None)
    );
    assert_eq!(got.latencies.get(&e2e::FROM_SENT).map(|e2e| round(e2e.mean)), Some(129.0));
    assert_eq!(
        got.latencies.get(&latency_per_output_token::DEFINITION).map(|l| round(l.max)),
        Some(39.6)
    );
}

#[test]
fn the_summary_names_the_least_reliable_source_of_token_counts() {
    let mut records = vec![steady(0.0, 40.0, 10.0, 3), steady(0.0, 40.0, 10.0, 3)];
    records[0].usage.completion = None;
    records[0].tokens_tokenizer = Some(3);
    assert_eq!(fold(&SATURATED, true, &records).tokens_from, Some(TokensFrom::Tokenizer));
    records[1].usage.completion = None;
    assert_eq!(fold(&SATURATED, true, &records).tokens_from, Some(TokensFrom::Events));
    records[1].outcome = Outcome::Truncated;
    assert_eq!(fold(&SATURATED, true, &records).tokens_from, Some(TokensFrom::Tokenizer));
}

#[test]
fn a_pass_without_sent_requests_has_no_figures() {
    let mut skipped = Record::planned(0, 0, ms(5.0));
    skipped.ended = Some(ms(9.0));
    let got = fold(&SATURATED, true, &[skipped]);
    assert_eq!((got.planned, got.outcomes.skipped), (1, 1));
    assert_eq!((got.duration_s, got.requests_per_s, got.mean_concurrency), (None, None, None));
    assert_eq!(
        (
            got.latencies.get(&ttft::FROM_SENT).copied(),
            got.latencies.get(&send_delay::DEFINITION).copied(),
            got.tokens_from
        ),
        (None, None, None)
    );
    assert_eq!(got.peak_concurrency, Some(0));
    assert_eq!(fold(&SATURATED, true, &[]).peak_concurrency, None, "no requests");
}

fn plan(kind: PassKind) -> PassPlan {
    let bound = Bound::requests(1);
    match kind {
        PassKind::OneByOne => PassPlan::one_by_one(bound),
        PassKind::Saturated => PassPlan::saturated(1),
        PassKind::Closed => PassPlan::closed(4, bound),
        PassKind::Open => PassPlan::open(2.0, bound),
    }
}

/// A pass with one request of four tokens that takes `e2e_ms`.
fn taking(kind: PassKind, e2e_ms: f64) -> PassSummary {
    fold(&plan(kind), true, &[steady(0.0, e2e_ms - 30.0, 10.0, 4)])
}

#[test]
fn a_cell_takes_throughput_from_the_saturated_pass_and_latency_from_the_one_by_one_pass() {
    let got =
        cell(8, 4, vec![taking(PassKind::OneByOne, 100.0), taking(PassKind::Saturated, 200.0)]);
    assert_eq!((got.input_length, got.output_length), (8, 4));
    assert_eq!(got.requests_per_s.map(round), Some(5.0));
    assert_eq!(got.output_tokens_per_s.map(round), Some(20.0));
    assert_eq!(got.latency_per_output_token_ms.map(round), Some(25.0));
    assert_eq!(got.latency_per_token_ms.map(round), Some(round(100.0 / 12.0)));
    assert_eq!(got.passes.len(), 2);
}

#[test]
fn a_cell_takes_its_figures_from_the_load_with_the_highest_request_rate() {
    let passes = [PassKind::Closed, PassKind::Open, PassKind::Closed];
    let took = [200.0, 100.0, 400.0];
    let passes = passes.into_iter().zip(took).map(|(kind, took)| taking(kind, took)).collect();
    let got = cell(8, 4, passes);
    assert_eq!(got.requests_per_s.map(round), Some(10.0));
    assert_eq!(got.latency_per_output_token_ms.map(round), Some(25.0));
}

#[test]
fn a_cell_measured_only_one_by_one_has_no_throughput() {
    let got = cell(8, 4, vec![taking(PassKind::OneByOne, 100.0)]);
    assert_eq!((got.requests_per_s, got.output_tokens_per_s), (None, None));
    assert_eq!(got.latency_per_output_token_ms.map(round), Some(25.0));
}

#[test]
fn a_pass_with_more_than_a_tenth_of_its_streams_in_bundles_has_no_tpot_and_itl() {
    let bundled = stream(0.0, &[(50.0, Text, None); 8]);
    let paced = steady(0.0, 50.0, 10.0, 8);
    for (bundles, known) in [(1, true), (2, false), (10, false)] {
        let records: Vec<Record> =
            (0..10).map(|at| if at < bundles { bundled.clone() } else { paced.clone() }).collect();
        let got = fold(&plan(PassKind::Saturated), true, &records);
        let gaps =
            [&tpot::DEFINITION, &itl::DEFINITION].map(|metric| got.latency(metric).is_some());
        assert_eq!(gaps, [known; 2], "{bundles} of 10");
        assert!(got.latency(&ttft::FROM_SENT).is_some(), "the first token has a time");
        for (objective, is_judged) in [("tpot<50ms", known), ("ttft<500ms", true)] {
            let objectives = inferometer_model::metrics::request_objective::parse(objective)
                .expect("an objective");
            let mut fold = PassFold::new(&plan(PassKind::Saturated)).judging(&objectives);
            records.iter().for_each(|record| fold.add(&Timeline::new(record)));
            assert_eq!(fold.finish().goodput.is_some(), is_judged, "{objective}, {bundles} of 10");
        }
    }
}

#[test]
fn outputs_longer_than_requested_leave_the_figures_of_their_cell_absent() {
    let long = |kind| {
        let came = steady(0.0, 70.0, 10.0, 4);
        fold(&plan(kind), true, &[Record { asked_output: 2, output_limit: Some(2), ..came }])
    };
    let got = cell(8, 2, vec![long(PassKind::OneByOne), long(PassKind::Saturated)]);
    let figures = [got.requests_per_s, got.output_tokens_per_s, got.latency_per_output_token_ms];
    assert_eq!(figures, [None; 3]);
    let pass = &got.passes[1];
    assert_eq!((pass.longer_than_asked, pass.output_tokens), (1, 4));
}

/// The same pass as that of [`taking`], in repeat number `repeat`.
fn repeated(kind: PassKind, e2e_ms: f64, repeat: u32) -> PassSummary {
    PassSummary { repeat, ..taking(kind, e2e_ms) }
}

#[test]
fn the_figures_of_a_cell_are_means_over_its_repeats_with_their_spread() {
    let got = cell(
        8,
        4,
        vec![
            repeated(PassKind::OneByOne, 100.0, 1),
            repeated(PassKind::Saturated, 200.0, 1),
            repeated(PassKind::OneByOne, 140.0, 2),
            repeated(PassKind::Saturated, 250.0, 2),
        ],
    );
    // The repeats have 5 and 4 requests per second, and 25 and 35 ms per output token.
    assert_eq!(got.requests_per_s.map(round), Some(4.5));
    assert_eq!(got.latency_per_output_token_ms.map(round), Some(30.0));
    let spread = got.over_repeats.expect("two repeats");
    let requests = spread.requests_per_s.expect("two values");
    assert_eq!((round(requests.mean), requests.n), (4.5, 2));
    // s = 1/sqrt(2), so that t s / sqrt(2) = 12.706 / 2.
    let [low, high] = requests.ci.expect("two values").map(round);
    assert!((high - low - 12.706_205).abs() < 1e-5, "{low} {high}");
    assert_eq!(requests.cv.map(round), Some(round(0.5f64.sqrt() / 4.5)));
    assert_eq!(spread.latency_per_output_token_ms.map(|spread| spread.n), Some(2));
    let places: Vec<String> = got.passes.iter().map(|pass| got.place(pass)).collect();
    assert_eq!(places[0], "8 x 4, one by one");
    assert_eq!(places[3], "8 x 4, saturated, repeat 2");
}

#[test]
fn a_cell_uses_the_load_that_is_fastest_on_average_over_all_repeats() {
    // The closed loop is faster in repeat 1, the open loop is faster in the mean. Figures never mix both loads.
    let open = |took: f64, repeat: u32| repeated(PassKind::Open, took, repeat);
    let closed = |took: f64, repeat: u32| repeated(PassKind::Closed, took, repeat);
    let got = cell(8, 4, vec![closed(100.0, 1), open(125.0, 1), closed(500.0, 2), open(125.0, 2)]);
    assert_eq!(got.requests_per_s.map(round), Some(8.0));
    assert_eq!(got.over_repeats.and_then(|s| s.requests_per_s).map(|s| s.cv), Some(Some(0.0)));
    assert_eq!(cell(8, 4, vec![open(125.0, 1)]).over_repeats, None);
}

#[test]
fn goodput_and_attainment_count_only_completed_requests_that_meet_all_objectives() {
    // TTFT is 40 and 98 ms, TPOT 10 and 25 ms. One request is cut off, one is never sent. The pass takes 0.4 s.
    let mut records = pass();
    records.push(Record::planned(0, 3, ms(5.0)));
    let judged = |objectives: &str| {
        let objectives =
            inferometer_model::metrics::request_objective::parse(objectives).expect("objectives");
        let mut fold = PassFold::new(&SATURATED).judging(&objectives);
        records.iter().for_each(|record| fold.add(&Timeline::new(record)));
        fold.finish().goodput.expect("goodput")
    };
    for (objectives, met) in
        [("ttft<50ms,tpot<50ms", 1), ("ttft<1s,tpot<20ms", 1), ("ttft<1s", 2), ("e2e<1ms", 0)]
    {
        let got = judged(objectives);
        assert_eq!((got.met, got.objectives.as_str()), (met, objectives));
        assert_eq!(got.requests_per_s.map(round), Some(round(met as f64 / 0.4)));
        assert_eq!(got.attainment, Some(met as f64 / 4.0));
    }
    assert_eq!(fold(&SATURATED, true, &records).goodput, None);
}

#[test]
fn a_closed_loop_has_a_steady_state_and_a_saturated_or_unstreamed_pass_has_none() {
    // Five requests without a pause between them, each of 100 ms.
    let records: Vec<Record> =
        (0..5).map(|i| steady(100.0 * f64::from(i), 40.0, 20.0, 4)).collect();
    let closed = PassPlan::closed(1, Bound::none());
    let got = fold(&closed, true, &records).steady_state.expect("one in flight all the time");
    assert_eq!((got.plateau, got.startup_s, got.drain_s), (1, 0.0, 0.0));
    assert_eq!((round(got.duration_s), round(got.requests_per_s)), (0.5, 10.0));
    assert!((got.output_tokens_per_s - 40.0).abs() < 1e-3);
    assert_eq!(fold(&SATURATED, true, &records).steady_state, None);
    assert_eq!(fold(&closed, false, &records).steady_state, None);
}

#[test]
fn a_pass_summary_states_the_planned_load() {
    let closed = fold(&plan(PassKind::Closed), true, &[]);
    assert_eq!((closed.kind, closed.concurrency, closed.rate), (PassKind::Closed, Some(4), None));
    let open = fold(&plan(PassKind::Open), true, &[]);
    assert_eq!((open.kind, open.concurrency, open.rate), (PassKind::Open, None, Some(2.0)));
    for kind in [PassKind::OneByOne, PassKind::Saturated, PassKind::Closed, PassKind::Open] {
        assert_eq!(fold(&plan(kind), true, &[]).label(), plan(kind).to_string());
    }
}

#[test]
fn an_uncounted_response_without_streaming_does_not_count_as_one_token() {
    let mut record = steady(0.0, 40.0, 10.0, 3);
    record.usage.completion = None;
    let got = fold(&SATURATED, false, std::slice::from_ref(&record));
    assert_eq!(got.outcomes.complete, 1);
    assert_eq!((got.output_tokens_per_s, got.tokens_from), (None, None));
    assert!(got.latencies.get(&latency_per_output_token::DEFINITION).is_none());
    assert!(got.latencies.get(&latency_per_token::DEFINITION).is_none());
    record.tokens_tokenizer = Some(7);
    let got = fold(&SATURATED, false, &[record]);
    assert_eq!((got.output_tokens, got.tokens_from), (7, Some(TokensFrom::Tokenizer)));
}

#[test]
fn one_uncounted_prompt_leaves_the_number_of_prompt_tokens_of_a_pass_absent() {
    let counted = steady(0.0, 40.0, 10.0, 3);
    let mut uncounted = steady(100.0, 40.0, 10.0, 3);
    (uncounted.usage.prompt, uncounted.prompt_tokens_tokenizer) = (None, None);
    let tokens = |records: &[Record]| fold(&SATURATED, true, records).input_tokens;
    assert_eq!(tokens(&[counted.clone(), counted.clone()]), Some(16));
    assert_eq!(tokens(&[counted, uncounted]), None);
}

#[test]
fn unsent_requests_count_the_same_if_added_together_or_one_by_one() {
    let never = Record { class: Some("cold".into()), ..Record::planned(0, 3, ms(5.0)) };
    let mut together = PassFold::new(&SATURATED).with_failures_as_inf(true);
    let mut one_by_one = together.clone();
    for fold in [&mut together, &mut one_by_one] {
        pass().iter().for_each(|record| fold.add(&Timeline::new(record)));
    }
    together.add_never_begun(&Timeline::new(&never), 50);
    (0..50)
        .for_each(|at| one_by_one.add(&Timeline::new(&Record { index: 3 + at, ..never.clone() })));
    let together = together.finish();
    assert_eq!((together.planned, together.outcomes.skipped), (53, 50));
    assert_eq!(together, one_by_one.finish());
}

#[test]
fn tokens_of_answers_without_an_event_count_in_the_steady_state_at_their_finish_reason() {
    let silent = |sent_ms: f64| {
        let mut record = stream(sent_ms, &[(sent_ms + 100.0, Finish, None)]);
        record.usage.completion = Some(10);
        record
    };
    // Two requests are in flight for 200 ms. One of them has nine tokens with events, the other ten without.
    let records = [0.0, 100.0].map(|at| [steady(at, 20.0, 10.0, 9), silent(at)]).concat();
    let got = fold(&PassPlan::closed(2, Bound::requests(4)), true, &records);
    let steady = got.steady_state.expect("two in flight");
    assert_eq!(round(steady.output_tokens_per_s), 38.0 / 0.2);
    assert_eq!(round(steady.requests_per_s), 4.0 / 0.2);
}
