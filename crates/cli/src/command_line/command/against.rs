//! Prepares a prediction that is compared with measurements (`--against`). The facts that a run states about its server
//! are used for absent flags. This module simulates nothing.

use inferometer_engine::{EngineConfig, model::model};
use inferometer_plan::{shell::word, spec::Spec};
use inferometer_predict::{MeasuredRows, ServerFacts, open_against, with_mistakes_of_plan};
use inferometer_run::PlanError;

use super::engine_flags::{EngineFlags, config};
use crate::command_line::variable;

/// A prediction whose engine is known.
pub struct Prepared {
    /// The engine.
    pub config: EngineConfig,
    /// The given flags, and the flags whose values come from the facts of the run.
    pub flags: EngineFlags,
    /// The measurements to compare with, if the user named some.
    pub against: Option<MeasuredRows>,
    /// Which facts came from the run, and which facts it does not state; None if there is nothing to report.
    pub told: Option<String>,
}

/// Determines the engine of a prediction. If `against` names a run or a result file, the facts that this source states
/// about its server are used for absent flags, and for absent keys of `spec` (`model`, `profile`).
///
/// # Errors
/// If the measurements cannot be read, if neither the user nor the run states the model, or if the engine cannot be
/// simulated.
pub fn prepared(
    spec: &mut Spec,
    flags: &EngineFlags,
    against: Option<&str>,
) -> Result<Prepared, PlanError> {
    let source = against.map(|name| open_against(name, spec.store.as_deref())).transpose();
    let source = source.map_err(|error| error.of("--against"))?;
    let mut flags = flags.clone();
    let facts = source.as_ref().and_then(|source| source.facts());
    let used = match &facts {
        Some(facts) => use_facts(facts, spec, &mut flags)?,
        None => Vec::new(),
    };
    let found = config(spec.model.as_deref(), spec.profile.as_deref(), &flags);
    let found = found.map_err(|error| match &facts {
        Some(facts) if !used.is_empty() => with_origin(error, &facts.origin, &used),
        _ => error,
    });
    let config = found.map_err(|error| with_mistakes_of_plan(error, spec, &variable))?;
    let rows = source.map(|source| source.rows(&config)).transpose();
    let against = rows.map_err(|error| error.of("--against"))?;
    let told = facts.and_then(|facts| told(&facts, &used, spec, &flags, &config));
    Ok(Prepared { config, flags, against, told })
}

/// Sets absent keys and flags to the facts. Returns the facts that were used, as words of a command line.
fn use_facts(
    facts: &ServerFacts,
    spec: &mut Spec,
    flags: &mut EngineFlags,
) -> Result<Vec<String>, PlanError> {
    let mut used = Vec::new();
    if spec.model.is_none() {
        let name = known_model(facts)?;
        used.push(format!("--model {}", word(&name)));
        spec.model = Some(name);
    }
    if spec.profile.is_none() && !flags.name_an_engine() {
        used.extend(facts.profile.iter().map(|name| format!("--profile {}", word(name))));
        spec.profile.clone_from(&facts.profile);
    }
    let mut usable = facts.clone();
    if spec.profile.is_some() {
        // A profile already determines the engine and the card.
        usable.flags.retain(|(name, _)| !["engine", "card"].contains(name));
    }
    usable.flags = flags.complete(&usable.flags).map_err(|error| error.of(&facts.origin))?;
    used.extend(Some(usable.to_string()).filter(|words| !words.is_empty()));
    Ok(used)
}

/// The model that the run states.
fn known_model(facts: &ServerFacts) -> Result<String, PlanError> {
    let origin = &facts.origin;
    let advice =
        "give --model NAME (`inferometer list models`), or --model PATH of its config.json";
    let Some(name) = &facts.model else {
        return Err(PlanError::new(format!(
            "--model: {origin} does not state the model of its server; {advice}"
        )));
    };
    match model(name) {
        Ok(_) => Ok(name.clone()),
        Err(error) if name.ends_with(".json") => Err(PlanError::new(format!(
            "--model: {origin} states the model file {name}: {error}; {advice}"
        ))),
        Err(_) => Err(PlanError::new(format!(
            "--model: {origin} states the model `{name}`, which this program does not know; {advice}"
        ))),
    }
}

/// Adds to each mistake that facts of the run were used.
fn with_origin(error: PlanError, origin: &str, used: &[String]) -> PlanError {
    let words = used.join(" ");
    let add = |mistake| {
        format!("{mistake} ({origin} states {words}; a flag of the command replaces such a fact)")
    };
    error.mistakes.into_iter().map(add).collect::<Vec<_>>().into()
}

/// One line: which facts came from the run, and which it does not state.
fn told(
    facts: &ServerFacts,
    used: &[String],
    spec: &Spec,
    flags: &EngineFlags,
    config: &EngineConfig,
) -> Option<String> {
    let given = flags.given();
    let is_absent = |flag: &str| spec.profile.is_none() && !given.contains_key(flag);
    let profile = &config.profile;
    let mut assumed = Vec::new();
    if is_absent("engine") {
        let version = format!("{} {}", profile.engine, profile.engine_version);
        assumed.push(format!("the version of the engine (--engine; assumed: {version})"));
    }
    if is_absent("card") {
        assumed.push(format!("the card (--card; assumed: {})", profile.card));
    }
    let is_split = given.keys().any(|flag| flag.ends_with("parallel_size"));
    if facts.cards_seen > 1 && !is_split {
        let cards = facts.cards_seen;
        assumed.push(format!("how many of {cards} cards it uses (--tensor-parallel-size)"));
    }
    let own = facts.own_profile.as_ref().filter(|own| **own != profile.name);
    assumed.extend(own.map(|own| format!("the file of its profile {own} (--profile)")));
    let mut parts = Vec::new();
    if !used.is_empty() {
        parts.push(format!("taken from {}: {}", facts.origin, used.join(" ")));
    }
    if !assumed.is_empty() {
        let run = if parts.is_empty() { facts.origin.as_str() } else { "it" };
        parts.push(format!("{run} does not state {}", assumed.join(", ")));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}
