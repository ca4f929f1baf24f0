//! Tests metrics on streams and passes that are small enough to compute by hand, and properties that all
//! streams have.

mod hidden;
mod of_reasoning;

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::fixture::{ms, stream};
use crate::record::EventKind::{Done, EmptyText, Finish, Reasoning, Role, Text, ToolCall, Usage};
use crate::{EventKind, Record};

/// The value of a metric in billionths of its unit, as a whole number. Such a number can be compared with the decimal
/// value in a test, in spite of binary rounding.
fn billionths(value: Option<f64>) -> Option<i64> {
    value.map(|value| (value * 1e9).round() as i64)
}

#[track_caller]
fn expect(metric: &Definition, record: &Record, value: Option<f64>) {
    let timeline = Timeline::new(record);
    let Value::Request(compute) = metric.value else {
        panic!("{} is not per request", metric.name)
    };
    assert_eq!(billionths(compute(&timeline)), billionths(value), "{}", metric.name);
}

/// Value and weight of each pooled sample.
fn pooled(metric: &Definition, record: &Record) -> Vec<(f64, f64)> {
    let Value::Pooled(append) = metric.value else { panic!("{} is not pooled", metric.name) };
    let mut samples = Vec::new();
    append(&Timeline::new(record), &mut samples);
    let round = |value: f64| (value * 1e9).round() / 1e9;
    samples.iter().map(|sample| (round(sample.value), round(sample.weight))).collect()
}

/// A request that was due at 90 ms and sent at 100 ms. Its stream has a role, four tokens 20 ms apart from
/// 150 ms on, and usage at 300 ms.
fn chat() -> Record {
    let mut record = stream(
        100.0,
        &[
            (110.0, Role, None),
            (150.0, Text, None),
            (170.0, Text, None),
            (190.0, Text, None),
            (210.0, Text, None),
            (210.0, Finish, None),
            (300.0, Usage, None),
            (300.0, Done, None),
        ],
    );
    record.due = ms(90.0);
    record.usage.completion = Some(4);
    record.usage.prompt = Some(16);
    record
}

#[test]
fn metrics_of_a_stream_with_one_token_per_event_match_values_computed_by_hand() {
    for (metric, value) in [
        (&ttft::FROM_SENT, 50.0),
        (&ttft::FROM_DUE, 60.0),
        (&ttfot::FROM_SENT, 50.0),
        (&ttfot::FROM_DUE, 60.0),
        (&e2e::FROM_SENT, 110.0),
        (&e2e::FROM_DUE, 120.0),
        (&tpot::DEFINITION, 20.0),
        (&per_user_speed::DEFINITION, 4.0 / 0.110),
        (&latency_per_token::DEFINITION, 5.5),
        (&latency_per_output_token::DEFINITION, 27.5),
        (&send_delay::DEFINITION, 10.0),
    ] {
        expect(metric, &chat(), Some(value));
    }
    assert_eq!(pooled(&itl::DEFINITION, &chat()), [(20.0, 1.0); 3]);
    assert_eq!(pooled(&icl::DEFINITION, &chat()), [(20.0, 1.0); 3]);
}

#[test]
fn chunks_of_five_tokens_every_50_ms_have_an_icl_of_50_ms_and_an_itl_of_10_ms() {
    for tokens in [Some(5), None] {
        let events: Vec<_> = (0..5).map(|i| (50.0 * f64::from(i) + 30.0, Text, tokens)).collect();
        let mut record = stream(0.0, &events);
        record.usage.completion = Some(25);
        assert_eq!(pooled(&icl::DEFINITION, &record), [(50.0, 1.0); 4]);
        assert_eq!(pooled(&itl::DEFINITION, &record), [(10.0, 5.0); 4]);
        expect(&tpot::DEFINITION, &record, Some(10.0));
    }
}

