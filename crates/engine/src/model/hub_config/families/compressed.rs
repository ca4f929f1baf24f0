//! DeepSeek V4 and V4.1: a window of latents, latents of groups of tokens before it, and several residual streams. V4.1
//! shares the latents of four layers among all, and adds tables of n-grams (Engram). The names and shapes are those of
//! `inference/model.py` in the makers' repositories.

use super::super::ConfigError;
use super::super::keys::Config;
use super::super::modules::{Matrix, Modules};
use super::{Family, Sizes, product};
use crate::model::layout::{Attention, Feed, Index, Layer, Role};

pub(super) struct Compressed;

/// Whether layers share latents, as in V4.1.
fn shares(config: &Config) -> bool {
    config.value("kv_source_layer_ids").is_some()
}

impl Family for Compressed {
    fn attention(&self, config: &Config, sizes: Sizes) -> Result<Vec<Attention>, ConfigError> {
        let window = config.required(&["sliding_window"])?;
        let ratios = config.numbers("compress_ratios", sizes.layers)?;
        let index = Index {
            heads: config.required(&["index_n_heads"])?,
            dim: config.required(&["index_head_dim"])?,
            top: config.required(&["index_topk"])?,
            chooses: true,
            stores: true,
        };
        let sources = config.all_numbers("kv_source_layer_ids");
        let indexers = config.all_numbers("index_source_layer_ids");
        Ok((0..sizes.layers)
            .zip(ratios)
            .map(|(layer, ratio)| {
                let (dim, shared) = (sizes.head_dim, shares(config));
                let stores = ratio > 0 && (!shared || sources.contains(&layer));
                let index = match (ratio, shared) {
                    (0, _) => None,
                    (_, true) => {
                        Some(Index { chooses: indexers.contains(&layer), stores, ..index })
                    }
                    // Groups of 4 tokens are chosen, larger ones are all read.
                    (4, false) => Some(index),
                    (_, false) => None,
                };
                let state = if stores { state(ratio, dim, index, shared) } else { 0 };
                let heads = sizes.heads;
                Attention::Compressed { heads, dim, window, ratio, stores, index, state }
            })
            .collect())
    }

    fn layer(&self, of: (&Config, Sizes), at: &str, layer: Layer, modules: &mut Modules) {
        let (config, sizes) = of;
        let Attention::Compressed { heads, dim, ratio, stores, index, .. } = layer.attention else {
            return;
        };
        let [hidden, heads, dim, ratio] = [sizes.hidden, heads, dim, ratio].map(u64::from);
        let of = |key: &str| u64::from(config.number(&[key]).unwrap_or(0));
        let (query_rank, rank, parts) = (of("q_lora_rank"), of("o_lora_rank"), of("o_groups"));
        let each = |module, part: &str, shape| {
            Matrix::of(module, format!("{at}.attn.{part}"), shape).on_each_card()
        };
        modules.add(each("attention", "wq_a", (query_rank, hidden)));
        modules.add(each("attention", "wkv", (dim, hidden)));
        let of_heads = [
            ("wq_b", (heads * dim, query_rank)),
            ("wo_a", (parts * rank, heads * dim / parts.max(1))),
            ("wo_b", (hidden, parts * rank)),
        ];
        modules.split("attention", &format!("{at}.attn"), &of_heads);
        modules.vectors(2 * hidden + query_rank + dim + heads);
        let shared = shares(config);
        // Groups of 4 tokens overlap, so each token has two latents. A group of one token has no weights for pooling.
        let sides = if ratio == 4 && !shared { 2 } else { 1 };
        let pooled = if ratio == 1 { 1 } else { 2 };
        let plain = |part: &str, shape| each("compression", part, shape).plain(Role::Plain);
        if stores {
            modules.add(plain("compressor", (pooled * sides * dim, hidden)));
            modules.vectors(dim + ratio * sides * dim);
        }
        if let Some(Index { heads, dim: width, chooses: true, .. }) = index {
            let (heads, width) = (u64::from(heads), u64::from(width));
            modules.add(each("indexer", "indexer.wq_b", (heads * width, query_rank)));
            let own = |part: &str, shape| each("indexer", part, shape).plain(Role::Plain);
            modules.add(own("indexer.weights_proj", (heads, hidden)));
            if !shared {
                modules.add(own("indexer.compressor", (pooled * sides * width, hidden)));
            } else if stores {
                modules.add(own("indexer.wk", (width, dim)));
            }
        }
        // Each of the two blocks mixes the residual streams with weights in single precision.
        let streams = of("hc_mult");
        let mixes = ((2 + streams) * streams, streams * hidden);
        for block in ["hc_attn_fn", "hc_ffn_fn"] {
            let name = format!("{at}.{block}");
            modules.add(Matrix::of("residual streams", name, mixes).single(Role::Plain));
        }
        modules.feed(&format!("{at}.ffn"), sizes.hidden, layer.feed);
    }

