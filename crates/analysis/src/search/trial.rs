//! A trial: what became of each request at one load, and which of them count. Never weighs what it
//! counts: that is [`super::Evidence`].

use std::time::Duration;

use serde::{Deserialize, Serialize};

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
    /// The requests that count in the order in which they were due, for each criterion.
    pub judged: Vec<Vec<Judged>>,
    /// Whether its streams came in bundles, so that an objective on times between tokens cannot be judged
    /// by it: nothing counts for such a criterion.
    pub lacks_gaps: bool,
    /// Absent where requests left as fast as they came, or the trial was too short to say.
    pub saturation: Option<Saturation>,
}

impl Trial {
    /// Requests that count.
    pub fn counted(&self) -> u64 {
        most(&self.judged)
    }
}

/// Requests that count for the criterion for which most do.
pub(super) fn most(judged: &[Vec<Judged>]) -> u64 {
    judged.iter().map(Vec::len).max().unwrap_or(0) as u64
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
    judged: Vec<Judged>,
}

/// A trial begins with an idle server, and requests count from when it has been loaded for so many
/// latencies: in the first of them the number in flight rises to what the load holds there, in the
/// second the server meets it.
const STARTUP_LATENCIES: f64 = 2.0;
/// After the last arrival the number in flight falls. Requests that were due less than so many
/// latencies before the last arrival run beside fewer others than the load holds.
const DRAIN_LATENCIES: f64 = 1.0;

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
        self.rows.push(Row { index, fate, due, ended, judged });
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
        let from = STARTUP_LATENCIES * latency_s;
        let until = last.seconds_after(first) - DRAIN_LATENCIES * latency_s;
        let at = |row: &Row| row.due.seconds_after(first);
        // When a trial was cut off was decided by its outcome, so that none of it counts.
        let (startup, end) = if cut_off > 0 {
            (0, 0)
        } else {
            let startup = self.rows.partition_point(|row| at(row) < from);
            (startup, self.rows.partition_point(|row| at(row) <= until).max(startup))
        };
        let counted = &self.rows[startup..end];
        let of = |index: usize| match unknown[index] {
            true => Vec::new(),
            false => counted.iter().map(|row| row.judged[index]).collect(),
        };
        Trial {
            load: self.load,
            requests: self.rows.len() as u64,
            planned,
            cut_off,
            missed,
            startup: startup as u64,
            drain: (self.rows.len() - end) as u64,
            latency_s,
            judged: (0..self.criteria.len()).map(of).collect(),
            lacks_gaps: unknown.contains(&true),
            saturation: saturation(&self.rows, latency_s).filter(|_| cut_off == 0),
        }
    }
}

fn median_latency_s(rows: &[Row]) -> f64 {
    let mut spans: Vec<f64> = rows.iter().map(|row| row.ended.seconds_after(row.due)).collect();
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
