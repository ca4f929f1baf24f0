//! The built-in models (`data/models.toml`). To add a model, add an entry to that file.

use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;

use super::hub_config;
use super::spec::ModelSpec;
use crate::EngineError;

#[derive(Deserialize)]
struct ModelFile {
    model: Vec<ModelSpec>,
}

static MODELS: LazyLock<Vec<ModelSpec>> = LazyLock::new(|| {
    let file: ModelFile = toml::from_str(include_str!("../../data/models.toml"))
        .expect("invariant: the embedded models parse");
    file.model
});

/// The built-in models.
pub fn models() -> &'static [ModelSpec] {
    &MODELS
}

/// Returns a built-in model by its short name or its hub id; upper and lower case do not matter. The hub id of a tuned
/// version of the same size, such as `Qwen/Qwen2.5-7B-Instruct`, also finds the model. The hub id of a version with
/// quantized weights does not: give the original model and the weights (`--weights`).
pub fn built_in(name: &str) -> Option<&'static ModelSpec> {
    let is_named = |spec: &&ModelSpec| {
        spec.name.eq_ignore_ascii_case(name) || spec.hub_id.eq_ignore_ascii_case(name)
    };
    let of_hub = || name.contains('/').then(|| untuned(name));
    let named = models().iter().find(is_named);
    named.or_else(|| of_hub().and_then(|id| models().iter().find(|it| untuned(&it.hub_id) == id)))
}

/// The part of a hub id that means the first version of a model. Later versions may have other sizes: Mistral v0.2 has
/// no sliding window, and v0.3 has another vocabulary.
const FIRST_VERSION: &str = "v0.1";

/// Parts at the end of a hub id that name a tuned version, the base version or the file format. They do not change the
/// sizes.
const TUNED: [&str; 5] = ["instruct", "chat", "it", "hf", "base"];

/// The last part of a hub id in lower case, without `meta-` at its start and without the parts at its end that name a
/// tuned version, its date or its file format. A version after the first is kept at the end, because its sizes may
/// differ.
fn untuned(id: &str) -> String {
    let id = id.rsplit('/').next().unwrap_or(id).to_lowercase();
    let mut parts: Vec<&str> = id.strip_prefix("meta-").unwrap_or(&id).split('-').collect();
    let is_date = |part: &str| part.len() == 4 && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_tuned = |part: &str| TUNED.contains(&part) || part.starts_with("v0.") || is_date(part);
    let mut versions = Vec::new();
    while parts.len() > 2 && parts.last().is_some_and(|part| is_tuned(part)) {
        versions.extend(parts.pop().filter(|part| part.starts_with("v0.")));
    }
    versions.retain(|version| *version != FIRST_VERSION);
    parts.extend(versions);
    parts.join("-")
}

