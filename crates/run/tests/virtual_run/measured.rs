//! A run over a network in memory, against the embedded engine.

use inferometer_drive::Endpoint;
use inferometer_engine::serve::{Fault, Front, FrontConfig};
use inferometer_engine::{Engine, EngineConfig};
use inferometer_model::target::{Facts, Target};
use inferometer_net::Net;
use inferometer_net::http::Server;
use inferometer_net::virtual_net::hosts;
use inferometer_plan::spec::Spec;
use inferometer_plan::{Plan, TargetPlan};
use inferometer_run::{
    Context, Events, Finished, ReadyTarget, ReportFiles, RunError, RunRequest, Servers,
    VirtualNetwork, carry_out_over, resolve,
};
use inferometer_wire::dialect::dialect;
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
    let mut nets = hosts(1 + loops);
    let (mut server_net, client) = (nets.remove(loops), nets.remove(0));
    let address = server_net
        .listen("127.0.0.1:0".parse().expect("valid in this test"))
        .expect("valid in this test");
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
    let dialect = dialect("openai-completions").expect("valid in this test");
    let endpoint = Endpoint {
        dialect,
        authority: "engine".to_owned(),
        path: dialect.path(plan.sampling.stream).to_owned(),
        headers: Vec::new(),
        model: model.to_owned(),
    };
    let target = Target {
        dialect: dialect.name.to_owned(),
        model: model.to_owned(),
        simulated: true,
        facts: Facts { origin: context.origin.clone(), ..Facts::default() },
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
        others: Vec::new(),
    };
    let network = VirtualNetwork::new(client, Server::new(front), server_net).with_loops(nets);
    let request = RunRequest { plan, context, events };
    carry_out_over(network, request, &mut Servers::default(), |_, _| Ok(ready))
}
