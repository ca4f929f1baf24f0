//! Predicts the passes of a stored run whose engine, card and model are known, and compares the predictions with the
//! measured figures. This shows the errors of a profile on runs that were not used in its fit. Nothing is stored.

use inferometer_analysis::prediction::PassPrediction;
use inferometer_analysis::summary::Summary;
use inferometer_engine::profile::{Profile, profiles};
use inferometer_engine::ranges::run_ranges;
use inferometer_engine::{EngineConfig, KvCacheDtype, Weights, choose};
use inferometer_model::cell::CellPlan;
use inferometer_store::StoredRun;

use crate::measured_runs::{MeasuredPass, measured_passes};
use crate::ranges::compared;
use crate::server_facts::ServerFacts;

/// Runs with more requests than this are not predicted.
const MOST_REQUESTS: u64 = 100_000;

/// The predictions of a run's passes.
pub struct Expected {
    /// The name of the profile.
    pub profile: String,
    /// The model, under a name that this program knows.
    pub model: String,
    /// The facts that the run states about its server, as flags: `--engine vllm-0.23.0 --card h100-sxm`.
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
    config_of(&ServerFacts::of(String::new(), summary, None), profile)
}

fn config_of(facts: &ServerFacts, profile: Option<&Profile>) -> Result<EngineConfig, String> {
    let engine =
        facts.get("engine").ok_or("its engine or the version of its engine is not known")?;
    let card = facts.get("card").ok_or("its card is not known")?;
    let model = facts.model.as_deref().ok_or("its model is not known")?;
    let mut config = EngineConfig::of_model(model).map_err(|error| error.to_string())?;
    if let Some(name) = facts.get("weights") {
        let unknown = || format!("its kind of weights, `{name}`, cannot be simulated");
        config.weights = Some(Weights::parse(name).ok_or_else(unknown)?);
    }
    if let Some(name) = facts.get("kv_cache_dtype") {
        let unknown = || format!("its type of KV cache, `{name}`, cannot be simulated");
        config.kv_cache_dtype = Some(KvCacheDtype::parse(name).ok_or_else(unknown)?);
    }
    config.max_model_len = facts.read("max_model_len")?;
    config.max_num_seqs = facts.read("max_num_seqs")?;
    config.max_num_batched_tokens = facts.read("max_num_batched_tokens")?;
    config.tensor_parallel_size = facts.read("tensor_parallel_size")?;
    config.pipeline_parallel_size = facts.read("pipeline_parallel_size")?;
    let cards = facts.cards_seen;
    if cards > 1 && config.tensor_parallel_size.or(config.pipeline_parallel_size).is_none() {
        return Err(format!("it is not known how many of the {cards} cards the server uses"));
    }
    config.gpu_memory_utilization = facts.read("gpu_memory_utilization")?;
    config.block_size = facts.read("block_size")?;
    config.long_prefill_token_threshold = facts.read("long_prefill_token_threshold")?;
    config.prefix_caching = facts.read("enable_prefix_caching")?;
    config.async_scheduling = facts.read("async_scheduling")?;
    let weights = config.weights.unwrap_or(config.model.weights);
    config.profile = match profile {
        Some(own) => own.clone(),
        None => choose(&config.profile, Some(engine), Some(card), (&config.model.name, weights))
            .map_err(|error| error.to_string())?,
    };
    if config.profile.card != card || config.profile.steps.is_none() {
        return Err(format!("there is no profile of {engine} on {card}"));
    }
    config.resolve().map_err(|error| error.to_string())?;
    Ok(config)
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
    let facts = ServerFacts::of(String::new(), summary, None);
    let config = config_of(&facts, profile)?;
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
    let model = facts.model.clone().unwrap_or_default();
    Ok(Expected { profile: config.profile.name.clone(), model, flags: facts.to_string(), passes })
}
