//! A trial: what became of each request at one load, and which of them count. Never weighs what it
//! counts: that is [`super::Evidence`].

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::evidence::Measure;
use super::overwhelmed::first_crowd;
use inferometer_load::PassPlan;
use inferometer_metrics::{Fate, Gaps, RequestFigures};
use inferometer_model::time::Nanos;
use inferometer_plan::search::{Criterion, Judged};

/// Requests kept waiting faster than they are served: the load has no steady state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saturation {
    /// Requests that came in the second half of the arrivals.
    pub arrived: u64,
    /// Requests that ended in the same time.
    pub ended: u64,
    /// Requests in flight, averaged over the first eighth of that half.
    pub in_flight_before: f64,
    /// The same over the last eighth.
    pub in_flight_after: f64,
}

/// What became of the requests of one pass at one load.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The load: requests per second, or requests in flight.
    pub load: f64,
    /// Requests that were sent.
    pub requests: u64,
    /// Requests that were planned: more where it was cut off.
    pub planned: u64,
    /// Requests that were in flight when it was cut off, and those that were not sent then.
    pub cut_off: u64,
    /// Requests that missed each criterion for certain, wherever they stand in the trial; the crowd
    /// at the beginning of a closed loop is left out.
    pub missed: Vec<u64>,
    /// Requests of the start-up, which do not count.
    pub startup: u64,
    /// Requests of the drain, which do not count.
    pub drain: u64,
    /// The median time from due to end, in seconds.
    pub latency_s: f64,
    /// From the first request that was due to the last end, in seconds.
    pub span_s: f64,
    /// Requests that completed.
    pub completed: u64,
    /// Whether it was long enough for requests to meet what the load holds: else it had fewer misses than
    /// the load has in the long run.
    pub is_settled: bool,
    /// What the requests that count say of each criterion.
    pub measured: Vec<Measure>,
    /// Whether its streams came in bundles, so that an objective on times between tokens cannot be judged
    /// by it: nothing counts for such a criterion.
    pub lacks_gaps: bool,
    /// Absent where requests left as fast as they came, or the trial was too short to say.
    pub saturation: Option<Saturation>,
}

impl Trial {
    /// Requests that count for the criterion for which most do.
    pub fn counted(&self) -> u64 {
        self.measured.iter().map(|measure| measure.counted).max().unwrap_or(0)
    }

    /// Whether a criterion is met by what was measured; none where nothing counts.
    pub fn is_met(&self, index: usize, criterion: &Criterion) -> Option<bool> {
        let measure = self.measured[index];
        (measure.counted > 0).then(|| match (criterion.needed(), criterion.mean_limit_ms()) {
            (Some(needed), _) => measure.value >= needed,
            (None, limit) => limit.is_none_or(|limit| measure.value <= limit),
        })
    }

    /// Requests that left per second.
    pub(super) fn throughput(&self) -> f64 {
        if self.span_s > 0.0 { self.completed as f64 / self.span_s } else { f64::INFINITY }
    }
}

/// Gathers the requests of a trial, in any order.
#[derive(Clone, Debug)]
pub struct TrialFold {
    load: f64,
    planned: u64,
    crowd: u64,
    criteria: Vec<Criterion>,
    gaps: Gaps,
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    index: u32,
    fate: Fate,
    due: Nanos,
    ended: Nanos,
    complete: bool,
    judged: Vec<Judged>,
}

/// A trial begins with an idle server: in so many latencies it comes to hold what it does under the load,
/// at the earliest.
const STARTUP_LATENCIES: f64 = 3.0;
/// After the last arrival the number in flight falls. Requests that were due less than so many
/// latencies before the last arrival run beside fewer others than the load holds.
const DRAIN_LATENCIES: f64 = 1.0;
/// At most this part of a trial is start-up.
const MOST_STARTUP: usize = 2;
/// Latencies that are larger by this factor than those of a quarter of the trial before still grow.
const GROWS: f64 = 1.1;
/// At least this part of a trial that settled counts.
const SETTLED_PART: usize = 4;