#[test]
fn itl_of_unequal_chunks_is_weighted_by_their_tokens() {
    let mut record =
        stream(0.0, &[(10.0, Text, Some(1)), (40.0, Text, Some(3)), (50.0, Text, Some(1))]);
    record.usage.completion = Some(5);
    assert_eq!(pooled(&itl::DEFINITION, &record), [(10.0, 3.0), (10.0, 1.0)]);
    expect(&tpot::DEFINITION, &record, Some(10.0));
}

#[test]
fn tokens_are_spread_evenly_over_events_if_one_event_lacks_its_token_count() {
    let mut record =
        stream(0.0, &[(10.0, Text, Some(9)), (20.0, Text, None), (50.0, Text, Some(9))]);
    record.usage.completion = Some(6);
    assert_eq!(pooled(&itl::DEFINITION, &record), [(5.0, 2.0), (15.0, 2.0)]);
    expect(&tpot::DEFINITION, &record, Some(10.0));
}

#[test]
fn itl_adds_the_gap_before_an_event_without_tokens_to_the_next_gap() {
    let record =
        stream(0.0, &[(10.0, Text, Some(1)), (14.0, Text, Some(0)), (20.0, Text, Some(2))]);
    assert_eq!(pooled(&itl::DEFINITION, &record), [(5.0, 2.0)]);
    assert_eq!(pooled(&icl::DEFINITION, &record), [(4.0, 1.0), (6.0, 1.0)]);
}

#[test]
fn a_first_event_without_visible_text_is_not_the_first_token() {
    for first in [Role, EmptyText] {
        let record = stream(0.0, &[(30.0, first, None), (498.0, Text, None), (500.0, Text, None)]);
        expect(&ttft::FROM_SENT, &record, Some(498.0));
    }
    for first in [Text, Reasoning, ToolCall] {
        let record = stream(0.0, &[(30.0, first, None), (498.0, Text, None)]);
        expect(&ttft::FROM_SENT, &record, Some(30.0));
    }
}

#[test]
fn tpot_excludes_tokens_that_arrive_before_the_first_visible_text() {
    // The token at 10 ms does not complete a character, so the first visible text arrives at 20 ms. 2 of the
    // 4 tokens have arrived then.
    let record = stream(
        0.0,
        &[(10.0, EmptyText, None), (20.0, Text, None), (30.0, Text, None), (50.0, Text, None)],
    );
    expect(&tpot::DEFINITION, &record, Some(15.0));
    assert_eq!(pooled(&itl::DEFINITION, &record), [(10.0, 1.0), (10.0, 1.0), (20.0, 1.0)]);
}

#[test]
fn a_single_event_has_no_time_per_output_token() {
    let mut record = stream(0.0, &[(40.0, Text, None), (40.0, Usage, None)]);
    for tokens in [1, 7] {
        record.usage.completion = Some(tokens);
        expect(&tpot::DEFINITION, &record, None);
        expect(&ttft::FROM_SENT, &record, Some(40.0));
        assert_eq!(pooled(&itl::DEFINITION, &record), []);
    }
}

#[test]
fn tpot_is_absent_if_usage_states_no_more_tokens_than_the_first_event() {
    let mut record = stream(0.0, &[(10.0, Text, Some(4)), (20.0, Text, Some(4))]);
    for tokens in [4, 3] {
        record.usage.completion = Some(tokens);
        expect(&tpot::DEFINITION, &record, None);
    }
}

#[test]
fn coalesced_tokens_have_an_itl_of_zero() {
    let mut record = stream(0.0, &[(10.0, Text, None), (30.0, Text, None), (30.0, Text, None)]);
    record.usage.completion = Some(3);
    assert_eq!(pooled(&itl::DEFINITION, &record), [(20.0, 1.0), (0.0, 1.0)]);
}

