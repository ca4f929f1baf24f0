//! Attention with keys and values of heads, of all tokens or of a window: the matrices of Llama, with what GPT-OSS,
//! Gemma 3 and 4, MiniMax M2, GLM-4.5 and Nemotron-NAS change. The names and shapes are those of the modelling files of
//! the transformers library.

use serde_json::Value;

use super::super::keys::Config;
use super::super::modules::Modules;
use super::super::{ConfigError, MOST};
use super::{Family, Sizes, feeds, latent};
use crate::model::layout::{Attention, Feed, Layer};
use crate::model::windows::windows;

pub(super) struct Heads;

impl Family for Heads {
    fn attention(&self, config: &Config, sizes: Sizes) -> Result<Vec<Attention>, ConfigError> {
        if let Some(blocks) = blocks(config, sizes.layers)? {
            return blocks.iter().map(|block| searched(config, sizes, block)).collect();
        }
        let Sizes { layers, heads, kv_heads, head_dim, .. } = sizes;
        let value = config.number(&["v_head_dim"]).unwrap_or(head_dim);
        let model_type = config.text("model_type").unwrap_or_default();
        let kinds = config.kinds("layer_types", layers)?;
        let found = windows(&config.0, &model_type, layers)?;
        // Gemma 4 has other heads in the layers that read all tokens.
        let global = config.number(&["global_head_dim"]).unwrap_or(head_dim);
        let global_heads = config.number(&["num_global_key_value_heads"]).unwrap_or(kv_heads);
        Ok((0..layers)
            .map(|layer| {
                let window = found.filter(|found| match &kinds {
                    Some(kinds) => kinds[layer as usize] == "sliding_attention",
                    None => layer < found.layers,
                });
                match window {
                    None if global != head_dim => {
                        let (key, value, kv_heads) = (global, global, global_heads);
                        Attention::Heads { heads, kv_heads, key, value, window: None }
                    }
                    window => {
                        let window = window.map(|it| it.tokens);
                        Attention::Heads { heads, kv_heads, key: head_dim, value, window }
                    }
                }
            })
            .collect())
    }

    fn feeds(&self, config: &Config, sizes: Sizes) -> Result<Vec<Feed>, ConfigError> {
        if let Some(blocks) = blocks(config, sizes.layers)? {
            return blocks.iter().map(|block| searched_feed(sizes, block)).collect();
        }
        let mut feeds = feeds::feeds(config, sizes.layers)?;
        if config.is_true("enable_moe_block") {
            // Gemma 4 adds up its experts and an ordinary block.
            let width = config.required(&["intermediate_size"])?;
            for feed in &mut feeds {
                if let Feed::Experts { shared, .. } = feed {
                    *shared = width;
                }
            }
        }
        Ok(feeds)
    }

    fn layer(&self, of: (&Config, Sizes), at: &str, layer: Layer, modules: &mut Modules) {
        let (config, sizes) = of;
        let hidden = u64::from(sizes.hidden);
        let at_attention = format!("{at}.self_attn");
        match layer.attention {
            Attention::Heads { heads, kv_heads, key, value, window } => {
                let [heads, kv_heads, key, value] = [heads, kv_heads, key, value].map(u64::from);
                let keys = (kv_heads * key, hidden);
                let mut matrices = vec![
                    ("q_proj", (heads * key, hidden)),
                    ("k_proj", keys),
                    ("o_proj", (hidden, heads * value)),
                ];
                // Gemma 4 takes the values of some layers from the matrix of the keys.
                if window.is_some() || !config.is_true("attention_k_eq_v") {
                    matrices.push(("v_proj", (kv_heads * value, hidden)));
                }
                modules.split("attention", &at_attention, &matrices);
                // Norms of queries and keys, biases and sinks; far below a thousandth of the layer.
                let biases = if config.is_true("attention_bias") { 1 } else { 0 };
                let width = heads * key + 2 * kv_heads * key + hidden;
                modules.vectors(2 * hidden + 2 * key + heads + biases * width);
            }
            Attention::Linear => {
                modules.split("attention", &at_attention, &[("linear_attn", (hidden, hidden))]);
                modules.vectors(2 * hidden);
            }
            _ => modules.vectors(hidden),
        }
        modules.feed(&format!("{at}.mlp"), sizes.hidden, layer.feed);
    }

