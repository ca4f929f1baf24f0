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
    /// Four bits into a table of sixteen values per output, SqueezeLLM's layout.
    #[serde(rename = "squeezellm")]
    SqueezeLlm,
    /// Thirty-two bits each, and so everything that is computed with them.
    Fp32,
}

impl Weights {
    /// Every kind, in the order of lists.
    pub const ALL: [Self; 5] = [Self::Fp16, Self::Gptq, Self::Awq, Self::SqueezeLlm, Self::Fp32];

    /// The name, as vLLM's `--quantization` spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fp16 => "fp16",
            Self::Gptq => "gptq",
            Self::Awq => "awq",
            Self::SqueezeLlm => "squeezellm",
            Self::Fp32 => "fp32",
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
            // Sixteen 16-bit values per output, over some 4,096 inputs.
            Self::SqueezeLlm => (4.0 + 16.0 * 16.0 / 4096.0) / 8.0,
            Self::Fp32 => 4.0,
        }
    }

    /// Bytes of a number that is not quantised: activations, embeddings, keys and values.
    #[must_use]
    pub fn bytes_per_activation(self) -> f64 {
        match self {
            Self::Fp32 => 4.0,
            Self::Fp16 | Self::Gptq | Self::Awq | Self::SqueezeLlm => 2.0,
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
    #[must_use]
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
    #[must_use]
    pub fn linear_parameters(&self) -> f64 {
        let experts = self.experts.map_or(0.0, |experts| f64::from(experts.count));
        self.shared_parameters() + experts * self.expert_parameters()
    }

    /// Those that every token passes through: all of them but the experts that a router chooses.
    #[must_use]
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
    #[must_use]
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
    #[must_use]
    pub fn head_parameters(&self) -> f64 {
        f64::from(self.vocabulary) * f64::from(self.hidden)
    }

    /// Bytes of all weights in memory; embeddings are never quantised.
    #[must_use]
    pub fn weight_bytes(&self, weights: Weights) -> f64 {
        let embeddings = if self.tied_embeddings { 1.0 } else { 2.0 };
        self.linear_parameters() * weights.bytes_per_parameter()
            + embeddings * self.head_parameters() * weights.bytes_per_activation()
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
            ("mixtral-8x7b", 46.70),
            ("qwen3-30b-a3b", 30.53),
        ] {
            let found = model(name).unwrap().weight_bytes(Weights::Fp16) / 2e9;
            assert!((found - billions).abs() < 0.01, "{name}: {found} instead of {billions}");
        }
    }

    #[test]
    fn a_token_passes_through_a_part_of_a_mixture_of_experts() {
        for (name, billions) in [("mixtral-8x7b", 12.88), ("qwen3-30b-a3b", 3.35)] {
            let model = model(name).unwrap();
            let active = f64::from(model.experts.unwrap().per_token) * model.expert_parameters();
            let found = model.shared_parameters() + active + 2.0 * model.head_parameters();
            assert!((found / 1e9 - billions).abs() < 0.01, "{name}: {found}");
        }
    }

    #[test]
    fn more_tokens_touch_more_experts_but_never_more_than_there_are() {
        let experts = model("mixtral-8x7b").unwrap().experts.unwrap();
        let distinct: Vec<_> = [1.0, 2.0, 8.0, 64.0, 1e6].map(|n| experts.distinct(n)).to_vec();
        assert!((distinct[0] - 2.0).abs() < 1e-12 && (distinct[1] - 3.5).abs() < 1e-12);
        assert!(distinct.is_sorted() && distinct[4] <= 8.0, "{distinct:?}");
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
