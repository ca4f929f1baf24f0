//! Predicts the passes of a stored run whose engine, card and model are known, and compares the predictions with the
//! measured figures. The comparison shows the errors of a profile on a run. If the caller does not give the profile,
//! the run was not used in the fit of the profile. Nothing is stored.

use inferometer_analysis::{Summary, prediction::PassPrediction};
use inferometer_engine::{
    EngineConfig, KvCacheDtype, OwnProfile, Profile, ProfileNeed, Weights, choose, learned,
    profile::profiles, ranges::run_ranges,
};
use inferometer_model::CellPlan;
use inferometer_plan::shell;
use inferometer_store::StoredRun;

use crate::ranges::compared;
use crate::unpredictable::MOST_REQUESTS;
use crate::{MeasuredPass, ServerFacts, Unpredictable, measured_passes};

/// The predictions of a run's passes.
pub struct Expected {
    /// The name of the profile.
    pub profile: String,
    /// The file of the profile, if one of the user's own profiles was chosen; `None` for other profiles.
    pub profile_file: Option<String>,
    /// The model, under a name that this program knows.
    pub model: String,
    /// The facts that the run states about its server, as flags: `--engine vllm-0.23.0 --card h100-sxm`.
    pub flags: String,
    /// The flags with which `predict` simulates the same engine. They are [`Self::flags`], but if the profile is one of
    /// the user's own, `--profile` replaces `--engine` and `--card`.
    pub predict_flags: String,
    /// The prediction of each pass with its cell, compared with the measurement.
    pub passes: Vec<(CellPlan, PassPrediction)>,
    /// The cell and the load of each pass that is left out, because no request of the pass completed. Such a pass says
    /// nothing about the speed of the engine.
    pub left_out: Vec<(CellPlan, String)>,
}

