//! Reads a model's sizes from a Hugging Face `config.json`, as vLLM reads it. Missing keys get the defaults that vLLM
//! and the transformers library have for them. If a key without such a default is missing, the error names the key.

mod context;
mod families;
mod keys;
mod modules;
mod quantised;

use std::path::Path;

use inferometer_net::file::{self, MAX_SETTINGS_BYTES};
use serde_json::{Map, Value};

use super::layout::{Module, Role};
use super::spec::{Experts, Mlp, ModelSpec};
use super::windows::{WindowsError, windows};
use crate::{EngineError, Weights};
use context::context;
use families::{Sizes, layout};
use keys::{Config, without_literals};
use quantised::Quantised;

/// The default profile of models that are read from a file.
const DEFAULT_PROFILE: &str = "vllm-0.23-h100-sxm";

/// The known model types, each with its feed-forward block, and whether its output projection shares its matrix with
/// the input embedding, unless `tie_word_embeddings` is given. The default of the transformers library is that it does;
/// the other types override this default.
const TYPES: [(&str, Mlp, bool); 33] = [
    ("llama", Mlp::Gated, false),
    ("mistral", Mlp::Gated, false),
    ("qwen", Mlp::Gated, false),
    ("qwen2", Mlp::Gated, false),
    ("qwen3", Mlp::Gated, false),
    ("baichuan", Mlp::Gated, false),
    ("chatglm", Mlp::Gated, false),
    ("internlm", Mlp::Gated, false),
    ("internlm2", Mlp::Gated, false),
    ("yi", Mlp::Gated, false),
    ("gemma", Mlp::Gated, true),
    ("gemma2", Mlp::Gated, true),
    ("gemma3_text", Mlp::Gated, true),
    ("gpt_oss", Mlp::Gated, false),
    ("phi3", Mlp::Gated, false),
    ("aquila", Mlp::Gated, false),
    ("decilm", Mlp::Gated, false),
    ("stablelm", Mlp::Gated, false),
    ("orion", Mlp::Gated, false),
    ("granite", Mlp::Gated, false),
    ("mixtral", Mlp::Gated, false),
    ("qwen3_moe", Mlp::Gated, false),
    ("deepseek", Mlp::Gated, false),
    ("opt", Mlp::Plain, true),
    ("gpt2", Mlp::Plain, true),
    ("gpt_neox", Mlp::Plain, false),
    ("gptj", Mlp::Plain, false),
    ("gpt_bigcode", Mlp::Plain, true),
    ("falcon", Mlp::Plain, true),
    ("bloom", Mlp::Plain, true),
    ("mpt", Mlp::Plain, true),
    ("phi", Mlp::Plain, false),
    ("starcoder2", Mlp::Plain, true),
];

/// Values that a configuration of Gemma 3 may leave out. They are the defaults of the transformers library.
const GEMMA3: [(&str, u32); 6] = [
    ("num_attention_heads", 8),
    ("num_key_value_heads", 4),
    ("head_dim", 256),
    ("vocab_size", 262_208),
    ("max_position_embeddings", 131_072),
    ("sliding_window", 4096),
];

/// The largest accepted size, such as a width or a number of layers. All sizes of real models are smaller.
const MOST: u32 = 1 << 24;

/// Model types whose experts the cost model supports: a router over gated blocks of equal width.
const MIXTURES: [&str; 4] = ["mixtral", "qwen3_moe", "deepseek", "gpt_oss"];

/// Reads the sizes of a model from a file.
///
/// # Errors
/// If the file cannot be read, or does not describe a decoder-only transformer that the cost model supports.
pub(super) fn read(path: &Path) -> Result<ModelSpec, EngineError> {
    let shown = path.display().to_string();
    let read = |path: &Path| {
        file::read_text(path, MAX_SETTINGS_BYTES).map_err(|error| EngineError::Unreadable {
            path: path.display().to_string(),
            reason: error.to_string(),
        })
    };
    let text = read(path)?;
    // ModelOpt of NVIDIA writes the formats of the weights into a file beside `config.json`.
    let beside = path.with_file_name("hf_quant_config.json");
    let is_the_hubs = path.file_name().is_some_and(|name| name == "config.json");
    let beside = if is_the_hubs && beside.exists() { Some(read(&beside)?) } else { None };
    parse(&text, beside.as_deref(), &name_of(path))
        .map_err(|error| EngineError::Malformed { path: shown, reason: error.to_string() })
}

