//! The time limit of a search and of a sweep, in virtual time.

use inferometer_analysis::search::SearchEnding;
use inferometer_analysis::summary::Summary;
use inferometer_analysis::sweep::SweepEnding;
use inferometer_model::finding::Severity;
use inferometer_model::record::StopReason;
use inferometer_plan::Procedure;
use inferometer_run::resume::EarlierRun;
use inferometer_run::{Event, Events, Interrupt, summarise_log};
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
fn a_resumed_search_or_sweep_does_not_exceed_the_time_limit() {
    for keys in [
        json!({ "sweep": { "max_time": "20s" } }),
        json!({
            "search": { "max_time": "20s", "precision": "0.1%", "over": "concurrency" },
            "goodput": "ttft<5s",
        }),
    ] {
        // The first run ends in its second cell, after two trials and the pause between them.
        let (folder, mut keys) = (tempfile::tempdir().unwrap(), keys);
        keys["cooldown"] = "4s".into();
        keys["output_lengths"] = json!([8, 16]);
        let (plan, mut context) = planned(&folder, keys);
        let second = plan.cells[1];
        let interrupt = context.host.interrupt.clone();
        let events = Events::to(move |event: &Event<'_>| match event {
            Event::PassStarted(pass) if pass.begin.cell == second && pass.begin.repeat == 3 => {
                interrupt.request();
            }
            _ => {}
        });
        let first = measure(&plan, &context, &events, &[]).unwrap();
        assert!(first.interrupted);
        let of_first = &first.summary.cells[0].passes;
        assert!(of_first.iter().all(|pass| pass.stopped.is_none()), "the limit cut no trial");
        context.host.interrupt = Interrupt::default();
        let earlier = EarlierRun::find(&context.store, first.run.as_str()).unwrap();
        // A run that was killed has stored its records, but no endings.
        for are_endings_stored in [true, false] {
            context.resumed = earlier.completed_passes(&plan).unwrap();
            if !are_endings_stored {
                context.resumed.iter_mut().for_each(|cell| cell.ending = None);
            }
            let summary = measure(&plan, &context, &Events::none(), &[]).unwrap().summary;
            for (at, cell) in summary.cells.iter().enumerate() {
                let durations = cell.passes.iter().filter_map(|pass| pass.duration_s);
                let taken_s = durations.sum::<f64>() + 4.0 * (cell.passes.len() - 1) as f64;
                assert!((8.0..=20.0).contains(&taken_s), "cell {at}: {taken_s}");
            }
            if are_endings_stored {
                let resumed = &summary.cells[0].passes;
                assert_eq!(of_first.len(), resumed.len(), "the first cell stays finished");
            }
            let late = summary.searches.iter().map(|it| it.outcome == SearchEnding::TimeSpent);
            let late =
                late.chain(summary.sweeps.iter().map(|it| it.outcome == SweepEnding::TimeSpent));
            assert_eq!(late.collect::<Vec<_>>(), [true, true]);
        }
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
    assert!(answer.answer.contains("the time limit was reached"), "{answer:?}");
    assert!(!finished.summary.findings.iter().any(|finding| finding.code == "warm_up_failed"));
}

#[test]
fn a_sweep_uses_a_trial_that_the_time_limit_ended() {
    let swept = |keys| {
        let folder = tempfile::tempdir().unwrap();
        let (plan, context) = planned(&folder, json!({ "sweep": keys, "warmup": "0" }));
        let summary = measure(&plan, &context, &Events::none(), &[]).unwrap().summary;
        summary.sweeps.into_iter().next().unwrap()
    };
    let whole = swept(json!({ "max_trials": 1 }));
    let request_s = whole.time_s / whole.requests as f64;
    // The first trial under a time limit has 12 requests. The limit ends the trial within its last request.
    let limit = format!("{:.3}s", 11.5 * request_s);
    let cut = swept(json!({ "max_time": limit }));
    assert_eq!((cut.outcome, cut.trials, cut.requests), (SweepEnding::TimeSpent, 1, 12), "{cut:?}");
    assert!(cut.levels[0].cancelled > 0 && !cut.answer.contains("failed"), "{cut:?}");
    let [whole, cut] = [&whole, &cut].map(|answer| answer.levels[0].requests_per_s.unwrap().value);
    assert!((cut / whole - 1.0).abs() < 0.01, "{cut} {whole}");
}

#[test]
fn a_search_states_what_the_trial_showed_that_the_time_limit_ended() {
    let folder = tempfile::tempdir().unwrap();
    let search = json!({ "max_time": "3s", "precision": "0.1%", "over": "concurrency" });
    let keys = json!({ "search": search, "goodput": "ttft<5s", "warmup": "0" });
    let (plan, context) = planned(&folder, keys);
    let summary = measure(&plan, &context, &Events::none(), &[]).unwrap().summary;
    let passes = &summary.cells[0].passes;
    assert_eq!(passes.last().and_then(|pass| pass.stopped), Some(StopReason::MaxTime));
    assert_eq!(summary.searches[0].trials as usize, passes.len() - 1);
    let lost = summary.findings.iter().find(|it| it.code == "search_trial_lost").unwrap();
    let trial = format!("--max-time ended trial {} at a load of ", passes.len());
    assert!(lost.message.starts_with(&trial) && lost.message.contains(" requests ("), "{lost:?}");
    assert_eq!(lost.severity, Severity::Note);
}

#[test]
fn a_stored_sweep_that_ended_by_itself_stays_finished_under_other_rules() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, context) = planned(&folder, json!({ "sweep": { "max_trials": 2 } }));
    let finished = measure(&plan, &context, &Events::none(), &[]).unwrap();
    let mut newer = plan.clone();
    // With these rules, further trials would follow.
    let Procedure::Sweep(sweep) = &mut newer.procedure else { panic!("a sweep") };
    sweep.max_trials = 40;
    let stored = Store::open_existing(&context.store).unwrap().run(finished.run.as_str()).unwrap();
    let again = summarise_log(&stored, &newer).unwrap().summary;
    assert_eq!(again.sweeps[0].outcome, SweepEnding::TrialsSpent);
    assert!(again.sweeps[0].answer.contains("No saturation"), "{}", again.sweeps[0].answer);
}
