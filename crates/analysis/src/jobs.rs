//! The jobs of a pass: how many completed, how long they took, and where their time went.

use inferometer_model::metrics::job_data::{CacheTotals, JobCounts, JobTotals, Parts};
use inferometer_model::stats::percentile;
use serde::{Deserialize, Serialize};

/// The figures of the jobs of a pass: of conversations, or of agents with their sub-agents. Times are of completed jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobsSummary {
    /// The numbers of jobs and calls.
    #[serde(flatten)]
    pub counts: JobCounts,
    /// The load, if it is constant: jobs at the same time, or jobs per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// From the due time of the first call to the last end, in seconds.
    pub duration_s: Option<Quantiles>,
    /// The duration divided by that with the recorded durations of the calls and the same gaps; absent if the trace does
    /// not state them.
    pub slowdown: Option<Quantiles>,
    /// How long the jobs would take if tools needed no time, in seconds.
    pub without_tools_s: Option<Quantiles>,
    /// The parts of the mean duration, in seconds. At each instant, the first part that applies counts.
    pub parts: Option<Parts>,
    /// The parts of the mean critical path, in seconds: the chain of calls that determined the end of a job.
    pub critical_path: Option<PathParts>,
    /// The mean number of calls in flight while at least one is.
    pub parallelism: Option<f64>,
    /// The mean number of calls of a job.
    pub calls: Option<f64>,
    /// Cached prompt tokens; absent if the server does not state them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheTotals>,
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
    pub(crate) fn of(totals: &JobTotals, load: Option<f64>) -> Self {
        let count = totals.durations_s.len() as f64;
        let has_any = count > 0.0;
        let JobTotals { counts, parts, path: (path, first_s), .. } = *totals;
        let mean = |sum: f64| sum / count;
        let path = path.over(count);
        Self {
            counts,
            load,
            duration_s: quantiles(&totals.durations_s),
            slowdown: quantiles(&totals.slowdowns),
            without_tools_s: quantiles(&totals.without_tools_s),
            parts: has_any.then(|| parts.over(count)),
            critical_path: has_any.then(|| PathParts {
                first_output_s: mean(first_s),
                later_output_s: path.model_s,
                tools_s: path.tools_s,
                people_s: path.people_s,
                client_s: path.client_s,
                rest_s: path.rest_s,
                calls: mean(totals.calls.1 as f64),
            }),
            parallelism: (parts.model_s > 0.0).then(|| totals.work_s / parts.model_s),
            calls: has_any.then(|| mean(totals.calls.0 as f64)),
            cache: totals.cache,
        }
    }
}

/// The distribution of sorted values; `None` if there are none.
pub(crate) fn quantiles(sorted: &[f64]) -> Option<Quantiles> {
    let max = *sorted.last()?;
    Some(Quantiles {
        mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
        p50: percentile(sorted, 0.5),
        p95: percentile(sorted, 0.95),
        max,
        n: sorted.len() as u64,
    })
}