impl TrialFold {
    /// Nothing seen yet of a pass; none of one that holds no load.
    pub fn of(pass: &PassPlan, criteria: &[Criterion]) -> Option<Self> {
        Some(Self {
            load: pass.constant_load()?,
            planned: pass.requests().map_or(0, u64::from),
            crowd: first_crowd(pass),
            criteria: criteria.to_vec(),
            gaps: Gaps::default(),
            rows: Vec::new(),
        })
    }

    /// Takes in a request.
    pub fn add(&mut self, figures: &RequestFigures) {
        let judged = self.criteria.iter().map(|criterion| criterion.judge(figures)).collect();
        let ended = figures.ended.unwrap_or(figures.due).max(figures.due);
        self.gaps.join(figures.gaps);
        let (index, fate, due) = (figures.index, figures.fate, figures.due);
        let complete = figures.complete;
        self.rows.push(Row { index, fate, due, ended, complete, judged });
    }

    /// The trial.
    pub fn finish(mut self) -> Trial {
        self.rows.sort_by_key(|row| (row.due, row.index));
        let counts = |row: &&Row| u64::from(row.index) >= self.crowd && row.fate != Fate::NeverSent;
        let is_unknown = |of: usize| !self.gaps.are_known() && self.criteria[of].needs_gaps();
        let missed = |of: usize| {
            if is_unknown(of) {
                return 0;
            }
            self.rows.iter().filter(counts).filter(|row| !row.judged[of].met).count() as u64
        };
        let missed = (0..self.criteria.len()).map(missed).collect();
        let unknown: Vec<bool> = (0..self.criteria.len()).map(is_unknown).collect();
        let planned = self.planned.max(self.rows.len() as u64);
        // Of a run that was killed those are there that had ended.
        let never_recorded = planned - self.rows.len() as u64;
        let cut_off = self.rows.iter().filter(|row| row.fate != Fate::Ended).count() as u64;
        let cut_off = cut_off + never_recorded;
        self.rows.retain(|row| row.fate != Fate::NeverSent);
        let latency_s = median_latency_s(&self.rows);
        let [first, last] =
            [self.rows.first(), self.rows.last()].map(|row| row.map_or(Nanos::ZERO, |row| row.due));
        let until = last.seconds_after(first) - DRAIN_LATENCIES * latency_s;
        let at = |row: &Row| row.due.seconds_after(first);
        // When a trial was cut off was decided by its outcome, so that none of it counts.
        let (startup, end, steady) = if cut_off > 0 {
            (0, 0, 0)
        } else {
            let filled = self.rows.partition_point(|row| at(row) < STARTUP_LATENCIES * latency_s);
            let startup = filled.max(settled_after(&self.rows)).min(self.rows.len() / MOST_STARTUP);
            let end = self.rows.partition_point(|row| at(row) <= until);
            // Where latencies exceed the time over which requests came, its later half stands for it.
            let steady = end.saturating_sub(startup);
            (startup, if steady > 0 { end } else { self.rows.len() }, steady)
        };
        let counted = &self.rows[startup..end];
        let of = |index: usize| match unknown[index] {
            true => Measure::default(),
            false => {
                let judged: Vec<Judged> = counted.iter().map(|row| row.judged[index]).collect();
                Measure::of(&self.criteria[index], &judged)
            }
        };
        let last_end = self.rows.iter().map(|row| row.ended).max().unwrap_or(first);
        Trial {
            load: self.load,
            requests: self.rows.len() as u64,
            planned,
            cut_off,
            missed,
            startup: startup as u64,
            drain: (self.rows.len() - end) as u64,
            latency_s,
            span_s: last_end.seconds_after(first),
            completed: self.rows.iter().filter(|row| row.complete).count() as u64,
            is_settled: SETTLED_PART * steady >= self.rows.len().max(1)
                && !(startup >= self.rows.len() / MOST_STARTUP && grows(&self.rows)),
            measured: (0..self.criteria.len()).map(of).collect(),
            lacks_gaps: unknown.contains(&true),
            saturation: saturation(&self.rows, latency_s).filter(|_| cut_off == 0),
        }
    }
}

/// Whether latencies still grow at the end: those of the last quarter beside those of the one before.
fn grows(rows: &[Row]) -> bool {
    let quarter = rows.len() / 4;
    let mean = |rows: &[Row]| -> f64 {
        rows.iter().map(|row| row.ended.seconds_after(row.due)).sum::<f64>()
    };
    let last = rows.len() - quarter;
    mean(&rows[last..]) > GROWS * mean(&rows[last - quarter..last])
}

