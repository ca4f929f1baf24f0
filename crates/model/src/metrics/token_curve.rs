//! Output tokens over time: how many tokens arrived up to an instant. The count is exact up to a limit of stored
//! events. With more events, bins of time count the tokens, so that memory does not grow. As in ITL, the tokens of an
//! event are spread over the time since the previous event. So a window can begin or end between the tokens of a
//! bundle.

use std::ops::AddAssign;

use super::TokenEvent;
use super::grid::Grid;
use crate::Nanos;

/// The maximum number of events that are stored for the figures of a pass. They need 6 MiB.
pub const EVENTS_KEPT: usize = 1 << 18;
/// The smallest width of a bin: a millisecond.
const FINEST_NS: u64 = 1_000_000;
/// The maximum number of bins. In a pass of one minute, a bin is 1 ms wide; in a pass of one hour, 64 ms.
const MOST_BINS: u64 = 1 << 16;
/// The longest time over which the tokens of an event are spread: 73 years.
const LONGEST_NS: u64 = 1 << 61;
/// Tokens are counted in whole multiples of 1 / `UNIT`, so that the order of additions does not matter.
const UNIT: f64 = 1_048_576.0;
/// Rates are whole multiples of a unit per 2^32 ns, for the same reason.
const RATE_BITS: u32 = 32;

/// Tokens by the time at which they arrived. If they are counted in bins, the tokens of a bin count as spread evenly
/// over the bin. If the span of time needs more bins than allowed, the width of the bins doubles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenCurve {
    kept: usize,
    events: Vec<SpreadTokens>,
    /// The tokens of all events, in bins; `None` while all events are stored.
    beyond: Option<Grid<Line>>,
}

/// The tokens of an event, in units of 1 / `UNIT`. They arrived evenly over a time, or all at the same instant if
/// this time is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SpreadTokens {
    from: Nanos,
    until: Nanos,
    units: u64,
}

impl Default for TokenCurve {
    /// A curve that counts in bins from the first event on.
    fn default() -> Self {
        Self::keeping(0)
    }
}

impl TokenCurve {
    /// A curve without events. Up to `kept` events are stored. If there are more events, all are counted in bins.
    pub fn keeping(kept: usize) -> Self {
        Self { kept, events: Vec::new(), beyond: None }
    }

    /// Adds the token events of a request, in order.
    pub fn add(&mut self, events: &[TokenEvent]) {
        let (mut tokens, mut counted, mut before) = (0.0, 0, None);
        for event in events {
            tokens += event.tokens;
            let earlier = std::mem::replace(&mut counted, units(tokens));
            // A read without a kernel stamp has the program's stamp, which may be later than the kernel's
            // stamp of the next read. So the arrivals of ordered events may be out of order.
            let until = event.arrival;
            let from = before.filter(|before| *before < until).unwrap_or(until);
            self.put(SpreadTokens { from, until, units: counted - earlier });
            before = Some(until);
        }
    }

    fn put(&mut self, spread: SpreadTokens) {
        match &mut self.beyond {
            None if self.events.len() < self.kept => self.events.push(spread),
            None => {
                let mut grid = Grid::new(FINEST_NS, MOST_BINS);
                std::mem::take(&mut self.events).iter().for_each(|kept| kept.mark(&mut grid));
                spread.mark(&mut grid);
                self.beyond = Some(grid);
            }
            Some(grid) => spread.mark(grid),
        }
    }

    /// Tokens that arrived after `from` and not after `until`.
    pub fn between(&self, from: Nanos, until: Nanos) -> f64 {
        self.up_to(until) - self.up_to(from)
    }

    /// The number of tokens that arrived up to an instant.
    fn up_to(&self, instant: Nanos) -> f64 {
        let Some(grid) = &self.beyond else {
            let come: u64 = self.events.iter().map(|event| event.up_to(instant)).sum();
            return come as f64 / UNIT;
        };
        let Grid { width_ns, first, ref bins, .. } = *grid;
        let past_ns = instant.0.saturating_sub(first * width_ns);
        let whole = ((past_ns / width_ns) as usize).min(bins.len());
        let mut line = Line::default();
        bins.iter().take(whole).for_each(|&bin| line += bin);
        let edge_ns = (u128::from(first) + whole as u128) * u128::from(width_ns);
        let before = line.at(edge_ns);
        let Some(&bin) = bins.get(whole) else { return before };
        line += bin;
        let after = line.at(edge_ns + u128::from(width_ns));
        before + (after - before) * (past_ns % width_ns) as f64 / width_ns as f64
    }
}

