//! Models as the engine sees them: sizes that decide memory and work. No weights are ever loaded.

use std::fmt;
use std::path::Path;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::hub_config;

/// How the weights of the linear layers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// Sixteen bits each.
    Fp16,
    /// Four bits with a scale per group of 128, GPTQ's layout.
    Gptq,
    /// Four bits with a scale per group of 128, AWQ's layout.
    Awq,
}

impl Weights {
    /// Every kind, in the order of lists.
    pub const ALL: [Self; 3] = [Self::Fp16, Self::Gptq, Self::Awq];

    /// The name, as vLLM's `--quantization` spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fp16 => "fp16",
            Self::Gptq => "gptq",
            Self::Awq => "awq",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|weights| weights.name() == name)
    }

    /// Bytes per parameter of a linear layer, scales and zero points included.
    #[must_use]
    pub fn bytes_per_parameter(self) -> f64 {
        match self {
            Self::Fp16 => 2.0,
            // Four bits, and per group of 128 one 16-bit scale and one 4-bit zero point.
            Self::Gptq | Self::Awq => (4.0 + 20.0 / 128.0) / 8.0,
        }
    }
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The shape of the feed-forward block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mlp {
    /// Gate, up and down projections (SwiGLU and its like).
    Gated,
    /// Up and down projections.
    Plain,
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
    /// Input and output embedding are one matrix.
    #[serde(default)]
    pub tied_embeddings: bool,
    /// The profile that is taken when none is named.
    pub default_profile: String,
}

impl ModelSpec {
    /// Parameters of the linear layers of all blocks.
    #[must_use]
    pub fn linear_parameters(&self) -> f64 {
        let (hidden, head_dim) = (f64::from(self.hidden), f64::from(self.head_dim));
        let query = hidden * f64::from(self.heads) * head_dim;
        let key_value = 2.0 * hidden * f64::from(self.kv_heads) * head_dim;
        let projections = match self.mlp {
            Mlp::Gated => 3.0,
            Mlp::Plain => 2.0,
        };
        let mlp = projections * hidden * f64::from(self.intermediate);
        f64::from(self.layers) * (2.0 * query + key_value + mlp)
    }

    /// Parameters of the output projection to the vocabulary.
    #[must_use]
    pub fn head_parameters(&self) -> f64 {
        f64::from(self.vocabulary) * f64::from(self.hidden)
    }

    /// Bytes of all weights in memory; embeddings stay at sixteen bits.
    #[must_use]
    pub fn weight_bytes(&self, weights: Weights) -> f64 {
        let embeddings = if self.tied_embeddings { 1.0 } else { 2.0 };
        self.linear_parameters() * weights.bytes_per_parameter()
            + embeddings * self.head_parameters() * 2.0
    }

    /// Bytes of keys and values of one token, at sixteen bits.
    #[must_use]
    pub fn kv_bytes_per_token(&self) -> f64 {
        2.0 * f64::from(self.layers) * f64::from(self.kv_heads) * f64::from(self.head_dim) * 2.0
    }

    /// Width of all query heads together.
    #[must_use]
    pub fn attention_width(&self) -> f64 {
        f64::from(self.heads) * f64::from(self.head_dim)
    }
}

#[derive(Deserialize)]
struct ModelFile {
    model: Vec<ModelSpec>,
}

static MODELS: LazyLock<Vec<ModelSpec>> = LazyLock::new(|| {
    let file: ModelFile = toml::from_str(include_str!("../data/models.toml"))
        .expect("invariant: the embedded models parse");
    file.model
});

/// The models that are known by name.
#[must_use]
pub fn models() -> &'static [ModelSpec] {
    &MODELS
}

/// A model by its short name or hub id (letter case aside), or from the path of a `config.json`.
///
/// # Errors
/// When there is no such model, or the file cannot be read or is not a model's.
pub fn model(name: &str) -> Result<ModelSpec, EngineError> {
    let known = |spec: &&ModelSpec| {
        spec.name.eq_ignore_ascii_case(name) || spec.hub_id.eq_ignore_ascii_case(name)
    };
    if let Some(spec) = models().iter().find(known) {
        return Ok(spec.clone());
    }
    if name.ends_with(".json") {
        return hub_config::read(Path::new(name));
    }
    let names: Vec<_> = models().iter().map(|spec| spec.name.as_str()).collect();
    Err(EngineError::UnknownModel { name: name.to_owned(), known: names.join(", ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_the_number_of_parameters_that_they_are_known_for() {
        for (name, billions) in [
            ("chatglm3-6b", 6.24),
            ("qwen-14b", 14.17),
            ("baichuan2-13b-gptq", 13.90),
            ("mistral-7b-openorca-awq", 7.24),
            ("sus-chat-34b", 34.39),
            ("llama-2-7b", 6.74),
            ("llama-2-13b", 13.02),
            ("llama-3-8b", 8.03),
            ("llama-3.2-3b", 3.21),
            ("llama-3.3-70b", 70.55),
            ("mistral-7b", 7.24),
            ("qwen2.5-7b", 7.61),
            ("qwen2.5-14b", 14.77),
            ("qwen2.5-32b", 32.76),
            ("qwen3-4b", 4.02),
            ("qwen3-8b", 8.19),
            ("qwen3-14b", 14.77),
        ] {
            let found = model(name).unwrap().weight_bytes(Weights::Fp16) / 2e9;
            assert!((found - billions).abs() < 0.01, "{name}: {found} instead of {billions}");
        }
    }

    #[test]
    fn a_model_is_found_by_its_hub_id_in_any_case() {
        assert_eq!(model("thudm/ChatGLM3-6B").unwrap().name, "chatglm3-6b");
    }

    #[test]
    fn an_unknown_model_names_those_that_are_known() {
        let message = model("gpt-9").unwrap_err().to_string();
        assert!(message.contains("`gpt-9`") && message.contains("chatglm3-6b"), "{message}");
    }

    #[test]
    fn kv_bytes_follow_the_key_and_value_heads() {
        assert_eq!(model("chatglm3-6b").unwrap().kv_bytes_per_token(), 28_672.0);
        assert_eq!(model("qwen-14b").unwrap().kv_bytes_per_token(), 819_200.0);
    }
}
