//! In which format each module of a checkpoint is stored: from `quantization_config`, or from ModelOpt's
//! `hf_quant_config.json`.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;

use super::ConfigError;
use super::keys::Config;
use crate::Weights;

/// A storage format: bits of a number, and bits of a scale for each block of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Format {
    pub weights: Weights,
    bits: u64,
    /// Rows and columns of a block; 0: the whole matrix.
    block: (u64, u64),
    scale_bits: u64,
}

impl Format {
    pub const SIXTEEN: Self = Self::of(Weights::Fp16, 16, (0, 0), 0);
    pub const SINGLE: Self = Self::of(Weights::Fp32, 32, (0, 0), 0);
    /// OCP MXFP4: an exponent of 8 bits for 32 numbers.
    const MXFP4: Self = Self::of(Weights::Mxfp4, 4, (1, 32), 8);
    const FP8: Self = Self::of(Weights::Fp8, 8, (0, 0), 32);

    const fn of(weights: Weights, bits: u64, block: (u64, u64), scale_bits: u64) -> Self {
        Self { weights, bits, block, scale_bits }
    }

    /// The same format with the blocks inside of rows, as in tables.
    pub fn by_row(self) -> Self {
        Self { block: (self.block.0.min(1), self.block.1), ..self }
    }

    /// The bytes of a matrix with its scales.
    pub fn bytes(self, (rows, columns): (u64, u64)) -> u64 {
        let blocks = |size: u64, block: u64| if block == 0 { 1 } else { size.div_ceil(block) };
        let of =
            |rows: u64, columns: u64, bits: u64| rows.saturating_mul(columns).saturating_mul(bits);
        let scales = of(blocks(rows, self.block.0), blocks(columns, self.block.1), self.scale_bits);
        of(rows, columns, self.bits).saturating_add(scales).div_ceil(8)
    }
}

/// Modules, by patterns of their names.
#[derive(Default)]
struct Names {
    exact: BTreeSet<String>,
    wild: Vec<String>,
    expressions: Vec<Regex>,
}

impl Names {
    fn of(list: Option<&Value>) -> Result<Self, ConfigError> {
        let mut names = Self::default();
        // The text model of a model of images is a part of it; its modules are named here as if it were alone.
        let alone = |it: &str| it.replace("language_model.", "").replace(r"language_model\.", "");
        for pattern in
            list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        {
            let pattern = alone(pattern);
            if let Some(expression) = pattern.strip_prefix("re:") {
                // `re.match` of Python: from the start of the name.
                let found = Regex::new(&format!("^(?:{expression})"));
                let found = found.map_err(|_| ConfigError::Pattern(pattern.clone()))?;
                names.expressions.push(found);
            } else if pattern.contains('*') {
                names.wild.push(pattern);
            } else {
                names.exact.insert(pattern);
            }
        }
        Ok(names)
    }

    /// Whether a pattern is the name of the module, or of a module around it, or of its last parts.
    fn has(&self, name: &str) -> bool {
        if self.expressions.iter().any(|it| it.is_match(name)) {
            return true;
        }
        let ends = |from: usize| {
            let dots = name[from..].match_indices('.').map(move |(at, _)| from + at);
            dots.chain([name.len()])
        };
        let starts = [0].into_iter().chain(name.match_indices('.').map(|(at, _)| at + 1));
        starts.into_iter().any(|from| {
            ends(from).any(|to| {
                let part = &name[from..to];
                self.exact.contains(part) || self.wild.iter().any(|it| is_like(it, part))
            })
        })
    }
}

/// Whether a text has the form of a pattern in which `*` stands for any characters.
fn is_like(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, rest)) => text.strip_prefix(before).is_some_and(|text| {
            let at = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            at.into_iter().any(|at| is_like(rest, &text[at..]))
        }),
    }
}

/// The formats of a checkpoint.
#[derive(Default)]
pub(super) struct Quantised {
    /// The formats by names of modules; empty names: all modules.
    groups: Vec<(Option<Names>, Format)>,
    /// The format of routed experts, if it is not that of other modules.
    experts: Option<Format>,
    ignored: Names,
}

/// What a module is, as far as its format depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Layer,
    Experts,
}

impl Quantised {
    /// Reads the formats. `beside` is the content of `hf_quant_config.json`, which counts if the configuration has no
    /// `quantization_config`.
    pub fn of(config: &Config, beside: Option<&Value>) -> Result<Self, ConfigError> {
        if let Some(found) = config.value("quantization_config") {
            let mut formats = Self::by_method(found)?;
            let experts = found.get("expert_dtype").or(config.value("expert_dtype"));
            formats.experts = match experts.and_then(Value::as_str) {
                Some("fp4") => Some(Format::MXFP4),
                _ => formats.experts,
            };
            return Ok(formats);
        }
        match beside.and_then(|it| it.get("quantization")) {
            Some(found) => Self::of_modelopt(found, found.get("exclude_modules")),
            None => Ok(Self::default()),
        }
    }

