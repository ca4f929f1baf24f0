//! The sizes of a decoder-only transformer, and the parameters and bytes that follow from them.

use serde::{Deserialize, Serialize};

use crate::weights::Weights;

/// The shape of the feed-forward block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mlp {
    /// Gate, up and down projections (SwiGLU and its like).
    Gated,
    /// Up and down projections.
    Plain,
}

/// Feed-forward blocks of which each token passes through a few.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experts {
    /// Experts of a layer among which the router chooses.
    pub count: u32,
    /// How many of them a token passes through.
    pub per_token: u32,
    /// Experts through which every token passes beside those.
    #[serde(default)]
    pub shared: u32,
    /// Width inside an expert.
    pub intermediate: u32,
    /// Layers that have a feed-forward block of their own instead of experts.
    #[serde(default)]
    pub dense_layers: u32,
}

impl Experts {
    /// The expected number of distinct experts of a layer that so many tokens pass through, each
    /// expert being as likely as any other.
    pub fn distinct(&self, tokens: f64) -> f64 {
        let count = f64::from(self.count);
        count * (1.0 - (1.0 - f64::from(self.per_token) / count).powf(tokens))
    }
}

/// The sizes of a decoder-only transformer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// A short name in lower case.
    pub name: String,
    /// Its name on the hub; empty where it came from a file.
    pub hub_id: String,
    /// Transformer layers.
    pub layers: u32,
    /// Width of the residual stream.
    pub hidden: u32,
    /// Query heads.
    pub heads: u32,
    /// Key and value heads.
    pub kv_heads: u32,
    /// Width of a head.
    pub head_dim: u32,
    /// Width inside the feed-forward block (of one of the two halves where it is gated).
    pub intermediate: u32,
    /// Rows of the embedding.
    pub vocabulary: u32,
    /// Tokens of a sequence, prompt and output, that the engine derives as the limit.
    pub context: u32,
    /// The most tokens that may be asked for, where it is more than `context`.
    pub context_limit: Option<u32>,
    /// How the linear layers are stored.
    pub weights: Weights,
    /// The feed-forward block.
    pub mlp: Mlp,
    /// Experts, where the feed-forward block has them.
    pub experts: Option<Experts>,
    /// Input and output embedding are one matrix.
    #[serde(default)]
    pub tied_embeddings: bool,
    /// The profile that is taken when none is named.
    pub default_profile: String,
}

impl ModelSpec {
    /// Parameters of the linear layers of all blocks, whatever a token passes through.
    pub fn linear_parameters(&self) -> f64 {
        let experts = self.experts.map_or(0.0, |experts| f64::from(experts.count));
        self.shared_parameters() + experts * self.expert_parameters()
    }

    /// Those that every token passes through: all of them but the experts that a router chooses.
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

    /// Those of one expert in each of the layers that have experts.
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

    /// Bytes of all weights in memory; embeddings are never quantised.
    pub fn weight_bytes(&self, weights: Weights) -> f64 {
        let embeddings = if self.tied_embeddings { 1.0 } else { 2.0 };
        self.linear_parameters() * weights.bytes_per_parameter()
            + embeddings * self.head_parameters() * weights.bytes_per_activation()
    }

    /// Bytes of keys and values of one token, at sixteen bits.
    pub fn kv_bytes_per_token(&self) -> f64 {
        2.0 * f64::from(self.layers) * f64::from(self.kv_heads) * f64::from(self.head_dim) * 2.0
    }

    /// Width of all query heads together.
    pub fn attention_width(&self) -> f64 {
        f64::from(self.heads) * f64::from(self.head_dim)
    }
}
