//! Whole runs over a network in memory, against the embedded engine, in virtual time: the plan, the
//! passes, the log, the store and the report are those of a real run. No socket is opened.

use std::path::Path;
use std::sync::{Arc, Mutex};

use inferometer_analysis::cell::Cell;
use inferometer_analysis::summary::Summary;
use inferometer_drive::Endpoint;
use inferometer_engine::serve::{Fault, Front, FrontConfig};
use inferometer_engine::{Engine, EngineConfig};
use inferometer_http::Server;
use inferometer_model::target::Target;
use inferometer_net::Net;
use inferometer_net::virtual_net::hosts;
use inferometer_plan::Plan;
use inferometer_plan::spec::{Spec, TargetSpec};
use inferometer_run::resume::EarlierRun;
use inferometer_run::{
    Context, Event, Events, Finished, Group, Host, Interrupt, ReadyTarget, ReportFiles, RunError,
    RunRequest, Servers, Shortfall, Strictness, VirtualNetwork, carry_out_over, judge, resolve,
    summarise_log, variants,
};
use inferometer_store::{RunState, Store};
use inferometer_wire::dialect::dialect;
use serde_json::{Value, json};
use tempfile::TempDir;

const MODEL: &str = "chatglm3-6b";

/// A small plan with further keys, and a context in a folder of its own.
fn planned(folder: &TempDir, keys: Value) -> (Plan, Context) {
    let mut spec = json!({
        "model": MODEL, "input_lengths": [64], "output_lengths": [8], "seed": 1, "salt": "virtual",
    });
    spec.as_object_mut().expect("an object").extend(keys.as_object().expect("an object").clone());
    let spec: Spec = serde_json::from_value(spec).expect("valid in this test");
    let (plan, mut context) = resolve(&spec, &|_| None).expect("valid in this test");
    context.store = folder.path().join("runs.db");
    context.out = Some(folder.path().join("report"));
    context.files = ReportFiles::Figures;
    (plan, context)
}

/// The two passes of the published tables.
fn table() -> Value {
    json!({ "one_by_one": 2, "requests": 6 })
}

/// Carries out a plan against an engine with faults.
fn measure(
    plan: &Plan,
    context: &Context,
    events: &Events,
    faults: &[&str],
) -> Result<Finished, RunError> {
    let mut nets = hosts(2);
    let (mut server_net, client) = (nets.remove(1), nets.remove(0));
    let address = server_net
        .listen("127.0.0.1:0".parse().expect("valid in this test"))
        .expect("valid in this test");
    let engine = Engine::new(EngineConfig::of_model(MODEL).expect("valid in this test"))
        .expect("valid in this test");
    let faults =
        faults.iter().map(|text| Fault::parse(text).expect("valid in this test")).collect();
    let config = FrontConfig { faults, ..FrontConfig::new(MODEL) };
    let front =
        Front::new(engine, config, inferometer_workload::embedded()).expect("valid in this test");
    let dialect = dialect("openai-completions").expect("valid in this test");
    let endpoint = Endpoint {
        dialect,
        authority: "engine".to_owned(),
        path: dialect.path(plan.sampling.stream).to_owned(),
        headers: Vec::new(),
        model: MODEL.to_owned(),
    };
    let target = Target {
        dialect: dialect.name.to_owned(),
        model: MODEL.to_owned(),
        simulated: true,
        facts: context.facts.clone(),
        ..Target::default()
    };
    let (tls, server, findings, embedded) = (None, None, Vec::new(), None);
    let ready = ReadyTarget {
        address: address.into(),
        tls,
        tunnel: None,
        server,
        endpoint,
        target,
        findings,
        embedded,
    };
    let network = VirtualNetwork::new(client, Server::new(front), server_net);
    let request = RunRequest { plan, context, events };
    carry_out_over(network, request, &mut Servers::default(), |_, _| Ok(ready))
}