/// The profiles from which one is chosen for a run.
#[derive(Clone, Copy, Debug)]
pub enum ProfileChoice<'a> {
    /// This profile.
    Given(&'a Profile),
    /// The last of these profiles of the user that was fitted to the engine, the card and the model of the run, but not
    /// to the run itself. If there is none, a built-in profile.
    Own(&'a [OwnProfile]),
}

/// Only the built-in profiles.
pub const BUILT_IN: ProfileChoice<'static> = ProfileChoice::Own(&[]);

/// Returns the configuration of the engine that a run measured, if its name, version, card and model are known.
///
/// # Errors
/// If the name, the version, the card, the number of cards or the model is unknown, if a setting of the engine cannot
/// be simulated, or if there is no profile of the engine on the card.
pub fn known_engine(
    summary: &Summary,
    profile: ProfileChoice<'_>,
) -> Result<EngineConfig, Unpredictable> {
    let facts = ServerFacts::of(String::new(), summary, None);
    config_of(&facts, profile, &summary.run_id).map(|(config, _)| config)
}

/// The engine of a run, and the file of the profile if one of the user's own profiles was chosen.
fn config_of(
    facts: &ServerFacts,
    profile: ProfileChoice<'_>,
    run: &str,
) -> Result<(EngineConfig, Option<String>), Unpredictable> {
    let engine = facts.get("engine").ok_or(Unpredictable::EngineUnknown)?;
    let card = facts.get("card").ok_or_else(|| match &facts.other_card {
        Some(card) => Unpredictable::OtherCard(card.clone()),
        None => Unpredictable::CardUnknown,
    })?;
    let model = facts.model.as_deref().ok_or(Unpredictable::ModelUnknown)?;
    let mut config = EngineConfig::of_model(model)?;
    if let Some(name) = facts.get("weights") {
        let unknown = || Unpredictable::Weights(name.to_owned());
        config.weights = Some(Weights::named(name).ok_or_else(unknown)?);
    }
    if let Some(name) = facts.get("kv_cache_dtype") {
        let unknown = || Unpredictable::KvCache(name.to_owned());
        config.kv_cache_dtype = Some(KvCacheDtype::parse(name).ok_or_else(unknown)?);
    }
    config.max_model_len = facts.read("max_model_len")?;
    config.max_num_seqs = facts.read("max_num_seqs")?;
    config.max_num_batched_tokens = facts.read("max_num_batched_tokens")?;
    config.tensor_parallel_size = facts.read("tensor_parallel_size")?;
    config.pipeline_parallel_size = facts.read("pipeline_parallel_size")?;
    let cards = facts.cards_seen;
    if cards > 1 && config.tensor_parallel_size.or(config.pipeline_parallel_size).is_none() {
        return Err(Unpredictable::CardsUnknown(cards));
    }
    config.gpu_memory_utilization = facts.read("gpu_memory_utilization")?;
    config.block_size = facts.read("block_size")?;
    config.long_prefill_token_threshold = facts.read("long_prefill_token_threshold")?;
    config.prefix_caching = facts.read("enable_prefix_caching")?;
    config.async_scheduling = facts.read("async_scheduling")?;
    let weights = config.weights.unwrap_or(config.model.weights);
    let mut file = None;
    config.profile = match profile {
        ProfileChoice::Given(given) => given.clone(),
        ProfileChoice::Own(own) => {
            let need = ProfileNeed {
                engine: engine.to_owned(),
                card: card.to_owned(),
                model: config.model.name.clone(),
                weights,
                cards: config.tensor_parallel_size.unwrap_or(1),
            };
            match learned(own, &need, Some(run)) {
                Some(own) => {
                    file = Some(own.file.clone());
                    own.profile.clone()
                }
                None => {
                    let of = (config.model.name.as_str(), weights);
                    choose(&config.profile, Some(engine), Some(card), of)?
                }
            }
        }
    };
    if config.profile.card != card || config.profile.steps.is_none() {
        let (engine, card) = (engine.to_owned(), card.to_owned());
        return Err(Unpredictable::NoProfile { engine, card });
    }
    config.resolve()?;
    Ok((config, file))
}

/// Predicts the passes of a run.
///
/// # Errors
/// If the run has no results, if its engine is not known ([`known_engine`]) or is the embedded engine, if the run has
/// too many requests, if its passes cannot be simulated, or if no request completed.
pub fn expected(run: &StoredRun, profile: ProfileChoice<'_>) -> Result<Expected, Unpredictable> {
    let summary = run.summary.as_ref().ok_or(Unpredictable::NoResults)?;
    if summary.target.simulated {
        return Err(Unpredictable::OnEmbedded);
    }
    let planned = |summary: &Summary| {
        summary.cells.iter().flat_map(|cell| &cell.passes).map(|pass| pass.planned).sum::<u64>()
    };
    let facts = ServerFacts::of(String::new(), summary, None);
    let (config, profile_file) = config_of(&facts, profile, run.row.id.as_str())?;
    if planned(summary) > MOST_REQUESTS {
        return Err(Unpredictable::TooManyRequests);
    }
    let (mut passes, mut left_out) = (Vec::new(), Vec::new());
    for MeasuredPass { cell, in_flight, run } in measured_passes(run, &config)? {
        if run.measured.requests_per_s == Some(0.0) {
            left_out.push((cell, run.set));
            continue;
        }
        let ranges = run_ranges(profiles(), &run, cell, in_flight)?;
        passes.push((cell, compared(run.set, ranges, &run.measured)));
    }
    if passes.is_empty() {
        return Err(Unpredictable::NothingCompleted);
    }
    let model = facts.model.clone().unwrap_or_default();
    let flags = facts.to_string();
    let predict_flags = match &profile_file {
        None => flags.clone(),
        Some(file) => {
            let mut others = facts;
            others.flags.retain(|(name, _)| !["engine", "card"].contains(name));
            format!("--profile {} {others}", shell::word(file)).trim_end().to_owned()
        }
    };
    let profile = config.profile.name.clone();
    Ok(Expected { profile, profile_file, model, flags, predict_flags, passes, left_out })
}
