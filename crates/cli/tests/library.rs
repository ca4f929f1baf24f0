//! Tests the library as another Rust program uses it, also without the feature `cli`. Every function takes values and
//! returns values or a typed error.

use std::path::Path;
use std::sync::{Arc, Mutex};

use inferometer::compare::{Options, Subject, compare};
use inferometer::export::{ExportedRows, Job, format};
use inferometer::import::import;
use inferometer::report::Report;
use inferometer::{
    Context, EngineConfig, Event, Events, Finished, Plan, ReportFiles, RunError, Spec, Store,
    Strictness, Subscriber, judge, predict, resolve, run, search,
};
use serde_json::{Value, json};

/// A plan from the keys of a plan file, with its output files in `folder`. The environment is empty.
fn planned(keys: Value, folder: &Path) -> (Plan, Context) {
    let spec: Spec = serde_json::from_value(keys).expect("a spec");
    let (plan, mut context) = resolve(&spec, &|_| None).expect("a plan");
    context.store = folder.join("runs.db");
    context.out = Some(folder.join("report"));
    context.files = ReportFiles::Figures;
    (plan, context)
}

/// Measures the embedded engine in a cell with two passes of four requests.
fn measured(folder: &Path, events: &Events) -> (Plan, Context, Finished) {
    let keys = json!({
        "speed": 200, "input_lengths": [32], "output_lengths": [8], "one_by_one": 4, "requests": 4,
    });
    let (plan, context) = planned(keys, folder);
    let finished = run(&plan, &context, events).expect("a run");
    (plan, context, finished)
}

/// Stores the names of the events of a run and its passes. Successive records are stored as one name.
#[derive(Clone, Default)]
struct Names(Arc<Mutex<Vec<&'static str>>>);

impl Subscriber for Names {
    fn on_event(&self, event: &Event<'_>) {
        let name = match event {
            Event::RunStarted(_) => "run started",
            Event::PassStarted(_) => "pass started",
            Event::Record(_) => "record",
            Event::PassEnded(_) => "pass ended",
            Event::RunStored(_) => "run stored",
            Event::RunEnded(_) => "run ended",
            _ => return,
        };
        let mut names = self.0.lock().expect("names");
        if name != "record" || names.last() != Some(&"record") {
            names.push(name);
        }
    }
}

#[test]
fn a_run_emits_its_events_in_order_and_its_report_is_reproduced_from_the_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = Names::default();
    let (plan, context, finished) = measured(folder.path(), &Events::to(names.clone()));

    let pass = ["pass started", "record", "pass ended"];
    let expected = [&["run started"][..], &pass, &pass, &["run stored", "run ended"]].concat();
    assert_eq!(*names.0.lock().expect("names"), expected);
    judge(&plan, &context, &finished, Strictness::Lenient).expect("requests completed");

    let store = Store::open(&context.store).expect("a store");
    let stored = store.run(finished.summary.run_id.as_str()).expect("the run is stored");
    let again = Report::of(&stored).expect("a report");
    assert_eq!(again.summary, finished.summary, "every figure comes from the log");
    assert_eq!((again.plan, again.cut.is_none()), (Some(plan), true));
}

#[test]
fn a_run_that_is_interrupted_before_it_begins_measures_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (plan, context) = planned(json!({"speed": 200, "requests": 4}), folder.path());
    assert!(!context.host.interrupt.request(), "an interruption was requested before");
    let outcome = run(&plan, &context, &Events::none());
    assert!(matches!(outcome, Err(RunError::Interrupted(_))));
}

#[test]
fn requests_are_exported_and_results_of_other_tools_are_imported() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, context, finished) = measured(folder.path(), &Events::none());
    let store = Store::open(&context.store).expect("a store");
    let stored = store.run(finished.summary.run_id.as_str()).expect("the run is stored");
    let file = folder.path().join("requests.csv");
    let job = Job {
        run: &stored,
        notes: &[],
        what: ExportedRows::Requests,
        pass: None,
        out: Some(&file),
        say: &|_| {},
    };
    (format("csv").expect("a format").write)(&job).expect("rows");
    let rows = std::fs::read_to_string(&file).expect("a file");
    assert_eq!(rows.lines().count(), 1 + 8, "a header line and a line for each request");

    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/fixtures/vllm.json");
    let files = [fixture];
    let first = import(&files, &context.store).expect("an import");
    let second = import(&files, &context.store).expect("an import");
    assert_eq!([first[0].was_there, second[0].was_there], [false, true]);
    assert_eq!(first[0].run, second[0].run);
}

#[test]
fn the_library_predicts_compares_predictions_and_searches() {
    let folder = tempfile::tempdir().expect("a folder");
    let cell = json!({"input_lengths": [128], "output_lengths": [32], "requests": 40});
    let of_model = |model: &str| {
        let mut keys = cell.clone();
        keys["model"] = json!(model);
        let (plan, context) = planned(keys, folder.path());
        let config = EngineConfig::of_model(model).expect("a model");
        predict(&plan, &context, &config, None).expect("a prediction").summary
    };
    let (small, large) = (of_model("chatglm3-6b"), of_model("qwen-14b"));
    let (baseline, contender) = (Subject::of_run("a", &small), Subject::of_run("b", &large));
    let options = Options { margin: 0.05, seed: 0 };
    let judged = compare(&baseline, &contender, options, &[]).expect("a comparison");
    assert!(judged.comparison.rows.iter().any(|row| row.figure == "output_tokens_per_s"));

    let keys = json!({
        "model": "chatglm3-6b", "input_lengths": [128], "output_lengths": [32],
        "search": {"over": "rate", "from": 1, "to": 8}, "slo": "ttft_p99<1s",
    });
    let config = EngineConfig::of_model("chatglm3-6b").expect("a model");
    let (plan, context) = planned(keys, folder.path());
    let found = search(&plan, &context, &config).expect("a search");
    assert_eq!(found.summary.searches.len(), 1);
    let (plan, context) = planned(cell, folder.path());
    let error = search(&plan, &context, &config).err();
    assert!(matches!(error, Some(RunError::Plan(_))), "the plan contains no search");
}
