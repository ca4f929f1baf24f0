//! Predicts the passes of a stored run whose engine, card and model are known, and compares the predictions with the
//! measured figures. This shows the errors of a profile on runs that were not used in its fit. Nothing is stored.

use std::collections::BTreeMap;
use std::str::FromStr;

use inferometer_analysis::prediction::PassPrediction;
use inferometer_analysis::summary::Summary;
use inferometer_engine::confidence::card_in_words;
use inferometer_engine::profile::{Profile, profiles};
use inferometer_engine::ranges::run_ranges;
use inferometer_engine::{EngineConfig, Weights, choose};
use inferometer_model::cell::CellPlan;
use inferometer_store::StoredRun;

use crate::measured_runs::{MeasuredPass, measured_passes};
use crate::ranges::compared;

/// Runs with more requests than this are not predicted.
const MOST_REQUESTS: u64 = 100_000;
/// The names of the facts that may state the card.
const CARD_FACTS: [&str; 3] = ["card", "gpu", "accelerator"];

/// The predictions of a run's passes.
pub struct Expected {
    /// The name of the profile.
    pub profile: String,
    /// The engine, the card and the known settings of the server, as flags: `--engine vllm-0.23 --card h100-sxm`.
    pub flags: String,
    /// The prediction of each pass with its cell, compared with the measurement.
    pub passes: Vec<(CellPlan, PassPrediction)>,
}

/// Returns the engine that a run was measured on, if its name, version, card and model are known. `profile` replaces
/// the built-in profile.
///
/// # Errors
/// If the name, the version, the card or the model is unknown, if a setting of the engine cannot be simulated, or if
/// there is no profile of the engine on the card. The error states the reason.
pub fn known_engine(summary: &Summary, profile: Option<&Profile>) -> Result<EngineConfig, String> {
    let target = &summary.target;
    let engine = target.engine.as_ref().ok_or("its engine is not known")?.to_lowercase();
    let version = target.engine_version.as_ref().ok_or("the version of its engine is not known")?;
    let stated = CARD_FACTS.iter().find_map(|fact| target.facts.get(*fact));
    let stated = stated.map(String::as_str).or_else(|| seen_card(summary));
    let card = stated.and_then(card_in_words).ok_or("its card is not known")?;
    let mut config = EngineConfig::of_model(&target.model).map_err(|error| error.to_string())?;
    let facts = Facts(&target.facts);
    config.weights = facts.weights()?;
    config.max_model_len = facts.read("max_model_len")?;
    config.max_num_seqs = facts.read("max_num_seqs")?;
    config.max_num_batched_tokens = facts.read("max_num_batched_tokens")?;
    config.tensor_parallel_size = facts.read("tensor_parallel_size")?;
    config.pipeline_parallel_size = facts.read("pipeline_parallel_size")?;
    let cards = summary.environment.cards.len();
    if cards > 1 && config.tensor_parallel_size.or(config.pipeline_parallel_size).is_none() {
        return Err(format!("it is not known how many of the {cards} cards the server uses"));
    }
    config.gpu_memory_utilization = facts.read("gpu_memory_utilization")?;
    config.block_size = facts.read("block_size")?;
    let weights = config.weights.unwrap_or(config.model.weights);
    config.profile = match profile {
        Some(own) => own.clone(),
        None => {
            let named = format!("{engine}-{}", version.trim_start_matches('v'));
            choose(&config.profile, Some(&named), Some(&card.name), (&config.model.name, weights))
                .map_err(|error| error.to_string())?
        }
    };
    if config.profile.card != card.name || config.profile.steps.is_none() {
        return Err(format!("there is no profile of {engine} {version} on {}", card.name));
    }
    config.resolve().map_err(|error| error.to_string())?;
    Ok(config)
}

/// The facts that a server stated about itself.
struct Facts<'a>(&'a BTreeMap<String, String>);

impl Facts<'_> {
    fn read<T: FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let wrong = |text: &String| format!("its {name}, `{text}`, cannot be simulated");
        self.0.get(name).map(|text| text.parse().map_err(|_| wrong(text))).transpose()
    }

    fn weights(&self) -> Result<Option<Weights>, String> {
        let stated = self.0.get("weights").or(self.0.get("quantization"));
        let Some(name) = stated.filter(|name| !["none", "None", ""].contains(&name.as_str()))
        else {
            return Ok(None);
        };
        let unknown = || format!("its kind of weights, `{name}`, cannot be simulated");
        Weights::parse(name).map(Some).ok_or_else(unknown)
    }
}

/// The name of the machine's cards, if all have the same name.
fn seen_card(summary: &Summary) -> Option<&str> {
    let cards = &summary.environment.cards;
    let mut names: Vec<&str> = cards.iter().filter_map(|card| card.name.as_deref()).collect();
    names.dedup();
    match names.as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

/// The known settings of a server, as flags of `predict` and `calibrate`.
fn flags_of(config: &EngineConfig) -> String {
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    let settings = [
        ("weights", config.weights.map(|weights| weights.to_string())),
        ("tensor-parallel-size", number(config.tensor_parallel_size)),
        ("pipeline-parallel-size", number(config.pipeline_parallel_size)),
        ("max-model-len", number(config.max_model_len)),
        ("max-num-seqs", number(config.max_num_seqs)),
        ("max-num-batched-tokens", number(config.max_num_batched_tokens)),
    ];
    let given = settings.into_iter().filter_map(|(name, value)| Some((name, value?)));
    given.map(|(name, value)| format!(" --{name} {value}")).collect()
}

/// Predicts the passes of a run.
///
/// # Errors
/// If the engine of the run is not known ([`known_engine`]), or if its passes cannot be simulated.
pub fn expected(run: &StoredRun, profile: Option<&Profile>) -> Result<Expected, String> {
    let summary = run.summary.as_ref().ok_or("it has no results")?;
    if summary.target.simulated {
        return Err(
            "it was measured on the embedded engine, which also makes the predictions".to_owned()
        );
    }
    let planned = |summary: &Summary| {
        summary.cells.iter().flat_map(|cell| &cell.passes).map(|pass| pass.planned).sum::<u64>()
    };
    let config = known_engine(summary, profile)?;
    if planned(summary) > MOST_REQUESTS {
        return Err(format!("it has more than {MOST_REQUESTS} requests, the maximum"));
    }
    let mut passes = Vec::new();
    for MeasuredPass { cell, in_flight, run } in measured_passes(run, &config)? {
        // Failures say nothing about the speed of the engine.
        if run.measured.requests_per_s == Some(0.0) {
            continue;
        }
        let ranges = run_ranges(profiles(), &run, cell, in_flight);
        let ranges = ranges.map_err(|error| error.to_string())?;
        passes.push((cell, compared(run.set, ranges, &run.measured)));
    }
    if passes.is_empty() {
        return Err("no request of it completed".to_owned());
    }
    let Profile { name, engine, engine_version, card, .. } = &config.profile;
    let named = match profile {
        Some(_) => format!("--profile {name}"),
        None => format!("--engine {engine}-{engine_version} --card {card}"),
    };
    let flags = named + &flags_of(&config);
    Ok(Expected { profile: name.clone(), flags, passes })
}
