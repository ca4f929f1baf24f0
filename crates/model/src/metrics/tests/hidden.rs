//! Tests metrics on streams whose tokens do not all have an event.

use super::super::{Gaps, Timeline, e2e, itl, tpot, ttft};
use crate::fixture::stream;
use crate::record::EventKind::{EmptyText, Finish, Reasoning, Text};
use crate::{EventKind, Record, Usage};

/// A stream that generates 40 tokens, one each 20 ms from 100 ms on, and then its finish reason. It has an event for a
/// token if `kind` gives its kind.
fn partly_shown(reasoning: Option<u32>, kind: impl Fn(u32) -> Option<EventKind>) -> Record {
    let at = |token: u32| 100.0 + 20.0 * f64::from(token);
    let shown = (0..40).filter_map(|token| Some((at(token), kind(token)?, None)));
    let events: Vec<_> = shown.chain([(at(39) + 0.5, Finish, None)]).collect();
    let mut record = stream(0.0, &events);
    record.usage = Usage { completion: Some(40), reasoning, ..record.usage };
    record
}

#[test]
fn tokens_without_an_event_count_where_they_are_known_to_lie_and_otherwise_hide_the_gaps() {
    // What is shown of the tokens, the reasoning that is stated: TTFT, TPOT, E2E, and the median of ITL.
    type Case = (&'static str, fn(u32) -> Option<EventKind>, Option<u32>, [Option<f64>; 4]);
    let cases: [Case; 10] = [
        ("all", |_| Some(Text), None, [Some(100.0), Some(20.0), Some(880.0), Some(20.0)]),
        (
            "hidden reasoning",
            |token| (token >= 20).then_some(Text),
            Some(20),
            [Some(500.0), Some(20.0), Some(880.0), Some(20.0)],
        ),
        (
            "reasoning as empty texts",
            |token| Some(if token >= 20 { Text } else { EmptyText }),
            Some(20),
            [Some(500.0), Some(20.0), Some(880.0), Some(20.0)],
        ),
        (
            "shown reasoning",
            |token| Some(if token >= 20 { Text } else { Reasoning }),
            Some(20),
            [Some(100.0), Some(20.0), Some(880.0), Some(20.0)],
        ),
        // Events win.
        (
            "all is reasoning, none stated",
            |_| Some(Reasoning),
            Some(0),
            [Some(100.0), Some(20.0), Some(880.0), Some(20.0)],
        ),
        (
            "a silent end",
            |token| (token < 20).then_some(Text),
            None,
            [Some(100.0), None, Some(880.5), None],
        ),
        (
            "more text than is left",
            |token| (token >= 20).then_some(Text),
            Some(40),
            [Some(500.0), None, Some(880.0), None],
        ),
        (
            "every second token",
            |token| token.is_multiple_of(2).then_some(Text),
            None,
            [Some(100.0), Some(780.5 / 38.0), Some(880.5), Some(20.0)],
        ),
        (
            "a summary of the reasoning",
            |token| (token >= 25).then_some(if token < 30 { Reasoning } else { Text }),
            Some(30),
            [Some(600.0), None, Some(880.0), None],
        ),
        ("nothing", |_| None, Some(40), [None, None, Some(880.5), None]),
    ];
    for (name, kind, reasoning, [ttft, tpot, e2e, itl]) in cases {
        let record = partly_shown(reasoning, kind);
        let timeline = Timeline::new(&record);
        let round = |value: Option<f64>| value.map(|value| (value * 1e6).round());
        assert_eq!(round(ttft::from_sent(&timeline)), round(ttft), "{name}");
        assert_eq!(round(tpot::tpot_ms(&timeline)), round(tpot), "{name}");
        assert_eq!(round(e2e::from_sent(&timeline)), round(e2e), "{name}");
        let mut gaps = Vec::new();
        itl::itl_ms(&timeline, &mut gaps);
        assert_eq!(round(gaps.get(gaps.len() / 2).map(|gap| gap.value)), round(itl), "{name}");
        let known: f64 = timeline.events.iter().map(|event| event.tokens).sum();
        assert!(timeline.events.is_empty() || (known - 40.0).abs() < 1e-9, "{name}: {known}");
    }
}

#[test]
fn gaps_are_unknown_if_the_request_hides_a_reasoning_whose_tokens_are_not_stated() {
    type Case = (fn(u32) -> Option<EventKind>, Option<u32>, Option<f64>);
    let half = |token: u32| (token >= 20).then_some(Text);
    let all = |_| Some(Text);
    let cases: [Case; 4] = [
        (half, Some(0), None),
        (half, None, None),
        (half, Some(20), Some(20.0)),
        (all, Some(0), Some(20.0)),
    ];
    for (kind, reasoning, tpot) in cases {
        let record = Record { hides_reasoning: true, ..partly_shown(reasoning, kind) };
        let timeline = Timeline::new(&record);
        let found = tpot::tpot_ms(&timeline);
        assert_eq!(found.map(|ms| (ms * 1e6).round()), tpot.map(|ms| ms * 1e6), "{reasoning:?}");
        assert!(ttft::from_sent(&timeline).is_some());
    }
}

#[test]
fn gaps_are_unknown_if_the_tokens_of_events_are_too_few_or_two_silent_tokens_end_the_answer() {
    let two_silent: Vec<_> =
        (0..5).map(|token| (100.0 + 20.0 * f64::from(token), Text, None)).collect();
    let stated: Vec<_> = two_silent.iter().map(|&(at, kind, _)| (at, kind, Some(1))).collect();
    for (events, finish, tokens) in [(two_silent, 220.0, 7), (stated, 180.0, 10)] {
        let events: Vec<_> = events.into_iter().chain([(finish, Finish, None)]).collect();
        let mut record = stream(0.0, &events);
        record.usage.completion = Some(tokens);
        let timeline = Timeline::new(&record);
        assert_eq!(e2e::from_sent(&timeline), Some(finish), "{tokens}");
        assert_eq!(
            (tpot::tpot_ms(&timeline), timeline.with_known_gaps()),
            (None, &[][..]),
            "{tokens}"
        );
    }
}

#[test]
fn tokens_of_several_answers_have_no_known_gaps() {
    let record = Record { choices: 2, ..partly_shown(None, |_| Some(Text)) };
    let timeline = Timeline::new(&record);
    assert_eq!((ttft::from_sent(&timeline), e2e::from_sent(&timeline)), (Some(100.0), Some(880.0)));
    assert_eq!((tpot::tpot_ms(&timeline), timeline.with_known_gaps()), (None, &[][..]));
    let mut gaps = Gaps::default();
    gaps.add(&timeline);
    assert_eq!((gaps.streams, gaps.unknown, gaps.are_known()), (1, 1, false));
}
