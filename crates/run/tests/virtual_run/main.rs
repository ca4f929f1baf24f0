//! Whole runs over a network in memory, against the embedded engine, in virtual time. The plan, the passes,
//! the log, the store and the report are those of a real run. No socket is opened.

use std::path::Path;
use std::sync::{Arc, Mutex};

use inferometer_analysis::cell::Cell;
use inferometer_analysis::summary::Summary;
use inferometer_analysis::sweep::SweepEnding;
use inferometer_plan::spec::{Spec, TargetSpec};
use inferometer_run::resume::EarlierRun;
use inferometer_run::{
    Event, Events, Finished, Group, Host, Interrupt, ReportFiles, RunError, RunRequest, Servers,
    Shortfall, Strictness, judge, summarise_log, variants,
};
use inferometer_store::{RunState, Store};
use serde_json::{Value, json};

mod estimates;
mod loops;
mod measured;
mod resumed;
mod time_limit;
mod warm_up;

use measured::{measure, planned};

/// The two passes of the published tables.
fn table() -> Value {
    json!({ "one_by_one": 2, "requests": 6 })
}

/// The figures of a run without the measurements of the client's process, which differ between runs.
fn figures(summary: &Summary) -> Vec<Cell> {
    let mut cells = summary.cells.clone();
    for pass in cells.iter_mut().flat_map(|cell| &mut cell.passes) {
        pass.instrument.process = None;
    }
    cells
}

fn state(store: &Path, finished: &Finished) -> RunState {
    Store::open_existing(store)
        .expect("valid in this test")
        .run(finished.run.as_str())
        .expect("valid in this test")
        .row
        .state
}

#[test]
fn a_run_over_an_in_memory_network_is_stored_and_its_results_follow_from_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, mut context) = planned(&folder, table());
    context.files = ReportFiles::All;
    let events = Events::none();
    let finished = measure(&plan, &context, &events, &[]).unwrap();
    let passes = &finished.summary.cells[0].passes;
    assert_eq!(passes.iter().map(|pass| pass.outcomes.complete).collect::<Vec<_>>(), [2, 6]);
    assert_eq!(judge(&plan, &context, &finished, Strictness::Lenient), Ok(()));
    let totals = events.live().look(|state| state.totals());
    assert_eq!((totals.outcomes.complete, totals.counts.ended), (8, 8));
    for file in ["report.html", "report.md", "summary.json", "cells.csv", "table.md"] {
        assert!(folder.path().join("report").join(file).exists(), "{file}");
    }
    assert_eq!(state(&context.store, &finished), RunState::Complete);
    let stored = Store::open_existing(&context.store).unwrap().run(finished.run.as_str()).unwrap();
    let again = summarise_log(&stored, &plan).unwrap();
    assert!(again.cut.is_none());
    assert_eq!(again.summary, finished.summary, "the results follow from the log");
}

#[test]
fn the_events_of_a_run_come_in_the_order_of_its_steps() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, context) = planned(&folder, table());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let events = Events::to(move |event: &Event<'_>| {
        hears.lock().unwrap().push(match event {
            Event::Connecting => "connecting",
            Event::RunStarted(_) => "run started",
            Event::WarmUpStarted(_) => "warm-up started",
            Event::WarmUpEnded => "warm-up ended",
            Event::PassStarted(_) => "pass started",
            Event::Record(_) => "record",
            Event::PassEnded(_) => "pass ended",
            Event::RunStored(_) => "run stored",
            Event::RunEnded(_) => "run ended",
            Event::Closed => "closed",
            _ => return,
        });
    });
    measure(&plan, &context, &events, &[]).unwrap();
    let pass =
        |records| [&["pass started"][..], &vec!["record"; records], &["pass ended"]].concat();
    let begin = ["connecting", "run started", "warm-up started", "warm-up ended"];
    let expected =
        [&begin[..], &pass(2), &pass(6), &["run stored", "run ended", "closed"]].concat();
    assert_eq!(*heard.lock().unwrap(), expected);
}

