//! Computes the figures of a trial of a sweep: throughput and latencies of the counted requests at one load.

use std::time::Duration;

use inferometer_model::metrics::{Fate, tpot, ttft};
use inferometer_model::{Nanos, PassPlan, RequestFigures};
use inferometer_plan::search::Over;

use super::estimate::{FEWEST, FigureEstimate};
use crate::growth::{Growth, growth};
use crate::startup::{CountedPart, counted};
use crate::stay::{HasStay, Stay, served};

/// The figures of one trial at one load.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelTrial {
    /// The unit of the load.
    pub by: Over,
    /// The load: requests in flight, or requests per second.
    pub load: f64,
    /// The number of requests that were sent.
    pub requests: u64,
    /// The number of requests that were not sent, did not end, or have no record. A trial with such requests is
    /// ignored.
    pub unfinished: u64,
    /// The number of requests that completed.
    pub completed: u64,
    /// The number of requests that the server refused because the client sends too many (HTTP status 429).
    pub rate_limited: u64,
    /// The number of requests that the time limit cancelled.
    pub cancelled: u64,
    /// The number of requests that count. Requests of start-up and drain do not count.
    pub counted: u64,
    /// The median time from the due time to the end, in seconds. It is that of the completed requests, or of all if
    /// none completed.
    pub latency_s: f64,
    /// The time from the first due request to the last end, in seconds.
    pub span_s: f64,
    /// Whether the trial was long enough for a steady state.
    pub is_settled: bool,
    /// Whether requests completed, and all their outputs have the same length.
    pub has_equal_outputs: bool,
    /// The growth of the number in flight, for arrivals at a rate. Absent in a closed loop, or if the growth cannot be
    /// estimated, for example because the trial was too short.
    pub growth: Option<Growth>,
    /// Completed requests per second.
    pub requests_per_s: Option<FigureEstimate>,
    /// Output tokens of completed requests per second.
    pub output_tokens_per_s: Option<FigureEstimate>,
    /// Mean time to first token.
    pub ttft_ms: Option<FigureEstimate>,
    /// Mean time per output token after the first.
    pub tpot_ms: Option<FigureEstimate>,
    /// Mean time from the due time to the end. Like `ttft_ms` and `tpot_ms`, it is absent if requests arrived faster
    /// than they ended.
    pub latency_ms: Option<FigureEstimate>,
}

impl LevelTrial {
    /// Whether requests arrive faster than the server completes them.
    pub fn is_overloaded(&self) -> bool {
        self.growth.is_some_and(|growth| growth.is_shown())
    }
}

#[derive(Clone, Copy, Debug)]
struct Row {
    index: u32,
    /// Whether the request ended, and was not in flight when its trial was ended.
    has_ended: bool,
    /// Whether the request was sent. A limit on the number in flight can drop a due request. Such a request neither
    /// arrives at the server nor ends there.
    was_sent: bool,
    stay: Stay,
    tokens: f64,
    ttft_ms: Option<f64>,
    tpot_ms: Option<f64>,
}

impl HasStay for Row {
    fn stay(&self) -> Stay {
        self.stay
    }
}

/// Collects the requests of a trial, in any order.
#[derive(Clone, Debug)]
pub struct LevelFold {
    by: Over,
    load: f64,
    planned: u64,
    confidence: f64,
    unfinished: u64,
    rate_limited: u64,
    rows: Vec<Row>,
}

/// The rate of service still rises if it grows by more than this share from the third to the fourth quarter of the
/// arrivals.
const STILL_RISES: f64 = 0.03;

impl LevelFold {
    /// Starts a trial without requests; `None` for a pass whose load is not constant.
    pub fn of(pass: &PassPlan, confidence: f64) -> Option<Self> {
        Some(Self {
            by: if matches!(pass, PassPlan::Open(_)) { Over::Rate } else { Over::Concurrency },
            load: pass.constant_load()?,
            planned: pass.requests().map_or(0, u64::from),
            confidence,
            unfinished: 0,
            rate_limited: 0,
            rows: Vec::new(),
        })
    }

