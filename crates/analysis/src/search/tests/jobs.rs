//! Tests trials of jobs: they count jobs, and judge requests on the calls of these jobs.

use super::*;
use inferometer_model::load::{ConversationsPlan, CountOf, Script};
use inferometer_model::record::JobCall;
use inferometer_model::{Detail, Outcome};

/// Call `call` of two of the job `job`, from `due_ms` on for `lasts_ms`; a recorded call takes 100 ms.
fn call((job, call): (u32, u32), due_ms: f64, lasts_ms: f64) -> Record {
    let recorded_ns = Some((u64::from(call) * 100_000_000, 100_000_000));
    let after = call.checked_sub(1).into_iter().collect();
    let place = JobCall { job, call, calls: 2, after, recorded_ns, ..JobCall::default() };
    let record = steady(due_ms, 0.5 * lasts_ms, 0.5 * lasts_ms, 2);
    Record { index: 2 * job + call, job: Some(Box::new(place)), ..record }
}

/// Jobs with two calls that take `of(job)` ms each, one job after the other.
fn jobs(count: u32, of: impl Fn(u32) -> f64) -> Vec<Record> {
    let mut now = 0.0;
    let mut records = Vec::new();
    for job in 0..count {
        for of_job in 0..2 {
            records.push(call((job, of_job), now, of(job)));
            now += of(job);
        }
    }
    records
}

fn folded(slo: &str, records: &[Record]) -> Trial {
    let script = Script::of_jobs(records.len() as u32 / 2);
    let begin = Box::new(PassPlan::closed(1, Bound::requests(script.conversations)));
    let plan = ConversationsPlan { script, begin, of: CountOf::Conversations };
    let mut fold = TrialFold::of(&PassPlan::Conversations(plan), &of_slo(slo)).expect("a load");
    records.iter().for_each(|record| fold.add_request(&Timeline::new(record)));
    fold.finish()
}

#[test]
fn a_trial_of_jobs_counts_jobs_and_judges_their_slowdowns_durations_and_calls() {
    // Every fourth job is three times as slow as recorded.
    let records = jobs(100, |job| if job % 4 == 0 { 300.0 } else { 100.0 });
    let slo = "job_slowdown_p50<2,job_duration_p95<1s,ttft_p99<100ms";
    let trial = folded(slo, &records);
    assert_eq!((trial.load, trial.requests, trial.planned), (1.0, 100, 100));
    assert_eq!((trial.completed, trial.cut_off), (100, 0));
    let [slowdown, duration, ttft] = trial.measured[..] else { panic!("three criteria") };
    assert_eq!([slowdown.counted, duration.counted], [trial.counted; 2]);
    assert!((slowdown.value - 0.75).abs() < 0.01, "{slowdown:?}");
    assert!((duration.value - 1.0).abs() < 1e-9, "{duration:?}");
    // Two calls of each counted job are judged.
    assert_eq!(ttft.counted, 2 * slowdown.counted);
    assert!((ttft.value - 0.75).abs() < 0.01, "{ttft:?}");
    // The first two jobs do not count as certain misses, because they start when the server is idle.
    assert_eq!(trial.missed, [24, 0, 0]);
}

#[test]
fn a_job_with_a_failed_call_misses_and_a_cut_off_job_makes_the_trial_incomplete() {
    let mut records = jobs(40, |_| 100.0);
    records[21].outcome = Outcome::Malformed;
    let failed = folded("job_duration_p95<1s", &records);
    assert_eq!((failed.missed[0], failed.completed, failed.cut_off), (1, 39, 0));
    records[79] = Record {
        outcome: Outcome::Skipped,
        detail: Some(Detail::ResultCertain),
        ended: None,
        send_start: None,
        ..records[79].clone()
    };
    assert_eq!(folded("job_duration_p95<1s", &records).cut_off, 1);
}

#[test]
fn a_call_that_is_skipped_after_a_failure_is_no_request_that_missed_and_gives_its_job_no_times() {
    let mut records = jobs(40, |_| 100.0);
    // The first call of job 20 fails, and the second one is never sent; its record has the due time 0.
    records[40].outcome = Outcome::Malformed;
    records[41] = Record {
        outcome: Outcome::Skipped,
        detail: Some(Detail::EarlierTurn("it failed".into())),
        due: Nanos::ZERO,
        ended: None,
        send_start: None,
        ..records[41].clone()
    };
    let trial = folded("job_duration_p95<1s,failures<5%", &records);
    let [jobs, calls] = trial.measured[..] else { panic!("two criteria") };
    assert_eq!((trial.cut_off, trial.missed[0]), (0, 1));
    assert_eq!(calls.counted, 2 * jobs.counted - 1);
    assert!((calls.value - (1.0 - 1.0 / calls.counted as f64)).abs() < 1e-9, "{calls:?}");
    assert!((trial.span_s - 8.0).abs() < 1e-3, "{}", trial.span_s);
    // Jobs that take equally long do not count as answers of equal length.
    assert!(!trial.starts_together);
}

#[test]
fn the_answer_counts_jobs_and_the_objectives_keep_their_words() {
    let of_goodput = goodput::parse("ttft<500ms").unwrap();
    let criteria = criteria(&slo::parse("job_duration_p95<1s").unwrap(), &of_goodput, 0.9, None);
    let plan = SearchPlan {
        over: Over::Jobs,
        start: 8.0,
        lowest: 1.0,
        criteria: criteria.unwrap(),
        max_requests: 600,
        ..plan("ttft_p99<1s")
    };
    let found = search(plan, |load| if load <= 95.0 { 0.001 } else { 0.5 }, 1);
    let answer = sentence(&SearchAnswer::of_search(CELL, &found)[0]);
    for words in [
        " jobs at once with ",
        "90% of requests at ttft<500ms",
        "the limit of 600 jobs (--max-requests)",
    ] {
        assert!(answer.contains(words), "{words}: {answer}");
    }
}

#[test]
fn the_highest_number_of_jobs_lies_between_the_nearest_loads_that_are_shown_to_meet_and_to_miss() {
    // Half of the jobs are of a kind that begins to miss between 95 and 96 jobs at once.
    let misses = |load: f64| if load <= 95.0 { 0.001 } else { 0.5 };
    let plan =
        SearchPlan { over: Over::Jobs, start: 8.0, lowest: 1.0, ..plan("job_duration_p95<1s") };
    let holds = |seed: u64| {
        let found = search(plan.clone(), misses, seed);
        let (Some(low), Some(high)) = found.interval(0) else { panic!("no interval") };
        assert!(high <= 1.05 * low, "{seed}: {low} {high}");
        low <= 95.0 && 95.0 <= high
    };
    let held = (0..100).filter(|seed| holds(*seed)).count();
    assert!(held >= 93, "{held} of 100");
}
