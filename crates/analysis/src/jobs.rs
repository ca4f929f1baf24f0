//! The jobs of a pass: how many completed, how long they took, and where their time went.

use inferometer_model::metrics::jobs::{JobTotals, Parts};
use inferometer_model::stats::percentile;
use serde::{Deserialize, Serialize};

/// The figures of the jobs of a pass: of conversations, or of agents with their sub-agents. Times are of completed jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobsSummary {
    /// Planned jobs.
    pub planned: u64,
    /// Jobs whose calls are all complete.
    pub complete: u64,
    /// Jobs with a call that failed.
    pub failed: u64,
    /// Jobs that the end of the pass cut off, or that never began.
    pub unfinished: u64,
    /// Calls that failed.
    pub failed_calls: u64,
    /// Calls that never started, because a call failed that they waited for.
    pub skipped_calls: u64,
    /// From the due time of the first call to the last end, in seconds.
    pub duration_s: Option<Quantiles>,
    /// The duration divided by that with the recorded durations of the calls and the same gaps; absent if the trace does
    /// not state them.
    pub slowdown: Option<Quantiles>,
    /// How long the jobs would take if tools needed no time, in seconds.
    pub without_tools_s: Option<Quantiles>,
    /// The parts of the mean duration, in seconds. At each instant, the first part that applies counts.
    pub parts: Option<JobParts>,
    /// The parts of the mean critical path, in seconds: the chain of calls that determined the end of a job.
    pub critical_path: Option<PathParts>,
    /// The mean number of calls in flight while at least one is.
    pub parallelism: Option<f64>,
    /// The mean number of calls of a job.
    pub calls: Option<f64>,
}

/// A distribution of values of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median, by linear interpolation.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Largest value.
    pub max: f64,
    /// Number of values.
    pub n: u64,
}

/// The parts of the duration of a job, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobParts {
    /// With at least one call in flight.
    pub model_s: f64,
    /// With at least one tool running.
    pub tools_s: f64,
    /// Waiting for a person.
    pub people_s: f64,
    /// With a call that is due and not sent.
    pub client_s: f64,
    /// The rest: what happens between calls beside tools and people.
    pub rest_s: f64,
}

/// The parts of a critical path, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathParts {
    /// From sends to first outputs.
    pub first_output_s: f64,
    /// From first outputs to ends.
    pub later_output_s: f64,
    /// In tools.
    pub tools_s: f64,
    /// Waiting for people.
    pub people_s: f64,
    /// From due times to sends.
    pub client_s: f64,
    /// The rest.
    pub rest_s: f64,
    /// The number of calls.
    pub calls: f64,
}

impl JobsSummary {
    /// The figures of these jobs.
    pub(crate) fn of(totals: &JobTotals) -> Self {
        let count = totals.durations_s.len() as f64;
        let has_any = count > 0.0;
        let JobTotals { parts, path: (path, first_s), .. } = totals;
        let mean = |sum: f64| sum / count;
        let Parts { model_s, tools_s, people_s, client_s, rest_s } = *parts;
        Self {
            planned: totals.planned,
            complete: totals.complete,
            failed: totals.failed,
            unfinished: totals.unfinished,
            failed_calls: totals.failed_calls,
            skipped_calls: totals.skipped_calls,
            duration_s: quantiles(&totals.durations_s),
            slowdown: quantiles(&totals.slowdowns),
            without_tools_s: quantiles(&totals.without_tools_s),
            parts: has_any.then(|| JobParts {
                model_s: mean(model_s),
                tools_s: mean(tools_s),
                people_s: mean(people_s),
                client_s: mean(client_s),
                rest_s: mean(rest_s),
            }),
            critical_path: has_any.then(|| PathParts {
                first_output_s: mean(*first_s),
                later_output_s: mean(path.model_s),
                tools_s: mean(path.tools_s),
                people_s: mean(path.people_s),
                client_s: mean(path.client_s),
                rest_s: mean(path.rest_s),
                calls: mean(totals.calls.1 as f64),
            }),
            parallelism: (model_s > 0.0).then(|| totals.work_s / model_s),
            calls: has_any.then(|| mean(totals.calls.0 as f64)),
        }
    }
}

fn quantiles(sorted: &[f64]) -> Option<Quantiles> {
    let max = *sorted.last()?;
    Some(Quantiles {
        mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
        p50: percentile(sorted, 0.5),
        p95: percentile(sorted, 0.95),
        max,
        n: sorted.len() as u64,
    })
}