    /// Adds the figures of a request.
    pub fn add(&mut self, figures: &RequestFigures) {
        self.unfinished += u64::from(figures.fate != Fate::Ended);
        self.rate_limited += u64::from(figures.is_rate_limited);
        if figures.fate == Fate::NeverSent {
            return;
        }
        let ended = figures.ended.unwrap_or(figures.due);
        let of_complete = |value: Option<f64>| value.filter(|_| figures.complete);
        self.rows.push(Row {
            index: figures.index,
            has_ended: figures.fate == Fate::Ended,
            was_sent: figures.sent.is_some(),
            stay: Stay::new(figures.due, figures.first, ended, figures.complete),
            tokens: if figures.complete { f64::from(figures.output_tokens) } else { 0.0 },
            ttft_ms: of_complete(figures.value_of(&ttft::FROM_SENT)),
            tpot_ms: of_complete(figures.value_of(&tpot::DEFINITION)),
        });
    }

    /// Computes the figures of a trial that the time limit ended. `None` if too few requests had completed.
    ///
    /// At a rate, only the requests that were due before the first cancelled one count. In a closed loop, the requests
    /// in flight at the limit count, too. Each is assumed to take the mean time of the completed requests, or the time
    /// that it has already taken if this is longer.
    pub fn finish_cut(mut self) -> Option<LevelTrial> {
        self.rows.sort_by_key(|row| (row.stay.due, row.index));
        let first_cancelled = self.rows.iter().take_while(|row| row.has_ended).count();
        let is_complete = |row: &&Row| row.has_ended && row.stay.complete;
        let completed = match self.by {
            Over::Concurrency => {
                let completed = self.rows.iter().filter(is_complete).count();
                self.complete_the_rest(completed);
                completed
            }
            _ => {
                self.rows.truncate(first_cancelled);
                self.rows.iter().filter(is_complete).count()
            }
        };
        let cancelled = self.rows.iter().filter(|row| !row.has_ended).count() as u64;
        (self.planned, self.unfinished) = (self.rows.len() as u64, 0);
        let trial = LevelTrial { completed: completed as u64, cancelled, ..self.finish() };
        Some(trial).filter(|trial| completed >= FEWEST && trial.requests_per_s.is_some())
    }

    /// Completes the requests that were in flight at the time limit. Each takes the mean time of the completed
    /// requests. If it has already taken longer, it takes this longer time. Without these requests, long requests would
    /// be missing, and the throughput would be too high.
    fn complete_the_rest(&mut self, completed: usize) {
        let ended = || self.rows.iter().filter(|row| row.has_ended && row.stay.complete);
        let mean = |of: fn(&Row) -> f64| ended().map(of).sum::<f64>() / completed.max(1) as f64;
        let (mean_s, tokens) = (mean(|row| row.stay.seconds()), mean(|row| row.tokens));
        for row in self.rows.iter_mut().filter(|row| !row.has_ended) {
            let Stay { due, first, .. } = row.stay;
            let taken = Duration::from_secs_f64(row.stay.seconds().max(mean_s));
            (row.stay, row.tokens) = (Stay::new(due, Some(first), due + taken, true), tokens);
        }
    }

