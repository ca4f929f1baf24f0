//! Figures of whole jobs, beside those of requests: of conversations, or of agents with their sub-agents.

use super::job_data::JobTimes;
use super::{
    CoveredRequests, Definition, Direction, JudgedOn, OnJobs, PassData, Unit, Value, duration,
};
use crate::stats::percentile;

/// Completed jobs per hour.
pub static PER_HOUR: Definition = Definition {
    name: "jobs_per_h",
    formula: "3600 x completed jobs / duration",
    unit: Unit::JobsPerHour,
    direction: Some(Direction::Higher),
    notes: "A job is complete if all of its calls are. Absent without jobs or conversations.",
    value: Value::Pass(per_hour),
    title: "Jobs/h",
    result_key: "jobs_per_h",
    compared: true,
    ..OF_JOBS
};

/// The median duration of a job.
pub static DURATION_P50: Definition = Definition {
    name: "job_duration_p50",
    value: Value::Pass(|data| duration_ms(data, 0.5)),
    judged: JudgedOn::OnJobs(OnJobs { share: 0.5, value: |job| Some(1e3 * job.duration_s) }),
    title: "Job duration p50",
    result_key: "job_duration_p50_ms",
    compared: true,
    ..DURATION
};

/// The 95th percentile of the durations of jobs.
pub static DURATION_P95: Definition = Definition {
    name: "job_duration_p95",
    value: Value::Pass(|data| duration_ms(data, 0.95)),
    judged: JudgedOn::OnJobs(OnJobs { share: 0.95, value: |job| Some(1e3 * job.duration_s) }),
    title: "Job duration p95",
    result_key: "job_duration_p95_ms",
    ..DURATION
};

/// The median slowdown of a job.
pub static SLOWDOWN_P50: Definition = Definition {
    name: "job_slowdown_p50",
    value: Value::Pass(|data| slowdown(data, 0.5)),
    judged: JudgedOn::OnJobs(OnJobs { share: 0.5, value: JobTimes::slowdown }),
    title: "Job slowdown p50",
    result_key: "job_slowdown_p50",
    ..SLOWDOWN
};

/// The 95th percentile of the slowdowns of jobs.
pub static SLOWDOWN_P95: Definition = Definition {
    name: "job_slowdown_p95",
    value: Value::Pass(|data| slowdown(data, 0.95)),
    judged: JudgedOn::OnJobs(OnJobs { share: 0.95, value: JobTimes::slowdown }),
    title: "Job slowdown p95",
    result_key: "job_slowdown_p95",
    ..SLOWDOWN
};

const OF_JOBS: Definition = Definition {
    over: CoveredRequests::Completed,
    judged: JudgedOn::OnPasses,
    ..Definition::DEFAULT
};

const DURATION: Definition = Definition {
    formula: "a percentile of: last end of the calls of a job minus due time of its first call",
    notes: "Over completed jobs. Absent without jobs or conversations.",
    ..OF_JOBS
};

const SLOWDOWN: Definition = Definition {
    formula: "a percentile of: duration of a job / its duration with the recorded durations of its calls and the same gaps",
    unit: Unit::Ratio,
    notes: "Over completed jobs whose trace states the starts and ends of all calls; otherwise absent.",
    ..OF_JOBS
};

fn per_hour(data: &PassData) -> Option<f64> {
    let totals = data.jobs.totals()?;
    Some(3600.0 * totals.counts.complete as f64 / duration::duration_s(data)?)
}

fn duration_ms(data: &PassData, q: f64) -> Option<f64> {
    let durations = &data.jobs.totals()?.durations_s;
    (!durations.is_empty()).then(|| 1e3 * percentile(durations, q))
}

fn slowdown(data: &PassData, q: f64) -> Option<f64> {
    let slowdowns = &data.jobs.totals()?.slowdowns;
    (!slowdowns.is_empty()).then(|| percentile(slowdowns, q))
}
