//! Output tokens over time: how many tokens arrived up to an instant. The count is exact up to a limit of stored
//! events. With more events, bins of time count the tokens, so that memory does not grow. As in ITL, the tokens of an
//! event are spread over the time since the previous event. So a window can begin or end between the tokens of a
//! bundle.

use std::ops::AddAssign;

use super::{TokenEvent, grid::Grid};
use crate::Nanos;

/// The maximum number of events that are stored for the figures of a pass. They need 6 MiB.
pub const EVENTS_KEPT: usize = 1 << 18;
/// The number of events for which memory is reserved at first, so that few events are copied when it grows.
const RESERVED: usize = 1 << 15;
/// The smallest width of a bin: a millisecond.
const FINEST_NS: u64 = 1_000_000;
/// The maximum number of bins. In a pass of one minute, a bin is 1 ms wide; in a pass of one hour, 64 ms.
const MOST_BINS: u64 = 1 << 16;
/// The longest time over which the tokens of an event are spread: 73 years.
const LONGEST_NS: u64 = 1 << 61;
/// Tokens are counted in whole multiples of 1 / `UNIT`, so that the order of additions does not matter.
const UNIT: f64 = 1_048_576.0;
/// The last instant.
const LAST: Nanos = Nanos(u64::MAX);
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
        let (mut tokens, mut counted) = (0.0, 0);
        let mut before = events.first().map_or(Nanos::ZERO, |first| first.arrival);
        let spread = events.iter().map(|event| {
            tokens += event.tokens;
            let earlier = std::mem::replace(&mut counted, units(tokens));
            // A read without a kernel stamp has the program's stamp, which may be later than the kernel's
            // stamp of the next read. So the arrivals of ordered events may be out of order.
            let until = event.arrival;
            let from = std::mem::replace(&mut before, until).min(until);
            SpreadTokens { from, until, units: counted - earlier }
        });
        if self.beyond.is_none() && self.events.len() + events.len() <= self.kept {
            self.reserve();
            self.events.extend(spread);
        } else {
            spread.for_each(|spread| self.put(spread));
        }
    }

    /// Reserves memory for the first events.
    fn reserve(&mut self) {
        if self.events.capacity() == 0 {
            self.events.reserve(self.kept.min(RESERVED));
        }
    }

    /// Adds tokens that all count at the same instant.
    pub fn add_at(&mut self, at: Nanos, tokens: f64) {
        self.put(SpreadTokens { from: at, until: at, units: units(tokens) });
    }

    fn put(&mut self, spread: SpreadTokens) {
        self.reserve();
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

    /// The numbers of tokens that arrived between neighbouring instants: after the earlier one, and not after the later
    /// one. The instants must be in ascending order. The work is one pass over the stored events or bins.
    pub fn between_each(&self, instants: &[Nanos]) -> Vec<f64> {
        self.up_to_each(instants).windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// The numbers of tokens that arrived up to each instant.
    fn up_to_each(&self, instants: &[Nanos]) -> Vec<f64> {
        let Some(grid) = &self.beyond else {
            return self.exact_up_to_each(instants);
        };
        let Grid { width_ns, first, ref bins, .. } = *grid;
        // The sum of the first `whole` bins.
        let (mut line, mut whole) = (Line::default(), 0);
        let each = instants.iter().map(|instant| {
            let past_ns = instant.0.saturating_sub(first * width_ns);
            let until = ((past_ns / width_ns) as usize).min(bins.len());
            debug_assert!(whole <= until, "the instants must be in ascending order");
            bins.range(whole..until).for_each(|&bin| line += bin);
            whole = until;
            let edge_ns = (u128::from(first) + whole as u128) * u128::from(width_ns);
            let before = line.at(edge_ns);
            let Some(&bin) = bins.get(whole) else { return before };
            let mut next = line;
            next += bin;
            let after = next.at(edge_ns + u128::from(width_ns));
            before + (after - before) * (past_ns % width_ns) as f64 / width_ns as f64
        });
        each.collect()
    }

    /// [`Self::up_to_each`] from stored events. Each event is compared with the instants near it only: the search begins
    /// where it ended for the event before, which is usually the previous one of the same request.
    fn exact_up_to_each(&self, instants: &[Nanos]) -> Vec<f64> {
        // The units that arrive between two instants, counted at the later one, and those of events that are still
        // arriving at an instant.
        let (mut whole, mut partly) = (vec![0; instants.len() + 1], vec![0; instants.len()]);
        let mut at = 0;
        // The instants around most events that follow: the one before `at`, and the one at it.
        let (mut floor, mut ceiling) = (Nanos::ZERO, *instants.first().unwrap_or(&LAST));
        for event in &self.events {
            if floor <= event.from && floor < event.until && event.until <= ceiling {
                whole[at] += event.units;
                continue;
            }
            // None of the tokens had arrived at an instant before this index.
            let is_before = |at: &Nanos| *at <= event.from && *at < event.until;
            while at > 0 && !is_before(&instants[at - 1]) {
                at -= 1;
            }
            while instants.get(at).is_some_and(is_before) {
                at += 1;
            }
            let mut end = at;
            while end < instants.len() && instants[end] < event.until {
                partly[end] += event.up_to(instants[end]);
                end += 1;
            }
            whole[end] += event.units;
            floor = at.checked_sub(1).map_or(Nanos::ZERO, |before| instants[before]);
            ceiling = *instants.get(at).unwrap_or(&LAST);
        }
        let mut come = 0;
        let each = whole.iter().zip(partly).map(|(whole, partly)| {
            come += whole;
            (come + partly) as f64 / UNIT
        });
        each.collect()
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
mod tests;
