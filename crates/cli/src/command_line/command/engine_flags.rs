//! The flags of the embedded engine, most of them as in vLLM. They are also keywords of the Python module. The engine
//! determines their defaults.

use std::collections::BTreeMap;

use clap::{Args, Command};
use inferometer_engine::card::{card_meant, is_card_file};
use inferometer_engine::{Dtype, EngineConfig, KvCacheDtype, Weights, choose};
use inferometer_plan::spec::without_texts;
use inferometer_run::PlanError;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Value};

use super::run_flags::given;

/// The flags. For an absent flag, the engine determines the default.
#[derive(Args, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineFlags {
    /// Engine and version to simulate, such as vllm-0.23. Its profile on the card is used. If there
    /// is none, similar profiles are combined [default: the engine of --profile, or of the profile
    /// of the model; if this profile is built in and --card names a card other than its card: the
    /// latest measured version of the engine, if possible on this card and with this model]
    #[arg(long, value_name = "NAME-VERSION", help_heading = "Engine")]
    engine: Option<String>,
    /// Card (GPU) to simulate, by name or file: h100-sxm, l40s, my-card.toml [default: the card of
    /// --profile, or of the profile of the model]
    #[arg(long, value_parser = card_argument, value_name = "NAME|FILE", help_heading = "Engine")]
    #[serde(deserialize_with = "card_from_key")]
    card: Option<String>,
    /// Quantization of the linear layers: fp16, gptq, awq or fp8; squeezellm, fp32, int4, nvfp4 and
    /// mxfp4 are accepted, but uncalibrated (no profile was fitted to measurements with them)
    /// [default: the quantization of the model, which may differ from module to module]
    #[serde(alias = "quantization")]
    #[arg(long, alias = "quantization", value_name = "KIND", help_heading = "Engine")]
    weights: Option<String>,
    /// Data type of activations and of unquantized weights: auto, half, float16, bfloat16, float or
    /// float32; float32 is uncalibrated
    #[arg(long, help_heading = "Engine")]
    dtype: Option<String>,
    /// Data type of the KV cache: auto, fp8, fp8_e4m3 or fp8_e5m2. All types except auto need vLLM
    /// 0.8 or later, and are uncalibrated
    #[arg(long, value_name = "TYPE", help_heading = "Engine")]
    kv_cache_dtype: Option<String>,
    /// Maximum number of tokens of one prompt in a scheduler step (vLLM since 0.8) [default: 0, no
    /// limit]
    #[arg(long, value_name = "N", help_heading = "Engine")]
    long_prefill_token_threshold: Option<u32>,
    /// Maximum number of tokens of a prompt plus its output
    #[arg(long, value_name = "N", help_heading = "Engine")]
    max_model_len: Option<u32>,
    /// Maximum number of tokens in a scheduler step, over all sequences
    #[arg(long, value_name = "N", help_heading = "Engine")]
    max_num_batched_tokens: Option<u32>,
    /// Maximum number of sequences in a scheduler step
    #[arg(long, value_name = "N", help_heading = "Engine")]
    max_num_seqs: Option<u32>,
    /// Maximum number of padding tokens in a prefill step (vLLM 0.2)
    #[arg(long, value_name = "N", help_heading = "Engine")]
    max_paddings: Option<u32>,
    /// Number of tokens in a KV block
    #[arg(long, value_name = "N", help_heading = "Engine")]
    block_size: Option<u32>,
    /// Share of the card's memory that the engine uses, from 0 to 1
    #[arg(long, value_parser = inferometer_plan::spec::finite, value_name = "SHARE", help_heading = "Engine")]
    gpu_memory_utilization: Option<f64>,
    /// Number of cards over which each layer is split
    #[arg(long, value_name = "N", help_heading = "Engine")]
    tensor_parallel_size: Option<u32>,
    /// Number of pipeline stages over which the layers are split; more than one is uncalibrated
    #[arg(long, value_name = "N", help_heading = "Engine")]
    pipeline_parallel_size: Option<u32>,
    /// Reuse the KV blocks of shared prompt prefixes (vLLM since 0.8) [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    #[arg(help_heading = "Engine")]
    enable_prefix_caching: Option<bool>,
    /// Do not reuse the KV blocks of shared prompt prefixes; the same as --enable-prefix-caching
    /// false
    #[arg(long, conflicts_with = "enable_prefix_caching", help_heading = "Engine")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    no_enable_prefix_caching: bool,
    /// Schedule the next step while a step runs (vLLM since 0.8) [default: true since vLLM 0.14]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    #[arg(help_heading = "Engine")]
    async_scheduling: Option<bool>,
    /// Schedule a step only after the previous step; the same as --async-scheduling false
    #[arg(long, conflicts_with = "async_scheduling", help_heading = "Engine")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    no_async_scheduling: bool,
}

/// The name of a card, or the absolute path of a card file: a stored plan must mean the same file in every folder.
fn card_argument(name: &str) -> std::io::Result<String> {
    match is_card_file(name) {
        true => Ok(std::path::absolute(name)?.display().to_string()),
        false => Ok(card_meant(name).map_or(name, |card| &card.name).to_owned()),
    }
}

