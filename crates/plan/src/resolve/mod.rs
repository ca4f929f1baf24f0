//! Resolves a spec to a plan: fills in all defaults, or returns all mistakes together. This module does no
//! I/O.

mod ab;
mod arrivals;
mod cells;
mod conversations;
mod passes;
mod repeats;
mod search;
mod spelled_out;
mod spread;
mod sweep;
mod target;

use inferometer_metrics::request_objective::{self, RequestObjective};
use inferometer_metrics::slo::{self, JudgedMetric, Objective};
use inferometer_model::request::Sampling;

use crate::parts::{Timeouts, Warmup};
use crate::plan::Plan;
use crate::procedure::Procedure;
use crate::spec::limits::{MAX_LOOPS, MAX_NAME, MAX_PASSES};
use crate::spec::{Asked, Known, Mistakes, Spec, SpecError, Value, values};
use crate::stop::StopPlan;

impl Spec {
    /// Resolves the spec to a plan. `known` has the names that other crates define.
    ///
    /// # Errors
    /// All mistakes of the spec, each with its key.
    pub fn resolve(&self, known: &Known<'_>) -> Result<Plan, Vec<SpecError>> {
        let mut mistakes = Mistakes::default();
        let workload = self.workload.resolve(self.asked(), &mut mistakes);
        let procedure = self.procedure(&mut mistakes);
        let mut plan = Plan {
            target: self.target(known, &workload, &mut mistakes),
            launch: self.launch(&mut mistakes),
            tokenizer: self.tokenizer.clone(),
            cells: self.cells(&workload, &mut mistakes),
            passes: passes::passes(self, &workload, &procedure, &mut mistakes),
            workload,
            warmup: mistakes
                .read("warmup", self.warmup.as_ref(), values::warmup)
                .unwrap_or(Warmup::Requests(self.servers().max(1))),
            cooldown: mistakes.read("cooldown", self.cooldown.as_ref(), values::span),
            repeat: repeats::repeat(self, &mut mistakes),
            sampling: self.sampling(&mut mistakes),
            token_ids: self.token_ids.unwrap_or(false),
            reset_prefix_cache: self.reset_prefix_cache.unwrap_or(false),
            count_template: self.count_template.unwrap_or(false),
            timeouts: self.timeouts(&mut mistakes),
            max_failures: mistakes
                .read("max_failures", self.max_failures.as_ref(), values::share)
                .unwrap_or(0.01),
            observe: self.observe.resolve(&mut mistakes),
            slo: self.objectives(&mut mistakes),
            goodput: self.request_objectives(&mut mistakes),
            seed: self.seed.unwrap_or(0),
            procedure,
            stop: self.stop(&mut mistakes),
            spec: Box::new(Self {
                header: None,
                proxy: None,
                store: None,
                dump_workload: None,
                ..self.clone()
            }),
        };
        ab::add(self, &mut plan, &mut mistakes);
        if let Some(loops) = self.loops.filter(|loops| !(1..=MAX_LOOPS).contains(loops)) {
            mistakes.add("loops", format!("{loops} is not a number from 1 to {MAX_LOOPS}"));
        }
        too_large(&plan, &mut mistakes);
        if mistakes.0.is_empty() { Ok(plan) } else { Err(mistakes.0) }
    }

    /// The search or the sweep of the spec. [`ab::add`] adds a comparison, because it depends on the other options.
    fn procedure(&self, mistakes: &mut Mistakes) -> Procedure {
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
        let temperature = self.temperature.unwrap_or(1.0);
        if !(temperature.is_finite() && temperature >= 0.0) {
            mistakes.add("temperature", format!("{temperature} is not a number of at least 0"));
        }
        Sampling {
            temperature,
            // The prompt of a text block asks for a text of a given length in characters, so the model
            // itself must end the answer.
            ignore_eos: self.ignore_eos.unwrap_or(self.workload.name() != "blocks"),
            stream: self.stream.unwrap_or(true),
            extra_body: self.extra_body.clone().unwrap_or_default(),
        }
    }

    fn stop(&self, mistakes: &mut Mistakes) -> StopPlan {
        let given = self.stop_at_error_rate.as_ref();
        StopPlan {
            when_saturated: self.stop_when_saturated.unwrap_or(false),
            at_error_rate: mistakes.read("stop_at_error_rate", given, values::share),
        }
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
    fn lacks_stream(&self, metric: JudgedMetric) -> bool {
        self.stream == Some(false) && metric.needs_stream()
    }

    fn timeouts(&self, mistakes: &mut Mistakes) -> Timeouts {
        let mut read =
            |key, value: &Option<Value>| mistakes.read(key, value.as_ref(), values::span);
        let seconds = std::time::Duration::from_secs;
        Timeouts {
            connect: read("connect_timeout", &self.connect_timeout).or(Some(seconds(10))),
            first_token: read("first_token_timeout", &self.first_token_timeout),
            between_events: read("event_timeout", &self.event_timeout),
            total: read("timeout", &self.timeout).or(Some(seconds(6 * 3600))),
        }
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
