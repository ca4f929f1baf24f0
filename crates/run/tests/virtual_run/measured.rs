//! A run over a network in memory, against the embedded engine.

use inferometer_engine::serve::{Fault, Front, FrontConfig};
use inferometer_engine::{Engine, EngineConfig};
use inferometer_net::http::Server;
use inferometer_plan::spec::Spec;
use inferometer_plan::{Plan, TargetPlan};
use inferometer_run::{
    Context, Events, Finished, ReportFiles, RunError, RunRequest, carry_out_in_memory, resolve,
};
use serde_json::{Value, json};
use tempfile::TempDir;

const MODEL: &str = "chatglm3-6b";

/// A small plan with additional keys, and a context whose files are in `folder`.
pub fn planned(folder: &TempDir, keys: Value) -> (Plan, Context) {
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

/// Carries out a plan against an engine with these faults.
pub fn measure(
    plan: &Plan,
    context: &Context,
    events: &Events,
    faults: &[&str],
) -> Result<Finished, RunError> {
    measure_on(1, plan, context, events, faults)
}

/// Like [`measure`], with a client of `loops` event loops.
pub fn measure_on(
    loops: usize,
    plan: &Plan,
    context: &Context,
    events: &Events,
    faults: &[&str],
) -> Result<Finished, RunError> {
    let model = match &plan.target {
        TargetPlan::Embedded { model, .. } => model,
        TargetPlan::Server { model, .. } => model.as_deref().unwrap_or(MODEL),
    };
    let engine = Engine::new(EngineConfig::of_model(model).expect("valid in this test"))
        .expect("valid in this test");
    let faults =
        faults.iter().map(|text| Fault::parse(text).expect("valid in this test")).collect();
    let config = FrontConfig { faults, ..FrontConfig::new(model) };
    let front =
        Front::new(engine, config, inferometer_workload::embedded()).expect("valid in this test");
    let request = RunRequest { plan, context, events };
    carry_out_in_memory(request, loops, model, Server::new(front))
}
