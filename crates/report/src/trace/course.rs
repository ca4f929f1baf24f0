//! The course of a pass (its values over time): requests in flight, tokens, and the metrics of the server and
//! its cards. The data is reduced to the resolution of a chart. Times are in seconds since the first send of
//! the pass.

use inferometer_model::metrics::{InFlight, TokenCurve};
use inferometer_model::sample::{Quantity, Sample};
use inferometer_model::{Nanos, Observed};

use crate::chart::thin::largest_triangles;

/// The maximum number of points of a line.
pub(crate) const MOST_POINTS: usize = 400;
/// The maximum number of parts into which a pass is divided to count tokens, and the minimum length of a part
/// in nanoseconds. A pass that is shorter than this length has one part.
const PARTS: u64 = 240;
const SHORTEST_NS: u64 = 50_000_000;

/// A line over time: pairs of seconds and a value.
pub type Line = Vec<(f64, f64)>;

/// The course of a pass over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// Requests in flight at the client.
    pub in_flight: Level,
    /// The number of changes of the requests in flight, before `in_flight` was reduced.
    pub changes: usize,
    /// Output tokens per second of completed requests, for equal parts of the pass. The time of each
    /// point is the end of its part.
    pub tokens_per_s: Line,
    /// The length of a part in `tokens_per_s`, in seconds.
    pub part_s: f64,
    /// Metrics of the server.
    pub server: ServerCourse,
    /// Metrics of each card.
    pub cards: Vec<CardCourse>,
}

/// A value that stays constant until it changes, such as requests in flight.
#[derive(Clone, Debug, PartialEq)]
pub enum Level {
    /// Every change: its time, and the value from then on.
    Changes(Line),
    /// Used if there are too many changes. The pass is divided into equal parts, and each part has its
    /// time-weighted mean, its smallest and its largest value. A selection of changes could show levels that
    /// hardly ever occurred.
    Parts {
        /// The length of a part, in seconds.
        part_s: f64,
        /// Time-weighted mean, smallest and largest value of each part.
        values: Vec<[f64; 3]>,
    },
}

impl Default for Level {
    fn default() -> Self {
        Self::Changes(Line::new())
    }
}

impl Level {
    /// The level of a pass of `end_s` seconds, from its changes. The value is 0 before the first change.
    fn of(changes: Line, end_s: f64) -> Self {
        Self::Changes(changes).within(MOST_POINTS, end_s)
    }

    /// The same level, reduced to at most about `most` points.
    pub fn within(&self, most: usize, end_s: f64) -> Self {
        match self {
            Self::Changes(changes) if changes.len() > most && end_s > 0.0 => {
                let parts = (most / 2).max(8);
                let part_s = end_s / parts as f64;
                Self::Parts { part_s, values: in_parts(changes, part_s, parts) }
            }
            Self::Parts { part_s, values } if values.len() > most => {
                let joined = values.len().div_ceil(most.max(1));
                let one = |parts: &[[f64; 3]]| {
                    let mean = parts.iter().map(|part| part[0]).sum::<f64>() / parts.len() as f64;
                    let low = parts.iter().map(|part| part[1]).fold(f64::INFINITY, f64::min);
                    [mean, low, parts.iter().map(|part| part[2]).fold(0.0, f64::max)]
                };
                Self::Parts {
                    part_s: part_s * joined as f64,
                    values: values.chunks(joined).map(one).collect(),
                }
            }
            same => same.clone(),
        }
    }
}

/// The time-weighted mean, the smallest and the largest value in each part of `part_s` seconds.
fn in_parts(changes: &[(f64, f64)], part_s: f64, parts: usize) -> Vec<[f64; 3]> {
    let mut out = Vec::with_capacity(parts);
    let (mut at, mut value) = (0, 0.0);
    for part in 0..parts {
        let (from, to) = (part as f64 * part_s, (part + 1) as f64 * part_s);
        // A change exactly at the beginning of a part belongs to this part. So the value before the change
        // does not enter the range of the part.
        while changes.get(at).is_some_and(|change| change.0 <= from) {
            value = changes[at].1;
            at += 1;
        }
        let (mut held, mut since) = (0.0, from);
        let (mut low, mut high) = (value, value);
        while let Some(&(instant, next)) = changes.get(at).filter(|change| change.0 < to) {
            held += value * (instant - since);
            (since, value) = (instant, next);
            (low, high) = (low.min(value), high.max(value));
            at += 1;
        }
        held += value * (to - since);
        out.push([held / part_s, low, high]);
    }
    out
}

/// Reduces figures over equal parts of a pass, such as tokens per second, to at most `most` parts. Each
/// new part has the mean of the neighbouring parts that it replaces. `ends` contains the end of each part
/// in seconds and its figure.
///
/// Returns a step line and the new length of a part in seconds. The line contains the beginning of each
/// new part with its figure, and then the end of the last part with the last figure.
pub(crate) fn parts_within(ends: &[(f64, f64)], part_s: f64, most: usize) -> (Line, f64) {
    let joined = ends.len().div_ceil(most.max(1)).max(1);
    let mut line: Line = ends
        .chunks(joined)
        .map(|parts| {
            let mean = parts.iter().map(|part| part.1).sum::<f64>() / parts.len() as f64;
            (parts[0].0 - part_s, mean)
        })
        .collect();
    if let (Some(end), Some(last)) = (ends.last(), line.last()) {
        line.push((end.0, last.1));
    }
    (line, part_s * joined as f64)
}

