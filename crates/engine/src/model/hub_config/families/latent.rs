//! Latent attention (MLA): DeepSeek V2 and V3, Kimi K2; with an indexer: DeepSeek V3.2, GLM-5. The names and shapes are
//! those of `modeling_deepseek_v3.py` in the transformers library, and of `inference/model.py` of DeepSeek V3.2.

use super::super::ConfigError;
use super::super::keys::Config;
use super::super::modules::{Matrix, Modules};
use super::{Family, Sizes};
use crate::model::layout::{Attention, Index, Layer, Role};

pub(super) struct Latent;

impl Family for Latent {
    fn attention(&self, config: &Config, sizes: Sizes) -> Result<Vec<Attention>, ConfigError> {
        let rank = config.required(&["kv_lora_rank"])?;
        let rope = config.required(&["qk_rope_head_dim"])?;
        let nope = config.required(&["qk_nope_head_dim"])?;
        let value = config.required(&["v_head_dim"])?;
        let index = match config.number(&["index_topk"]) {
            None => None,
            Some(top) => Some(Index {
                heads: config.required(&["index_n_heads"])?,
                dim: config.required(&["index_head_dim"])?,
                top,
                chooses: true,
                stores: true,
            }),
        };
        // Layers of the kind `shared` take the choice of the layer before them.
        let kinds = config.kinds("indexer_types", sizes.layers)?;
        Ok((0..sizes.layers as usize)
            .map(|layer| {
                let own = kinds.as_ref().is_none_or(|kinds| kinds[layer] != "shared");
                let index = index.map(|it| Index { chooses: own, stores: own, ..it });
                Attention::Latent { heads: sizes.heads, rank, rope, nope, value, index }
            })
            .collect())
    }

    fn layer(&self, of: (&Config, Sizes), at: &str, layer: Layer, modules: &mut Modules) {
        let (config, sizes) = of;
        let Attention::Latent { heads, rank, rope, nope, value, index } = layer.attention else {
            return;
        };
        let [hidden, heads, rank, rope, nope, value] =
            [sizes.hidden, heads, rank, rope, nope, value].map(u64::from);
        let (name, at_attention) = ("attention", format!("{at}.self_attn"));
        let each = |part: &str, shape| {
            Matrix::of(name, format!("{at_attention}.{part}"), shape).on_each_card()
        };
        let queries = heads * (nope + rope);
        let query_rank = config.number(&["q_lora_rank"]).map(u64::from);
        match query_rank {
            Some(rank) => {
                modules.add(each("q_a_proj", (rank, hidden)));
                modules.split(name, &at_attention, &[("q_b_proj", (queries, rank))]);
            }
            None => modules.split(name, &at_attention, &[("q_proj", (queries, hidden))]),
        }
        modules.add(each("kv_a_proj_with_mqa", (rank + rope, hidden)));
        let of_heads =
            [("kv_b_proj", (heads * (nope + value), rank)), ("o_proj", (hidden, heads * value))];
        modules.split(name, &at_attention, &of_heads);
        modules.vectors(2 * hidden + rank + query_rank.unwrap_or(0));
        if let Some(Index { heads, dim, chooses: true, .. }) = index {
            let (heads, dim) = (u64::from(heads), u64::from(dim));
            let own = |part: &str, shape| {
                Matrix::of("indexer", format!("{at_attention}.indexer.{part}"), shape)
                    .on_each_card()
            };
            modules.add(own("wq_b", (heads * dim, query_rank.unwrap_or(hidden))));
            modules.add(own("wk", (dim, hidden)));
            modules.add(own("weights_proj", (heads, hidden)).plain(Role::Plain));
            modules.vectors(2 * dim);
        }
        modules.feed(&format!("{at}.mlp"), sizes.hidden, layer.feed);
    }

    fn others(
        &self,
        of: (&Config, Sizes),
        layers: &[Layer],
        modules: &mut Modules,
    ) -> Result<Vec<String>, ConfigError> {
        drafts(self, of, layers.last().copied(), "num_nextn_predict_layers", modules);
        Ok(Vec::new())
    }
}

/// Adds the layers that draft tokens: each has the form of a layer of the model, and a matrix over its two inputs. Their
/// embedding and output projection are those of the model.
pub(super) fn drafts(
    family: &dyn Family,
    of: (&Config, Sizes),
    layer: Option<Layer>,
    key: &str,
    modules: &mut Modules,
) {
    let (config, sizes) = of;
    let hidden = u64::from(sizes.hidden);
    modules.is_draft = true;
    for number in 0..config.number(&[key]).unwrap_or(0) {
        let at = format!("model.layers.{}", sizes.layers + number);
        let Some(layer) = layer else { break };
        family.layer(of, &at, layer, modules);
        modules
            .add(Matrix::of("", format!("{at}.eh_proj"), (hidden, 2 * hidden)).plain(Role::Draft));
    }
    modules.is_draft = false;
}