    /// Computes the figures of the trial.
    pub fn finish(mut self) -> LevelTrial {
        self.rows.sort_by_key(|row| (row.stay.due, row.index));
        let rows = self.rows.as_slice();
        let found = counted(rows);
        let seen = rows.len() as u64 + self.unfinished;
        let dues = || rows.iter().map(|row| row.stay.due);
        let (first, last) =
            (dues().min().unwrap_or(Nanos::ZERO), dues().max().unwrap_or(Nanos::ZERO));
        let stays: Vec<Stay> = rows.iter().filter(|row| row.was_sent).map(|row| row.stay).collect();
        let growth =
            if self.by == Over::Rate { growth(&stays, last, self.confidence) } else { None };
        let is_overloaded = growth.is_some_and(|growth| growth.is_shown());
        let half = first + Duration::from_secs_f64(last.seconds_after(first) / 2.0);
        let from = rows.get(found.startup).map_or(first, |row| row.stay.due);
        let steady = &rows[found.startup..found.end];
        let [requests_per_s, output_tokens_per_s] = match self.by {
            Over::Concurrency => of_places(steady, self.load),
            _ if is_overloaded => of_service(rows, half, last),
            _ => of_service(rows, from, last),
        };
        let is_settled = match self.by {
            Over::Concurrency => found.is_settled,
            _ if is_overloaded => !still_rises(rows, half, last),
            _ => found.is_settled && growth.is_some(),
        };
        let mean = |of: fn(&Row) -> Option<f64>| {
            let values: Vec<f64> = steady.iter().filter_map(of).collect();
            FigureEstimate::mean(&values).filter(|_| !is_overloaded)
        };
        let mut outputs = rows.iter().filter(|row| row.stay.complete).map(|row| row.tokens);
        let one = outputs.next();
        let has_equal_outputs = one.is_some() && outputs.all(|tokens| Some(tokens) == one);
        let last_end = rows.iter().map(|row| row.stay.ended).max().unwrap_or(first);
        let CountedPart { latency_s, .. } = found;
        LevelTrial {
            by: self.by,
            load: self.load,
            requests: rows.len() as u64,
            unfinished: self.unfinished + self.planned.saturating_sub(seen),
            completed: rows.iter().filter(|row| row.stay.complete).count() as u64,
            rate_limited: self.rate_limited,
            cancelled: 0,
            counted: steady.len() as u64,
            latency_s,
            span_s: last_end.seconds_after(first),
            is_settled,
            has_equal_outputs,
            growth,
            requests_per_s,
            output_tokens_per_s,
            ttft_ms: mean(|row| row.ttft_ms),
            tpot_ms: mean(|row| row.tpot_ms),
            latency_ms: mean(|row| row.stay.complete.then(|| row.stay.seconds() * 1e3)),
        }
    }
}

/// Requests and tokens per second of a closed loop. A new request begins as soon as another one ends. So on average,
/// `places` requests end during the mean duration of a request (Little: L = λW).
fn of_places(rows: &[Row], places: f64) -> [Option<FigureEstimate>; 2] {
    let taken: Vec<f64> = rows.iter().map(|row| row.stay.seconds() / places).collect();
    let completed: Vec<f64> =
        rows.iter().map(|row| f64::from(u8::from(row.stay.complete))).collect();
    let tokens: Vec<f64> = rows.iter().map(|row| row.tokens).collect();
    [FigureEstimate::ratio(&completed, &taken), FigureEstimate::ratio(&tokens, &taken)]
}

/// The number of parts of the time over which a rate of service is computed.
const PARTS: usize = 64;

/// Requests and tokens that the server serves per second between two instants.
fn of_service(rows: &[Row], from: Nanos, until: Nanos) -> [Option<FigureEstimate>; 2] {
    let part_s = until.seconds_after(from) / PARTS as f64;
    if part_s <= 0.0 {
        return [None, None];
    }
    let rate = |weight: fn(&Row) -> f64| {
        let stays = rows.iter().map(|row| (row.stay, weight(row)));
        FigureEstimate::ratio(&served::<PARTS>(stays, from, part_s), &[part_s; PARTS])
    };
    [rate(|_| 1.0), rate(|row| row.tokens)]
}

/// Whether the server serves more requests in the second half of a period than in the first, by more than chance. An
/// engine that is still filling up does not yet show its limit.
fn still_rises(rows: &[Row], from: Nanos, until: Nanos) -> bool {
    let half_s = until.seconds_after(from) / 2.0;
    if half_s <= 0.0 {
        return false;
    }
    let [before, after] = served(rows.iter().map(|row| (row.stay, 1.0)), from, half_s);
    after - before > (STILL_RISES * before).max(2.0 * (after + before).sqrt())
}

#[cfg(test)]
mod tests {
    use inferometer_model::load::Bound;

    use super::*;

    #[test]
    fn a_trial_without_a_completed_request_has_no_equal_outputs() {
        let pass = PassPlan::closed(8, Bound::requests(32));
        let trial = LevelFold::of(&pass, 0.95).expect("a constant load").finish();
        assert_eq!((trial.completed, trial.has_equal_outputs), (0, false));
    }
}