/// Returns a model by its short name or hub id ([`built_in`]), or from the path of a `config.json`.
///
/// # Errors
/// If there is no such model, or the file cannot be read or does not describe a model.
pub fn model(name: &str) -> Result<ModelSpec, EngineError> {
    if let Some(spec) = built_in(name) {
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
    use crate::weights::Weights;

    #[test]
    fn known_models_have_their_published_number_of_parameters() {
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
            ("mistral-7b-v0.2", 7.24),
            ("mistral-7b-v0.3", 7.25),
            ("qwen2.5-7b", 7.61),
            ("qwen2.5-14b", 14.77),
            ("qwen2.5-32b", 32.76),
            ("qwen3-4b", 4.02),
            ("qwen3-8b", 8.19),
            ("qwen3-14b", 14.77),
            ("mixtral-8x7b", 46.70),
            ("qwen3-30b-a3b", 30.53),
            ("llama-2-70b", 68.98),
            ("llama-3.1-70b", 70.55),
            ("llama-3.1-405b", 405.85),
            ("llama-3.2-1b", 1.24),
            ("codellama-34b", 33.74),
            ("mistral-nemo-12b", 12.25),
            ("mistral-small-24b", 23.57),
            ("qwen2.5-0.5b", 0.49),
            ("qwen2.5-1.5b", 1.54),
            ("qwen2.5-3b", 3.09),
            ("qwen2.5-72b", 72.70),
            ("qwen3-0.6b", 0.60),
            ("qwen3-1.7b", 1.72),
            ("qwen3-32b", 32.76),
            ("qwen3-235b-a22b", 235.09),
            ("gemma-2-2b", 2.61),
            ("gemma-2-9b", 9.24),
            ("gemma-2-27b", 27.23),
            ("gemma-3-1b", 1.00),
            ("gemma-3-4b", 3.88),
            ("gemma-3-12b", 11.77),
            ("gemma-3-27b", 27.01),
            ("phi-4", 14.66),
            ("phi-4-mini", 3.84),
            ("mixtral-8x22b", 140.62),
            ("deepseek-moe-16b", 16.38),
        ] {
            let found = model(name).unwrap().weight_bytes(Weights::Fp16) / 2e9;
            assert!((found - billions).abs() < 0.01, "{name}: {found} instead of {billions}");
        }
    }

    #[test]
    fn a_token_uses_only_the_active_parameters_of_a_mixture_of_experts() {
        for (name, billions) in [("mixtral-8x7b", 12.88), ("qwen3-30b-a3b", 3.35)] {
            let model = model(name).unwrap();
            let active = f64::from(model.experts.unwrap().per_token) * model.expert_parameters();
            let found = model.shared_parameters() + active + 2.0 * model.head_parameters();
            assert!((found / 1e9 - billions).abs() < 0.01, "{name}: {found}");
        }
    }

    #[test]
    fn more_tokens_use_more_experts_up_to_all_experts_of_the_model() {
        let experts = model("mixtral-8x7b").unwrap().experts.unwrap();
        let distinct: Vec<_> = [1.0, 2.0, 8.0, 64.0, 1e6].map(|n| experts.distinct(n)).to_vec();
        assert!((distinct[0] - 2.0).abs() < 1e-12 && (distinct[1] - 3.5).abs() < 1e-12);
        assert!(distinct.is_sorted() && distinct[4] <= 8.0, "{distinct:?}");
    }

    #[test]
    fn a_model_is_found_by_its_hub_id_regardless_of_upper_and_lower_case() {
        assert_eq!(model("thudm/ChatGLM3-6B").unwrap().name, "chatglm3-6b");
    }

    #[test]
    fn a_tuned_version_of_a_model_is_found_by_its_hub_id_but_not_one_with_quantized_weights() {
        for (id, name) in [
            ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"),
            ("Qwen/Qwen3-4B-Instruct-2507", "qwen3-4b"),
            ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
            ("meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b"),
            ("meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"),
            ("mistralai/Mistral-7B-Instruct-v0.1", "mistral-7b"),
            ("mistralai/Mistral-7B-Instruct-v0.2", "mistral-7b-v0.2"),
            ("mistralai/Mistral-7B-v0.3", "mistral-7b-v0.3"),
            ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"),
            ("mistralai/Mixtral-8x22B-Instruct-v0.1", "mixtral-8x22b"),
            ("google/gemma-2-9b-it", "gemma-2-9b"),
            ("microsoft/phi-4", "phi-4"),
        ] {
            assert_eq!(model(id).unwrap().name, name, "{id}");
        }
        for id in [
            "RedHatAI/Qwen2.5-7B-Instruct-FP8",
            "Qwen/Qwen3-8B-AWQ",
            "Qwen/Qwen2.5-Coder-7B",
            "mistralai/Mixtral-8x22B-Instruct-v0.3",
            "mistralai/Mistral-7B-Instruct-v0.4",
            "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B",
        ] {
            assert!(model(id).is_err(), "{id}");
        }
    }

    #[test]
    fn the_error_about_an_unknown_model_lists_known_models() {
        let message = model("gpt-9").unwrap_err().to_string();
        assert!(message.contains("`gpt-9`") && message.contains("chatglm3-6b"), "{message}");
    }

    #[test]
    fn kv_cache_bytes_per_token_depend_on_the_number_of_key_value_heads() {
        assert_eq!(model("chatglm3-6b").unwrap().kv_bytes_per_token(), 28_672.0);
        assert_eq!(model("qwen-14b").unwrap().kv_bytes_per_token(), 819_200.0);
    }
}
