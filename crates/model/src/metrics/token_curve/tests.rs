//! Compares token curves with counts that follow directly from the definition.

use super::*;
use crate::fixture::ms;
use crate::record::EventKind;
use proptest::prelude::*;

fn events(of: &[(f64, f64)]) -> Vec<TokenEvent> {
    let event = |&(at, tokens): &(f64, f64)| TokenEvent {
        arrival: ms(at),
        kind: EventKind::Text,
        tokens,
        width_ms: 0.0,
    };
    of.iter().map(event).collect()
}

impl TokenCurve {
    fn between(&self, from: Nanos, until: Nanos) -> f64 {
        self.between_each(&[from, until])[0]
    }
}

fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-4, "{got} {expected}");
}

#[test]
fn tokens_of_events_with_decreasing_arrival_times_are_all_counted() {
    let mut curve = TokenCurve::default();
    curve.add(&events(&[(100.0, 1.0), (5_000.0, 1.0), (110.0, 1.0)]));
    curve.add(&events(&[(90.0, 1.0), (80.0, 1.0)]));
    close(curve.between(ms(0.0), ms(9_999.0)), 5.0);
}

#[test]
fn numbers_are_rounded_like_in_the_standard_library() {
    let hard = [0.0, 0.499_999_999_999_999_94, 0.5, 1.5, 2.5, 4_503_599_627_370_495.5, 1e18];
    for number in hard.into_iter().chain((0..999).map(|step| f64::from(step) * 0.1)) {
        assert_eq!(rounded(number), number.round() as u64, "{number}");
    }
}

#[test]
fn tokens_of_an_event_are_spread_over_the_time_since_the_previous_event() {
    let mut curve = TokenCurve::default();
    // Five tokens every 50 ms count as one token every 10 ms, no matter where a window begins or ends.
    curve.add(&events(&[(100.0, 5.0), (150.0, 5.0), (200.0, 5.0)]));
    close(curve.between(ms(0.0), ms(100.0)), 5.0);
    close(curve.between(ms(100.0), ms(130.0)), 3.0);
    close(curve.between(ms(130.0), ms(190.0)), 6.0);
    close(curve.between(ms(190.0), ms(9_999.0)), 1.0);
}

#[test]
fn later_events_of_the_same_read_count_at_its_arrival_time() {
    let mut curve = TokenCurve::default();
    curve.add(&events(&[(10.0, 1.0), (30.0, 1.0), (30.0, 1.0), (30.0, 1.0)]));
    close(curve.between(ms(20.0), ms(29.0)), 0.45);
    close(curve.between(ms(29.0), ms(30.0)), 2.05);
}

#[test]
fn a_window_with_fractional_milliseconds_is_counted_exactly_up_to_its_edges() {
    let mut curve = TokenCurve::keeping(EVENTS_KEPT);
    // 32 requests of 3 tokens, which arrive 11.3 ms apart: the windows below do not end at whole
    // milliseconds.
    for _ in 0..32 {
        curve.add(&events(&[(11.3, 1.0), (22.6, 1.0), (33.9, 1.0)]));
    }
    close(curve.between(ms(0.0), ms(33.9)), 96.0);
    close(curve.between(ms(11.3), ms(33.9)), 64.0);
    close(curve.between(ms(11.299_999), ms(11.3)), 32.0);
}

#[test]
fn many_tokens_in_a_nanosecond_before_an_edge_of_bins_are_counted() {
    let mut curve = TokenCurve::default();
    for _ in 0..9 {
        curve.add(&[0, 1].map(|after| TokenEvent {
            arrival: Nanos(FINEST_NS + after),
            kind: EventKind::Text,
            tokens: 9_000.0,
            width_ms: 0.0,
        }));
    }
    close(curve.between(Nanos::ZERO, Nanos(FINEST_NS)), 81_000.0);
    close(curve.between(Nanos::ZERO, Nanos(2 * FINEST_NS)), 162_000.0);
}

#[test]
fn tokens_after_the_longest_possible_gap_between_events_are_counted() {
    let mut curve = TokenCurve::default();
    curve.add(&[1, u64::MAX - 1, u64::MAX].map(|at| TokenEvent {
        arrival: Nanos(at),
        kind: EventKind::Text,
        tokens: 9.0,
        width_ms: 0.0,
    }));
    let grid = curve.beyond.expect("bins from the first event on");
    let mut line = Line::default();
    grid.bins.iter().for_each(|&bin| line += bin);
    // The last bin ends after the last instant of 64 bits.
    let bins = u128::from(grid.first) + grid.bins.len() as u128;
    close(line.at(bins * u128::from(grid.width_ns)), 27.0);
}

