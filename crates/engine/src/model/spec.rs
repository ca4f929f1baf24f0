//! The sizes of a decoder-only transformer, and the parameters and bytes that result from them.

use serde::{Deserialize, Serialize};

use super::layout::{Attention, Feed, Layer, Layout, Routed};
use crate::Weights;

/// The shape of the feed-forward block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mlp {
    /// Gate, up and down projections (such as SwiGLU).
    Gated,
    /// Up and down projections.
    Plain,
}

/// A mixture of experts: each token is routed to a few of the experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experts {
    /// The number of experts of a layer that the router can choose.
    pub count: u32,
    /// The number of these experts that each token is routed to.
    pub per_token: u32,
    /// The number of additional experts that every token passes through.
    #[serde(default)]
    pub shared: u32,
    /// Intermediate width of an expert.
    pub intermediate: u32,
    /// The number of layers with an ordinary feed-forward block instead of experts.
    #[serde(default)]
    pub dense_layers: u32,
}

impl Experts {
    /// The expected number of distinct experts of a layer that `tokens` tokens are routed to. All experts are assumed
    /// to be equally likely.
    pub fn distinct(&self, tokens: f64) -> f64 {
        let Self { count, per_token, .. } = *self;
        Routed { count, per_token }.distinct(tokens)
    }
}

/// The layers with sliding-window attention: their attention reads only the last tokens of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Windows {
    /// The number of tokens that such a layer reads.
    pub tokens: u32,
    /// The number of such layers. The other layers read the whole sequence.
    pub layers: u32,
}

/// How versions of vLLM derive the maximum sequence length of a model differently, because of its positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RopeLengths {
    /// YaRN: from version 0.30 on, vLLM takes the stated maximum, without the factor of the scaling (pull request 56446).
    Yarn {
        /// The stated maximum, in tokens.
        stated: u32,
    },
    /// LongRoPE: from version 0.11.1 on, vLLM serves the length before the scaling unless a longer one is requested
    /// (pull request 27431).
    Long {
        /// The length before the scaling, in tokens.
        original: u32,
    },
}

/// The sizes of a decoder-only transformer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// A short name in lower case.
    pub name: String,
    /// The name of the model on the Hugging Face hub; empty if the model comes from a file.
    pub hub_id: String,
    /// The number of transformer layers.
    pub layers: u32,
    /// Width of the residual stream.
    pub hidden: u32,
    /// The number of query heads.
    pub heads: u32,
    /// The number of key and value heads.
    pub kv_heads: u32,
    /// Width of a head.
    pub head_dim: u32,
    /// Intermediate width of the feed-forward block. For a gated block, it is the width of the up projection, without
    /// the gate projection.
    pub intermediate: u32,
    /// The number of tokens in the vocabulary.
    pub vocabulary: u32,
    /// The default limit of tokens of a sequence, prompt and output together, in vLLM 0.2.x.
    pub context: u32,
    /// The largest limit that may be requested, if it is larger than `context`. Under profiles with
    /// [`crate::profile::StepConstants`], it is also the default limit.
    pub context_limit: Option<u32>,
    /// How versions of vLLM differ in these limits; absent: they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rope: Option<RopeLengths>,
    /// The storage format of the linear layers.
    pub weights: Weights,
    /// The feed-forward block.
    pub mlp: Mlp,
    /// The experts, if the model is a mixture of experts.
    pub experts: Option<Experts>,
    /// The layers with sliding-window attention; absent: there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<Windows>,
    /// The layers and modules, if the sizes above do not describe the model: its layers differ, or its modules have
    /// different formats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Box<Layout>>,
    /// Whether input and output embedding are the same matrix.
    #[serde(default)]
    pub tied_embeddings: bool,
    /// The profile that is used if the user names no profile.
    pub default_profile: String,
}

impl ModelSpec {
    /// Parameters of the linear layers, including all experts.
    pub fn linear_parameters(&self) -> f64 {
        let experts = self.experts.map_or(0.0, |experts| f64::from(experts.count));
        self.shared_parameters() + experts * self.expert_parameters()
    }

