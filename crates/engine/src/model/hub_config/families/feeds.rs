//! The feed-forward blocks of the layers, from the keys that most families share.

use serde_json::Value;

use super::super::ConfigError;
use super::super::keys::Config;
use crate::model::layout::Feed;

const COUNT: [&str; 3] = ["num_local_experts", "num_experts", "n_routed_experts"];
const PER_TOKEN: [&str; 4] =
    ["num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts"];

/// The block of each layer.
pub(super) fn feeds(config: &Config, layers: u32) -> Result<Vec<Feed>, ConfigError> {
    let found = COUNT.into_iter().find_map(|key| Some((key, config.number(&[key])?)));
    let Some((key, count)) = found.filter(|&(_, count)| count > 1) else {
        let width = config.required(&["intermediate_size"])?;
        return Ok(vec![Feed::Dense { width }; layers as usize]);
    };
    let per_token = config.required(&PER_TOKEN)?;
    if per_token > count {
        return Err(ConfigError::PerToken { per_token, key, count });
    }
    let width = config.required(&["moe_intermediate_size", "intermediate_size"])?;
    let shared =
        config.number(&["shared_expert_intermediate_size", "shared_intermediate_size"]).unwrap_or(
            config
                .number(&["n_shared_experts", "num_shared_experts"])
                .unwrap_or(0)
                .saturating_mul(width),
        );
    let experts = Feed::Experts { count, per_token, width, shared };
    let kinds = config.kinds("mlp_layer_types", layers)?;
    let first = config.number(&["first_k_dense_replace"]).unwrap_or(0);
    let every = config.number(&["decoder_sparse_step", "moe_layer_freq"]).unwrap_or(1).max(1);
    let dense = config.value("mlp_only_layers").and_then(Value::as_array);
    let dense: Vec<u64> = dense.into_iter().flatten().filter_map(Value::as_u64).collect();
    (0..layers)
        .map(|layer| {
            let is_dense = match &kinds {
                Some(kinds) => kinds[layer as usize] == "dense",
                // DeepSeek counts from layer 0, Qwen from 1; both mean all layers if the step is 1.
                None => {
                    layer < first || dense.contains(&u64::from(layer)) || (layer + 1) % every != 0
                }
            };
            if is_dense {
                return Ok(Feed::Dense { width: config.required(&["intermediate_size"])? });
            }
            Ok(experts)
        })
        .collect()
}
