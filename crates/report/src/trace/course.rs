//! What went on at which time of a pass, thinned out to what can be seen: requests in flight,
//! tokens, what the server and its cards said. Seconds since the first send of the pass.

use inferometer_core::metric::{InFlight, TokenCurve};
use inferometer_core::observed::{Observed, Quantity, Sample};
use inferometer_core::time::Nanos;

use crate::chart::thin::largest_triangles;

/// The most points of a line.
const MOST: usize = 400;
/// The most parts of a pass in which tokens are counted, and how short such a part may be.
const PARTS: u64 = 240;
const SHORTEST_NS: u64 = 50_000_000;

/// A line over time: seconds and values.
pub type Line = Vec<(f64, f64)>;

/// What went on at which time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// Requests in flight, from each instant on.
    pub in_flight: Line,
    /// Of how many changes `in_flight` is made.
    pub changes: usize,
    /// Output tokens per second of completed requests, over a part of the pass that ends at each
    /// instant.
    pub tokens_per_s: Line,
    /// How long such a part is, in seconds.
    pub part_s: f64,
    /// What the server said.
    pub server: ServerCourse,
    /// What each card said.
    pub cards: Vec<CardCourse>,
}

/// What the server said of itself, as far as it did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerCourse {
    /// How many samples there were.
    pub samples: usize,
    /// Requests in its batch.
    pub running: Line,
    /// Requests waiting.
    pub waiting: Line,
    /// Share of the KV memory in use, in percent.
    pub kv_percent: Line,
    /// Share of the prompt tokens looked for since the sample before that the prefix cache had, in
    /// percent.
    pub hits_percent: Line,
}

/// What one card said of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CardCourse {
    /// Which of the machine's cards.
    pub index: u32,
    /// Share of the time in which it was at work, in percent.
    pub work_percent: Line,
    /// Watts.
    pub power_w: Line,
}

impl Course {
    /// Of a pass whose first byte was sent and whose last request ended at `window`.
    pub(super) fn of(
        window: (Nanos, Nanos),
        in_flight: &InFlight,
        tokens: &TokenCurve,
        observed: &Observed,
    ) -> Self {
        let (begin, end) = window;
        let steps = in_flight.steps();
        let changes = steps.len();
        let steps: Line =
            steps.into_iter().map(|(at, count)| (at.seconds_after(begin), count as f64)).collect();
        let span_ns = end.0.saturating_sub(begin.0);
        let parts = (span_ns / SHORTEST_NS).clamp(1, PARTS);
        let part_ns = (span_ns / parts).max(1);
        let part_s = part_ns as f64 / 1e9;
        let counted = (0..parts).map(|part| {
            let from = Nanos(begin.0 + part * part_ns);
            let until = Nanos(from.0 + part_ns);
            // What came with the first byte belongs to the first part.
            let from = if part == 0 { Nanos(from.0.saturating_sub(1)) } else { from };
            (until.seconds_after(begin), tokens.between(from, until) / part_s)
        });
        let within: Vec<&Sample> = observed
            .samples
            .iter()
            .filter(|sample| begin <= sample.at && sample.at <= end)
            .collect();
        let mut cards: Vec<u32> =
            within.iter().flat_map(|sample| &sample.cards).map(|card| card.index).collect();
        cards.sort_unstable();
        cards.dedup();
        Self {
            in_flight: thinned(steps),
            changes,
            tokens_per_s: counted.collect(),
            part_s,
            server: server(&within, begin),
            cards: cards.into_iter().map(|index| card(&within, index, begin)).collect(),
        }
    }
}

fn server(within: &[&Sample], begin: Nanos) -> ServerCourse {
    let of = |quantity: Quantity, factor: f64| -> Line {
        let points = within.iter().filter_map(|sample| {
            let value = sample.server.as_ref()?.values.get(&quantity)?;
            Some((sample.at.seconds_after(begin), value * factor))
        });
        points.collect()
    };
    let (asked, hits) = (of(Quantity::PrefixQueries, 1.0), of(Quantity::PrefixHits, 1.0));
    let rates = asked.windows(2).zip(hits.windows(2)).filter_map(|(asked, hits)| {
        let (asked, hit) = (asked[1].1 - asked[0].1, hits[1].1 - hits[0].1);
        (asked > 0.0 && hit >= 0.0).then_some((hits[1].0, 100.0 * hit / asked))
    });
    ServerCourse {
        samples: within.iter().filter(|sample| sample.server.is_some()).count(),
        running: thinned(of(Quantity::Running, 1.0)),
        waiting: thinned(of(Quantity::Waiting, 1.0)),
        kv_percent: thinned(of(Quantity::KvUse, 100.0)),
        hits_percent: thinned(rates.collect()),
    }
}

fn card(within: &[&Sample], index: u32, begin: Nanos) -> CardCourse {
    let of = |value: fn(&inferometer_core::observed::CardSample) -> Option<f64>| -> Line {
        let points = within.iter().filter_map(|sample| {
            let card = sample.cards.iter().find(|card| card.index == index)?;
            Some((sample.at.seconds_after(begin), value(card)?))
        });
        thinned(points.collect())
    };
    CardCourse {
        index,
        work_percent: of(|card| card.utilisation.map(|share| share * 100.0)),
        power_w: of(|card| card.power_w),
    }
}

/// The points that show its shape best.
pub(crate) fn thinned_to(line: Line, most: usize) -> Line {
    let (x, y): (Vec<f64>, Vec<f64>) = line.iter().copied().unzip();
    largest_triangles(&x, &y, most).into_iter().map(|at| line[at]).collect()
}

fn thinned(line: Line) -> Line {
    let finite = line.into_iter().filter(|(_, value)| value.is_finite()).collect();
    thinned_to(finite, MOST)
}