fn card_from_key<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let name = Option::<String>::deserialize(value)?;
    name.map(|name| card_argument(&name)).transpose().map_err(D::Error::custom)
}

impl EngineFlags {
    /// The names of the flags, with underscores instead of dashes. Aliases follow the name of their flag.
    pub fn keywords() -> Vec<String> {
        let command = Self::augment_args(Command::new("engine"));
        let names = command.get_arguments().flat_map(|flag| {
            let further = flag.get_all_aliases().unwrap_or_default();
            flag.get_long().into_iter().chain(further)
        });
        names.map(|name| name.replace('-', "_")).collect()
    }

    /// Removes the keys of the engine flags from `keys` and parses their values.
    ///
    /// # Errors
    /// Returns all mistakes. The keys are removed in any case.
    pub fn take_from(keys: &mut Map<String, Value>) -> Result<Self, PlanError> {
        let (mut own, mut mistakes) = (Map::new(), Vec::new());
        for name in Self::keywords() {
            let Some(value) = keys.remove(&name).filter(|value| !value.is_null()) else { continue };
            let alone = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
            match serde_json::from_value::<Self>(alone) {
                Ok(_) => drop(own.insert(name, value)),
                Err(error) => {
                    let why = without_texts(&error.to_string());
                    mistakes.push(format!("{name}: has a value of the wrong type: {why}"));
                }
            }
        }
        for (one, other) in [
            ("weights", "quantization"),
            ("enable_prefix_caching", "no_enable_prefix_caching"),
            ("async_scheduling", "no_async_scheduling"),
        ] {
            if own.contains_key(one) && own.contains_key(other) {
                mistakes.push(format!("{one}, {other}: both set the same value; give one of them"));
            }
        }
        if !mistakes.is_empty() {
            return Err(mistakes.into());
        }
        serde_json::from_value(Value::Object(own)).map_err(PlanError::new)
    }

    /// The flag with this name and value, both in the form that a plan stores, as one word of a command line.
    pub fn word(name: &str, value: &str) -> String {
        let flag = name.replace('_', "-");
        // A flag that disables something has no value.
        if name.starts_with("no_") { format!("--{flag}") } else { format!("--{flag}={value}") }
    }

    /// The values of the given flags as text, by name, in the form that a plan stores.
    pub fn given(&self) -> BTreeMap<String, String> {
        let given = given(self).unwrap_or_default();
        let text = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        given.into_iter().map(|(name, value)| (name, text(value))).collect()
    }

    /// Whether the engine or the card is named.
    pub fn name_an_engine(&self) -> bool {
        self.engine.is_some() || self.card.is_some()
    }

    /// Sets absent flags to these values. Returns the values that were used.
    ///
    /// # Errors
    /// If a value is of the wrong type.
    pub fn complete(
        &mut self,
        stated: &[(&'static str, String)],
    ) -> Result<Vec<(&'static str, String)>, PlanError> {
        let mut all = given(&*self).unwrap_or_default();
        let is_absent =
            |name: &str| !all.contains_key(name) && !all.contains_key(&format!("no_{name}"));
        let used: Vec<_> = stated.iter().filter(|(name, _)| is_absent(name)).cloned().collect();
        for (name, text) in &used {
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()));
            all.insert((*name).to_owned(), value);
        }
        *self = Self::take_from(&mut all)?;
        Ok(used)
    }

    /// Applies the flags to a configuration.
    ///
    /// # Errors
    /// If the name of weights, a data type, an engine or a card is unknown.
    pub fn apply(&self, config: &mut EngineConfig) -> Result<(), PlanError> {
        if let Some(name) = &self.weights {
            config.weights = Some(Weights::named(name).ok_or_else(|| {
                let known = Weights::ALL.map(Weights::name).join(", ");
                PlanError::new(format!("--weights: `{name}` is not known; there are {known}"))
            })?);
        }
        if let Some(name) = &self.dtype {
            config.dtype = Some(Dtype::parse(name).ok_or_else(|| {
                let known = Dtype::NAMES.join(", ");
                PlanError::new(format!("--dtype: `{name}` is not a type; there are {known}"))
            })?);
        }
        if let Some(name) = &self.kv_cache_dtype {
            config.kv_cache_dtype = Some(KvCacheDtype::parse(name).ok_or_else(|| {
                let known = KvCacheDtype::NAMES.join(", ");
                PlanError::new(format!(
                    "--kv-cache-dtype: `{name}` is not a type; there are {known}"
                ))
            })?);
        }
        if self.engine.is_some() || self.card.is_some() {
            let (engine, card) = (self.engine.as_deref(), self.card.as_deref());
            let weights = config.weights.unwrap_or(config.model.weights);
            config.profile = choose(&config.profile, engine, card, (&config.model.name, weights))
                .map_err(PlanError::new)?;
        }
        config.long_prefill_token_threshold = self.long_prefill_token_threshold;
        config.max_model_len = self.max_model_len;
        config.max_num_batched_tokens = self.max_num_batched_tokens;
        config.max_num_seqs = self.max_num_seqs;
        config.max_paddings = self.max_paddings;
        config.block_size = self.block_size;
        config.gpu_memory_utilization = self.gpu_memory_utilization;
        config.tensor_parallel_size = self.tensor_parallel_size;
        config.pipeline_parallel_size = self.pipeline_parallel_size;
        let off = self.no_enable_prefix_caching.then_some(false);
        config.prefix_caching = off.or(self.enable_prefix_caching);
        let off = self.no_async_scheduling.then_some(false);
        config.async_scheduling = off.or(self.async_scheduling);
        Ok(())
    }
}

