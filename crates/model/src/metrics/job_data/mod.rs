//! The calls of the jobs of a pass: of conversations, or of agents with their sub-agents.

mod cache;
mod reuse;
mod times;

use std::{cell::OnceCell, collections::BTreeMap};

use serde::{Deserialize, Serialize};

use super::Timeline;
use crate::{Detail, Outcome};

pub use cache::{CacheTotals, ExpectedCache};
pub use reuse::Reuse;
pub use times::{CallTimes, JobTimes, Parts};

/// The calls of the jobs of a pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Jobs {
    jobs: BTreeMap<u32, Job>,
    totals: OnceCell<Option<JobTotals>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Job {
    calls: Vec<CallTimes>,
    /// Calls that failed, and calls that did not start because of one of these.
    failed: u64,
    skipped: u64,
    /// Calls that were cancelled, abandoned by their client, or did not start because the pass ended.
    unfinished: u64,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq)]
pub enum JobEnd {
    /// All of its calls are complete; `None` without calls.
    Complete(Option<Box<JobTimes>>),
    /// A call failed.
    Failed,
    /// The end of the pass cut it off, its client left, or it never began.
    Unfinished,
}

impl Job {
    /// How the job ended. Some calls have no record if they never began.
    fn end(&self) -> JobEnd {
        let is_cut_off =
            self.calls.first().is_some_and(|call| (call.place.calls as usize) > self.calls.len());
        if self.failed + self.skipped > 0 {
            return JobEnd::Failed;
        }
        if self.unfinished > 0 || is_cut_off {
            return JobEnd::Unfinished;
        }
        let mut calls = self.calls.clone();
        calls.sort_unstable_by_key(|call| call.place.call);
        JobEnd::Complete(JobTimes::of(&calls).map(Box::new))
    }
}

/// The numbers of the jobs of a pass and of their calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobCounts {
    /// Planned jobs.
    pub planned: u64,
    /// Jobs whose calls are all complete.
    pub complete: u64,
    /// Jobs with a call that failed.
    pub failed: u64,
    /// Jobs that the end of the pass cut off, whose client left, or that never began.
    pub unfinished: u64,
    /// Calls that failed.
    pub failed_calls: u64,
    /// Calls that never started, because a call failed that they waited for.
    pub skipped_calls: u64,
}

/// The figures of the jobs of a pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobTotals {
    /// The numbers of jobs and calls.
    pub counts: JobCounts,
    /// The durations of the completed jobs in seconds, in order.
    pub durations_s: Vec<f64>,
    /// Their slowdowns, in order, as far as they are known.
    pub slowdowns: Vec<f64>,
    /// The durations that they would have if tools needed no time, in order.
    pub without_tools_s: Vec<f64>,
    /// The sums of the parts of their times.
    pub parts: Parts,
    /// The sums of the parts of their critical paths, and of the times to first outputs there.
    pub path: (Parts, f64),
    /// The sum of the times of all of their calls in flight, in seconds.
    pub work_s: f64,
    /// The number of their calls, and of those on their critical paths.
    pub calls: (u64, u64),
    /// The cached tokens of all calls that completed, if the server states them.
    pub cache: Option<CacheTotals>,
}

impl Jobs {
    /// Adds a request, if it belongs to a job.
    pub fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        let Some(place) = &record.job else { return };
        let job = self.jobs.entry(place.job).or_default();
        match (record.outcome, &record.detail) {
            (Outcome::Complete, _) => {}
            (Outcome::Skipped, Some(Detail::EarlierTurn(_))) => job.skipped += 1,
            (Outcome::Skipped | Outcome::Cancelled | Outcome::Abandoned { .. }, _) => {
                job.unfinished += 1;
            }
            _ => job.failed += 1,
        }
        if let (Outcome::Complete, Some(sent), Some(ended)) =
            (record.outcome, record.send_start, record.ended)
        {
            let first = timeline.first_visible().map(|at| timeline.events[at].arrival);
            job.calls.push(CallTimes {
                place: (**place).clone(),
                due: record.due,
                sent,
                first,
                ended,
                cached: record.usage.prompt.zip(record.usage.cached),
                output: timeline.output_tokens,
            });
        }
    }

    /// How each job ended, with its number.
    pub fn ends(&self) -> impl Iterator<Item = (u32, JobEnd)> + '_ {
        self.jobs.iter().map(|(number, job)| (*number, job.end()))
    }

    /// The figures of all jobs; `None` if there are none.
    pub fn totals(&self) -> Option<&JobTotals> {
        let all = || {
            let cache = CacheTotals::of(self.jobs.values().flat_map(|job| &job.calls));
            let totals = || JobTotals { cache, ..JobTotals::of(self.jobs.values()) };
            (!self.jobs.is_empty()).then(totals)
        };
        self.totals.get_or_init(all).as_ref()
    }
}

impl JobTotals {
    fn of<'a>(jobs: impl Iterator<Item = &'a Job>) -> Self {
        let mut totals = Self::default();
        for job in jobs {
            let counts = &mut totals.counts;
            counts.planned += 1;
            counts.failed_calls += job.failed;
            counts.skipped_calls += job.skipped;
            match job.end() {
                JobEnd::Failed => counts.failed += 1,
                JobEnd::Unfinished => counts.unfinished += 1,
                JobEnd::Complete(times) => {
                    counts.complete += 1;
                    times.iter().for_each(|times| totals.add(times, job.calls.len()));
                }
            }
        }
        for values in [&mut totals.durations_s, &mut totals.slowdowns, &mut totals.without_tools_s]
        {
            values.sort_unstable_by(f64::total_cmp);
        }
        totals
    }

    fn add(&mut self, times: &JobTimes, calls: usize) {
        self.durations_s.push(times.duration_s);
        self.slowdowns.extend(times.slowdown());
        self.without_tools_s.push(times.without_tools_s);
        self.parts += times.parts;
        self.path.0 += times.path;
        self.path.1 += times.path_first_s;
        self.work_s += times.work_s;
        self.calls.0 += calls as u64;
        self.calls.1 += times.path_calls as u64;
    }
}

#[cfg(test)]
mod tests;