#[test]
fn two_runs_of_one_plan_have_the_same_figures_to_the_last_digit() {
    let measured = || {
        let folder = tempfile::tempdir().unwrap();
        let keys = json!({ "rate": ["40"], "requests": 30, "repeat": 2 });
        let (plan, context) = planned(&folder, keys);
        let summary = measure(&plan, &context, &Events::none(), &[]).unwrap().summary;
        (figures(&summary), summary.workload_hash, summary.body_hash)
    };
    assert_eq!(measured(), measured());
}

#[test]
fn failed_requests_are_counted_by_outcome_and_too_many_of_them_fail_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let keys = json!({ "one_by_one": 2, "requests": 6, "max_failures": "7%" });
    let (plan, context) = planned(&folder, keys);
    // The first five requests are not in the second pass: two show what the server adds to prompts, one is
    // the warm-up, and two are sent one by one.
    let faults = ["status=503@6", "cut@7", "reset@8"];
    let finished = measure(&plan, &context, &Events::none(), &faults).unwrap();
    let outcomes = finished.summary.cells[0].passes[1].outcomes;
    assert_eq!((outcomes.complete, outcomes.failed(), outcomes.rejected), (3, 3, 1), "{outcomes}");
    let shortfall = judge(&plan, &context, &finished, Strictness::Lenient).unwrap_err();
    let Shortfall::Failed(why) = shortfall else { panic!("{shortfall:?}") };
    assert!(why.contains("3 of 6 ") && why.contains("--max-failures 7% ("), "{why}");
}

#[test]
fn no_pass_begins_after_an_interruption_during_prompt_generation() {
    // All prompts are made before the pass: the interruption must end this work, whether it is long or short.
    for requests in [2_000_000, 30] {
        let folder = tempfile::tempdir().unwrap();
        let keys = json!({ "rate": ["40"], "requests": requests, "warmup": 0 });
        let (plan, context) = planned(&folder, keys);
        let interrupt = context.host.interrupt.clone();
        let events = Events::to(move |event: &Event<'_>| {
            if matches!(event, Event::PromptsStarted(_)) {
                interrupt.request();
            }
        });
        let finished = measure(&plan, &context, &events, &[]).unwrap();
        assert!(finished.interrupted);
        assert_eq!(state(&context.store, &finished), RunState::Interrupted);
        let passes = finished.summary.cells.iter().map(|cell| cell.passes.len()).sum::<usize>();
        assert_eq!(passes, 0, "{requests}");
        let shortfall = judge(&plan, &context, &finished, Strictness::Lenient).unwrap_err();
        assert!(matches!(&shortfall, Shortfall::Interrupted(why) if why.contains("run --resume")));
    }
}

#[test]
fn the_end_of_a_run_is_stored_before_its_plots_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, mut context) = planned(&folder, table());
    context.files = ReportFiles::All;
    let (store, report) = (context.store.clone(), folder.path().join("report"));
    let found = Arc::new(Mutex::new(None));
    let finds = Arc::clone(&found);
    let events = Events::to(move |event: &Event<'_>| {
        if let Event::RunStored(summary) = event {
            let stored = Store::open_existing(&store).unwrap().run(&summary.run_id).unwrap();
            let plots = report.join("report.html").exists() || report.join("timeline.png").exists();
            *finds.lock().unwrap() = Some((stored.row.state, plots));
        }
    });
    measure(&plan, &context, &events, &[]).unwrap();
    assert_eq!(*found.lock().unwrap(), Some((RunState::Complete, false)));
    for plot in ["report.html", "timeline.png"] {
        assert!(folder.path().join("report").join(plot).exists(), "{plot}");
    }
}

#[test]
fn the_summary_file_of_a_run_ends_with_one_newline() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, context) = planned(&folder, table());
    measure(&plan, &context, &Events::none(), &[]).unwrap();
    let text = std::fs::read_to_string(folder.path().join("report/summary.json")).unwrap();
    assert!(text.ends_with("}\n"), "{:?}", text.get(text.len() - 9..));
}