/// The server's own metrics. A line is empty if the server does not report the metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerCourse {
    /// The number of samples of the server's metrics during the pass.
    pub samples: usize,
    /// Requests in the running batch.
    pub running: Line,
    /// Requests that wait in the server's queue.
    pub waiting: Line,
    /// Share of the KV memory in use, in percent.
    pub kv_percent: Line,
    /// The share of prompt tokens found in the prefix cache, in percent of the tokens looked up since the
    /// previous sample with both counters.
    pub hits_percent: Line,
}

/// Metrics of one card.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CardCourse {
    /// The number of the card in the machine.
    pub index: u32,
    /// The share of time in which the card was busy, in percent.
    pub work_percent: Line,
    /// The power of the card in watts.
    pub power_w: Line,
}

impl Course {
    /// The course of a pass. `window` is the first send and the last end of its requests.
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
        // An instant itself belongs to the part that ends with it. So the first part begins 1 ns earlier, and includes
        // tokens that arrived at its beginning.
        let ends = (1..=parts).map(|part| Nanos(begin.0 + part * part_ns));
        let edges: Vec<Nanos> =
            [Nanos(begin.0.saturating_sub(1))].into_iter().chain(ends).collect();
        let counted = edges[1..].iter().zip(tokens.between_each(&edges));
        let counted = counted.map(|(end, count)| (end.seconds_after(begin), count / part_s));
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
            in_flight: Level::of(steps, end.seconds_after(begin)),
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
    // A sample is used only if it has both counters. Otherwise a missing value would shift all later
    // values.
    let looked: Vec<(f64, f64, f64)> = within
        .iter()
        .filter_map(|sample| {
            let values = &sample.server.as_ref()?.values;
            let asked = values.get(&Quantity::PrefixQueries)?;
            let hits = values.get(&Quantity::PrefixHits)?;
            Some((sample.at.seconds_after(begin), *asked, *hits))
        })
        .collect();
    let rates = looked.windows(2).filter_map(|pair| {
        let (asked, hit) = (pair[1].1 - pair[0].1, pair[1].2 - pair[0].2);
        (asked > 0.0 && hit >= 0.0).then_some((pair[1].0, 100.0 * hit / asked))
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
    let of = |value: fn(&inferometer_model::sample::CardSample) -> Option<f64>| -> Line {
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

/// At most `most` points of a line (but at least three), which show its shape best.
pub(crate) fn thinned_to(line: Line, most: usize) -> Line {
    let (x, y): (Vec<f64>, Vec<f64>) = line.iter().copied().unzip();
    largest_triangles(&x, &y, most).into_iter().map(|at| line[at]).collect()
}

fn thinned(line: Line) -> Line {
    let finite = line.into_iter().filter(|(_, value)| value.is_finite()).collect();
    thinned_to(finite, MOST_POINTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_parts_of_a_line_have_their_mean_so_that_its_area_is_preserved() {
        // A gap in every 17th part.
        let ends: Line = (1..=240)
            .map(|part| (f64::from(part), if part % 17 == 0 { 0.0 } else { 100.0 }))
            .collect();
        let (line, part_s) = parts_within(&ends, 1.0, 50);
        assert_eq!((line.len(), part_s, line[0].0, line[48].0), (49, 5.0, 0.0, 240.0));
        let area: f64 = line.windows(2).map(|pair| pair[0].1 * (pair[1].0 - pair[0].0)).sum();
        assert_eq!(area, ends.iter().map(|part| part.1).sum::<f64>());
        let (same, part_s) = parts_within(&ends, 1.0, 240);
        assert_eq!((same.len(), part_s, same[16]), (241, 1.0, (16.0, 0.0)));
    }

    #[test]
    fn a_sample_without_a_counter_does_not_shift_the_other_samples() {
        use inferometer_model::sample::ServerSample;
        let sample = |second: u64, hits: Option<f64>| {
            let mut values = std::collections::BTreeMap::from([(
                Quantity::PrefixQueries,
                second as f64 * 100.0,
            )]);
            values.extend(hits.map(|hits| (Quantity::PrefixHits, hits)));
            let server = Some(ServerSample { values, ..ServerSample::default() });
            Sample { at: Nanos(second * 1_000_000_000), server, ..Sample::default() }
        };
        let samples =
            [sample(0, Some(0.0)), sample(1, None), sample(2, Some(50.0)), sample(3, Some(150.0))];
        let metrics = server(&samples.iter().collect::<Vec<_>>(), Nanos::ZERO);
        assert_eq!(metrics.hits_percent, [(2.0, 25.0), (3.0, 100.0)]);
    }

    #[test]
    fn a_level_with_many_changes_is_reduced_to_parts_with_mean_minimum_and_maximum() {
        // The level alternates between 10 and 0 every second, with one peak of 40.
        let mut changes: Line =
            (0..100).map(|at| (f64::from(at), f64::from((at + 1) % 2) * 10.0)).collect();
        changes[20].1 = 40.0;
        changes.push((100.0, 0.0));
        let few = Level::Changes(changes[..10].to_vec());
        assert_eq!(few.within(10, 10.0), few);
        let Level::Parts { part_s, values } = Level::Changes(changes).within(20, 100.0) else {
            panic!("it is too long");
        };
        assert_eq!((part_s, values.len()), (10.0, 10));
        assert_eq!(values[0], [5.0, 0.0, 10.0]);
        assert_eq!(values[2], [8.0, 0.0, 40.0]);
        let joined = Level::Parts { part_s, values }.within(5, 100.0);
        let Level::Parts { part_s, values } = joined else { panic!("parts stay parts") };
        assert_eq!((part_s, values.len(), values[1]), (20.0, 5, [6.5, 0.0, 40.0]));
    }
}
