//! Functions that several test modules use.

use std::path::Path;
use std::sync::Arc;

use inferometer_model::cell::CellPlan;
use inferometer_model::request::{Prompt, Request};
use inferometer_model::tokenizer::Tokenizer;
use inferometer_plan::WorkloadPlan;
use inferometer_workload::{OpenWorkload, PromptScope, embedded};

/// A ShareGPT file that was written for these tests.
pub const SHAREGPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/sharegpt.json");

/// The workloads `random` and `sharegpt`.
pub fn sources() -> [WorkloadPlan; 2] {
    [WorkloadPlan::Random, WorkloadPlan::Sharegpt { dataset: SHAREGPT.to_owned() }]
}

/// Opens a workload with the embedded tokenizer and seed 1.
pub fn spec(plan: &WorkloadPlan, salt: &str) -> OpenWorkload {
    OpenWorkload::open(plan, embedded(), 1, salt).expect("the source opens")
}

/// A cell with this input length and the output length 8.
pub fn cell(input_length: u32) -> CellPlan {
    CellPlan { input_length, output_length: 8 }
}

/// The scope of the first pass of a run.
pub fn place() -> PromptScope {
    PromptScope::new("0", "one_by_one", 0)
}

/// The token ids of the prompt for a server with this tokenizer.
pub fn ids(tokenizer: &Arc<dyn Tokenizer>, request: &Request) -> Vec<u32> {
    match &request.prompt {
        Prompt::Text(text) => tokenizer.encode(text).expect("text encodes"),
        Prompt::TokenIds(ids) => ids.clone(),
        Prompt::Messages(messages) => panic!("no workload here makes {messages:?}"),
    }
}

/// Compares requests with those of `fixtures/golden-NAME.json`. If `UPDATE_FIXTURES` is set, it writes
/// this file first.
pub fn compare_with_golden(name: &str, found: &[Request]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let file = folder.join(format!("golden-{name}.json"));
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        let text = serde_json::to_string_pretty(found).expect("plain data");
        std::fs::write(&file, text + "\n").expect("a writable fixture");
    }
    let bytes = std::fs::read(&file).expect("a golden file");
    let golden: Vec<Request> = serde_json::from_slice(&bytes).expect("requests");
    assert_eq!(found, golden, "{name}");
}

/// A plan with this workload, for which nothing else is given.
pub fn plan_of(workload: WorkloadPlan) -> inferometer_plan::Plan {
    use inferometer_plan::spec::{Known, Spec};
    let mut spec = Spec::default();
    spec.workload.workload = Some(workload.name().to_owned());
    spec.workload.dataset = workload.dataset().map(str::to_owned);
    let known = Known { dialects: &[], models: &["chatglm3-6b"], model_of_hub_id: |_| None };
    let mut plan = spec.resolve(&known).expect("a plan");
    plan.workload = workload;
    plan
}