/// The figures of a run without what the client's process went through, which no two runs share.
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
fn a_run_over_a_network_in_memory_has_a_log_a_row_and_a_report() {
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
            Event::RunEnded(_) => "run ended",
            Event::Closed => "closed",
            _ => return,
        });
    });
    measure(&plan, &context, &events, &[]).unwrap();
    let pass =
        |records| [&["pass started"][..], &vec!["record"; records], &["pass ended"]].concat();
    let begin = ["connecting", "run started", "warm-up started", "warm-up ended"];
    let expected = [&begin[..], &pass(2), &pass(6), &["run ended", "closed"]].concat();
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
fn failed_requests_are_outcomes_and_too_many_of_them_are_a_shortfall() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, context) = planned(&folder, table());
    // Two requests find out what the server adds to prompts, one is the warm-up, two go one by one.
    let faults = ["status=503@6", "cut@7", "reset@8"];
    let finished = measure(&plan, &context, &Events::none(), &faults).unwrap();
    let outcomes = finished.summary.cells[0].passes[1].outcomes;
    assert_eq!((outcomes.complete, outcomes.failed(), outcomes.rejected), (3, 3, 1), "{outcomes}");
    let shortfall = judge(&plan, &context, &finished, Strictness::Lenient).unwrap_err();
    let Shortfall::Failed(why) = shortfall else { panic!("{shortfall:?}") };
    assert!(why.contains("3 of 6 requests failed, more than --max-failures 1%"), "{why}");
}

#[test]
fn a_run_that_was_interrupted_is_resumed_with_the_figures_of_one_that_was_not() {
    let keys = json!({ "one_by_one": 2, "requests": 6, "output_lengths": [8, 16] });
    let whole = tempfile::tempdir().unwrap();
    let (plan, context) = planned(&whole, keys.clone());
    let expected = measure(&plan, &context, &Events::none(), &[]).unwrap().summary;

    let folder = tempfile::tempdir().unwrap();
    let (plan, mut context) = planned(&folder, keys);
    let interrupt = context.host.interrupt.clone();
    let events = Events::to(move |event: &Event<'_>| match event {
        Event::PassStarted(pass) if pass.begin.pass == 2 => {
            interrupt.request();
        }
        _ => {}
    });
    let finished = measure(&plan, &context, &events, &[]).unwrap();
    assert!(finished.interrupted);
    assert_eq!(state(&context.store, &finished), RunState::Interrupted);
    let shortfall = judge(&plan, &context, &finished, Strictness::Lenient).unwrap_err();
    assert!(matches!(&shortfall, Shortfall::Interrupted(why) if why.contains("run --resume")));

    let earlier = EarlierRun::find(&context.store, finished.run.as_str()).unwrap();
    context.host.interrupt = Interrupt::default();
    context.resumed = earlier.completed_cells(&plan).unwrap();
    assert_eq!(context.resumed.len(), 1, "one cell of two was completed");
    let resumed = measure(&plan, &context, &Events::none(), &[]).unwrap().summary;
    assert_eq!(resumed.workload_hash, expected.workload_hash);
    let speeds = |summary: &Summary| -> Vec<Option<f64>> {
        summary.cells.iter().map(|cell| cell.output_tokens_per_s).collect()
    };
    assert_eq!(speeds(&resumed), speeds(&expected));
}

#[test]
fn a_caller_that_refuses_knows_the_estimate_and_nothing_is_measured() {
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
fn a_plan_with_two_servers_is_measured_on_both_with_the_same_requests_in_each_round() {
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
    for member in group.members_mut() {
        member.context.files = ReportFiles::Figures;
    }
    let mut run = |request: RunRequest<'_>, _: &mut Servers| {
        measure(request.plan, request.context, request.events, &[])
    };
    let finished = group.run_with(&Events::none(), Strictness::Lenient, &mut run).unwrap();
    assert!(finished.failures.is_empty(), "{:?}", finished.failures);
    let of_runs = |fact: &str| -> Vec<String> {
        finished.comparison.runs.iter().map(|run| run.target.facts[fact].clone()).collect()
    };
    assert_eq!(of_runs("variant"), ["one", "two", "two", "one"]);
    assert_eq!(of_runs("round"), ["1", "1", "2", "2"]);
    let hashes: Vec<&Option<String>> =
        finished.comparison.runs.iter().map(|run| &run.workload_hash).collect();
    assert!(hashes[0] == hashes[1] && hashes[2] == hashes[3] && hashes[1] != hashes[2]);
    assert!(finished.folder.join("comparison.md").exists());
}

#[test]
fn a_search_over_a_network_in_memory_finds_the_highest_load_that_was_allowed() {
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
