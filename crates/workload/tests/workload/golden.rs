//! Tests that the first prompts for seed 1 never change: after a change, earlier runs could not be
//! repeated. `UPDATE_FIXTURES=1` writes the golden files again.

use inferometer_model::request::Request;
use inferometer_plan::WorkloadPlan;
use inferometer_workload::PromptForm;

use crate::conversation::{conversations, planned};
use crate::support::{cell, compare_with_golden, place, sources, spec};
use crate::trace::traces;
use crate::{drawn, rows};

#[test]
fn the_first_prompts_of_seed_1_equal_the_golden_files() {
    let drawn = [("drawn", drawn::around()), ("prefix", drawn::groups())];
    let plain = sources().map(|plan| (plan.name(), plan));
    for (name, plan) in plain.into_iter().chain(drawn).chain(rows::fixtures()) {
        compare_with_golden(name, &first_prompts(&plan));
    }
    for (name, plan) in traces() {
        compare_with_golden(&format!("trace-{name}"), &first_prompts(&plan));
    }
}

fn first_prompts(plan: &WorkloadPlan) -> Vec<Request> {
    let mut spec = spec(plan, "golden");
    let forms = [PromptForm::Text, PromptForm::TokenIds];
    let first = |form| {
        spec.context.form = form;
        spec.requests(cell(48), &place(), 3).expect("prompts").requests
    };
    forms.into_iter().flat_map(first).collect()
}

#[test]
fn the_first_conversations_of_seed_1_equal_the_golden_files() {
    for (name, plan) in conversations() {
        let spec = spec(&plan, "golden");
        let found = planned(&spec, 3).concat();
        compare_with_golden(&format!("conversation-{name}"), &found);
    }
}
