//! The jobs of a trial as rows. The trial counts jobs; objectives on requests are judged on the calls of these jobs.

use std::collections::{BTreeMap, BTreeSet};

use super::row::Row;
use crate::stay::Stay;
use inferometer_model::metrics::Fate;
use inferometer_model::metrics::job_data::{JobEnd, Jobs};
use inferometer_plan::search::Criterion;

/// One row for each job. Its stay is from the due time of its first call to its last end. For objectives on requests, it
/// counts as good.
pub(super) fn rows(calls: &[Row], jobs: &Jobs, criteria: &[Criterion]) -> Vec<Row> {
    let mut of_job: BTreeMap<u32, Vec<&Row>> = BTreeMap::new();
    for call in calls {
        of_job.entry(call.job).or_default().push(call);
    }
    let row = |(number, end): (u32, JobEnd)| {
        let calls = of_job.get(&number)?;
        let due = calls.iter().map(|call| call.stay.due).min()?;
        let ended = calls.iter().map(|call| call.stay.ended).max()?;
        let was_sent = calls.iter().any(|call| call.fate != Fate::NeverSent);
        let fate = match end {
            JobEnd::Unfinished if was_sent => Fate::CutOff,
            JobEnd::Unfinished => Fate::NeverSent,
            JobEnd::Complete(_) | JobEnd::Failed => Fate::Ended,
        };
        let times = match &end {
            JobEnd::Complete(times) => times.as_deref(),
            JobEnd::Failed | JobEnd::Unfinished => None,
        };
        Some(Row {
            index: number,
            job: number,
            fate,
            stay: Stay::new(due, None, ended, times.is_some()),
            output_tokens: number,
            judged: criteria.iter().map(|criterion| criterion.judge_job(times)).collect(),
        })
    };
    jobs.ends().filter_map(row).collect()
}

/// The calls of the jobs that count, in the order of their due times.
pub(super) fn calls_of(calls: Vec<Row>, counted: &[Row]) -> Vec<Row> {
    let jobs: BTreeSet<u32> = counted.iter().map(|job| job.index).collect();
    let mut calls: Vec<Row> = calls.into_iter().filter(|call| jobs.contains(&call.job)).collect();
    calls.sort_by_key(|call| (call.stay.due, call.index));
    calls
}
