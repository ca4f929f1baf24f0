//! Runs that resume an interrupted run, on a server that has already received some of their prompts.

use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::range::Trust;
use inferometer_analysis::trust;
use inferometer_model::metrics::{Statistic, e2e, ttft};
use inferometer_run::resume::EarlierRun;
use inferometer_run::{Event, Events, Interrupt, summarise_log};
use inferometer_store::Store;
use serde_json::json;

use crate::measured::{measure, planned};

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