    /// The format of a matrix that engines can quantise.
    pub fn format(&self, name: &str, of: Of) -> Format {
        if self.ignored.has(name) {
            return Format::SIXTEEN;
        }
        let group = |names: &Option<Names>| names.as_ref().is_none_or(|names| names.has(name));
        let found = self.groups.iter().find(|(names, _)| group(names)).map(|(_, format)| *format);
        let experts = self.experts.filter(|_| of == Of::Experts);
        experts.or(found).unwrap_or(Format::SIXTEEN)
    }

    fn by_method(found: &Value) -> Result<Self, ConfigError> {
        let method = found.get("quant_method").and_then(Value::as_str).unwrap_or("none");
        let bits = found.get("bits").or(found.get("w_bit")).and_then(Value::as_u64);
        let all = |format| vec![(None, format)];
        let ignored = ["modules_to_not_convert", "ignored_layers", "ignore"];
        let ignored = ignored.into_iter().find_map(|key| found.get(key));
        let formats = match (method, bits) {
            ("fp8" | "fbgemm_fp8", _) => Self { groups: all(eight_bits(found)), ..Self::default() },
            // Only experts are stored in this format (`vllm/model_executor/layers/quantization/mxfp4.py`).
            ("mxfp4", _) => Self { experts: Some(Format::MXFP4), ..Self::default() },
            ("gptq" | "awq" | "gptq_marlin" | "awq_marlin", Some(4)) => {
                let weights = if method.starts_with("awq") { Weights::Awq } else { Weights::Gptq };
                let group = found.get("group_size").or(found.get("q_group_size"));
                let group = group.and_then(Value::as_u64).unwrap_or(128);
                let format = Format::of(weights, 4, (1, group), 20);
                Self { groups: all(format), ..Self::default() }
            }
            ("compressed-tensors", _) => Self { groups: groups(found)?, ..Self::default() },
            ("modelopt" | "modelopt_fp4" | "modelopt_mixed", _) => {
                return Self::of_modelopt(found, ignored);
            }
            _ => return Err(ConfigError::Quantisation { method: method.to_owned(), bits }),
        };
        Ok(Self { ignored: Names::of(ignored)?, ..formats })
    }

    /// ModelOpt's formats (`vllm/model_executor/layers/quantization/modelopt.py`).
    fn of_modelopt(found: &Value, ignored: Option<&Value>) -> Result<Self, ConfigError> {
        let format = |algorithm: &str| match algorithm {
            "FP8" | "FP8_PER_CHANNEL_PER_TOKEN" => Ok(Format::FP8),
            "FP8_PB_WO" => Ok(Format::of(Weights::Fp8, 8, (128, 128), 32)),
            "NVFP4" | "NVFP4_AWQ" | "W4A16_NVFP4" => Ok(Format::of(Weights::Nvfp4, 4, (1, 16), 8)),
            "MXFP4" | "W4A8_MXFP4_FP8" => Ok(Format::MXFP4),
            other => Err(ConfigError::Algorithm(other.to_owned())),
        };
        let algorithm = found.get("quant_algo").and_then(Value::as_str).unwrap_or("none");
        let groups = match found.get("quantized_layers").and_then(Value::as_object) {
            Some(layers) => layers
                .iter()
                .map(|(name, of)| {
                    let algorithm = of.get("quant_algo").and_then(Value::as_str).unwrap_or("none");
                    let names = Names::of(Some(&Value::from(vec![name.as_str()])))?;
                    Ok((Some(names), format(algorithm)?))
                })
                .collect::<Result<_, ConfigError>>()?,
            None => vec![(None, format(algorithm)?)],
        };
        Ok(Self { groups, experts: None, ignored: Names::of(ignored)? })
    }
}

/// Eight-bit floats, with a scale for each block of `weight_block_size`.
fn eight_bits(found: &Value) -> Format {
    let block = found.get("weight_block_size").and_then(Value::as_array);
    let side = |at: usize| block.and_then(|block| block.get(at)?.as_u64()).unwrap_or(0);
    let is_exponent = found.get("scale_fmt").and_then(Value::as_str) == Some("ue8m0");
    Format::of(Weights::Fp8, 8, (side(0), side(1)), if is_exponent { 8 } else { 32 })
}

