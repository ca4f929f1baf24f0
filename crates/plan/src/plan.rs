//! A resolved plan: all options that determine the measurement. All defaults are filled in.
//!
//! [`Spec::resolve`] makes a plan, and refuses an invalid spec.

use std::time::Duration;

use inferometer_load::{ClosedPlan, PassPlan};
use inferometer_metrics::request_objective::RequestObjective;
use inferometer_metrics::slo::Objective;
use inferometer_model::cell::CellPlan;
use inferometer_model::request::{Sampling, sha256_hex};
use inferometer_model::time::optional_nanoseconds;
use serde::{Deserialize, Serialize};

use crate::parts::{
    LaunchPlan, ObservePlan, Repeat, TargetPlan, Timeouts, Warmup, WorkloadPlan, is_false,
};
use crate::procedure::Procedure;
use crate::spec::Spec;
use crate::stop::StopPlan;

/// What to measure and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The server under test.
    pub target: TargetPlan,
    /// How the run starts the server; absent if the run does not start it. If the run must choose a free
    /// port, the address in `target` has port 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<LaunchPlan>,
    /// The tokenizer that the user named: a file, a folder or a hub id; absent if the user named none.
    pub tokenizer: Option<String>,
    /// The source of the prompts.
    pub workload: WorkloadPlan,
    /// The grid, in the order in which it is measured.
    pub cells: Vec<CellPlan>,
    /// The passes of each cell, in order.
    pub passes: Vec<PassPlan>,
    /// The requests that are sent before each cell and are not reported.
    pub warmup: Warmup,
    /// The pause between two passes. No request is sent during the pause, so that a pass does not affect
    /// the next one.
    #[serde(default, with = "optional_nanoseconds", skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<Duration>,
    /// How many times the passes of each cell are run.
    #[serde(default)]
    pub repeat: Repeat,
    /// How the server chooses output tokens, and whether it streams them.
    pub sampling: Sampling,
    /// Whether prompts are sent as token ids.
    pub token_ids: bool,
    /// Whether the server's prefix cache is emptied before each pass.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reset_prefix_cache: bool,
    /// Whether the input length includes the tokens of the chat template.
    pub count_template: bool,
    /// The time limits of requests.
    pub timeouts: Timeouts,
    /// The run fails if more than this share of the requests of a pass fails; from 0 to 1.
    pub max_failures: f64,
    /// Which metrics of the server and its GPUs are sampled while passes run.
    #[serde(default, skip_serializing_if = "ObservePlan::is_default")]
    pub observe: ObservePlan,
    /// Objectives on statistics of the run.
    pub slo: Vec<Objective>,
    /// Objectives on each request. The goodput counts the requests that meet all of them.
    #[serde(default)]
    pub goodput: Vec<RequestObjective>,
    /// How the passes are chosen and repeated.
    #[serde(flatten)]
    pub procedure: Procedure,
    /// When passes are ended early. A value that never ends a pass is not serialized.
    #[serde(default, skip_serializing_if = "StopPlan::is_never")]
    pub stop: StopPlan,
    /// The seed of every random choice.
    pub seed: u64,
    /// The spec from which the plan was resolved, so that a user can repeat the measurement. Headers,
    /// proxy, store and the path of a request dump are left out.
    #[serde(rename = "asked", default)]
    pub spec: Box<Spec>,
}

impl Plan {
    /// A plan from the JSON text that a store or a bundle contains.
    ///
    /// # Errors
    /// If the text is not a plan: for example, if an incompatible version of this program wrote it.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The passes of a cell. If the workload sets a number of requests in flight for the cell, closed
    /// loops have that concurrency.
    pub fn passes_of(&self, cell: CellPlan) -> Vec<PassPlan> {
        let mut passes = self.passes.clone();
        if let Some(in_flight) = self.workload.in_flight(cell) {
            for pass in &mut passes {
                if let PassPlan::Closed(ClosedPlan { concurrency, .. }) = pass {
                    *concurrency = in_flight.into();
                }
            }
        }
        passes
    }

    /// The identity of the plan: SHA-256 over its JSON, without [`Self::spec`]. If the plan has the hash of a
    /// card, profile or model file of the embedded engine, the path of this file does not count.
    pub fn hash(&self) -> String {
        // Specs that resolve to the same measurement have the same hash.
        let mut measured = Self { spec: Box::default(), ..self.clone() };
        // The contents of a file identify it, not its path.
        if let TargetPlan::Embedded {
            model, profile, engine_flags, card_hash, file_hashes, ..
        } = &mut measured.target
        {
            if card_hash.is_some() {
                engine_flags.remove("card");
            }
            if file_hashes.contains_key("profile") {
                *profile = None;
            }
            if file_hashes.contains_key("model") {
                model.clear();
            }
        }
        sha256_hex(
            &serde_json::to_vec(&measured)
                .expect("invariant: a plan can always be written as JSON"),
        )
    }
}
