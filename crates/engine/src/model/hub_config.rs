//! A model's sizes from a Hugging Face `config.json`, read as vLLM reads it. Nothing is guessed: a
//! key that is missing is an error that names it.

use std::path::Path;

use inferometer_net::file::{self, MAX_SETTINGS_BYTES};
use serde_json::{Map, Value};

use super::spec::{Experts, Mlp, ModelSpec};
use crate::error::EngineError;
use crate::weights::Weights;

/// The profile of a model that has none of its own.
const DEFAULT_PROFILE: &str = "a100-40g-vllm-0.2.7";

/// Keys under which configurations state the longest sequence; the smallest counts.
const CONTEXT_KEYS: [&str; 8] = [
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
    "model_max_length",
];

/// Model types whose feed-forward block has a gate.
const GATED: [&str; 21] = [
    "llama",
    "mistral",
    "qwen",
    "qwen2",
    "qwen3",
    "baichuan",
    "chatglm",
    "internlm",
    "internlm2",
    "yi",
    "gemma",
    "gemma2",
    "phi3",
    "aquila",
    "decilm",
    "stablelm",
    "orion",
    "granite",
    "mixtral",
    "qwen3_moe",
    "deepseek",
];

/// Model types whose experts have the form that is priced: a router over gated blocks of one width.
const MIXTURES: [&str; 3] = ["mixtral", "qwen3_moe", "deepseek"];

/// Model types whose feed-forward block has none.
const PLAIN: [&str; 10] = [
    "opt",
    "gpt2",
    "gpt_neox",
    "gptj",
    "gpt_bigcode",
    "falcon",
    "bloom",
    "mpt",
    "phi",
    "starcoder2",
];

/// Reads the file.
///
/// # Errors
/// When it cannot be read or does not describe a decoder-only transformer of a form that is priced.
pub(super) fn read(path: &Path) -> Result<ModelSpec, EngineError> {
    let shown = path.display().to_string();
    let text = file::read_text(path, MAX_SETTINGS_BYTES).map_err(|error| {
        EngineError::Unreadable { path: shown.clone(), reason: error.to_string() }
    })?;
    parse(&text, &name_of(path)).map_err(|reason| EngineError::Malformed { path: shown, reason })
}

/// The name of the model that a file describes. A `config.json` has the name of its folder, as on the
/// hub; any other file has its own name.
fn name_of(path: &Path) -> String {
    let is_the_hubs = path.file_name().is_some_and(|name| name == "config.json");
    let named =
        if is_the_hubs { path.parent().and_then(Path::file_name) } else { path.file_stem() };
    named.map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn parse(text: &str, name: &str) -> Result<ModelSpec, String> {
    let config: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| format!("is not a config.json: {error}"))?;
    let config = Config(config);
    if config.number(&["kv_lora_rank"]).is_some() {
        return Err(
            "`kv_lora_rank`: latent attention (MLA) keeps no keys and values per head and \
                    cannot be predicted"
                .to_owned(),
        );
    }
    let model_type = config.text("model_type").ok_or("has no `model_type`")?;
    let mlp = mlp(&model_type)?;
    let hidden = config.required(&["hidden_size", "n_embd", "d_model"])?;
    let heads = config.required(&["num_attention_heads", "n_head", "n_heads"])?;
    if heads == 0 || hidden % heads != 0 && config.number(&["head_dim"]).is_none() {
        return Err(format!("`hidden_size` {hidden} is no multiple of {heads} heads"));
    }
    let intermediate = match config.number(&["intermediate_size", "ffn_hidden_size", "n_inner"]) {
        // Qwen of the first generation counts gate and up projection together.
        Some(width) if model_type == "qwen" => width / 2,
        Some(width) => width,
        None if mlp == Mlp::Plain => config.number(&["ffn_dim"]).unwrap_or(4 * hidden),
        None => return Err("has no `intermediate_size`".to_owned()),
    };
    Ok(ModelSpec {
        name: name.to_lowercase(),
        hub_id: String::new(),
        layers: config.required(&["num_hidden_layers", "num_layers", "n_layer", "n_layers"])?,
        hidden,
        heads,
        kv_heads: config.kv_heads(heads),
        head_dim: config.number(&["head_dim", "kv_channels"]).unwrap_or(hidden / heads),
        intermediate,
        vocabulary: config.required(&["padded_vocab_size", "vocab_size"])?,
        context: config.context()?,
        context_limit: None,
        weights: config.weights()?,
        mlp,
        experts: config.experts(&model_type)?,
        tied_embeddings: config.0.get("tie_word_embeddings").and_then(Value::as_bool) == Some(true),
        default_profile: DEFAULT_PROFILE.to_owned(),
    })
}

