//! The families of models that are described layer by layer. Each file knows the matrices of its family.

mod compressed;
mod feeds;
mod heads;
mod hybrid;
mod latent;
mod states;
mod vision;

use super::ConfigError;
use super::keys::Config;
use super::modules::Modules;
use super::quantised::Quantised;
use crate::model::layout::{Attention, Feed, Layer, Layout};

/// The sizes that all families have.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub layers: u32,
    pub hidden: u32,
    pub heads: u32,
    pub kv_heads: u32,
    pub head_dim: u32,
    pub vocabulary: u32,
    pub is_tied: bool,
}

/// A family: how it reads the attention of its layers, and which modules these have.
trait Family {
    /// The attention of each layer.
    fn attention(&self, config: &Config, sizes: Sizes) -> Result<Vec<Attention>, ConfigError>;

    /// The feed-forward block of each layer.
    fn feeds(&self, config: &Config, sizes: Sizes) -> Result<Vec<Feed>, ConfigError> {
        feeds::feeds(config, sizes.layers)
    }

    /// Adds the modules of one layer, with its name in the checkpoint.
    fn layer(&self, of: (&Config, Sizes), at: &str, layer: Layer, modules: &mut Modules);

    /// Adds what is not part of a layer, except embeddings. Returns what cannot be counted.
    fn others(
        &self,
        _: (&Config, Sizes),
        _: &[Layer],
        _: &mut Modules,
    ) -> Result<Vec<String>, ConfigError> {
        Ok(Vec::new())
    }
}

/// Types whose layers differ from each other, or have other matrices than [`super::TYPES`].
const TYPES: [(&str, &dyn Family); 19] = [
    ("deepseek_v2", &latent::Latent),
    ("deepseek_v3", &latent::Latent),
    ("deepseek_v32", &latent::Latent),
    ("kimi_k2", &latent::Latent),
    ("glm_moe_dsa", &latent::Latent),
    ("glm4_moe_lite", &latent::Latent),
    ("deepseek_v4", &compressed::Compressed),
    ("deepseek_v41_text", &compressed::Compressed),
    ("qwen3_next", &hybrid::Hybrid),
    ("qwen3_5_text", &hybrid::Hybrid),
    ("qwen3_5_moe_text", &hybrid::Hybrid),
    ("kimi_linear", &states::Kda),
    ("nemotron_h", &states::Mamba),
    ("qwen3_vl_text", &heads::Heads),
    ("qwen3_vl_moe_text", &heads::Heads),
    ("glm4_moe", &heads::Heads),
    ("minimax_m2", &heads::Heads),
    ("nemotron-nas", &heads::Heads),
    ("gemma4_text", &heads::Heads),
];

/// The names of the types that need a description layer by layer.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TYPES.iter().map(|(name, _)| *name)
}

/// The most layers that are described one by one. All real models have fewer.
const MOST_LAYERS: u64 = 4096;

/// Rejects numbers that are larger than those of any model, because they would take too long, or make sums overflow.
fn check(config: &Config) -> Result<(), ConfigError> {
    let parts = ["vision_config", "linear_attn_config"].into_iter();
    let parts = parts.filter_map(|part| config.value(part)?.as_object()).chain([&config.0]);
    for (key, size) in parts.flatten().filter_map(|(key, value)| Some((key, value.as_u64()?))) {
        let is_layers = key.ends_with("_layers") || key == "depth";
        let most = if is_layers { MOST_LAYERS } else { u64::from(super::MOST) };
        if size > most {
            return Err(ConfigError::TooLarge { key: key.clone(), size, most });
        }
    }
    Ok(())
}

/// A product that is not larger than the largest number.
fn product(factors: &[u32]) -> u32 {
    factors.iter().fold(1, |product, factor| product.saturating_mul(*factor))
}

/// The layers and weights of a model.
pub(super) fn layout(
    config: &Config,
    model_type: &str,
    sizes: Sizes,
    quantised: &Quantised,
) -> Result<Layout, ConfigError> {
    check(config)?;
    let named = TYPES.iter().find(|(name, _)| *name == model_type).map(|(_, family)| *family);
    // The other known types have the matrices of Llama.
    let family = named.unwrap_or(&heads::Heads);
    let attention = family.attention(config, sizes)?;
    let feeds = family.feeds(config, sizes)?;
    let layers: Vec<Layer> = attention
        .into_iter()
        .zip(feeds)
        .map(|(attention, feed)| Layer { attention, feed })
        .collect();
    let mut modules = Modules::new(quantised);
    for (number, layer) in layers.iter().enumerate() {
        family.layer((config, sizes), &format!("model.layers.{number}"), *layer, &mut modules);
    }
    modules.embeddings(sizes.vocabulary, sizes.hidden, sizes.is_tied);
    let mut left_out = family.others((config, sizes), &layers, &mut modules)?;
    left_out.extend(vision::add(config, sizes.hidden, &mut modules)?);
    Ok(Layout { layers, modules: modules.all, left_out })
}