#[test]
fn the_error_names_the_run_whose_end_and_report_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, context) = planned(&folder, table());
    let (store, report) = (context.store.clone(), folder.path().join("report"));
    let run = Arc::new(Mutex::new(String::new()));
    let known = Arc::clone(&run);
    let events = Events::to(move |event: &Event<'_>| match event {
        Event::RunStarted(started) => known.lock().unwrap().clone_from(&started.id),
        Event::PassEnded(_) => {
            let _ = std::fs::remove_file(&store);
            // A file cannot replace a folder that is not empty.
            std::fs::create_dir_all(report.join("summary.json/in-the-way")).unwrap();
        }
        _ => {}
    });
    let error = measure(&plan, &context, &events, &[]).unwrap_err().to_string();
    let named = format!("run {}: ", run.lock().unwrap());
    assert!(error.starts_with(&named) && error.contains("its end cannot be stored"), "{error}");
    assert!(error.contains("its report cannot be"), "{error}");
    // The folder of the report has no results, so the error names the log, which has the records.
    let (_, place) = error.rsplit_once("the results until then are in ").unwrap();
    assert!(Path::new(place).is_file(), "{place}");
    assert!(!Path::new(place).starts_with(folder.path().join("report")), "{place}");
}

#[test]
fn a_caller_gets_the_time_estimate_and_can_refuse_the_run_before_measuring() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, mut context) = planned(&folder, table());
    context.host.confirm = Some(Arc::new(|estimate| {
        assert!(estimate.is_some(), "the embedded engine's time is known");
        Err("not begun".to_owned())
    }));
    let error = measure(&plan, &context, &Events::none(), &[]).unwrap_err();
    assert!(matches!(&error, RunError::Refused(why) if why == "not begun"), "{error}");
    assert!(Store::open_existing(&context.store).unwrap().runs().unwrap().is_empty());
}

#[test]
fn two_servers_of_a_plan_get_the_same_requests_in_each_round() {
    let folder = tempfile::tempdir().unwrap();
    let spec: Spec = serde_json::from_value(json!({
        "input_lengths": [64], "output_lengths": [8], "one_by_one": 2, "requests": 6,
        "salt": "virtual", "store": folder.path().join("runs.db"),
        "out": folder.path().join("group"),
    }))
    .unwrap();
    let targets: Vec<TargetSpec> =
        serde_json::from_value(json!([{ "name": "one" }, { "name": "two" }])).unwrap();
    let variants = variants(&spec, &targets).unwrap();
    let mut group = Group::resolve(variants, 2, None, &Host::default(), &|_| None).unwrap();
    for member in &mut group.members {
        member.context.files = ReportFiles::Figures;
    }
    let mut run = |request: RunRequest<'_>, _: &mut Servers| {
        measure(request.plan, request.context, request.events, &[])
    };
    let finished = group.run_with(&Events::none(), Strictness::Lenient, &mut run).unwrap();
    assert!(finished.failures.is_empty(), "{:?}", finished.failures);
    let of_runs = |fact: &str| -> Vec<String> {
        finished.comparison.runs.iter().map(|run| run.target.facts.texts()[fact].clone()).collect()
    };
    assert_eq!(of_runs("variant"), ["one", "two", "two", "one"]);
    assert_eq!(of_runs("round"), ["1", "1", "2", "2"]);
    let hashes: Vec<&Option<String>> =
        finished.comparison.runs.iter().map(|run| &run.workload_hash).collect();
    assert!(hashes[0] == hashes[1] && hashes[2] == hashes[3] && hashes[1] != hashes[2]);
    assert!(finished.folder.join("comparison.md").exists());
}

#[test]
fn a_search_over_an_in_memory_network_finds_the_highest_allowed_load() {
    let folder = tempfile::tempdir().unwrap();
    let keys = json!({
        "goodput": "ttft<5s",
        "search": { "over": "concurrency", "to": "4", "max_requests": 4000 },
    });
    let (plan, context) = planned(&folder, keys);
    let finished = measure(&plan, &context, &Events::none(), &[]).unwrap();
    let answer = &finished.summary.searches[0];
    assert_eq!(answer.low, Some(4.0), "{answer:?}");
    assert_eq!(judge(&plan, &context, &finished, Strictness::Lenient), Ok(()));
}