#[test]
fn a_response_without_output_tokens_has_no_latencies() {
    let mut record = stream(0.0, &[(10.0, Finish, None), (10.0, Usage, None)]);
    record.usage = crate::record::Usage {
        prompt: Some(8),
        completion: Some(0),
        cached: None,
        ..crate::record::Usage::default()
    };
    for metric in [&ttft::FROM_SENT, &e2e::FROM_SENT, &tpot::DEFINITION] {
        expect(metric, &record, None);
    }
    for metric in [&latency_per_output_token::DEFINITION, &per_user_speed::DEFINITION] {
        expect(metric, &record, None);
    }
}

#[test]
fn latency_per_token_needs_the_number_of_prompt_tokens() {
    let mut record = chat();
    record.usage.prompt = None;
    expect(&latency_per_token::DEFINITION, &record, None);
    record.prompt_tokens_tokenizer = Some(18);
    expect(&latency_per_token::DEFINITION, &record, Some(5.0));
}

#[test]
fn a_request_that_was_never_sent_has_no_latency() {
    let mut record = chat();
    record.send_start = None;
    for metric in [&ttft::FROM_SENT, &ttft::FROM_DUE, &e2e::FROM_DUE, &send_delay::DEFINITION] {
        expect(metric, &record, None);
    }
}

#[test]
fn a_response_without_streaming_has_e2e_but_no_ttft_tpot_or_itl() {
    let mut record = stream(100.0, &[(180.0, Text, None), (180.0, Usage, None)]);
    record.ended = Some(ms(200.0));
    record.usage.completion = Some(10);
    record.usage.prompt = Some(40);
    record.streamed = false;
    let timeline = Timeline::new(&record);
    assert_eq!(e2e::from_sent(&timeline), Some(100.0));
    assert_eq!(latency_per_token::latency_ms_per_token(&timeline), Some(2.0));
    assert_eq!(latency_per_output_token::latency_ms_per_output_token(&timeline), Some(10.0));
    assert_eq!(ttft::from_sent(&timeline), None);
    assert_eq!(ttfot::from_sent(&timeline), None);
    assert_eq!(tpot::tpot_ms(&timeline), None);
    let mut gaps = Vec::new();
    itl::itl_ms(&timeline, &mut gaps);
    icl::icl_ms(&timeline, &mut gaps);
    assert_eq!(gaps, []);
}

fn window(spans: &[(f64, f64)]) -> PassData {
    let mut window = PassData::default();
    for &(from, to) in spans {
        let (send_start, ended) = (ms(from), ms(to));
        window.in_flight.add(Span { send_start, ended });
    }
    window
}

#[test]
fn rates_are_computed_over_the_time_from_the_first_send_to_the_last_end() {
    let mut pass = window(&[(1500.0, 3000.0), (1000.0, 2000.0)]);
    pass.completed = 1;
    pass.input_tokens = 30;
    pass.output_tokens = 50;
    assert_eq!(duration::duration_s(&pass), Some(2.0));
    assert_eq!(throughput::requests_per_s(&pass), Some(0.5));
    assert_eq!(throughput::input_tokens_per_s(&pass), Some(15.0));
    assert_eq!(throughput::output_tokens_per_s(&pass), Some(25.0));
    assert_eq!(throughput::total_tokens_per_s(&pass), Some(40.0));
    assert_eq!(concurrency::peak(&pass), 2);
    assert_eq!(concurrency::mean(&pass), Some(1.25));
}

#[test]
fn a_pass_of_zero_duration_has_no_rates() {
    for pass in [window(&[]), window(&[(5.0, 5.0)])] {
        assert_eq!(duration::duration_s(&pass), None);
        assert_eq!(throughput::requests_per_s(&pass), None);
        assert_eq!(concurrency::peak(&pass), 0);
        assert_eq!(concurrency::mean(&pass), None);
    }
}

#[test]
fn a_request_sent_when_another_ends_is_not_concurrent_with_it() {
    assert_eq!(concurrency::peak(&window(&[(0.0, 10.0), (10.0, 20.0), (20.0, 30.0)])), 1);
}