    /// Parameters of the linear layers that every token passes through: all except those of the experts that a router
    /// chooses.
    pub fn shared_parameters(&self) -> f64 {
        let (hidden, head_dim) = (f64::from(self.hidden), f64::from(self.head_dim));
        let query = hidden * f64::from(self.heads) * head_dim;
        let key_value = 2.0 * hidden * f64::from(self.kv_heads) * head_dim;
        let attention = 2.0 * query + key_value;
        let mlp = |width: u32| self.projections() * hidden * f64::from(width);
        let layers = f64::from(self.layers);
        match self.experts {
            None => layers * (attention + mlp(self.intermediate)),
            Some(experts) => {
                let dense = f64::from(experts.dense_layers);
                let router = hidden * f64::from(experts.count);
                let shared = f64::from(experts.shared) * mlp(experts.intermediate);
                layers * attention
                    + dense * mlp(self.intermediate)
                    + (layers - dense) * (router + shared)
            }
        }
    }

    /// Parameters of one expert, summed over all layers with experts; 0 if the model is not a mixture of experts.
    pub fn expert_parameters(&self) -> f64 {
        self.experts.map_or(0.0, |experts| {
            let layers = f64::from(self.layers - experts.dense_layers);
            let one = self.projections() * f64::from(self.hidden) * f64::from(experts.intermediate);
            layers * one
        })
    }

    fn projections(&self) -> f64 {
        match self.mlp {
            Mlp::Gated => 3.0,
            Mlp::Plain => 2.0,
        }
    }

    /// Parameters of the output projection to the vocabulary.
    pub fn head_parameters(&self) -> f64 {
        f64::from(self.vocabulary) * f64::from(self.hidden)
    }

    /// Bytes of the weights in memory: linear layers and embeddings. Embeddings are never quantised. With a layout: all
    /// modules that an engine loads without speculative decoding.
    pub fn weight_bytes(&self, weights: Weights) -> f64 {
        if let Some(layout) = &self.layout {
            let other = (weights != self.weights).then_some(weights);
            return layout.loaded().map(|module| module.bytes_as(other)).sum();
        }
        let embeddings = if self.tied_embeddings { 1.0 } else { 2.0 };
        self.linear_parameters() * weights.bytes_per_parameter()
            + embeddings * self.head_parameters() * weights.bytes_per_activation()
    }

    /// Bytes of the keys and values of one token inside of all windows, with sixteen bits per number.
    pub fn kv_bytes_per_token(&self) -> f64 {
        if let Some(layout) = &self.layout {
            let kept = layout.kept(2.0, 1);
            return kept.whole + kept.windowed;
        }
        2.0 * f64::from(self.layers) * f64::from(self.kv_heads) * f64::from(self.head_dim) * 2.0
    }

    /// The numbers that the widest layer holds at once for each token on one of `cards` tensor-parallel cards.
    pub fn numbers_at_once(&self, cards: u32) -> f64 {
        let Self { hidden, heads, kv_heads, head_dim, .. } = *self;
        if let Some(layout) = &self.layout {
            let of = layout.layers.iter().map(|layer| layer.numbers_at_once(hidden, cards));
            return of.fold(0.0, f64::max);
        }
        let (key, value) = (head_dim, head_dim);
        let attention = Attention::Heads { heads, kv_heads, key, value, window: None };
        let feed = self.experts.map_or(Feed::Dense { width: self.intermediate }, |it| {
            let (count, per_token, width) = (it.count, it.per_token, it.intermediate);
            Feed::Experts { count, per_token, width, shared: it.shared * width }
        });
        Layer { attention, feed }.numbers_at_once(hidden, cards)
    }

    /// Width of all query heads together.
    pub fn attention_width(&self) -> f64 {
        f64::from(self.heads) * f64::from(self.head_dim)
    }
}