/// The name of the model in a file. For a `config.json`, it is the name of the folder, as on the hub. Otherwise it is
/// the name of the file without extension. If there is no such name, it is `model`.
fn name_of(path: &Path) -> String {
    let is_the_hubs = path.file_name().is_some_and(|name| name == "config.json");
    let named =
        if is_the_hubs { path.parent().and_then(Path::file_name) } else { path.file_stem() };
    named.map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Why a file is not the configuration of a model that can be simulated.
#[derive(Debug, thiserror::Error)]
enum ConfigError {
    /// The text is not a JSON object.
    #[error("is not a config.json: {0}")]
    NoJson(#[from] serde_json::Error),
    /// The model has no keys and values per head.
    #[error(
        "`kv_lora_rank`: latent attention (MLA) has no keys and values per head and cannot be predicted"
    )]
    LatentAttention,
    /// The type of the model is missing.
    #[error("`model_type` is absent or not a text")]
    NoType,
    /// The type of the model is unknown.
    #[error(
        "`model_type` \"{0}\" is not known; the known types are {known}",
        known = known_types()
    )]
    UnknownType(String),
    /// The heads do not divide the hidden size.
    #[error("`hidden_size` {hidden} is not a multiple of {heads} heads")]
    Heads { hidden: u32, heads: u32 },
    /// The heads of keys and values do not divide the heads.
    #[error(
        "`num_attention_heads` ({heads}) is not a multiple of `num_key_value_heads` ({kv_heads})"
    )]
    KvHeads { heads: u32, kv_heads: u32 },
    /// The width of the layers is missing.
    #[error("`intermediate_size` is absent or not a whole number")]
    NoIntermediate,
    /// A size is out of range.
    #[error("`{key}`: {size} must be between 1 and {MOST}")]
    Size { key: &'static str, size: u32 },
    /// A number is missing.
    #[error("`{0}` is absent or not a whole number above 0")]
    NoNumber(&'static str),
    /// The longest sequence is missing.
    #[error("has no maximum sequence length (`max_position_embeddings`)")]
    NoContext,
    /// The factor of the longest sequence is out of range.
    #[error("`rope_scaling`: factor {0} must be above 0")]
    Factor(f64),
    /// The type is not known as a mixture of experts.
    #[error(
        "`{key}`: mixtures of experts of type \"{model_type}\" cannot be predicted; the known types are {}",
        MIXTURES.join(", ")
    )]
    Mixture { key: &'static str, model_type: String },
    /// Only some of the layers have experts.
    #[error("`{0}`: experts in some of the layers cannot be predicted")]
    SomeLayers(&'static str),
    /// A token uses more experts than there are.
    #[error("`num_experts_per_tok` {per_token} is more than `{key}` {count}")]
    PerToken { per_token: u32, key: &'static str, count: u32 },
    /// The quantisation is unknown.
    #[error(
        "`quantization_config`: method {method}{} is not known; the known methods are gptq, awq and squeezellm with \
            4 bits, fp8, mxfp4, compressed-tensors with 4-bit integers and with floats of 4 or 8 bits, and modelopt",
        bits.map_or_else(String::new, |bits| format!(" with {bits} bits"))
    )]
    Quantisation { method: String, bits: Option<u64> },
    /// Models of this type are described only with one format for all layers.
    #[error(
        "`quantization_config`: models of type \"{0}\" are read only with gptq, awq, squeezellm or fp8 weights"
    )]
    Plain(String),
    /// The algorithm of ModelOpt is unknown.
    #[error(
        "`quant_algo` \"{0}\" is not known; the known ones are FP8, FP8_PB_WO, NVFP4 and MXFP4"
    )]
    Algorithm(String),
    /// A pattern for names of modules is not a regular expression.
    #[error("`quantization_config`: \"{0}\" is not a regular expression")]
    Pattern(String),
    /// A number is larger than that of any model.
    #[error("`{key}`: {size} must be at most {most}")]
    TooLarge { key: String, size: u64, most: u64 },
    /// A part of the configuration is missing.
    #[error("`{0}` is absent")]
    NotFound(&'static str),
    /// A list does not have an entry for each layer.
    #[error("`{key}` has {found} entries for {layers} layers")]
    PerLayer { key: &'static str, found: usize, layers: u32 },
    /// The key means a form of the model that is not read.
    #[error("`{0}`: models of this form cannot be described yet")]
    NotRead(&'static str),
    /// The windows of attention cannot be read.
    #[error(transparent)]
    Windows(#[from] WindowsError),
}

/// The names of all types that can be read.
fn known_types() -> String {
    let types: Vec<_> = TYPES.iter().map(|(name, ..)| *name).chain(families::names()).collect();
    types.join(", ")
}

fn parse(text: &str, beside: Option<&str>, name: &str) -> Result<ModelSpec, ConfigError> {
    let config: Map<String, Value> = serde_json::from_str(&without_literals(text))?;
    let config = Config(with_defaults(config));
    let beside: Option<Value> = beside.map(serde_json::from_str).transpose()?;
    let model_type = config.text("model_type").ok_or(ConfigError::NoType)?;
    let known = TYPES.iter().find(|(name, ..)| *name == model_type.to_lowercase());
    let is_layered = families::names().any(|name| name == model_type);
    let (mlp, is_tied) = match known {
        Some(&(_, mlp, is_tied)) => (mlp, is_tied),
        None if is_layered => (Mlp::Gated, model_type.starts_with("gemma")),
        None => return Err(ConfigError::UnknownType(model_type)),
    };
    if !is_layered && config.number(&["kv_lora_rank"]).is_some() {
        return Err(ConfigError::LatentAttention);
    }
    let hidden = config.required(&["hidden_size", "n_embd", "d_model"])?;
    let heads = config.required(&["num_attention_heads", "n_head", "n_heads"])?;
    if heads == 0 || hidden % heads != 0 && config.number(&["head_dim"]).is_none() {
        return Err(ConfigError::Heads { hidden, heads });
    }
    let intermediate = match config.number(&["intermediate_size", "ffn_hidden_size", "n_inner"]) {
        // First-generation Qwen states the width of gate and up projection together.
        Some(width) if model_type == "qwen" => width / 2,
        Some(width) => width,
        None if mlp == Mlp::Plain => {
            config.number(&["ffn_dim"]).unwrap_or(hidden.saturating_mul(4))
        }
        // The layers have widths of their own.
        None if is_layered => config.number(&["moe_intermediate_size"]).unwrap_or(hidden),
        None => return Err(ConfigError::NoIntermediate),
    };
    let layers = config.required(&["num_hidden_layers", "num_layers", "n_layer", "n_layers"])?;
    let (context, rope) = context(&config)?;
    let uniform = config.weights(beside.as_ref());
    let is_uniform = !is_layered && (uniform.is_some() || mlp == Mlp::Plain);
    let mut spec = ModelSpec {
        name: name.to_lowercase(),
        hub_id: String::new(),
        layers,
        hidden,
        heads,
        kv_heads: config.kv_heads(heads),
        head_dim: config.number(&["head_dim", "kv_channels"]).unwrap_or(hidden / heads),
        intermediate,
        vocabulary: match config.number(&["padded_vocab_size"]) {
            Some(padded) => padded,
            None => config.required(&["vocab_size"])?,
        },
        context,
        context_limit: None,
        rope,
        weights: uniform.unwrap_or_default(),
        mlp,
        experts: None,
        windows: None,
        layout: None,
        tied_embeddings: config
            .0
            .get("tie_word_embeddings")
            .and_then(Value::as_bool)
            .unwrap_or(is_tied),
        default_profile: DEFAULT_PROFILE.to_owned(),
    };
    check_sizes(&spec)?;
    if is_uniform && uniform.is_some() {
        spec.experts = config.experts(&model_type)?;
        spec.windows = windows(&config.0, &model_type, layers)?;
        return Ok(spec);
    }
    let quantised = Quantised::of(&config, beside.as_ref())?;
    if is_uniform {
        return Err(ConfigError::Plain(model_type));
    }
    let sizes = Sizes {
        layers,
        hidden,
        heads,
        kv_heads: spec.kv_heads,
        head_dim: spec.head_dim,
        vocabulary: spec.vocabulary,
        is_tied: spec.tied_embeddings,
    };
    let layout = layout(&config, &model_type, sizes, &quantised)?;
    spec.weights = most_common(&layout.modules);
    spec.layout = Some(Box::new(layout));
    Ok(spec)
}

/// The format of most of the parameters that engines quantise.
fn most_common(modules: &[Module]) -> Weights {
    let of = |weights: Weights| {
        let same = |module: &&Module| module.role == Role::Product && module.weights == weights;
        modules.iter().filter(same).map(|module| module.parameters).sum::<u64>()
    };
    Weights::ALL.into_iter().max_by_key(|&weights| of(weights)).unwrap_or_default()
}

/// If the file describes a model of images and text, moves the keys of the text model to the top level, because the
/// parameters of the image model are not counted. For Gemma 3, absent keys get their defaults.
fn with_defaults(mut config: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Object(text)) = config.remove("text_config") {
        config.extend(text);
    }
    if config.get("model_type").and_then(Value::as_str) == Some("gemma3_text") {
        for (key, value) in GEMMA3 {
            config.entry(key).or_insert_with(|| value.into());
        }
    }
    config
}

/// Rejects impossible sizes, because they would make the costs meaningless.
fn check_sizes(spec: &ModelSpec) -> Result<(), ConfigError> {
    for (key, size) in [
        ("num_hidden_layers", spec.layers),
        ("hidden_size", spec.hidden),
        ("num_attention_heads", spec.heads),
        ("num_key_value_heads", spec.kv_heads),
        ("head_dim", spec.head_dim),
        ("intermediate_size", spec.intermediate),
        ("vocab_size", spec.vocabulary),
        ("max_position_embeddings", spec.context),
    ] {
        if !(1..=MOST).contains(&size) {
            return Err(ConfigError::Size { key, size });
        }
    }
    if !spec.heads.is_multiple_of(spec.kv_heads) {
        let (heads, kv_heads) = (spec.heads, spec.kv_heads);
        return Err(ConfigError::KvHeads { heads, kv_heads });
    }
    Ok(())
}

impl Config {
    /// Returns the experts; `None` if the model is not a mixture of experts. Only one form is supported: all layers
    /// except the first few have experts, and all experts have the same width.
    fn experts(&self, model_type: &str) -> Result<Option<Experts>, ConfigError> {
        let keys = ["num_local_experts", "num_experts", "n_routed_experts"];
        let found = keys.into_iter().find_map(|key| Some((key, self.number(&[key])?)));
        let Some((key, count)) = found.filter(|&(_, count)| count > 1) else { return Ok(None) };
        if !MIXTURES.contains(&model_type) {
            return Err(ConfigError::Mixture { key, model_type: model_type.to_owned() });
        }
        for key in ["decoder_sparse_step", "moe_layer_freq"] {
            if self.number(&[key]).is_some_and(|every| every != 1) {
                return Err(ConfigError::SomeLayers(key));
            }
        }
        let dense = self.0.get("mlp_only_layers").and_then(Value::as_array);
        if dense.is_some_and(|layers| !layers.is_empty()) {
            return Err(ConfigError::SomeLayers("mlp_only_layers"));
        }
        let per_token = self.required(&["num_experts_per_tok", "experts_per_token"])?;
        if per_token > count {
            return Err(ConfigError::PerToken { per_token, key, count });
        }
        let layers = self.required(&["num_hidden_layers"])?;
        Ok(Some(Experts {
            count,
            per_token,
            shared: self.number(&["n_shared_experts"]).unwrap_or(0),
            intermediate: self.required(&["moe_intermediate_size", "intermediate_size"])?,
            dense_layers: self.number(&["first_k_dense_replace"]).unwrap_or(0).min(layers),
        }))
    }

    /// The format of all matrices of layers, if they have one of the formats that all profiles know. `None`: the
    /// matrices have different formats, or another one.
    fn weights(&self, beside: Option<&Value>) -> Option<Weights> {
        let Some(quantization) = self.0.get("quantization_config") else {
            return beside.is_none().then_some(Weights::Fp16);
        };
        let method = quantization.get("quant_method").and_then(Value::as_str).unwrap_or("none");
        let bits = quantization.get("bits").or(quantization.get("w_bit")).and_then(Value::as_u64);
        match (Weights::named(method)?, bits) {
            (Weights::Fp8, _) => Some(Weights::Fp8),
            (weights @ (Weights::Gptq | Weights::Awq | Weights::SqueezeLlm), Some(4)) => {
                Some(weights)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