/// After how many requests latencies are those of the rest: where the mean of what follows is known
/// best (K. P. White, "An effective truncation heuristic for bias reduction in simulation output",
/// Simulation 69, 1997, by means over five).
fn settled_after(rows: &[Row]) -> usize {
    const TOGETHER: usize = 5;
    let means: Vec<f64> = rows
        .chunks_exact(TOGETHER)
        .map(|rows| rows.iter().map(|row| row.ended.seconds_after(row.due)).sum::<f64>())
        .collect();
    let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (at, mean) in means.iter().enumerate().rev() {
        (sum, squares, count) = (sum + mean, squares + mean * mean, count + 1.0);
        let error = (squares - sum * sum / count) / (count * count);
        if at <= means.len() / MOST_STARTUP && error <= best.0 {
            best = (error, at);
        }
    }
    // An idle server is quick: what is slower than the rest is an excursion, and counts.
    let (before, after) = means.split_at(best.1);
    let mean = |means: &[f64]| means.iter().sum::<f64>() / means.len().max(1) as f64;
    if mean(before) < mean(after) { best.1 * TOGETHER } else { 0 }
}

fn median_latency_s(rows: &[Row]) -> f64 {
    // What is refused at once says nothing of how long an answer takes.
    let any_complete = rows.iter().any(|row| row.complete);
    let taken = rows.iter().filter(|row| row.complete || !any_complete);
    let mut spans: Vec<f64> = taken.map(|row| row.ended.seconds_after(row.due)).collect();
    spans.sort_unstable_by(f64::total_cmp);
    spans.get(spans.len() / 2).copied().unwrap_or(0.0)
}

/// Latencies after which as much is in flight as a load holds that can be held.
const SETTLED_LATENCIES: f64 = 3.0;
/// Parts of the second half of the arrivals over which requests in flight are averaged.
const PARTS: usize = 8;
/// Of the arrivals of that half so many more than ended, as a share, at least.
const LEAST_EXCESS: f64 = 0.1;
/// And so many standard deviations of the difference of two Poisson counts.
const EXCESS_DEVIATIONS: f64 = 4.0;

/// Whether more requests came than left (J. D. C. Little: what comes and does not leave is in
/// flight): over the second half of the arrivals, by a tenth and by four standard deviations, with
/// more in flight in each of its parts than in the one before but one.
fn saturation(rows: &[Row], latency_s: f64) -> Option<Saturation> {
    let (first, last) = (rows.first()?.due, rows.last()?.due);
    let span_s = last.seconds_after(first);
    let half = first + Duration::from_secs_f64(span_s / 2.0);
    // Until some latencies have passed, requests in flight rise under every load.
    let early = median_latency_s(&rows[..rows.partition_point(|row| row.due < half)]);
    if span_s / 2.0 < SETTLED_LATENCIES * early.min(latency_s) || rows.len() < 32 {
        return None;
    }
    let within = |at: Nanos| at >= half && at <= last;
    let arrived = rows.iter().filter(|row| within(row.due)).count() as u64;
    let ended = rows.iter().filter(|row| within(row.ended)).count() as u64;
    let excess = arrived as f64 - ended as f64;
    let noise = EXCESS_DEVIATIONS * (arrived as f64 + ended as f64).sqrt();
    if excess < noise.max(LEAST_EXCESS * arrived as f64) {
        return None;
    }
    let part_s = span_s / 2.0 / PARTS as f64;
    let mut in_flight = [0.0; PARTS];
    for row in rows {
        let [from, until] = [row.due, row.ended].map(|at| at.seconds_after(half).max(0.0));
        for (part, sum) in (0..).zip(&mut in_flight) {
            let begins = f64::from(part) * part_s;
            *sum += (until.min(begins + part_s) - from.max(begins)).max(0.0);
        }
    }
    let in_flight = in_flight.map(|sum| sum / part_s);
    let rises = in_flight.windows(3).all(|parts| parts[2] > parts[0]);
    rises.then_some(Saturation {
        arrived,
        ended,
        in_flight_before: in_flight[0],
        in_flight_after: in_flight[PARTS - 1],
    })
}
