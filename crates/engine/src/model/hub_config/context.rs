//! The maximum sequence length of a `config.json`, as vLLM derives it (`_get_and_verify_max_len` in
//! `vllm/config/model.py`).

use serde_json::Value;

use super::ConfigError;
use super::keys::Config;
use crate::model::spec::RopeLengths;

/// Keys with which configurations state the maximum sequence length; the smallest value is used.
const CONTEXT_KEYS: [&str; 8] = [
    "max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "max_sequence_length",
    "max_seq_length", "seq_len", "model_max_length",
];

/// Kinds of position scaling for which vLLM does not multiply the maximum sequence length. For Gemma 3, vLLM multiplies
/// the length for no kind.
const NOT_STRETCHED: [&str; 3] = ["su", "longrope", "llama3"];

/// The maximum sequence length in vLLM up to 0.29 if it is not given, and what differs in other versions.
pub(super) fn context(config: &Config) -> Result<(u32, Option<RopeLengths>), ConfigError> {
    let stated = CONTEXT_KEYS.iter().filter_map(|key| config.number(&[key])).min();
    let stated = stated.ok_or(ConfigError::NoContext)?;
    let is_gemma3 = config.text("model_type").is_some_and(|kind| kind.starts_with("gemma3"));
    let scalings = scalings(config);
    let kind_of = |scaling: &Value| -> Option<String> {
        let kind = scaling.get("rope_type").or(scaling.get("type"))?;
        kind.as_str().map(str::to_owned)
    };
    if scalings.iter().any(|scaling| kind_of(scaling).as_deref() == Some("longrope")) {
        let within = || scalings.iter().find_map(|it| it.get("original_max_position_embeddings"));
        let original = config.value("original_max_position_embeddings").or_else(within);
        let original = original.and_then(Value::as_u64).and_then(|it| u32::try_from(it).ok());
        return Ok((stated, original.map(|original| RopeLengths::Long { original })));
    }
    let (mut length, mut factor, mut is_yarn) = (f64::from(stated), 1.0, false);
    for scaling in scalings.into_iter().filter(|_| !is_gemma3) {
        let kind = kind_of(scaling);
        if kind.as_deref().is_some_and(|kind| NOT_STRETCHED.contains(&kind)) {
            continue;
        }
        factor = scaling.get("factor").and_then(Value::as_f64).unwrap_or(factor);
        let before = scaling.get("original_max_position_embeddings").and_then(Value::as_u64);
        if kind.as_deref() == Some("yarn") {
            is_yarn = true;
            length = before.map_or(length, |before| before as f64);
        }
    }
    if !(factor > 0.0 && factor.is_finite()) {
        return Err(ConfigError::Factor(factor));
    }
    let length = (length * factor) as u32;
    let differs = is_yarn && length != stated;
    Ok((length, differs.then_some(RopeLengths::Yarn { stated })))
}

/// The scalings of positions: `rope_scaling`, or `rope_parameters` of version 5 of the transformers library, which may
/// have one for each kind of layer.
fn scalings(config: &Config) -> Vec<&Value> {
    let found = config.value("rope_scaling").or(config.value("rope_parameters"));
    let Some(found) = found.filter(|value| value.is_object()) else { return Vec::new() };
    let nested: Vec<&Value> = found
        .as_object()
        .into_iter()
        .flat_map(|it| it.values())
        .filter(|it| it.is_object())
        .collect();
    if nested.is_empty() { vec![found] } else { nested }
}
