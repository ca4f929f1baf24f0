//! The time limit of a search and of a sweep, in virtual time.

use inferometer_analysis::search::SearchEnding;
use inferometer_analysis::summary::Summary;
use inferometer_analysis::sweep::SweepEnding;
use inferometer_run::{Events, summarise_log};
use inferometer_store::Store;
use serde_json::json;

use super::measured::{measure, planned};

/// When the last request of the run ended, in seconds after the start of its first request.
fn last_end_s(summary: &Summary) -> f64 {
    let passes = summary.cells.iter().flat_map(|cell| &cell.passes);
    let ends = passes.filter_map(|pass| Some(pass.started_s? + pass.duration_s?));
    ends.fold(0.0, f64::max)
}

#[test]
fn pauses_count_for_the_time_limit_of_a_search_and_of_a_sweep() {
    for keys in [
        json!({ "sweep": { "max_time": "20s" }, "cooldown": "4s" }),
        json!({
            "search": { "max_time": "20s", "precision": "0.1%", "over": "concurrency" },
            "goodput": "ttft<5s", "cooldown": "4s",
        }),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (plan, context) = planned(&folder, keys);
        let finished = measure(&plan, &context, &Events::none(), &[]).unwrap();
        let summary = &finished.summary;
        let end_s = last_end_s(summary);
        assert!((8.0..=20.0).contains(&end_s), "{end_s}");
        for answer in &summary.sweeps {
            assert_eq!(answer.outcome, SweepEnding::TimeSpent, "{answer:?}");
            assert!(answer.answer.contains("throughput is "), "{}", answer.answer);
        }
        for answer in &summary.searches {
            assert_eq!(answer.outcome, SearchEnding::TimeSpent, "{answer:?}");
        }
        let stored = Store::open_existing(&context.store).unwrap();
        let stored = stored.run(finished.run.as_str()).unwrap();
        assert_eq!(summarise_log(&stored, &plan).unwrap().summary, *summary);
    }
}

#[test]
fn a_warm_up_counts_for_the_time_limit_and_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let keys = json!({ "sweep": { "max_time": "2s" }, "warmup": "1000" });
    let (plan, context) = planned(&folder, keys);
    let finished = measure(&plan, &context, &Events::none(), &[]).unwrap();
    let answer = &finished.summary.sweeps[0];
    assert_eq!((answer.outcome, answer.trials), (SweepEnding::TimeSpent, 0));
    assert!(answer.answer.contains("the time limit of --max-time was reached"), "{answer:?}");
    assert!(!finished.summary.findings.iter().any(|finding| finding.code == "warm_up_failed"));
}

#[test]
fn a_sweep_uses_the_first_requests_of_a_trial_that_the_time_limit_ended() {
    let swept = |keys| {
        let folder = tempfile::tempdir().unwrap();
        let (plan, context) = planned(&folder, json!({ "sweep": keys, "warmup": "0" }));
        let summary = measure(&plan, &context, &Events::none(), &[]).unwrap().summary;
        summary.sweeps.into_iter().next().unwrap()
    };
    let whole = swept(json!({ "max_trials": 1 }));
    let request_s = whole.time_s / whole.requests as f64;
    // The first trial under a time limit has 12 requests. The limit ends it within the last one.
    let limit = format!("{:.3}s", 11.5 * request_s);
    let cut = swept(json!({ "max_time": limit }));
    assert_eq!((cut.outcome, cut.trials, cut.requests), (SweepEnding::TimeSpent, 1, 11), "{cut:?}");
    let [whole, cut] = [&whole, &cut].map(|answer| answer.levels[0].requests_per_s.unwrap().value);
    assert!((cut / whole - 1.0).abs() < 0.01, "{cut} {whole}");
}

#[test]
fn a_stored_sweep_that_ended_by_itself_stays_finished_under_other_rules() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, context) = planned(&folder, json!({ "sweep": { "max_trials": 2 } }));
    let finished = measure(&plan, &context, &Events::none(), &[]).unwrap();
    let mut newer = plan.clone();
    // By these rules, further trials would follow.
    newer.sweep.as_mut().unwrap().max_trials = 40;
    let stored = Store::open_existing(&context.store).unwrap().run(finished.run.as_str()).unwrap();
    let again = summarise_log(&stored, &newer).unwrap().summary;
    assert_eq!(again.sweeps[0].outcome, SweepEnding::TrialsSpent);
    assert!(again.sweeps[0].answer.starts_with("No saturation"), "{}", again.sweeps[0].answer);
}
