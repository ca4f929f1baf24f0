//! Runs that resume an interrupted run, on a server that has already received some of their prompts.

use std::sync::{Arc, Mutex};

use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::range::Trust;
use inferometer_analysis::summary::Summary;
use inferometer_analysis::trust;
use inferometer_model::metrics::{Statistic, e2e, ttft};
use inferometer_run::resume::EarlierRun;
use inferometer_run::{Event, Events, Interrupt, Shortfall, Strictness, judge, summarise_log};
use inferometer_store::{RunState, Store};
use serde_json::json;

use crate::measured::{measure, planned};
use crate::state;

#[test]
fn ttft_is_unreliable_in_a_pass_whose_prompts_an_interrupted_run_had_already_sent() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, mut context) = planned(
        &folder,
        json!({
            "target": "http://127.0.0.1:8000", "one_by_one": 2, "requests": 6,
            "output_lengths": [8, 16, 32],
        }),
    );
    // The first run ends in the first pass of its second cell, after one of two requests, and so does the run that
    // resumes it. The third run copies the first cell, and measures the two others.
    let mut runs: Vec<String> = Vec::new();
    for ends_in in [Some(2), Some(2), None] {
        if let Some(earlier) = runs.last() {
            let earlier = EarlierRun::find(&context.store, earlier).unwrap();
            context.resumed = earlier.completed_passes(&plan).unwrap();
            context.origin = earlier.origin.clone();
        }
        context.host.interrupt = Interrupt::default();
        let interrupt = context.host.interrupt.clone();
        let events = Events::to(move |event: &Event<'_>| {
            if matches!(event, Event::Record(request) if Some(request.record.pass) == ends_in) {
                interrupt.request();
            }
        });
        runs.push(measure(&plan, &context, &events, &[]).unwrap().run.to_string());
    }
    let stored = Store::open_existing(&context.store).unwrap().run(&runs[2]).unwrap();
    let summary = summarise_log(&stored, &plan).unwrap().summary;
    assert_eq!(Some(&summary), stored.summary.as_ref(), "the report shows the same");
    let found: Vec<_> =
        summary.findings.iter().filter(|it| it.code.as_str() == "prompts_sent_before").collect();
    let places: Vec<_> = found.iter().filter_map(|finding| finding.place.as_deref()).collect();
    assert_eq!(places, ["64 x 16, one by one"], "{:?}", summary.findings);
    let trust_of = |pass: &PassSummary, metric| {
        trust::latency(pass, metric, Statistic::P50).map(|range| range.trust)
    };
    for cell in &summary.cells {
        let pass = &cell.passes[0];
        let expected = (cell.output_length == 16).then_some(Trust::Unreliable);
        assert_eq!(trust_of(pass, &ttft::FROM_SENT), expected, "{}", cell.output_length);
        assert_eq!(trust_of(pass, &e2e::FROM_SENT), None);
    }
}

#[test]
fn a_resumed_run_has_the_figures_of_an_uninterrupted_run() {
    let keys = json!({ "one_by_one": 2, "requests": 6, "output_lengths": [8, 16], "repeat": 2 });
    let whole = tempfile::tempdir().unwrap();
    let (plan, context) = planned(&whole, keys.clone());
    let expected = measure(&plan, &context, &Events::none(), &[]).unwrap().summary;

    let folder = tempfile::tempdir().unwrap();
    let (plan, mut context) = planned(&folder, keys);
    let interrupt = context.host.interrupt.clone();
    // The second cell has three of its four passes.
    let events = Events::to(move |event: &Event<'_>| match event {
        Event::PassStarted(pass) if pass.begin.pass == 7 => {
            interrupt.request();
        }
        _ => {}
    });
    let finished = measure(&plan, &context, &events, &[]).unwrap();
    assert!(finished.interrupted);
    assert_eq!(state(&context.store, &finished), RunState::Interrupted);
    let shortfall = judge(&plan, &context, &finished, Strictness::Lenient).unwrap_err();
    assert!(matches!(&shortfall, Shortfall::Interrupted(why) if why.contains("run --resume")));
    let reasons = finished.summary.verdict.reasons.join(" ");
    assert!(reasons.contains("the run was interrupted: 7 of 8 passes are complete"), "{reasons}");

    let earlier = EarlierRun::find(&context.store, finished.run.as_str()).unwrap();
    context.host.interrupt = Interrupt::default();
    context.resumed = earlier.completed_passes(&plan).unwrap();
    let copied: Vec<usize> = context.resumed.iter().map(|cell| cell.passes.len()).collect();
    assert_eq!(copied, [4, 3]);
    let measured = Arc::new(Mutex::new(Vec::new()));
    let passes = Arc::clone(&measured);
    let events = Events::to(move |event: &Event<'_>| {
        if let Event::PassStarted(pass) = event {
            passes.lock().unwrap().push(pass.begin.pass);
        }
    });
    let resumed = measure(&plan, &context, &events, &[]).unwrap().summary;
    assert_eq!(*measured.lock().unwrap(), [7], "only the missing pass is measured");
    assert_eq!(resumed.workload_hash, expected.workload_hash);
    let speeds = |summary: &Summary| -> Vec<Option<f64>> {
        let passes = summary.cells.iter().flat_map(|cell| &cell.passes);
        passes.map(|pass| pass.output_tokens_per_s).collect()
    };
    // The missing pass begins at another instant, and records have steps of 100 ns.
    for (resumed, expected) in speeds(&resumed).into_iter().zip(speeds(&expected)) {
        let ratio = resumed.unwrap() / expected.unwrap();
        assert!((ratio - 1.0).abs() < 1e-6, "{resumed:?} {expected:?}");
    }
}
