//! The weights of a module: how many parameters, in how many bytes, and which tokens pass through them.

use serde::{Deserialize, Serialize};

use crate::Weights;

/// What the weights of a module are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Matrices that tokens are multiplied with, and that engines quantise.
    Product,
    /// Matrices that tokens are multiplied with, and that engines do not quantise, such as routers.
    Plain,
    /// Vectors, such as norms and biases.
    Vector,
    /// A table from which each token takes a few rows, such as the input embedding.
    Table,
    /// The output projection to the vocabulary.
    Head,
    /// The layers for images. Tokens of text do not pass through them.
    Vision,
    /// The layers that draft tokens. An engine loads them only for speculative decoding.
    Draft,
}

/// How tokens are routed to the experts of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routed {
    /// The number of experts of a layer.
    pub count: u32,
    /// The number of these experts that each token is routed to.
    pub per_token: u32,
}

impl Routed {
    /// The expected number of distinct experts of a layer that `tokens` tokens are routed to. All experts are assumed
    /// to be equally likely.
    pub fn distinct(self, tokens: f64) -> f64 {
        let count = f64::from(self.count);
        count * (1.0 - (1.0 - f64::from(self.per_token) / count).powf(tokens))
    }
}

/// The weights of a module in all layers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// What the module is, such as `routed experts`.
    pub name: String,
    /// What its weights are for.
    pub role: Role,
    /// The number of parameters, over all layers and experts.
    pub parameters: u64,
    /// The bytes of these parameters, with their scales.
    pub bytes: u64,
    /// The storage format.
    pub weights: Weights,
    /// The experts, if the module consists of experts that a router chooses.
    pub routed: Option<Routed>,
    /// Whether tensor parallelism splits the module over the cards. Otherwise each card has all of it.
    pub is_split: bool,
}

impl Module {
    /// The bytes of the module if its matrices are stored as `weights` instead of its own format. `None`: its own
    /// format. Single precision applies to all weights, quantisation only to matrices of layers.
    pub fn bytes_as(&self, weights: Option<Weights>) -> f64 {
        let parameters = self.parameters as f64;
        match weights {
            Some(Weights::Fp32) => parameters * 4.0,
            Some(weights) if self.role == Role::Product => {
                parameters * weights.bytes_per_parameter()
            }
            _ => self.bytes as f64,
        }
    }

    /// The parameters that one token of text is multiplied with.
    pub fn active(&self) -> f64 {
        let parameters = self.parameters as f64;
        match (self.role, self.routed) {
            (Role::Table | Role::Vision | Role::Draft, _) => 0.0,
            (_, Some(Routed { count, per_token })) => {
                parameters * f64::from(per_token) / f64::from(count)
            }
            (_, None) => parameters,
        }
    }
}
