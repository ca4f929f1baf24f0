//! A resolved plan: all options that determine the measurement, with all defaults filled in. Each option stands twice in
//! this file: as a field of [`Plan`], and in [`Spec::resolve`], which fills it in or collects the mistakes.

mod ab;
mod arrivals;
mod cells;
mod context;
mod conversations;
mod passes;
mod pooling;
mod prefill;
mod repeats;
mod search;
mod spelled_out;
mod spread;
mod sweep;
mod target;
mod timeouts;

use std::time::Duration;

use inferometer_model::load::Abandon;
use inferometer_model::metrics::request_objective::{self, RequestObjective};
use inferometer_model::metrics::slo::{self, JudgedMetric, Objective};
use inferometer_model::time::optional_nanoseconds;
use inferometer_model::{CellPlan, ClosedPlan, PassPlan, Sampling, SplitThink};
use inferometer_model::{request::asks_for_form, sha256::sha256_hex};
use serde::{Deserialize, Serialize};

use crate::spec::limits::{MAX_LOOPS, MAX_NAME, MAX_PASSES};
use crate::spec::{Asked, Known, Mistakes, PlanCommand, Spec, SpecError, refuse, values, warmup};
use crate::stop::StopPlan;
use crate::{
    AdapterPlan, LaunchPlan, MediaPlan, ObservePlan, PoolingPlan, Procedure, Repeat, TargetPlan,
    Warmup, WorkloadPlan,
};