fn mlp(model_type: &str) -> Result<Mlp, String> {
    if GATED.contains(&model_type.to_lowercase().as_str()) {
        Ok(Mlp::Gated)
    } else if PLAIN.contains(&model_type.to_lowercase().as_str()) {
        Ok(Mlp::Plain)
    } else {
        Err(format!(
            "`model_type` \"{model_type}\" is not known; known are {}, {}",
            GATED.join(", "),
            PLAIN.join(", ")
        ))
    }
}

struct Config(Map<String, Value>);

impl Config {
    fn text(&self, key: &str) -> Option<String> {
        self.0.get(key)?.as_str().map(str::to_owned)
    }

    fn number(&self, keys: &[&str]) -> Option<u32> {
        let value = keys.iter().find_map(|key| self.0.get(*key)?.as_u64())?;
        u32::try_from(value).ok()
    }

    fn required(&self, keys: &[&str]) -> Result<u32, String> {
        self.number(keys).filter(|&value| value > 0).ok_or(format!("has no `{}`", keys[0]))
    }

    fn kv_heads(&self, heads: u32) -> u32 {
        if self.0.get("multi_query_attention").and_then(Value::as_bool) == Some(true) {
            return self.number(&["multi_query_group_num"]).unwrap_or(1);
        }
        if self.0.get("multi_query").and_then(Value::as_bool) == Some(true) {
            return 1;
        }
        self.number(&["num_key_value_heads", "num_kv_heads", "n_head_kv"]).unwrap_or(heads)
    }

    fn context(&self) -> Result<u32, String> {
        let stated = CONTEXT_KEYS.iter().filter_map(|key| self.number(&[key])).min();
        let stated = stated.ok_or("states no longest sequence (`max_position_embeddings`)")?;
        let scaling = self.0.get("rope_scaling").and_then(|value| value.get("factor"));
        let factor = scaling.and_then(Value::as_f64).unwrap_or(1.0);
        Ok((f64::from(stated) * factor) as u32)
    }

