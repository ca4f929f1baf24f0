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
    // A call that is skipped has no times of its own, unless its whole job was never sent.
    for calls in of_job.values_mut().filter(|calls| calls.iter().copied().any(was_sent)) {
        calls.retain(|call| was_sent(call));
    }
    let row = |(number, end): (u32, JobEnd)| {
        let calls = of_job.get(&number)?;
        let due = calls.iter().map(|call| call.stay.due).min()?;
        let ended = calls.iter().map(|call| call.stay.ended).max()?;
        let was_sent = calls.iter().copied().any(was_sent);
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
            output_tokens: 0,
            judged: criteria.iter().map(|criterion| criterion.judge_job(times)).collect(),
        })
    };
    jobs.ends().filter_map(row).collect()
}

fn was_sent(call: &Row) -> bool {
    call.fate != Fate::NeverSent
}

/// The calls of the jobs that count, in the order of their due times. As in other trials, requests that were never sent
/// do not count; a job misses its objectives because of the call that failed before.
pub(super) fn calls_of(calls: Vec<Row>, counted: &[Row]) -> Vec<Row> {
    let jobs: BTreeSet<u32> = counted.iter().map(|job| job.index).collect();
    let mut calls: Vec<Row> =
        calls.into_iter().filter(|call| was_sent(call) && jobs.contains(&call.job)).collect();
    calls.sort_by_key(|call| (call.stay.due, call.index));
    calls
}