    fn others(
        &self,
        of: (&Config, Sizes),
        layers: &[Layer],
        modules: &mut Modules,
    ) -> Result<Vec<String>, ConfigError> {
        let (config, sizes) = of;
        for key in ["hidden_size_per_layer_input", "num_kv_shared_layers"] {
            if config.number(&[key]).is_some_and(|size| size > 0) {
                return Err(ConfigError::NotRead(key));
            }
        }
        // GPT-OSS has a bias for each output of an expert.
        if config.text("model_type").as_deref() == Some("gpt_oss") {
            for layer in layers {
                if let Feed::Experts { count, width, .. } = layer.feed {
                    let outputs = 2 * u64::from(width) + u64::from(sizes.hidden);
                    modules.vectors(u64::from(count) * (outputs + 1));
                }
            }
        }
        latent::drafts(self, of, layers.last().copied(), "num_nextn_predict_layers", modules);
        let has_drafts = config.is_true("use_mtp");
        let told =
            "the layers that draft tokens (use_mtp): the configuration does not state their form";
        Ok(has_drafts.then(|| told.to_owned()).into_iter().collect())
    }
}

/// The blocks of a model that was pruned by a search (`block_configs`), one for each layer.
fn blocks(config: &Config, layers: u32) -> Result<Option<&Vec<Value>>, ConfigError> {
    let key = "block_configs";
    let Some(blocks) = config.value(key).and_then(Value::as_array) else { return Ok(None) };
    if blocks.len() != layers as usize {
        return Err(ConfigError::PerLayer { key, found: blocks.len(), layers });
    }
    Ok(Some(blocks))
}

fn is_set(part: Option<&Value>, key: &str) -> bool {
    part.and_then(|part| part.get(key)).and_then(Value::as_bool) == Some(true)
}

/// The attention of a block: `no_op`, one matrix, or groups of `n_heads_in_group` query heads that share keys and
/// values (`modeling_decilm.py`).
fn searched(config: &Config, sizes: Sizes, block: &Value) -> Result<Attention, ConfigError> {
    let part = block.get("attention");
    if is_set(part, "no_op") {
        return Ok(Attention::None);
    }
    if is_set(part, "replace_with_linear") {
        return Ok(Attention::Linear);
    }
    let group = part.and_then(|it| it.get("n_heads_in_group")).and_then(Value::as_u64);
    let group = group.and_then(|it| u32::try_from(it).ok()).filter(|&it| it > 0);
    let group = group.ok_or(ConfigError::NoNumber("n_heads_in_group"))?;
    let window = part.and_then(|it| it.get("window_length")).and_then(Value::as_u64);
    let Sizes { heads, head_dim, .. } = sizes;
    let value = config.number(&["v_head_dim"]).unwrap_or(head_dim);
    Ok(Attention::Heads {
        heads,
        kv_heads: (heads / group).max(1),
        key: head_dim,
        value,
        window: window.and_then(|it| u32::try_from(it).ok()),
    })
}

/// The feed-forward block of a block. Its width is 2 x `ffn_mult` x hidden / 3, rounded up to a multiple of 256.
fn searched_feed(sizes: Sizes, block: &Value) -> Result<Feed, ConfigError> {
    let part = block.get("ffn");
    if is_set(part, "no_op") {
        return Ok(Feed::None);
    }
    if is_set(part, "replace_with_linear") {
        return Ok(Feed::Linear);
    }
    let factor = part.and_then(|it| it.get("ffn_mult")).and_then(Value::as_f64);
    let factor = factor.filter(|&it| it > 0.0).ok_or(ConfigError::NoNumber("ffn_mult"))?;
    let width = (2.0 * factor * f64::from(sizes.hidden) / 3.0) as u32;
    let width = width.div_ceil(256).saturating_mul(256);
    if width > MOST {
        let (key, size, most) = ("ffn_mult".to_owned(), u64::from(width), u64::from(MOST));
        return Err(ConfigError::TooLarge { key, size, most });
    }
    Ok(Feed::Dense { width })
}