/// The contribution of an event, or of a bin of events, to the number of tokens that have arrived at an instant:
/// `tokens` + `rate` x time. The sum over all bins up to the instant is the number itself. Thus an event changes only
/// two bins: the bin in which its tokens begin to arrive, and the bin in which they end. All sums wrap around; the
/// number of tokens itself always fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Line {
    /// Units per 2^32 ns.
    rate: u128,
    /// Units x 2^32 at the time 0.
    tokens: u128,
}

impl AddAssign for Line {
    fn add_assign(&mut self, other: Self) {
        self.rate = self.rate.wrapping_add(other.rate);
        self.tokens = self.tokens.wrapping_add(other.tokens);
    }
}

impl Line {
    /// The number of tokens that had arrived at an edge of bins. The last edge can be later than the last instant of 64
    /// bits.
    fn at(self, edge_ns: u128) -> f64 {
        let since = self.rate.wrapping_mul(edge_ns);
        self.tokens.wrapping_add(since) as f64 / (UNIT * (1u64 << RATE_BITS) as f64)
    }
}

impl SpreadTokens {
    /// The units that had arrived up to an instant.
    fn up_to(&self, instant: Nanos) -> u64 {
        if instant >= self.until {
            return self.units;
        }
        let past_ns = instant.0.saturating_sub(self.from.0);
        let span_ns = self.until.0 - self.from.0;
        // If the tokens of an event arrived all at the same instant, none of them arrived before this instant.
        if past_ns == 0 { 0 } else { part(self.units, past_ns as f64 / span_ns as f64) }
    }

    /// Adds the tokens to the bins.
    fn mark(&self, grid: &mut Grid<Line>) {
        let from = self.from.max(Nanos(self.until.0.saturating_sub(LONGEST_NS)));
        let [first, last] = grid.reach(from, self.until);
        let all = u128::from(self.units) << RATE_BITS;
        if first == last {
            grid.bins[last] += Line { rate: 0, tokens: all };
            return;
        }
        let rate = quotient(all, self.until.0 - from.0);
        let at_begin = rate.wrapping_mul(u128::from(from.0));
        grid.bins[first] += Line { rate, tokens: at_begin.wrapping_neg() };
        // After its end, the event counts all of its tokens, including the remainder of the division.
        grid.bins[last] += Line { rate: rate.wrapping_neg(), tokens: all.wrapping_add(at_begin) };
    }
}

/// The quotient, rounded down. If the number fits into 64 bits, the division uses 64 bits, because such a division is
/// much faster than a division of 128 bits.
fn quotient(number: u128, by: u64) -> u128 {
    match u64::try_from(number) {
        Ok(number) => u128::from(number / by),
        Err(_) => number / u128::from(by),
    }
}

fn part(units: u64, share: f64) -> u64 {
    rounded(units as f64 * share)
}

fn units(tokens: f64) -> u64 {
    rounded(tokens * UNIT)
}

/// Rounds a number that is not negative; halves are rounded up. `f64::round` gives the same result, but is a
/// function call on old processors, and this code runs for each token.
fn rounded(number: f64) -> u64 {
    let whole = number as u64;
    whole + u64::from(number - whole as f64 >= 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::ms;
    use crate::record::EventKind;
    use proptest::prelude::*;

    fn events(of: &[(f64, f64)]) -> Vec<TokenEvent> {
        let event = |&(at, tokens): &(f64, f64)| TokenEvent {
            arrival: ms(at),
            kind: EventKind::Text,
            tokens,
        };
        of.iter().map(event).collect()
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
            }));
        }
        close(curve.between(Nanos::ZERO, Nanos(FINEST_NS)), 81_000.0);
        close(curve.between(Nanos::ZERO, Nanos(2 * FINEST_NS)), 162_000.0);
    }

    #[test]
    fn tokens_after_the_longest_possible_gap_between_events_are_counted() {
        let mut curve = TokenCurve::default();
        let event = |at: u64| TokenEvent { arrival: Nanos(at), kind: EventKind::Text, tokens: 9.0 };
        curve.add(&[event(1), event(u64::MAX - 1), event(u64::MAX)]);
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
            for cut in [0.0, 1_000.0, 50_000.0, 123_456.0] {
                let (a, b) = (forward.up_to(ms(cut)), backward.up_to(ms(cut)));
                prop_assert_eq!(a, b);
                // The count in bins differs from the true value by at most the tokens of one bin.
                prop_assert!((kept.up_to(ms(cut)) - exact(&streams, cut)).abs() < 1e-3);
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
            let share =
                if to > from { (until - from) / (to - from) } else { f64::from(until >= to) };
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
}
