//! The first prompts for seed 1, as they are for good: a change here makes runs that were recorded
//! before impossible to repeat. `UPDATE_FIXTURES=1` writes the files anew.

use std::path::Path;

use inferometer_core::request::Request;
use inferometer_workload::{PromptForm, requests};

use crate::support::{cell, place, sources, spec};
use crate::{drawn, rows};

#[test]
fn the_first_prompts_of_seed_one_are_those_of_the_fixtures() {
    let drawn = [("drawn", drawn::around()), ("prefix", drawn::groups())];
    let plain = sources().map(|plan| (plan.name(), plan));
    for (name, plan) in plain.into_iter().chain(drawn).chain(rows::fixtures()) {
        let mut found = Vec::new();
        let mut spec = spec(&plan, "golden");
        for form in [PromptForm::Text, PromptForm::TokenIds] {
            spec.shared.form = form;
            found.extend(requests(&spec, cell(48), &place(), 3).unwrap().requests);
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let file = folder.join(format!("golden-{name}.json"));
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            let text = serde_json::to_string_pretty(&found).unwrap();
            std::fs::write(&file, text + "\n").unwrap();
        }
        let golden: Vec<Request> = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(found, golden, "{name}");
    }
}