    /// Experts of a form that is priced: chosen in every layer but the first few, all alike.
    fn experts(&self, model_type: &str) -> Result<Option<Experts>, String> {
        let keys = ["num_local_experts", "num_experts", "n_routed_experts"];
        let found = keys.into_iter().find_map(|key| Some((key, self.number(&[key])?)));
        let Some((key, count)) = found.filter(|&(_, count)| count > 1) else { return Ok(None) };
        if !MIXTURES.contains(&model_type) {
            return Err(format!(
                "`{key}`: mixtures of experts of type \"{model_type}\" cannot be predicted; known \
                 are {}",
                MIXTURES.join(", ")
            ));
        }
        for key in ["decoder_sparse_step", "moe_layer_freq"] {
            if self.number(&[key]).is_some_and(|every| every != 1) {
                return Err(format!("`{key}`: experts in some of the layers cannot be predicted"));
            }
        }
        let dense = self.0.get("mlp_only_layers").and_then(Value::as_array);
        if dense.is_some_and(|layers| !layers.is_empty()) {
            return Err(
                "`mlp_only_layers`: experts in some of the layers cannot be predicted".into()
            );
        }
        let per_token = self.required(&["num_experts_per_tok"])?;
        if per_token > count {
            return Err(format!("`num_experts_per_tok` {per_token} is more than `{key}` {count}"));
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

    fn weights(&self) -> Result<Weights, String> {
        let Some(quantization) = self.0.get("quantization_config") else {
            return Ok(Weights::Fp16);
        };
        let method = quantization.get("quant_method").and_then(Value::as_str).unwrap_or("none");
        let bits = quantization.get("bits").or(quantization.get("w_bit")).and_then(Value::as_u64);
        match (Weights::parse(method), bits) {
            (Some(weights), Some(4)) => Ok(weights),
            _ => Err(format!(
                "`quantization_config`: method {method} with {bits:?} bits is not known; \
                 gptq, awq and squeezellm with 4 bits are"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LLAMA: &str = r#"{"model_type":"llama","hidden_size":5120,"num_hidden_layers":40,
        "num_attention_heads":40,"intermediate_size":13824,"vocab_size":32000,
        "max_position_embeddings":4096,"torch_dtype":"float16"}"#;

    #[test]
    fn a_llama_configuration_gives_its_sizes() {
        let spec = parse(LLAMA, "Llama-2-13b").unwrap();
        assert_eq!((spec.layers, spec.heads, spec.kv_heads, spec.head_dim), (40, 40, 40, 128));
        assert_eq!((spec.context, spec.weights, spec.mlp), (4096, Weights::Fp16, Mlp::Gated));
        assert!((spec.weight_bytes(Weights::Fp16) / 2e9 - 13.02).abs() < 0.01);
    }

    #[test]
    fn a_model_has_the_name_of_its_folder_or_of_its_own_file() {
        for (path, name) in [
            ("models/Llama-2-13b/config.json", "Llama-2-13b"),
            ("models/small.json", "small"),
            ("small.json", "small"),
            ("config.json", "model"),
        ] {
            assert_eq!(name_of(Path::new(path)), name, "{path}");
        }
    }

    #[test]
    fn chatglm_spells_its_sizes_in_its_own_way() {
        let text = r#"{"model_type":"chatglm","hidden_size":4096,"num_layers":28,
            "num_attention_heads":32,"multi_query_attention":true,"multi_query_group_num":2,
            "ffn_hidden_size":13696,"padded_vocab_size":65024,"seq_length":8192,
            "kv_channels":128}"#;
        let mut spec = parse(text, "chatglm3-6b").unwrap();
        let known = crate::model::model("chatglm3-6b").unwrap();
        spec.hub_id.clone_from(&known.hub_id);
        assert_eq!(spec, known);
    }

    #[test]
    fn first_generation_qwen_counts_gate_and_up_projection_together() {
        let text = LLAMA.replace("llama", "qwen").replace("13824", "27392");
        assert_eq!(parse(&text, "qwen-14b").unwrap().intermediate, 13_696);
    }

    #[test]
    fn mixtures_of_experts_are_those_of_the_list() {
        let mixtral = r#"{"model_type":"mixtral","hidden_size":4096,"num_hidden_layers":32,
            "num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,
            "vocab_size":32000,"max_position_embeddings":32768,"num_local_experts":8,
            "num_experts_per_tok":2}"#;
        let qwen = r#"{"model_type":"qwen3_moe","hidden_size":2048,"num_hidden_layers":48,
            "num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,
            "intermediate_size":6144,"moe_intermediate_size":768,"num_experts":128,
            "num_experts_per_tok":8,"decoder_sparse_step":1,"mlp_only_layers":[],
            "vocab_size":151936,"max_position_embeddings":40960}"#;
        for (text, name) in [(mixtral, "mixtral-8x7b"), (qwen, "qwen3-30b-a3b")] {
            let known = crate::model::model(name).unwrap();
            let spec = parse(text, name).unwrap();
            assert_eq!(spec.context, known.context_limit.unwrap_or(known.context));
            let (hub_id, context) = (known.hub_id.clone(), known.context);
            let context_limit = known.context_limit;
            assert_eq!(ModelSpec { hub_id, context, context_limit, ..spec }, known);
        }
        let sparse = qwen.replace("\"decoder_sparse_step\":1", "\"decoder_sparse_step\":2");
        assert!(parse(&sparse, "x").unwrap_err().contains("decoder_sparse_step"));
    }

    #[test]
    fn deepseek_s_first_layers_are_dense_and_some_experts_are_everyone_s() {
        let text = r#"{"model_type":"deepseek","hidden_size":2048,"num_hidden_layers":28,
            "num_attention_heads":16,"num_key_value_heads":16,"intermediate_size":10944,
            "moe_intermediate_size":1408,"n_routed_experts":64,"n_shared_experts":2,
            "num_experts_per_tok":6,"first_k_dense_replace":1,"moe_layer_freq":1,
            "vocab_size":102400,"max_position_embeddings":4096}"#;
        let found = parse(text, "x").unwrap().weight_bytes(Weights::Fp16) / 2e9;
        assert!((found - 16.38).abs() < 0.01, "{found}");
    }

    #[test]
    fn what_cannot_be_predicted_is_an_error_that_names_the_key() {
        for (from, to, key) in [
            ("\"llama\"", "\"mamba\"", "model_type"),
            ("\"hidden_size\"", "\"width\"", "hidden_size"),
            ("\"intermediate_size\"", "\"x\"", "intermediate_size"),
            ("\"torch_dtype\"", "\"kv_lora_rank\":512,\"torch_dtype\"", "kv_lora_rank"),
            ("\"torch_dtype\"", "\"num_local_experts\":8,\"torch_dtype\"", "num_local_experts"),
            (
                "\"torch_dtype\"",
                "\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":8},\"torch_dtype\"",
                "quantization_config",
            ),
        ] {
            let message = parse(&LLAMA.replace(from, to), "x").unwrap_err();
            assert!(message.contains(key), "{key}: {message}");
        }
    }
}
