//! What the embedded engine can simulate, and the data behind its predictions.

use std::fmt::Write;

use inferometer_engine::EngineConfig;
use inferometer_engine::model::{ModelSpec, models as all_models};
use inferometer_engine::profile::{Role, profiles};

use super::named;
use crate::command_line::exit::Failure;

/// Models and profiles as text; of names, those models.
pub fn models(names: &[String]) -> Result<String, Failure> {
    let mut text = String::from("models:\n");
    for model in named("models", all_models(), |it| &it.name, names)? {
        let _ = writeln!(
            text,
            "  {:<24} {:>5.1}e9 parameters  profile {:<24} {}",
            model.name,
            parameters(model) / 1e9,
            model.default_profile,
            calibrated(model)
        );
    }
    if !names.is_empty() {
        return Ok(text);
    }
    text.push_str(
        "  or the path of a config.json of a decoder-only transformer, dense or mixture of \
         experts;\n  uncalibrated: mixtures of experts, squeezellm, fp32, pipeline \
         stages\n\nprofiles:\n",
    );
    for profile in profiles() {
        let cards = if profile.cards > 1 { format!("{} x ", profile.cards) } else { String::new() };
        let known = profile.provenance.iter();
        let rows: Vec<String> = known
            .map(|known| match known.role {
                Role::HeldOut => format!("compared with {}", known.table),
                _ => format!("{} rows of {}", known.rows, known.table),
            })
            .collect();
        let _ = writeln!(
            text,
            "  {:<24} {cards}{}, {} {}: {}",
            profile.name,
            profile.card,
            profile.engine,
            profile.engine_version,
            if rows.is_empty() { "uncalibrated".to_owned() } else { rows.join(", ") }
        );
    }
    Ok(text)
}

fn parameters(model: &ModelSpec) -> f64 {
    let embeddings = if model.tied_embeddings { 1.0 } else { 2.0 };
    model.linear_parameters() + embeddings * model.head_parameters()
}

/// What measured rows say of a model under its profile.
fn calibrated(model: &ModelSpec) -> &'static str {
    let Ok(config) = EngineConfig::of_model(&model.name) else { return "no profile" };
    if config.profile.provenance.iter().any(|known| known.table == model.name) {
        "calibrated on its own table"
    } else if model.experts.is_some() {
        "uncalibrated: a mixture of experts; too large for one card: needs --tensor-parallel-size"
    } else if inferometer_engine::Engine::new(config).is_ok() {
        "calibrated on other models"
    } else {
        "too large for the profile's cards as they are: needs --tensor-parallel-size, uncalibrated"
    }
}
