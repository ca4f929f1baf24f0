//! A resolved plan: everything that decides what is measured, nothing left to default.
//!
//! A plan is made by [`Spec::resolve`] and cannot be built from an invalid spec.

use std::time::Duration;

use inferometer_load::PassPlan;
use inferometer_metrics::request_objective::RequestObjective;
use inferometer_metrics::slo::Objective;
use inferometer_model::cell::CellPlan;
use inferometer_model::request::{Sampling, sha256_hex};
use inferometer_model::time::optional_nanoseconds;
use serde::{Deserialize, Serialize};

use crate::parts::{
    LaunchPlan, ObservePlan, Repeat, TargetPlan, Timeouts, Warmup, WorkloadPlan, is_false,
};
use crate::search::SearchPlan;
use crate::spec::Spec;

/// What to measure and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The server under test.
    pub target: TargetPlan,
    /// How it is started, where the run does that; its address in `target` has then port 0 if a
    /// free one is to be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<LaunchPlan>,
    /// The tokenizer that the user named: a file, a folder or a hub id.
    pub tokenizer: Option<String>,
    /// Where prompts come from.
    pub workload: WorkloadPlan,
    /// The grid, in the order in which it is measured.
    pub cells: Vec<CellPlan>,
    /// The passes of each cell, in order.
    pub passes: Vec<PassPlan>,
    /// What is sent before each cell and not reported.
    pub warmup: Warmup,
    /// The rest after each pass, during which nothing is sent, so that one pass does not reach
    /// into the next.
    #[serde(default, with = "optional_nanoseconds", skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<Duration>,
    /// How often the passes of each cell are carried out.
    #[serde(default)]
    pub repeat: Repeat,
    /// How output is chosen and delivered.
    pub sampling: Sampling,
    /// Send prompts as token ids.
    pub token_ids: bool,
    /// Empty the server's prefix cache before each pass.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reset_prefix_cache: bool,
    /// Fit the prompt and the chat template around it, together, to the input length.
    pub count_template: bool,
    /// When to give a request up.
    pub timeouts: Timeouts,
    /// The share of failed requests of a pass above which the run fails.
    pub max_failures: f64,
    /// What is asked of the server and its cards while passes run.
    #[serde(default, skip_serializing_if = "ObservePlan::is_default")]
    pub observe: ObservePlan,
    /// Objectives judged on the run.
    pub slo: Vec<Objective>,
    /// Objectives judged on each request; those that meet all of them are the goodput.
    #[serde(default)]
    pub goodput: Vec<RequestObjective>,
    /// The highest load is looked for that meets the objectives: there is one pass then, which
    /// its trials vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchPlan>,
    /// Makes every random choice.
    pub seed: u64,
    /// What was asked for, as a plan file would say it: for a reader who wants to do it again.
    /// No header, no key, no place for files.
    #[serde(default)]
    pub asked: Box<Spec>,
}

impl Plan {
    /// The passes of a cell: those of the plan, with as many in flight as the workload says for
    /// the cell, where it does.
    pub fn passes_of(&self, cell: CellPlan) -> Vec<PassPlan> {
        let mut passes = self.passes.clone();
        if let Some(in_flight) = self.workload.in_flight(cell) {
            for pass in &mut passes {
                if let PassPlan::Closed { concurrency, .. } = pass {
                    *concurrency = in_flight.into();
                }
            }
        }
        passes
    }

    /// The plan's identity: SHA-256 over its JSON.
    pub fn hash(&self) -> String {
        // Two ways of asking for the same are the same plan.
        let measured = Self { asked: Box::default(), ..self.clone() };
        sha256_hex(&serde_json::to_vec(&measured).expect("invariant: a plan is plain data"))
    }
}