pub use timeouts::Timeouts;

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
    /// The pictures and sounds of requests; absent if they have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaPlan>,
    /// The adapters that requests name; absent if they name only the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapters: Option<AdapterPlan>,
    /// The inputs of each request; absent if requests generate text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooling: Option<PoolingPlan>,
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
    /// How the text of answers is split into reasoning and answer; absent if it is not split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_think: Option<SplitThink>,
    /// Whether prompts are sent as token ids.
    pub token_ids: bool,
    /// Whether the server's prefix cache is emptied before each pass.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reset_prefix_cache: bool,
    /// Whether the input length includes the tokens of the chat template.
    pub count_template: bool,
    /// The time limits of requests.
    pub timeouts: Timeouts,
    /// The maximum number of requests that have been sent and have no token yet; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_prefill: Option<u32>,
    /// The clients that leave before their answers are complete; absent if all stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abandon: Option<Abandon>,
    /// The run fails if more than this share of the requests of a pass fails; from 0 to 1.
    pub max_failures: f64,
    /// Which metrics of the server and its GPUs are sampled while passes run.
    #[serde(default, skip_serializing_if = "inferometer_model::is_default")]
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
    #[serde(default, skip_serializing_if = "inferometer_model::is_default")]
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

    /// Moves the secrets in the command of the server out of all that is stored and shown.
    fn hide_secrets(&mut self) {
        let Some(launch) = &mut self.launch else { return };
        let secrets = launch.secrets();
        if !secrets.is_empty() {
            launch.hide(&secrets);
            self.spec.server = self.spec.server.take().map(|server| server.redacted(&secrets));
        }
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

impl Spec {
    /// Resolves the spec to a plan. `known` has the names that other crates define.
    ///
    /// # Errors
    /// All mistakes of the spec, each with its key.
    pub fn resolve(&self, known: &Known<'_>) -> Result<Plan, Vec<SpecError>> {
        let mut mistakes = Mistakes::default();
        let workload = match self.classes(&mut mistakes) {
            Some(classes) => WorkloadPlan::Classes(classes),
            None => self.workload.resolve(self.asked(), &mut mistakes),
        };
        let procedure = self.procedure(&mut mistakes);
        let passes = passes::passes(self, &workload, &procedure, &mut mistakes);
        let mut plan = Plan {
            target: self.target(known, &workload, &mut mistakes),
            launch: self.launch(&mut mistakes),
            tokenizer: self.tokenizer.clone(),
            cells: self.cells(&workload, &mut mistakes),
            max_in_prefill: prefill::limit(self, &passes, &mut mistakes),
            passes,
            workload,
            media: self.media(&mut mistakes),
            adapters: self.adapters(&mut mistakes),
            pooling: self.pooling(&mut mistakes),
            warmup: mistakes
                .read("warmup", self.warmup.as_ref(), warmup::warmup)
                .map(|warmup| warmup.limited(self.max_in_flight))
                .unwrap_or(Warmup::Requests(self.servers().max(1))),
            cooldown: mistakes.read("cooldown", self.cooldown.as_ref(), values::span),
            repeat: repeats::repeat(self, &mut mistakes),
            sampling: self.sampling(&mut mistakes),
            split_think: self.split_think(&mut mistakes),
            token_ids: self.token_ids.unwrap_or(false),
            reset_prefix_cache: self.reset_prefix_cache.unwrap_or(false),
            count_template: self.count_template.unwrap_or(false),
            timeouts: Timeouts::of(self, &mut mistakes),
            abandon: self.abandon(&mut mistakes),
            max_failures: mistakes
                .read("max_failures", self.max_failures.as_ref(), values::share)
                .unwrap_or(0.01),
            observe: self.observe.resolve(&mut mistakes),
            slo: self.objectives(&mut mistakes),
            goodput: self.request_objectives(&mut mistakes),
            seed: self.seed.unwrap_or(0),
            procedure,
            stop: StopPlan::of(self, &mut mistakes),
            spec: Box::new(Self {
                header: None,
                proxy: None,
                store: None,
                dump_workload: None,
                ..self.clone()
            }),
        };
        plan.hide_secrets();
        context::set(&mut plan);
        ab::add(self, &mut plan, &mut mistakes);
        self.price.check(self.sweep.is_some(), &mut mistakes);
        if let Some(loops) = self.loops.filter(|loops| !(1..=MAX_LOOPS).contains(loops)) {
            mistakes.add("loops", format!("{loops} is not a number from 1 to {MAX_LOOPS}"));
        }
        too_large(&plan, &mut mistakes);
        if mistakes.0.is_empty() { Ok(plan) } else { Err(mistakes.0) }
    }

    /// The search or the sweep of the spec. [`ab::add`] adds a comparison, because it depends on the other options.
    fn procedure(&self, mistakes: &mut Mistakes) -> Procedure {
        for (command, is_given) in [
            (PlanCommand::Search, self.search.is_some()),
            (PlanCommand::Sweep, self.sweep.is_some()),
            (PlanCommand::Ab, self.ab.is_some()),
        ] {
            if is_given {
                refuse(self, command, mistakes);
            }
        }
        let search = search::search(self, mistakes);
        let sweep = sweep::sweep(self, mistakes);
        match (search, sweep) {
            (None, None) => Procedure::Passes,
            (None, Some(sweep)) => Procedure::Sweep(sweep),
            (Some(search), _) => Procedure::Search(search),
        }
    }

    /// The facts about the other keys on which the workload depends.
    fn asked(&self) -> Asked {
        Asked {
            lengths: self.input_lengths.is_some() || self.output_lengths.is_some(),
            own_load: passes::has_own_load(self) || self.passes.is_some(),
            is_demonstration: passes::is_demonstration(self),
        }
    }

    fn sampling(&self, mistakes: &mut Mistakes) -> Sampling {
        let pools = self.pools();
        let temperature = self.temperature.unwrap_or(1.0);
        if !(temperature.is_finite() && temperature >= 0.0) {
            mistakes.add("temperature", format!("{temperature} is not a number of at least 0"));
        }
        Sampling {
            temperature,
            // The prompt of a text block asks for a text of a given length in characters, and an answer of a given
            // form has its own end, so the model itself must end the answer.
            ignore_eos: self.ignore_eos.unwrap_or_else(|| {
                let has_form = self.extra_body.as_ref().is_some_and(asks_for_form);
                self.workload.name() != "blocks" && !pools && !has_form
            }),
            stream: self.stream.unwrap_or(!pools),
            extra_body: self.extra_body.clone().unwrap_or_default(),
        }
    }

    /// The media of requests. Requests that wait for each other, and requests that are written to a file, have none.
    fn media(&self, mistakes: &mut Mistakes) -> Option<MediaPlan> {
        let media = self.media.resolve(mistakes)?;
        let key = if media.images.is_some() { "images" } else { "audio" };
        let workload = self.workload.name();
        if ["agents", "conversation"].contains(&workload) {
            let problem = format!("is for single requests, not for the workload {workload}");
            mistakes.add(key, problem);
        }
        if self.token_ids == Some(true) {
            mistakes.add(key, "cannot be sent with token ids; leave out --token-ids");
        }
        if self.dump_workload.is_some() {
            mistakes.add(
                "dump_workload",
                "has no pictures and sounds; repeat them with the same --seed and --salt",
            );
        }
        Some(media)
    }

    fn split_think(&self, mistakes: &mut Mistakes) -> Option<SplitThink> {
        let text = self.split_think.as_ref()?;
        let how = SplitThink::named(text);
        if how.is_none() {
            mistakes.add("split_think", format!("`{text}` is not one of tagged, opened"));
        }
        let choices = self.extra_body.iter().find_map(|fields| fields.get("n")?.as_u64());
        if choices > Some(1) {
            mistakes.add("split_think", "cannot split several answers (`n` in --extra-body)");
        }
        how
    }

    fn objectives(&self, mistakes: &mut Mistakes) -> Vec<Objective> {
        let Some(text) = &self.slo else { return Vec::new() };
        let objectives = slo::parse(text).unwrap_or_else(|errors| {
            errors.iter().for_each(|error| mistakes.add("slo", error.to_string()));
            Vec::new()
        });
        for objective in objectives.iter().filter(|objective| self.lacks_stream(objective.metric)) {
            mistakes.add("slo", without_stream(&objective.text));
        }
        objectives
    }

    fn request_objectives(&self, mistakes: &mut Mistakes) -> Vec<RequestObjective> {
        let Some(text) = &self.goodput else { return Vec::new() };
        let objectives = request_objective::parse(text).unwrap_or_else(|errors| {
            errors.iter().for_each(|error| mistakes.add("goodput", error.to_string()));
            Vec::new()
        });
        for objective in objectives.iter().filter(|objective| self.lacks_stream(objective.metric)) {
            mistakes.add("goodput", without_stream(&objective.text));
        }
        objectives
    }

    /// Whether the metric needs streamed answers, but the spec turns streaming off.
    pub(crate) fn lacks_stream(&self, metric: JudgedMetric) -> bool {
        (self.stream == Some(false) || self.pools()) && metric.needs_stream()
    }
}

/// The mistake for an objective that needs streamed answers, if the spec turns streaming off.
fn without_stream(objective: &str) -> String {
    format!("`{objective}` cannot be judged without streaming")
}

/// Adds a mistake if the plan has too many passes, or if the name of the model is too long.
fn too_large(plan: &Plan, mistakes: &mut Mistakes) {
    let repeats = plan.repeat.at_most as usize;
    let passes = plan.cells.len().saturating_mul(plan.passes.len()).saturating_mul(repeats);
    if passes > MAX_PASSES {
        let problem = format!(
            "{} cells x {} loads x {repeats} repeats are {passes} passes; the maximum for one run \
                is {MAX_PASSES}",
            plan.cells.len(),
            plan.passes.len()
        );
        mistakes.add("repeat", problem);
    }
    if plan.spec.model.as_ref().is_some_and(|name| name.chars().count() > MAX_NAME) {
        mistakes.add("model", format!("is a name of more than {MAX_NAME} characters"));
    }
}

#[cfg(test)]
mod tests;