#[test]
fn a_sweep_over_an_in_memory_network_ends_and_its_summary_follows_from_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let keys = json!({ "sweep": { "max_concurrency": 4, "max_requests": 4000 } });
    let (plan, context) = planned(&folder, keys);
    let finished = measure(&plan, &context, &Events::none(), &[]).unwrap();
    let answer = &finished.summary.sweeps[0];
    assert_eq!(answer.outcome, SweepEnding::NotSaturated, "{answer:?}");
    assert_eq!(answer.levels.iter().map(|level| level.load).collect::<Vec<_>>(), [1.0, 2.0, 4.0]);
    assert!(answer.answer.contains(" up to 4 in flight"));
    assert_eq!(judge(&plan, &context, &finished, Strictness::Lenient), Ok(()));
    let stored = Store::open_existing(&context.store).unwrap().run(finished.run.as_str()).unwrap();
    assert_eq!(summarise_log(&stored, &plan).unwrap().summary, finished.summary);
}

#[test]
fn an_interrupted_sweep_gives_a_partial_answer_and_completes_when_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let keys = json!({ "sweep": { "max_concurrency": 4 } });
    let (plan, mut context) = planned(&folder, keys);
    let passes = Arc::new(Mutex::new(0));
    let count = Arc::clone(&passes);
    let interrupt = context.host.interrupt.clone();
    let events = Events::to(move |event: &Event<'_>| {
        if matches!(event, Event::PassEnded(_)) {
            *count.lock().unwrap() += 1;
            if *count.lock().unwrap() == 2 {
                interrupt.request();
            }
        }
    });
    let broken_off = measure(&plan, &context, &events, &[]).unwrap();
    assert!(broken_off.interrupted);
    let answer = &broken_off.summary.sweeps[0];
    assert_eq!((answer.trials, answer.outcome), (2, SweepEnding::Unfinished));
    assert!(answer.answer.contains(". So far, no saturation is shown up to"), "{answer:?}");
    assert!(
        answer.answer.contains(
            "ttft_p95<1s is met at every load up to 2 in flight (0.0194 s) (not certain)."
        ),
        "{answer:?}"
    );
    let earlier = EarlierRun::find(&context.store, broken_off.run.as_str()).unwrap();
    context.resumed = earlier.completed_passes(&plan).unwrap();
    context.host.interrupt = Interrupt::default();
    let resumed = measure(&plan, &context, &Events::none(), &[]).unwrap();
    let answer = &resumed.summary.sweeps[0];
    assert_eq!((answer.trials, answer.outcome), (3, SweepEnding::NotSaturated));
}

#[test]
fn a_pass_that_is_ended_early_gives_a_verdict_and_a_shortfall_with_the_reason() {
    for (keys, faults, is_objective, why) in [
        (
            json!({ "rate": ["400"], "requests": 6000, "stop_when_saturated": true }),
            &[][..],
            true,
            "requests arrived faster than they ended (--stop-when-saturated)",
        ),
        (
            json!({ "concurrency": [1], "requests": 40, "stop_at_error_rate": "5%" }),
            &["status=503@6", "status=503@7", "status=503@8"][..],
            false,
            "more requests had failed than --stop-at-error-rate allows",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (plan, context) = planned(&folder, keys);
        let finished = measure(&plan, &context, &Events::none(), faults).unwrap();
        let pass = &finished.summary.cells[0].passes[0];
        assert!(pass.stopped.is_some_and(|told| told.name().contains(why)), "{pass:?}");
        assert!(pass.outcomes.skipped > 0 && !finished.interrupted, "{}", pass.outcomes);
        assert_eq!(pass.outcomes.total(), pass.planned);
        let verdict = &finished.summary.verdict;
        assert!(verdict.reasons.iter().any(|reason| reason.contains(why)), "{verdict:?}");
        let codes: Vec<&str> =
            finished.summary.findings.iter().map(|finding| finding.code.as_str()).collect();
        assert!(codes.contains(&"pass_stopped"), "{codes:?}");
        assert_eq!(codes.contains(&"over_saturated"), is_objective, "{codes:?}");
        match judge(&plan, &context, &finished, Strictness::Lenient) {
            Err(Shortfall::Objective(told)) => assert!(is_objective && told.contains(why)),
            Err(Shortfall::Failed(told)) => assert!(!is_objective && told.contains(why)),
            other => panic!("{other:?}"),
        }
        let stored = Store::open_existing(&context.store).unwrap();
        let stored = stored.run(finished.run.as_str()).unwrap();
        assert_eq!(summarise_log(&stored, &plan).unwrap().summary, finished.summary);
    }
}
