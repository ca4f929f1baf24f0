//! `list models`: the built-in models of the embedded engine.

use std::fmt::Write;

use inferometer_engine::model::{ModelSpec, models as all_models};
use inferometer_engine::{Engine, EngineConfig};

use super::named;
use crate::command_line::Failure;

/// The models as text, one per line.
pub fn models(names: &[String]) -> Result<String, Failure> {
    let mut text = line("MODEL", "PARAMETERS", "DEFAULT PROFILE", "CALIBRATED ON");
    for model in named("models", all_models(), |it| &it.name, names)? {
        let parameters = format!("{:.1}e9", parameters(model) / 1e9);
        text += &line(&model.name, &parameters, &model.default_profile, calibrated(model));
    }
    if names.is_empty() {
        let _ = writeln!(
            text,
            "\n--model takes one of these, or the path of a config.json of a decoder-only \
             transformer: dense, mixture\nof experts, latent attention (MLA), recurrent layers, and weights \
             in several formats. Uncalibrated: models\nof these forms and sliding-window attention \
             without measured rows, squeezellm, fp32, an fp8 KV cache,\npipeline stages."
        );
    }
    Ok(text)
}

fn line(name: &str, parameters: &str, profile: &str, calibrated: &str) -> String {
    format!("{name:<24} {parameters:>10}  {profile:<24} {calibrated}\n")
}

fn parameters(model: &ModelSpec) -> f64 {
    let embeddings = if model.tied_embeddings { 1.0 } else { 2.0 };
    model.linear_parameters() + embeddings * model.head_parameters()
}

/// Describes the measured rows to which the default profile of a model was fitted.
fn calibrated(model: &ModelSpec) -> &'static str {
    let Ok(config) = EngineConfig::of_model(&model.name) else { return "no profile" };
    if config.profile.provenance.iter().any(|known| known.table == model.name) {
        "its own table"
    } else if model.experts.is_some() {
        "nothing: experts; may need --tensor-parallel-size"
    } else if Engine::new(config).is_ok() {
        "other models"
    } else {
        "nothing: needs --tensor-parallel-size"
    }
}
