//! Collects the requests of a trial at one load, and determines which requests count for the criteria.
//! [`super::evidence`] computes the shares and means of these requests.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::alone::{Alone, Arrival};
use super::bursts::start_together;
use super::evidence::Measure;
use super::jobs;
use super::overwhelmed::first_crowd;
use super::rates::Rates;
use super::row::Row;
use crate::startup::{self, CountedPart, median_latency_s};
use crate::stay::Stay;
use inferometer_model::metrics::job_data::Jobs;
use inferometer_model::metrics::{Fate, Gaps};
use inferometer_model::{Nanos, PassPlan, RequestFigures, Timeline};
use inferometer_plan::search::{Criterion, CriterionResult};

/// The evidence that requests arrived faster than they ended: the load has no steady state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saturation {
    /// The number of requests that arrived in the second half of the time between the first and the last arrival.
    pub arrived: u64,
    /// The number of requests that ended in this half of the time.
    pub ended: u64,
    /// The mean number of requests in flight in the first eighth of this half.
    pub in_flight_before: f64,
    /// The mean number of requests in flight in the last eighth of this half.
    pub in_flight_after: f64,
}

/// The results of one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The load: requests per second, or requests in flight.
    pub load: f64,
    /// The number of requests that were sent.
    pub requests: u64,
    /// The number of planned requests; not all of them were sent if the trial was cut off.
    pub planned: u64,
    /// The number of requests in flight when the trial was cut off, plus those that had not been sent.
    pub cut_off: u64,
    /// For each criterion, the number of requests that certainly missed it. These include requests of the start-up and
    /// of the drain, and requests that were cut off after they had missed. The requests of the first two rounds of a
    /// closed loop are not included, because they wait behind more prompts than later requests. 0 for a criterion that
    /// cannot be judged (`lacks_gaps`).
    pub missed: Vec<u64>,
    /// The median time from the due time to the end, in seconds. It is that of the completed requests, or of all if
    /// none completed.
    pub latency_s: f64,
    /// The time from the first due request to the last end, in seconds.
    pub span_s: f64,
    /// The number of requests that completed.
    pub completed: u64,
    /// Whether the trial was long enough for a steady state; false if it was cut off. If the trial was too short, it
    /// has a smaller share of misses than the load has in the long run.
    pub is_settled: bool,
    /// The number of requests, or jobs, that count; 0 if no criterion can be judged.
    pub counted: u64,
    /// The result of the counted requests for each criterion.
    pub measured: Vec<Measure>,
    /// Whether streams arrived in bundles, so that objectives on times between tokens cannot be judged. No request
    /// counts for the criteria of such objectives.
    pub lacks_gaps: bool,
    /// The growth of the queue. Absent if requests ended about as fast as they arrived, if the trial was too short, or
    /// if it was cut off.
    pub saturation: Option<Saturation>,
    /// The rates at which requests arrived and were served. Absent if the trial was too short, if too few requests
    /// completed, or if the trial was cut off.
    pub rates: Option<Rates>,
    /// Whether the requests of a closed loop with answers of equal length started together, in bursts.
    pub starts_together: bool,
    /// The requests that were alone on the server.
    pub alone: Alone,
}

impl Trial {
    /// Whether the measured value meets a criterion; `None` if no request counts.
    pub fn is_met(&self, index: usize, criterion: &Criterion) -> Option<bool> {
        let measure = self.measured[index];
        (measure.counted > 0).then(|| match (criterion.needed(), criterion.mean_limit_ms()) {
            (Some(needed), _) => measure.value >= needed,
            (None, limit) => limit.is_none_or(|limit| measure.value <= limit),
        })
    }

    /// The shortest useful duration of another trial near this load, in seconds. `whole` is true if the load is a
    /// number of requests in flight: the duration is then one median latency. If the load is a rate, it is the time in
    /// which two requests arrive.
    pub(super) fn shortest_next_s(&self, whole: bool) -> f64 {
        if whole { self.latency_s } else { 2.0 / self.load }
    }

    /// The number of requests that were sent and ended. Other requests were in flight when the trial was cut off.
    pub(super) fn ended(&self) -> u64 {
        let not_sent = self.planned.saturating_sub(self.requests);
        self.requests.saturating_sub(self.cut_off.saturating_sub(not_sent))
    }

