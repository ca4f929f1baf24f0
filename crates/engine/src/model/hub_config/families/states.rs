//! Layers with Kimi Delta Attention between layers with latent attention (Kimi Linear), and layers with Mamba 2 between
//! attention and feed-forward layers (Nemotron-H, Nemotron 3). The names and shapes are those of
//! `modeling_kimi_linear.py` and `modeling_nemotron_h.py` in the makers' repositories.

use super::super::ConfigError;
use super::super::keys::Config;
use super::super::modules::{Matrix, Modules};
use super::latent::Latent;
use super::{Family, Sizes, product};
use crate::model::layout::{Attention, Feed, Layer, Recurrence, Role, Routed};

/// Kimi Linear.
pub(super) struct Kda;

impl Family for Kda {
    fn attention(&self, config: &Config, sizes: Sizes) -> Result<Vec<Attention>, ConfigError> {
        let full = Latent.attention(config, sizes)?;
        let key = "linear_attn_config";
        let part = config.value(key).and_then(|part| part.as_object()).cloned();
        let part = Config(part.ok_or(ConfigError::NotFound(key))?);
        let (heads, dim) = (part.required(&["num_heads"])?, part.required(&["head_dim"])?);
        let recurrent = Attention::Recurrent {
            kind: Recurrence::Kda,
            heads,
            key: dim,
            value: dim,
            channels: product(&[3, heads, dim]),
            kernel: part.required(&["short_conv_kernel_size"])?,
            number: 4,
        };
        // The lists count layers from 1.
        let layers = part.all_numbers("kda_layers");
        let of = |(number, full)| if layers.contains(&number) { recurrent } else { full };
        Ok((1..).zip(full).map(of).collect())
    }

    fn layer(&self, of: (&Config, Sizes), at: &str, layer: Layer, modules: &mut Modules) {
        let Attention::Recurrent { heads, key, .. } = layer.attention else {
            return Latent.layer(of, at, layer, modules);
        };
        let hidden = u64::from(of.1.hidden);
        let (heads, dim) = (u64::from(heads), u64::from(key));
        let (width, at_attention) = (heads * dim, format!("{at}.self_attn"));
        let of_heads = [
            ("q_proj", (width, hidden)),
            ("k_proj", (width, hidden)),
            ("v_proj", (width, hidden)),
            ("f_b_proj", (width, dim)),
            ("g_b_proj", (width, dim)),
            ("b_proj", (heads, hidden)),
            ("o_proj", (hidden, width)),
        ];
        modules.split("recurrent layers", &at_attention, &of_heads);
        for name in ["f_a_proj", "g_a_proj"] {
            let name = format!("{at_attention}.{name}");
            modules.add(Matrix::of("recurrent layers", name, (dim, hidden)).on_each_card());
        }
        modules.vectors(2 * hidden + (3 * 4 + 1) * width + heads + dim);
        modules.feed(&format!("{at}.mlp"), of.1.hidden, layer.feed);
    }
}

/// Nemotron-H: each layer is one of a Mamba block (`M`), attention (`*`), a feed-forward block (`-`) and experts (`E`).
pub(super) struct Mamba;

/// The kinds of layers.
fn pattern(config: &Config, layers: u32) -> Result<Vec<char>, ConfigError> {
    let key = "hybrid_override_pattern";
    let pattern: Vec<char> = config.text(key).ok_or(ConfigError::NotFound(key))?.chars().collect();
    if pattern.len() != layers as usize {
        return Err(ConfigError::PerLayer { key, found: pattern.len(), layers });
    }
    Ok(pattern)
}

impl Family for Mamba {
    fn attention(&self, config: &Config, sizes: Sizes) -> Result<Vec<Attention>, ConfigError> {
        let Sizes { heads, kv_heads, head_dim, .. } = sizes;
        let full =
            Attention::Heads { heads, kv_heads, key: head_dim, value: head_dim, window: None };
        let (states, dim) =
            (config.required(&["mamba_num_heads"])?, config.required(&["mamba_head_dim"])?);
        let size = config.required(&["ssm_state_size"])?;
        let dtype = config.text("mamba_ssm_cache_dtype");
        let recurrent = Attention::Recurrent {
            kind: Recurrence::Mamba,
            heads: states,
            key: size,
            value: dim,
            channels: product(&[states, dim]).saturating_add(product(&[
                2,
                config.required(&["n_groups"])?,
                size,
            ])),
            kernel: config.required(&["conv_kernel"])?,
            number: if dtype.as_deref() == Some("float32") { 4 } else { 2 },
        };
        let of = |kind| match kind {
            'M' => recurrent,
            '*' => full,
            _ => Attention::None,
        };
        Ok(pattern(config, sizes.layers)?.into_iter().map(of).collect())
    }

    fn feeds(&self, config: &Config, sizes: Sizes) -> Result<Vec<Feed>, ConfigError> {
        let of = |kind| match kind {
            '-' => Ok(Feed::Dense { width: config.required(&["intermediate_size"])? }),
            'E' => Ok(Feed::Experts {
                count: config.required(&["n_routed_experts"])?,
                per_token: config.required(&["num_experts_per_tok"])?,
                width: config.required(&["moe_intermediate_size"])?,
                shared: config.number(&["moe_shared_expert_intermediate_size"]).unwrap_or(0),
            }),
            _ => Ok(Feed::None),
        };
        pattern(config, sizes.layers)?.into_iter().map(of).collect()
    }

    fn layer(&self, of: (&Config, Sizes), at: &str, layer: Layer, modules: &mut Modules) {
        let hidden = u64::from(of.1.hidden);
        let at = format!("{at}.mixer");
        match layer.attention {
            Attention::Heads { heads, kv_heads, key, .. } => {
                let of = |heads: u32| u64::from(heads) * u64::from(key);
                let (queries, keys) = (of(heads), of(kv_heads));
                let of_heads = [
                    ("q_proj", (queries, hidden)),
                    ("k_proj", (keys, hidden)),
                    ("v_proj", (keys, hidden)),
                    ("o_proj", (hidden, queries)),
                ];
                modules.split("attention", &at, &of_heads);
            }
            Attention::Recurrent { heads, value, channels, kernel, .. } => {
                let [heads, value, channels, kernel] =
                    [heads, value, channels, kernel].map(u64::from);
                // The gate, the channels of the convolution, and a step size for each state.
                let inputs = heads * value + channels + heads;
                let of_states =
                    [("in_proj", (inputs, hidden)), ("out_proj", (hidden, heads * value))];
                modules.split("recurrent layers", &at, &of_states);
                modules.vectors(channels * (kernel + 1) + 3 * heads + heads * value);
            }
            _ => {}
        }
        // The blocks have no gate: up and down projection around a squared ReLU.
        let plain = |width: u32| {
            let width = u64::from(width);
            [("up_proj", (width, hidden)), ("down_proj", (hidden, width))]
        };
        match layer.feed {
            Feed::Dense { width } => modules.split("feed-forward", &at, &plain(width)),
            Feed::Experts { count, per_token, width, shared } => {
                let router = Matrix::of("router", format!("{at}.gate"), (u64::from(count), hidden));
                modules.add(router.plain(Role::Plain).on_each_card());
                for (name, shape) in plain(width) {
                    let name = format!("{at}.experts.0.{name}");
                    let routed = Routed { count, per_token };
                    modules.add(Matrix::of("routed experts", name, shape).experts(routed));
                }
                let at = format!("{at}.shared_experts");
                modules.split("shared experts", &at, &plain(shared));
            }
            Feed::None | Feed::Linear => {}
        }
        modules.vectors(hidden);
    }
}
