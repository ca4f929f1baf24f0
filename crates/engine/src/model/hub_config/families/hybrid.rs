//! Layers with a recurrent state (gated delta rule) between layers with attention: Qwen3-Next and Qwen3.5. The names and
//! shapes are those of `modeling_qwen3_next.py` and `modeling_qwen3_5.py` in the transformers library.

use super::super::ConfigError;
use super::super::keys::Config;
use super::super::modules::{Matrix, Modules};
use super::{Family, Sizes, product};
use crate::model::layout::{Attention, Feed, Layer, Recurrence, Role};

pub(super) struct Hybrid;

impl Family for Hybrid {
    fn attention(&self, config: &Config, sizes: Sizes) -> Result<Vec<Attention>, ConfigError> {
        let Sizes { layers, heads, kv_heads, head_dim, .. } = sizes;
        let full =
            Attention::Heads { heads, kv_heads, key: head_dim, value: head_dim, window: None };
        let key_heads = config.required(&["linear_num_key_heads"])?;
        let value_heads = config.required(&["linear_num_value_heads"])?;
        let key = config.required(&["linear_key_head_dim"])?;
        let value = config.required(&["linear_value_head_dim"])?;
        // vLLM keeps the state in this type; by default in that of the activations.
        let is_single = config.text("mamba_ssm_dtype").as_deref() == Some("float32");
        let recurrent = Attention::Recurrent {
            kind: Recurrence::GatedDelta,
            heads: value_heads,
            key,
            value,
            channels: product(&[2, key_heads, key]).saturating_add(product(&[value_heads, value])),
            kernel: config.required(&["linear_conv_kernel_dim"])?,
            number: if is_single { 4 } else { 2 },
        };
        let kinds = config.kinds("layer_types", layers)?;
        let every = config.number(&["full_attention_interval"]).unwrap_or(4).max(1);
        Ok((0..layers)
            .map(|layer| {
                let is_recurrent = match &kinds {
                    Some(kinds) => kinds[layer as usize] == "linear_attention",
                    None => (layer + 1) % every != 0,
                };
                if is_recurrent { recurrent } else { full }
            })
            .collect())
    }

    fn layer(&self, of: (&Config, Sizes), at: &str, layer: Layer, modules: &mut Modules) {
        let (config, sizes) = of;
        let hidden = u64::from(sizes.hidden);
        match layer.attention {
            Attention::Heads { heads, kv_heads, key, .. } => {
                let of = |heads: u32| u64::from(heads) * u64::from(key);
                let (queries, keys) = (of(heads), of(kv_heads));
                // The projection of queries also gives a gate for each output.
                let gate = if config.is_true("attn_output_gate")
                    || config.text("model_type").as_deref() == Some("qwen3_next")
                {
                    2
                } else {
                    1
                };
                let of_heads = [
                    ("q_proj", (gate * queries, hidden)),
                    ("k_proj", (keys, hidden)),
                    ("v_proj", (keys, hidden)),
                    ("o_proj", (hidden, queries)),
                ];
                modules.split("attention", &format!("{at}.self_attn"), &of_heads);
                modules.vectors(2 * hidden + 2 * u64::from(key));
            }
            Attention::Recurrent { heads, value, channels, kernel, .. } => {
                let [heads, value, channels, kernel] =
                    [heads, value, channels, kernel].map(u64::from);
                let values = heads * value;
                let of_states = [
                    ("in_proj_qkv", (channels, hidden)),
                    ("in_proj_z", (values, hidden)),
                    ("in_proj_b", (heads, hidden)),
                    ("in_proj_a", (heads, hidden)),
                    ("out_proj", (hidden, values)),
                ];
                modules.split("recurrent layers", &format!("{at}.linear_attn"), &of_states);
                modules.vectors(2 * hidden + channels * kernel + 2 * heads + value);
            }
            _ => {}
        }
        modules.feed(&format!("{at}.mlp"), sizes.hidden, layer.feed);
        if let Feed::Experts { shared: 1.., .. } = layer.feed {
            modules.vectors(hidden);
        }
    }

    fn others(
        &self,
        of: (&Config, Sizes),
        layers: &[Layer],
        modules: &mut Modules,
    ) -> Result<Vec<String>, ConfigError> {
        let (config, sizes) = of;
        let hidden = u64::from(sizes.hidden);
        let is_full = |layer: &&Layer| matches!(layer.attention, Attention::Heads { .. });
        let drafts = config.number(&["mtp_num_hidden_layers"]).unwrap_or(0);
        modules.is_draft = true;
        for number in 0..drafts {
            if let Some(layer) = layers.iter().find(is_full) {
                self.layer(of, &format!("mtp.layers.{number}"), *layer, modules);
            }
        }
        if drafts > 0 {
            modules.add(Matrix::of("", "mtp.fc", (hidden, 2 * hidden)).plain(Role::Draft));
        }
        modules.is_draft = false;
        Ok(Vec::new())
    }
}