    /// Completed requests per second; infinite if the trial took no time.
    pub(super) fn throughput(&self) -> f64 {
        if self.span_s > 0.0 { self.completed as f64 / self.span_s } else { f64::INFINITY }
    }
}

/// Collects the requests of a trial, in any order.
#[derive(Clone, Debug)]
pub struct TrialFold {
    load: f64,
    planned: u64,
    crowd: u64,
    criteria: Vec<Criterion>,
    gaps: Gaps,
    rows: Vec<Row>,
    /// The jobs, if the load is of jobs: the trial then counts jobs, and the rows are their calls.
    jobs: Option<Jobs>,
}

impl TrialFold {
    /// Starts a trial without requests; `None` for a pass whose load is not constant.
    pub fn of(pass: &PassPlan, criteria: &[Criterion]) -> Option<Self> {
        let (planned, jobs) = match pass {
            PassPlan::Conversations(plan) => {
                (Some(plan.script.conversations), Some(Jobs::default()))
            }
            _ => (pass.requests(), None),
        };
        Some(Self {
            load: pass.constant_load()?,
            planned: planned.map_or(0, u64::from),
            crowd: first_crowd(pass),
            criteria: criteria.to_vec(),
            gaps: Gaps::default(),
            rows: Vec::new(),
            jobs,
        })
    }

    /// Adds a request, which may be a call of a job.
    pub fn add_request(&mut self, timeline: &Timeline<'_>) {
        self.add(&RequestFigures::of(timeline));
        let call = timeline.record.job.as_ref();
        if let Some((jobs, call)) = self.jobs.as_mut().zip(call) {
            jobs.add(timeline);
            self.rows.last_mut().iter_mut().for_each(|row| row.job = call.job);
        }
    }

    /// Adds the figures of a request.
    pub fn add(&mut self, figures: &RequestFigures) {
        let judged = self.criteria.iter().map(|criterion| criterion.judge(figures)).collect();
        let ended = figures.ended.unwrap_or(figures.due);
        self.gaps.join(figures.gaps);
        let (index, fate) = (figures.index, figures.fate);
        let stay = Stay::new(figures.due, figures.first, ended, figures.complete);
        let output_tokens = figures.output_tokens;
        self.rows.push(Row { index, job: 0, fate, stay, output_tokens, judged });
    }

    /// Computes the results of the trial.
    pub fn finish(mut self) -> Trial {
        let of_jobs = self.jobs.is_some();
        let calls = self.jobs.take().map(|jobs| {
            let calls = std::mem::take(&mut self.rows);
            self.rows = jobs::rows(&calls, &jobs, &self.criteria);
            calls
        });
        self.rows.sort_by_key(|row| (row.stay.due, row.index));
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
        // If a run was killed, requests that had not ended have no record.
        let never_recorded = planned - self.rows.len() as u64;
        let cut_off = self.rows.iter().filter(|row| row.fate != Fate::Ended).count() as u64;
        let cut_off = cut_off + never_recorded;
        self.rows.retain(|row| row.fate != Fate::NeverSent);
        let found = startup::counted(&self.rows);
        // A trial is usually cut off as soon as enough of its requests have missed, and some of these misses may be by
        // chance. So its requests are a biased sample, and none of them counts.
        let none = CountedPart { startup: 0, end: 0, is_settled: false, ..found };
        let CountedPart { startup, end, latency_s, is_settled } =
            if cut_off > 0 { none } else { found };
        let arrivals = self.rows.iter().map(|row| Arrival {
            due: row.stay.due,
            ended: (row.fate == Fate::Ended).then_some(row.stay.ended),
            is_complete: row.stay.complete,
            judged: &row.judged,
        });
        let mut alone = Alone::of(self.criteria.len(), arrivals);
        alone
            .missed
            .iter_mut()
            .zip(&unknown)
            .filter(|(_, unknown)| **unknown)
            .for_each(|(it, _)| *it = 0);
        let first = self.rows.first().map_or(Nanos::ZERO, |row| row.stay.due);
        let counted = &self.rows[startup..end];
        let counted_calls = calls.map(|calls| jobs::calls_of(calls, counted));
        let of = |index: usize| {
            let criterion = &self.criteria[index];
            let rows = counted_calls.as_deref().filter(|_| !criterion.is_of_jobs());
            let judged: Vec<CriterionResult> =
                rows.unwrap_or(counted).iter().map(|row| row.judged[index]).collect();
            if unknown[index] { Measure::default() } else { Measure::of(criterion, &judged) }
        };
        let last_end = self.rows.iter().map(|row| row.stay.ended).max().unwrap_or(first);
        Trial {
            load: self.load,
            requests: self.rows.len() as u64,
            planned,
            cut_off,
            missed,
            latency_s,
            span_s: last_end.seconds_after(first),
            completed: self.rows.iter().filter(|row| row.stay.complete).count() as u64,
            is_settled,
            counted: if unknown.contains(&false) { counted.len() as u64 } else { 0 },
            measured: (0..self.criteria.len()).map(of).collect(),
            lacks_gaps: unknown.contains(&true),
            saturation: saturation(&self.rows, latency_s).filter(|_| cut_off == 0),
            rates: Rates::of(&self.rows, latency_s).filter(|_| cut_off == 0),
            starts_together: !of_jobs && self.starts_together(latency_s),
            alone,
        }
    }