#[test]
fn metric_definitions_have_unique_names_and_complete_descriptions() {
    let names: BTreeSet<&str> = definitions().iter().map(|metric| metric.name).collect();
    assert_eq!(names.len(), definitions().len());
    for metric in definitions() {
        for text in [metric.name, metric.formula, metric.notes, metric.source] {
            assert!(!text.is_empty(), "{}", metric.name);
        }
        assert!(metric.version >= 1, "{}", metric.name);
        let due = metric.formula.contains("- due");
        assert_eq!(due, metric.origin == Some(Origin::Due), "{}", metric.name);
    }
}

prop_compose! {
    /// A stream with arrivals in whole milliseconds. Some arrivals are equal, and some events are not
    /// visible.
    fn any_stream()(
        gaps in prop::collection::vec((0u32..50, 0usize..4, prop::option::of(0u32..6)), 1..60),
        known in any::<bool>(),
        tokens in 0u32..200,
    ) -> Record {
        const KINDS: [EventKind; 4] = [Text, Text, EmptyText, Reasoning];
        let mut at = 10.0;
        let events: Vec<_> = gaps
            .into_iter()
            .map(|(gap, kind, of_event)| {
                at += f64::from(gap);
                (at, KINDS[kind], if known { Some(of_event.unwrap_or(1)) } else { of_event })
            })
            .collect();
        let mut record = stream(3.0, &events);
        record.usage.completion = Some(tokens);
        record
    }
}

proptest! {
    #[test]
    fn pooled_itl_sums_to_the_time_from_the_first_token_to_the_last(record in any_stream()) {
        let timeline = Timeline::new(&record);
        prop_assume!(!timeline.hidden.is_unknown);
        let mut gaps = Vec::new();
        itl::itl_ms(&timeline, &mut gaps);
        let sum: f64 = gaps.iter().map(|gap| gap.value * gap.weight).sum();
        let weight: f64 = gaps.iter().map(|gap| gap.weight).sum();
        let (first, later) = timeline.events.split_first().expect("not empty");
        let last = later.iter().rfind(|event| event.tokens > 0.0).unwrap_or(first);
        prop_assert!((sum - last.arrival.ms_after(first.arrival)).abs() < 1e-6);
        let tokens: f64 = later.iter().map(|event| event.tokens).sum();
        prop_assert!((weight - tokens).abs() < 1e-6);
    }

    #[test]
    fn ttft_never_exceeds_e2e_and_tpot_is_never_negative(record in any_stream()) {
        let timeline = Timeline::new(&record);
        let e2e = e2e::from_sent(&timeline).expect("a stream with tokens");
        if let Some(ttft) = ttft::from_sent(&timeline) {
            prop_assert!(ttft <= e2e);
        }
        if let Some(tpot) = tpot::tpot_ms(&timeline) {
            prop_assert!((0.0..=e2e * 1e3).contains(&tpot));
        }
    }

    #[test]
    fn peak_and_mean_concurrency_equal_a_count_at_every_millisecond(
        spans in prop::collection::vec((0u64..40, 0u64..20), 0..25),
    ) {
        let in_ms = spans.iter().map(|&(at, length)| (at as f64, (at + length) as f64));
        let pass = window(&in_ms.collect::<Vec<_>>());
        let in_flight = |at: u64| {
            spans.iter().filter(|&&(start, length)| start <= at && at < start + length).count()
        };
        let counts: Vec<usize> = (0..60).map(in_flight).collect();
        prop_assert_eq!(concurrency::peak(&pass), *counts.iter().max().expect("60") as u64);
        if let Some(mean) = concurrency::mean(&pass) {
            let first = spans.iter().map(|span| span.0).min().expect("not empty");
            let last = spans.iter().map(|span| span.0 + span.1).max().expect("not empty");
            let naive = counts.iter().sum::<usize>() as f64 / (last - first) as f64;
            prop_assert!((mean - naive).abs() < 1e-9);
        }
    }
}