proptest! {
    #[test]
    fn tokens_of_an_event_arrive_evenly_up_to_each_edge_of_bins(
        from in 0u64..3_000_000_000_000,
        span in prop_oneof![1u64..3_000_000, 1u64..20_000_000_000_000],
        units in prop_oneof![0u64..30_000_000, 0u64..1 << 44],
    ) {
        let spread = SpreadTokens { from: Nanos(from), until: Nanos(from + span), units };
        let mut grid = Grid::new(FINEST_NS, 1 << 10);
        spread.mark(&mut grid);
        let mut line = Line::default();
        let mut come = 0.0;
        for (at, &bin) in grid.bins.iter().enumerate() {
            line += bin;
            let edge_ns = (grid.first + at as u64 + 1) * grid.width_ns;
            let past_ns = edge_ns.saturating_sub(from).min(span) as f64;
            let expected = units as f64 * (past_ns / span as f64) / UNIT;
            come = line.at(u128::from(edge_ns));
            // The rate is rounded down to a whole multiple, which adds up over the time.
            let rounding = past_ns / (UNIT * (1u64 << RATE_BITS) as f64);
            let precision = 1e-12 * expected;
            prop_assert!(come <= expected + precision, "{}: {} {}", at, come, expected);
            prop_assert!(come >= expected - precision - rounding, "{}: {} {}", at, come, expected);
        }
        prop_assert_eq!(come, units as f64 / UNIT);
    }

    #[test]
    fn a_token_curve_counts_every_token_once_in_any_order_of_streams(
        streams in prop::collection::vec(
            (0.0f64..200_000.0, prop::collection::vec((0.0f64..5_000.0, 0.0f64..9.0), 1..20)),
            1..12,
        ),
    ) {
        let streams: Vec<Vec<TokenEvent>> = streams
            .iter()
            .map(|(start, gaps)| {
                let mut at = *start;
                let of = gaps.iter().map(|&(gap, tokens)| { at += gap; (at, tokens) });
                events(&of.collect::<Vec<_>>())
            })
            .collect();
        let mut kept = TokenCurve::keeping(EVENTS_KEPT);
        streams.iter().for_each(|stream| kept.add(stream));
        let mut forward = TokenCurve::keeping(1);
        streams.iter().for_each(|stream| forward.add(stream));
        let mut backward = TokenCurve::keeping(0);
        streams.iter().rev().for_each(|stream| backward.add(stream));
        let all: f64 = streams.iter().flatten().map(|event| event.tokens).sum();
        prop_assert!((forward.between(Nanos::ZERO, Nanos::MAX) - all).abs() < 1e-3);
        prop_assert!((kept.between(Nanos::ZERO, Nanos::MAX) - all).abs() < 1e-3);
        let grid = backward.beyond.as_ref().expect("a grid");
        prop_assert!(grid.bins.len() as u64 <= MOST_BINS);
        let width_ms = grid.width_ns as f64 / 1e6;
        let cuts = [0.0, 1_000.0, 50_000.0, 123_456.0];
        let up_to = |curve: &TokenCurve| curve.up_to_each(&cuts.map(ms));
        prop_assert_eq!(up_to(&forward), up_to(&backward));
        for ((cut, a), kept) in cuts.into_iter().zip(up_to(&forward)).zip(up_to(&kept)) {
            // The count in bins differs from the true value by at most the tokens of one bin.
            prop_assert!((kept - exact(&streams, cut)).abs() < 1e-3);
            let (low, high) = (exact(&streams, cut - width_ms), exact(&streams, cut + width_ms));
            prop_assert!(low - 1e-3 <= a && a <= high + 1e-3, "{} {} {}", low, a, high);
        }
    }
}

/// The number of tokens up to an instant, computed directly from the definition.
fn exact(streams: &[Vec<TokenEvent>], until_ms: f64) -> f64 {
    let until = until_ms * 1e6;
    let of_pair = |pair: &[TokenEvent]| {
        let (from, to) = (pair[0].arrival.0 as f64, pair[1].arrival.0 as f64);
        let share = if to > from { (until - from) / (to - from) } else { f64::from(until >= to) };
        share.clamp(0.0, 1.0) * pair[1].tokens
    };
    streams
        .iter()
        .map(|stream| {
            let first = &stream[0];
            let first = if first.arrival.0 as f64 <= until { first.tokens } else { 0.0 };
            first + stream.windows(2).map(of_pair).sum::<f64>()
        })
        .sum()
}
