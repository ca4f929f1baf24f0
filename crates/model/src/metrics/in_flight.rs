//! Requests in flight over time, from each request's first sent byte to its end. The numbers are exact up to
//! a limit of stored requests. With more requests, bins of time count sends and ends, so that memory does not
//! grow with a run.

use std::time::Duration;

use derive_more::AddAssign;

use super::grid::Grid;
use crate::Nanos;

/// The time in which a request was in flight: from its first sent byte to the end of the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// When the first byte was sent.
    pub send_start: Nanos,
    /// When the exchange ended.
    pub ended: Nanos,
}

/// The maximum number of requests whose spans are stored. They need 16 MiB.
pub const SPANS_KEPT: usize = 1 << 20;
/// The smallest width of a bin (one microsecond) and the maximum number of bins. In a pass of one hour, a bin is 16 ms
/// wide.
const FINEST_NS: u64 = 1_000;
const MOST_BINS: u64 = 1 << 18;

/// Pairs of an instant and the number of requests in flight. The number holds from this instant to that of the next
/// pair.
pub type Steps = Vec<(Nanos, u64)>;

/// The requests in flight during a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFlight {
    kept: usize,
    spans: Vec<Span>,
    beyond: Option<Grid<Changes>>,
    /// The first send, the last send, and the last end; `None` without requests.
    edges: Option<(Nanos, Nanos, Nanos)>,
    /// The sum of the lengths of all spans.
    total: Duration,
}

/// The sends and ends within a bin. All of them count as if they occurred at the end of the bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, AddAssign)]
struct Changes {
    sent: u32,
    ended: u32,
}

impl Default for InFlight {
    fn default() -> Self {
        Self::keeping(SPANS_KEPT)
    }
}

impl InFlight {
    /// A value without requests. Up to `kept` spans are stored. If there are more requests, all are counted in bins.
    pub fn keeping(kept: usize) -> Self {
        Self { kept, spans: Vec::new(), beyond: None, edges: None, total: Duration::ZERO }
    }

    /// Adds a request. Requests may be added in any order.
    pub fn add(&mut self, span: Span) {
        let Span { send_start, ended, .. } = span;
        let (first, last, end) = self.edges.unwrap_or((send_start, send_start, ended));
        self.edges = Some((first.min(send_start), last.max(send_start), end.max(ended)));
        self.total += ended.since(send_start);
        match &mut self.beyond {
            None if self.spans.len() < self.kept => self.spans.push(span),
            None => {
                let mut grid = Grid::new(FINEST_NS, MOST_BINS);
                std::mem::take(&mut self.spans).into_iter().for_each(|kept| mark(&mut grid, kept));
                mark(&mut grid, span);
                self.beyond = Some(grid);
            }
            Some(grid) => mark(grid, span),
        }
    }

    /// When the first byte of the first request was sent.
    pub fn first_send(&self) -> Option<Nanos> {
        self.edges.map(|(first, ..)| first)
    }

    /// When the first byte of the last request was sent.
    pub fn last_send(&self) -> Option<Nanos> {
        self.edges.map(|(_, last, _)| last)
    }

    /// When the last request ended.
    pub fn last_end(&self) -> Option<Nanos> {
        self.edges.map(|(.., end)| end)
    }

    /// The sum of the times in flight of all requests, in seconds.
    pub fn total_s(&self) -> f64 {
        self.total.as_secs_f64()
    }

    /// The number of requests in flight over time, in the order of time.
    pub fn steps(&self) -> Steps {
        match &self.beyond {
            None => {
                let sorted = |instant: fn(&Span) -> Nanos| {
                    let mut instants: Vec<Nanos> = self.spans.iter().map(instant).collect();
                    // Sends are added in order or nearly so, and this algorithm makes use of it.
                    instants.sort();
                    instants
                };
                swept(merged(sorted(|span| span.send_start), sorted(|span| span.ended)))
            }
            Some(grid) => swept(
                edges(grid)
                    .filter(|(_, changes)| changes.sent + changes.ended > 0)
                    .map(|(at, changes)| (at, i64::from(changes.sent) - i64::from(changes.ended))),
            ),
        }
    }
}