/// The groups of a checkpoint of compressed-tensors.
fn groups(found: &Value) -> Result<Vec<(Option<Names>, Format)>, ConfigError> {
    let mut groups = Vec::new();
    for group in
        found.get("config_groups").and_then(Value::as_object).into_iter().flat_map(|it| it.values())
    {
        let weights = group.get("weights").unwrap_or(&Value::Null);
        let kind = weights.get("type").and_then(Value::as_str).unwrap_or("none");
        let bits = weights.get("num_bits").and_then(Value::as_u64);
        let side = weights.get("group_size").and_then(Value::as_u64).unwrap_or(0);
        let is_symmetric = weights.get("symmetric").and_then(Value::as_bool) != Some(false);
        let block = if side == 0 { (1, 0) } else { (1, side) };
        let format = match (kind, bits, side) {
            ("int", Some(4), _) => {
                let zero = if is_symmetric { 0 } else { 4 };
                Format::of(Weights::Int4, 4, block, 16 + zero)
            }
            ("float", Some(8), 0) => match eight_bits(&as_block(weights)) {
                format if format.block == (0, 0) => Format { block, ..format },
                format => format,
            },
            ("float", Some(4), 16) => Format::of(Weights::Nvfp4, 4, block, 8),
            ("float", Some(4), 32) => Format::MXFP4,
            _ => {
                let method = format!("compressed-tensors of type {kind}");
                return Err(ConfigError::Quantisation { method, bits });
            }
        };
        let targets = group.get("targets").and_then(Value::as_array);
        let is_all = targets.is_none_or(|it| it.iter().any(|it| it == "Linear"));
        let names = if is_all { None } else { Some(Names::of(group.get("targets"))?) };
        groups.push((names, format));
    }
    // Named modules before all others.
    groups.sort_by_key(|(names, _)| names.is_none());
    Ok(groups)
}

/// The block of a group of compressed-tensors, under the name that other checkpoints use.
fn as_block(weights: &Value) -> Value {
    let block = weights.get("block_structure").cloned().unwrap_or(Value::Null);
    serde_json::json!({ "weight_block_size": block })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn formats(config: Value) -> Result<Quantised, ConfigError> {
        let config = json!({ "quantization_config": config });
        Quantised::of(&Config(config.as_object().expect("an object").clone()), None)
    }

    #[test]
    fn the_bytes_of_a_matrix_contain_its_scales() {
        for (config, bytes) in [
            (json!({"quant_method": "fp8", "weight_block_size": [128, 128]}), 2 * 32768 + 16),
            (json!({"quant_method": "awq", "bits": 4, "group_size": 128}), 32768 + 512 * 20 / 8),
            (
                json!({"quant_method": "compressed-tensors", "config_groups": {"group_0": {
                    "targets": ["Linear"],
                    "weights": {"num_bits": 4, "type": "int", "group_size": 32}}}}),
                32768 + 2048 * 2,
            ),
            (json!({"quant_method": "modelopt", "quant_algo": "NVFP4"}), 32768 + 4096),
        ] {
            let format = formats(config.clone()).expect("known").format("a.b", Of::Layer);
            assert_eq!(format.bytes((256, 256)), bytes, "{config}");
        }
        assert_eq!(Format::MXFP4.bytes((256, 256)), 32768 + 2048);
    }

    #[test]
    fn modules_are_ignored_by_names_parts_of_names_wildcards_and_expressions() {
        let of = |pattern: &str, name: &str| {
            let found = json!({"quant_method": "fp8", "modules_to_not_convert": [pattern]});
            formats(found).expect("known").format(name, Of::Layer) == Format::SIXTEEN
        };
        for (pattern, name, is_ignored) in [
            ("lm_head", "lm_head", true),
            ("gate", "model.layers.0.mlp.gate", true),
            ("gate", "model.layers.0.mlp.gate_proj", false),
            ("model.layers.*.self_attn", "model.layers.3.self_attn.q_proj", true),
            ("model.layers.*.self_attn", "model.layers.3.mlp.up_proj", false),
            ("re:.*self_attn.*", "model.layers.3.self_attn.q_proj", true),
            ("model.language_model.layers.3.mlp.gate", "model.layers.3.mlp.gate", true),
            (r"re:.*mlp\.(gate|up)_proj.*", "model.layers.0.mlp.up_proj", true),
            (r"re:.*mlp\.(gate|up)_proj.*", "model.layers.0.mlp.experts.0.up_proj", false),
        ] {
            assert_eq!(of(pattern, name), is_ignored, "{pattern} {name}");
        }
    }

    #[test]
    fn an_unknown_method_algorithm_or_pattern_is_an_error_that_names_it() {
        for (config, told) in [
            (json!({"quant_method": "bitsandbytes"}), "bitsandbytes"),
            (json!({"quant_method": "modelopt", "quant_algo": "W1"}), "W1"),
            (json!({"quant_method": "fp8", "ignore": ["re:("]}), "re:("),
            (
                json!({"quant_method": "compressed-tensors", "config_groups": {"g": {
                    "weights": {"num_bits": 2, "type": "int"}}}}),
                "type int with 2 bits",
            ),
        ] {
            let why = formats(config).err().expect("unknown").to_string();
            assert!(why.contains(told), "{why}");
        }
    }
}