    fn others(
        &self,
        of: (&Config, Sizes),
        layers: &[Layer],
        modules: &mut Modules,
    ) -> Result<Vec<String>, ConfigError> {
        let (config, sizes) = of;
        let hidden = u64::from(sizes.hidden);
        engram(config, hidden, modules)?;
        // The layers that draft tokens have only the window.
        let mut layer = layers.first().copied();
        if let Some(Layer { attention: Attention::Compressed { ratio, stores, index, .. }, feed }) =
            &mut layer
        {
            (*ratio, *stores, *index) = (0, false, None);
            if let Feed::Experts { count, per_token, .. } = feed {
                *count = config.number(&["dspark_n_routed_experts"]).unwrap_or(*count);
                *per_token = config.number(&["dspark_num_experts_per_tok"]).unwrap_or(*per_token);
            }
        }
        modules.is_draft = true;
        for number in 0..config.number(&["num_nextn_predict_layers"]).unwrap_or(0) {
            let Some(layer) = layer else { break };
            self.layer(of, &format!("mtp.{number}"), layer, modules);
        }
        let inputs = match config.number(&["dspark_markov_rank"]).map(u64::from) {
            // The first layer joins the hidden states of three layers; the last has a small model of token pairs.
            Some(rank) => {
                let targets = config.all_numbers("dspark_target_layer_ids").len() as u64;
                let pairs = (2 * u64::from(sizes.vocabulary), rank);
                modules.add(Matrix::of("", "mtp.markov_head", pairs).plain(Role::Draft));
                targets
            }
            None => 2,
        };
        if config.number(&["num_nextn_predict_layers"]).is_some_and(|layers| layers > 0) {
            modules.add(Matrix::of("", "mtp.main_proj", (hidden, inputs * hidden)));
        }
        modules.is_draft = false;
        Ok(Vec::new())
    }
}

/// Bytes of the state of an incomplete group: latents and weights for pooling in single precision. Groups that overlap
/// keep two groups of latents of double width.
fn state(ratio: u32, dim: u32, index: Option<Index>, shared: bool) -> u32 {
    let sides = if ratio == 4 && !shared { 2 } else { 1 };
    let of = |width: u32| product(&[sides, ratio, sides, width, 2 * 4]);
    match ratio {
        0 | 1 => 0,
        _ if shared => of(dim),
        _ => of(dim).saturating_add(index.map_or(0, |it| of(it.dim))),
    }
}

/// Adds the tables of n-grams and the matrices behind them: each n-gram of 2 to `engram_max_ngram_size` tokens has
/// `engram_n_heads` rows of `engram_head_dim` numbers, with a scale for 32 numbers.
fn engram(config: &Config, hidden: u64, modules: &mut Modules) -> Result<(), ConfigError> {
    let rows = config.all_numbers("engram_num_embeddings");
    if rows.is_empty() {
        return Ok(());
    }
    let of = |key| config.required(&[key]).map(u64::from);
    let (width, heads) = (of("engram_head_dim")?, of("engram_n_heads")?);
    let grams = of("engram_max_ngram_size")?.saturating_sub(1);
    let streams = of("hc_mult")?;
    for (layer, rows) in config.all_numbers("engram_layer_ids").into_iter().zip(rows) {
        let at = format!("layers.{layer}.engram");
        modules.add(
            Matrix::of("n-gram tables", format!("{at}.embed"), (u64::from(rows), width)).table(),
        );
        let inputs = grams.saturating_mul(heads).saturating_mul(width);
        let shape = (hidden * (streams + 1), inputs);
        modules.add(Matrix::of("n-gram projection", format!("{at}.wkv"), shape).on_each_card());
    }
    Ok(())
}