fn mark(grid: &mut Grid<Changes>, span: Span) {
    let [sent, ended] = grid.reach(span.send_start, span.ended);
    grid.bins[sent] += Changes { sent: 1, ended: 0 };
    grid.bins[ended] += Changes { sent: 0, ended: 1 };
}

/// The end of each bin, and the sends and ends within the bin.
fn edges(grid: &Grid<Changes>) -> impl Iterator<Item = (Nanos, Changes)> {
    let end = |at: usize| Nanos((grid.first + at as u64 + 1) * grid.width_ns);
    grid.bins.iter().enumerate().map(move |(at, &changes)| (end(at), changes))
}

/// The changes at sends and at ends, in the order of time. Both lists are sorted.
fn merged(sends: Vec<Nanos>, ends: Vec<Nanos>) -> impl Iterator<Item = (Nanos, i64)> {
    let (mut sends, mut ends) = (sends.into_iter().peekable(), ends.into_iter().peekable());
    std::iter::from_fn(move || match (sends.peek(), ends.peek()) {
        (Some(sent), end) if end.is_none_or(|end| sent <= end) => Some((sends.next()?, 1)),
        _ => Some((ends.next()?, -1)),
    })
}

/// Adds up the changes. Changes at the same instant become one step.
fn swept(changes: impl Iterator<Item = (Nanos, i64)>) -> Steps {
    let mut steps: Steps = Vec::new();
    let mut count = 0_i64;
    for (at, change) in changes {
        count += change;
        let in_flight = count.max(0) as u64;
        match steps.last_mut() {
            Some(step) if step.0 == at => step.1 = in_flight,
            _ => steps.push((at, in_flight)),
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(kept: usize, spans: &[(u64, u64)]) -> InFlight {
        let mut in_flight = InFlight::keeping(kept);
        for &(start, length) in spans {
            let (send_start, ended) = (Nanos(start), Nanos(start + length));
            in_flight.add(Span { send_start, ended });
        }
        in_flight
    }

    #[test]
    fn in_flight_counts_of_an_hour_of_closed_loop_stay_correct_in_bounded_memory() {
        // Eight slots. In each slot, requests of 100 ms follow one after the other.
        let mut in_flight = InFlight::keeping(1_000);
        for round in 0..36_000_u64 {
            for place in 0..8 {
                let send_start = Nanos(1_000_000_000 + round * 100_000_000 + place * 10_000_000);
                let ended = Nanos(send_start.0 + 100_000_000);
                in_flight.add(Span { send_start, ended });
            }
        }
        let steps = in_flight.steps();
        assert!(in_flight.spans.capacity() <= 1_024 && steps.len() as u64 <= MOST_BINS);
        assert_eq!(steps.iter().map(|step| step.1).max(), Some(8));
        let below = steps.iter().skip(10).rev().skip(10).filter(|step| step.1 != 8).count();
        assert_eq!(below, 0);
    }

    proptest! {
        #[test]
        fn the_coarse_grid_equals_the_exact_in_flight_counts_at_its_edges_in_any_order(
            spans in prop::collection::vec((0u64..4_000_000_000, 0u64..900_000_000), 1..60),
        ) {
            let (exact, coarse) = (of(usize::MAX, &spans), of(0, &spans));
            let mut backward = spans.clone();
            backward.reverse();
            prop_assert_eq!(&coarse, &of(0, &backward));
            let width = coarse.beyond.as_ref().expect("a grid").width_ns;
            let at = |steps: &Steps, instant: Nanos| {
                steps.iter().take_while(|step| step.0 <= instant).last().map_or(0, |step| step.1)
            };
            let (steps, rounded) = (exact.steps(), coarse.steps());
            for edge in (0..).map(|bin| Nanos(bin * width * 977)).take_while(|at| at.0 < 5_000_000_000) {
                prop_assert_eq!(at(&steps, edge), at(&rounded, edge));
            }
            prop_assert_eq!(exact.total_s(), coarse.total_s());
            prop_assert_eq!(exact.last_end(), coarse.last_end());
        }
    }
}