/// The configuration of the engine to simulate. The default model is chatglm3-6b.
///
/// # Errors
/// If the model or the profile is unknown, or if the flags do not fit them.
pub fn config(
    model_name: Option<&str>,
    profile_name: Option<&str>,
    flags: &EngineFlags,
) -> Result<EngineConfig, PlanError> {
    let model_name = model_name.unwrap_or("chatglm3-6b");
    let mut config = EngineConfig::of(model_name, profile_name).map_err(PlanError::new)?;
    flags.apply(&mut config)?;
    config.resolve().map_err(PlanError::new)?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_flags_are_read_from_keys_and_all_their_mistakes_are_reported_together() {
        let keys = |value: Value| value.as_object().cloned().expect("an object");
        let mut plan = keys(serde_json::json!({
            "max_num_seqs": 8, "quantization": "awq", "gpu_memory_utilization": 0.5, "requests": 3,
        }));
        let taken = EngineFlags::take_from(&mut plan).expect("they are right");
        assert_eq!(plan.keys().collect::<Vec<_>>(), ["requests"]);
        assert_eq!(taken.max_num_seqs, Some(8));
        assert_eq!(taken.given().get("weights").map(String::as_str), Some("awq"));
        let mut plan = keys(serde_json::json!({
            "max_num_seqs": "many", "block_size": -1, "weights": "awq", "quantization": "gptq",
        }));
        let Err(error) = EngineFlags::take_from(&mut plan) else { panic!("it is refused") };
        assert_eq!(error.mistakes.len(), 3, "{:?}", error.mistakes);
        assert!(
            error
                .mistakes
                .iter()
                .any(|one| one.contains("max_num_seqs: has a value of the wrong type: a text"))
        );
        assert!(plan.is_empty());
    }

    #[test]
    fn the_path_of_a_card_file_is_stored_as_an_absolute_path() {
        let of = |name: &str| {
            let keys = serde_json::json!({ "card": name });
            let taken = EngineFlags::take_from(&mut keys.as_object().cloned().expect("an object"));
            taken.expect("a name").given()["card"].clone()
        };
        assert_eq!(of("l40s"), "l40s");
        let file = std::path::absolute("mine.toml").expect("a folder").display().to_string();
        assert_eq!(of("mine.toml"), file);
    }

    #[test]
    fn a_fact_of_a_run_replaces_only_an_absent_flag() {
        let mut flags = EngineFlags {
            max_num_seqs: Some(8),
            no_async_scheduling: true,
            ..EngineFlags::default()
        };
        let stated = [
            ("max_num_seqs", "64"),
            ("async_scheduling", "true"),
            ("gpu_memory_utilization", "0.8"),
            ("weights", "fp8"),
        ];
        let stated = stated.map(|(name, value)| (name, value.to_owned()));
        let used = flags.complete(&stated).expect("they are right");
        assert_eq!(used, stated[2..]);
        assert_eq!((flags.max_num_seqs, flags.gpu_memory_utilization), (Some(8), Some(0.8)));
        assert_eq!((flags.weights.as_deref(), flags.async_scheduling), (Some("fp8"), None));
        let wrong = flags.complete(&[("block_size", "many".to_owned())]);
        assert!(wrong.expect_err("a text").to_string().contains("block_size"));
    }

    #[test]
    fn a_stored_engine_flag_is_written_in_the_form_of_the_command_line() {
        assert_eq!(EngineFlags::word("max_num_seqs", "64"), "--max-num-seqs=64");
        let switch = EngineFlags::word("no_enable_prefix_caching", "true");
        assert_eq!(switch, "--no-enable-prefix-caching");
        assert_eq!(EngineFlags::word("no_async_scheduling", "true"), "--no-async-scheduling");
    }

    #[test]
    fn only_engine_flags_that_were_given_become_part_of_a_plan() {
        assert!(EngineFlags::default().given().is_empty());
        let flags = EngineFlags {
            weights: Some("awq".to_owned()),
            gpu_memory_utilization: Some(0.85),
            block_size: Some(32),
            ..EngineFlags::default()
        };
        let given: Vec<_> = flags.given().into_iter().collect();
        let expected =
            [("block_size", "32"), ("gpu_memory_utilization", "0.85"), ("weights", "awq")];
        assert_eq!(given, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