    /// Whether all answers have equal lengths, and requests start together after the first two rounds of a closed loop.
    fn starts_together(&self, latency_s: f64) -> bool {
        // An open loop has no rounds (`crowd` is 0): the result is then false.
        let first = usize::try_from(self.crowd).unwrap_or(usize::MAX);
        let later = self.rows.get(first..).filter(|_| first > 0).unwrap_or_default();
        let dues: Vec<Nanos> = later.iter().map(|row| row.stay.due).collect();
        let mut lengths = later.iter().filter(|row| row.stay.complete).map(|row| row.output_tokens);
        let length = lengths.next();
        // If no request completed, the lengths are unknown.
        length.is_some()
            && lengths.all(|other| Some(other) == length)
            && start_together(&dues, self.load, latency_s)
    }
}

/// If the load has a steady state, a trial reaches it after this many latencies.
const SETTLED_LATENCIES: f64 = 3.0;
/// The second half of the time between the first and the last arrival is divided into this many parts of equal
/// duration. The number of requests in flight is averaged over each part.
const PARTS: usize = 8;
/// The smallest excess of arrivals over ends in this half, as a share of the arrivals in this half.
const LEAST_EXCESS: f64 = 0.1;
/// The smallest excess, in standard deviations. The standard deviation is that of a difference of two Poisson counts.
const EXCESS_DEVIATIONS: f64 = 4.0;

/// The evidence that more requests arrived than ended, so that the number in flight grew. In the second half of the
/// time between the first and the last arrival, the excess must be at least a tenth of the arrivals, and at least four
/// standard deviations. This half is divided into `PARTS` parts. Each part must have more requests in flight, on
/// average, than the part two places before it.
fn saturation(rows: &[Row], latency_s: f64) -> Option<Saturation> {
    let (first, last) = (rows.first()?.stay.due, rows.last()?.stay.due);
    let span_s = last.seconds_after(first);
    let half = first + Duration::from_secs_f64(span_s / 2.0);
    // In the first few latencies, the number in flight rises under every load.
    let early = median_latency_s(&rows[..rows.partition_point(|row| row.stay.due < half)]);
    if span_s / 2.0 < SETTLED_LATENCIES * early.min(latency_s) || rows.len() < 32 {
        return None;
    }
    let within = |at: Nanos| at >= half && at <= last;
    let arrived = rows.iter().filter(|row| within(row.stay.due)).count() as u64;
    let ended = rows.iter().filter(|row| within(row.stay.ended)).count() as u64;
    let excess = arrived as f64 - ended as f64;
    let noise = EXCESS_DEVIATIONS * (arrived as f64 + ended as f64).sqrt();
    if excess < noise.max(LEAST_EXCESS * arrived as f64) {
        return None;
    }
    let part_s = span_s / 2.0 / PARTS as f64;
    let mut in_flight = [0.0; PARTS];
    for row in rows {
        let [from, until] =
            [row.stay.due, row.stay.ended].map(|at| at.seconds_after(half).max(0.0));
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
