//! Profiles: the constants of an engine version on a card, and the measured rows that they were fitted to. A profile is
//! data (TOML). To add a profile, add a file in `data/profiles` and a line in `PROFILES`. [`crate::cost`] defines the
//! constants.

mod error;
mod provenance;
mod steps;

use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use inferometer_net::file::{self, MAX_SETTINGS_BYTES};
use serde::{Deserialize, Serialize};

use crate::card::{Card, card, cards, is_card_file};
use crate::{EngineError, Weights, model::ModelSpec};
use error::ProfileError;

pub use steps::StepConstants;

pub use provenance::{
    ColumnErrors, Coverage, ErrorPercent, Provenance, Role, SignedError, SignedErrors,
};

/// The version of the format. Files of version 1 are also read if they have no `[steps]`. In version 1, `layer_us` in
/// `[steps]` included the latency of decode attention. Since version 2, this latency is a property of the card.
pub const PROFILE_SCHEMA: u32 = 2;

/// A calibrated engine version on a card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The version of the format; see [`PROFILE_SCHEMA`].
    pub schema: u32,
    /// A short name in lower case.
    pub name: String,
    /// The name of the card, or the path of its file.
    pub card: String,
    /// The default number of cards that share the model.
    #[serde(default = "one")]
    pub cards: u32,
    /// The engine, such as `vllm`.
    pub engine: String,
    /// The version of the engine, such as `0.2.7`.
    pub engine_version: String,
    /// Whether decode steps run as captured CUDA graphs, padded to certain batch sizes, as in vLLM from 0.2.6 on.
    pub cuda_graphs: bool,
    /// The weight formats that the profile has constants for.
    pub weights: Vec<Weights>,
    /// The ids of the stored runs to which the user fitted the profile with `calibrate`, including those of the profile
    /// from which the fit started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fitted_to: Vec<String>,
    /// The data of the card, if it is not one of the built-in cards and not a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_card: Option<Card>,
    /// Constants that all models share. If there are `steps`, only the constants for memory are used.
    #[serde(default)]
    pub constants: Constants,
    /// The constants of the cost model for vLLM 0.8 and later; absent for the older cost model, which uses `constants`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<StepConstants>,
    /// Constants of the kernels for quantised weights.
    #[serde(default)]
    pub kernels: Kernels,
    /// The measured rows, their role in the fit, and the errors of the predictions.
    #[serde(default)]
    pub provenance: Vec<Provenance>,
    /// Where the constants come from, as text, if no profile was fitted to this version on this card
    /// ([`crate::choose`]).
    #[serde(skip)]
    pub made_of: Option<String>,
}

/// Constants of the older cost model that all models share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constants {
    /// Time of the host per step, in microseconds.
    pub step_us: f64,
    /// The minimum time of a layer, in microseconds. With little computation, launching each kernel separately takes
    /// longer than the kernels.
    pub layer_floor_us: f64,
    /// Host time per square root of the number of sequences of a step, in microseconds. It occurs in engines that send
    /// the batch to worker processes, one per card. The square root is empirical: it fits small and large batches, but
    /// does not follow from the engine's code.
    #[serde(default)]
    pub batch_root_us: f64,
    /// Time per sequence, layer and query head of a step, in nanoseconds.
    pub sequence_layer_head_ns: f64,
    /// Host time per output token that the sequences of a decode step already have, in nanoseconds. It occurs in
    /// engines that pass all these tokens to the sampler in every step.
    pub output_token_ns: f64,
    /// Fraction of the card's memory bandwidth that is reached.
    pub bandwidth_efficiency: f64,
    /// Fraction of the card's dense matrix throughput that is reached, including the attention of prompts.
    pub dense_efficiency: f64,
    /// Speed at which decode attention reads keys and values again for each query head, as a multiple of the card's
    /// memory bandwidth. It is above 1 if the cache serves these reads.
    pub kv_reread_efficiency: f64,
    /// Time in which one thread block processes one token of its part of a sequence, per layer, in nanoseconds.
    pub chain_token_ns: f64,
    /// Fraction of the bandwidth of the link between cards that is reached.
    #[serde(default = "whole")]
    pub link_efficiency: f64,
    /// Memory in addition to weights and KV that does not depend on the step, in bytes.
    pub activation_fixed_bytes: f64,
    /// Memory at the peak of the profiling run, in bytes per batched token and hidden unit.
    pub activation_bytes_per_token_hidden: f64,
}

impl Default for Constants {
    /// No host time, and the speeds of the data sheet.
    fn default() -> Self {
        Self {
            step_us: 0.0,
            layer_floor_us: 0.0,
            batch_root_us: 0.0,
            sequence_layer_head_ns: 0.0,
            output_token_ns: 0.0,
            bandwidth_efficiency: 1.0,
            dense_efficiency: 1.0,
            kv_reread_efficiency: 1.0,
            chain_token_ns: 0.0,
            link_efficiency: 1.0,
            activation_fixed_bytes: 0.0,
            activation_bytes_per_token_hidden: 0.0,
        }
    }
}

fn one() -> u32 {
    1
}

fn whole() -> f64 {
    1.0
}

/// Constants of the matrix products with quantised weights.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernels {
    /// GPTQ (exllama).
    pub gptq: Option<GptqKernel>,
    /// AWQ.
    pub awq: Option<AwqKernel>,
}

/// The exllama kernel. For few rows it multiplies directly; for many rows it dequantises and uses a dense product.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GptqKernel {
    /// The largest number of rows that the kernel multiplies directly.
    pub max_rows: u32,
    /// Fraction of the card's memory bandwidth that is reached with the quantised weights.
    pub bandwidth_efficiency: f64,
    /// Fraction of the card's dense matrix throughput that the kernel itself reaches.
    pub dense_efficiency: f64,
    /// Fraction of the card's memory bandwidth that is reached when weights are dequantised to sixteen bits.
    pub dequantise_efficiency: f64,
}

/// The AWQ kernel. It processes rows in tiles, so the number of rows is padded to a multiple of the tile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AwqKernel {
    /// Rows of a tile.
    pub tile_rows: u32,
    /// Fraction of the card's memory bandwidth that is reached with the quantised weights.
    pub bandwidth_efficiency: f64,
    /// Fraction of the card's dense matrix throughput that is reached, with rows padded to tiles.
    pub dense_efficiency: f64,
    /// The number of parts of a product. Each part has its own output in the profiling run.
    pub split_k: u32,
}

impl Profile {
    /// Parses a profile from the text of a file; `path` is for error messages.
    ///
    /// # Errors
    /// If the text is not a profile in TOML, has another schema, names an unknown card, or has an impossible value.
    pub fn parse(text: &str, path: &str) -> Result<Self, EngineError> {
        let malformed = |reason: String| EngineError::Malformed { path: path.to_owned(), reason };
        let profile: Self = toml::from_str(text).map_err(|error| malformed(error.to_string()))?;
        match profile.schema {
            PROFILE_SCHEMA => {}
            1 if profile.steps.is_none() => {}
            1 => {
                let why = "schema = 1 with [steps]: the meaning of `layer_us` has changed; create \
                    the profile again with `inferometer calibrate`";
                return Err(malformed(why.to_owned()));
            }
            other => {
                return Err(malformed(format!(
                    "schema = {other} is not supported; this program \
                    reads schema 1 and {PROFILE_SCHEMA}"
                )));
            }
        }
        profile.card()?;
        profile.check().map_err(|why| malformed(why.to_string()))?;
        Ok(profile)
    }

    /// Returns the card of the profile.
    ///
    /// # Errors
    /// If no card has this name, or if the file of the card cannot be read or does not contain a card.
    pub fn card(&self) -> Result<Card, EngineError> {
        if let Some(own) = &self.own_card {
            return Ok(own.clone());
        }
        card(&self.card)?.ok_or_else(|| EngineError::UnknownCard {
            profile: self.name.clone(),
            card: self.card.clone(),
            known: cards().map(|card| card.name.as_str()).collect::<Vec<_>>().join(", "),
        })
    }

    /// Returns this profile with the data of the user's own card file, if the profile names such a file. The result can
    /// be used from any folder and on any machine.
    ///
    /// # Errors
    /// If the file of the card cannot be read or does not contain a card.
    pub fn with_own_card(mut self) -> Result<Self, EngineError> {
        if is_card_file(&self.card) {
            let own = self.card()?;
            self.card.clone_from(&own.name);
            self.own_card = Some(own);
        }
        Ok(self)
    }

    /// Returns this profile with the properties of another version of the same engine (before vLLM 0.8): whether decode
    /// steps run as CUDA graphs, the sampler's host time, `sequence_layer_head_ns` and `kv_reread_efficiency`.
    #[must_use]
    pub fn with_version_of(&self, other: &Self) -> Self {
        let mut changed = self.clone();
        changed.cuda_graphs = other.cuda_graphs;
        changed.constants.output_token_ns = other.constants.output_token_ns;
        changed.constants.sequence_layer_head_ns = other.constants.sequence_layer_head_ns;
        changed.constants.kv_reread_efficiency = other.constants.kv_reread_efficiency;
        changed
    }

    /// Whether the profile has constants for these weights.
    pub fn supports(&self, weights: Weights) -> bool {
        match weights {
            // Fp32 is like Fp16 with wider numbers, and SqueezeLLM has a kernel similar to GPTQ. The cost model for
            // vLLM 0.8 and later supports all kinds, but most of them are uncalibrated.
            _ if self.steps.is_some() => true,
            Weights::Fp32 => self.weights.contains(&Weights::Fp16),
            Weights::SqueezeLlm => self.weights.contains(&Weights::Gptq),
            weights => self.weights.contains(&weights),
        }
    }

    /// Rejects impossible values, because they would give negative or infinite costs.
    fn check(&self) -> Result<(), ProfileError> {
        if let Some(own) = &self.own_card {
            own.check().map_err(ProfileError::OwnCard)?;
            if own.name != self.card {
                let (name, card) = (own.name.clone(), self.card.clone());
                return Err(ProfileError::OwnCardName { name, card });
            }
        }
        self.steps.as_ref().map_or(Ok(()), StepConstants::check)?;
        let c = &self.constants;
        let mut shares = vec![
            ("constants.bandwidth_efficiency", c.bandwidth_efficiency),
            ("constants.dense_efficiency", c.dense_efficiency),
            ("constants.link_efficiency", c.link_efficiency),
        ];
        if let Some(gptq) = &self.kernels.gptq {
            shares.push(("kernels.gptq.bandwidth_efficiency", gptq.bandwidth_efficiency));
            shares.push(("kernels.gptq.dense_efficiency", gptq.dense_efficiency));
            shares.push(("kernels.gptq.dequantise_efficiency", gptq.dequantise_efficiency));
        }
        if let Some(awq) = &self.kernels.awq {
            shares.push(("kernels.awq.bandwidth_efficiency", awq.bandwidth_efficiency));
            shares.push(("kernels.awq.dense_efficiency", awq.dense_efficiency));
        }
        for (key, share) in shares {
            if !(share > 0.0 && share <= 1.0) {
                return Err(ProfileError::Share { key, share });
            }
        }
        for (key, amount) in [
            ("constants.step_us", c.step_us),
            ("constants.layer_floor_us", c.layer_floor_us),
            ("constants.batch_root_us", c.batch_root_us),
            ("constants.sequence_layer_head_ns", c.sequence_layer_head_ns),
            ("constants.output_token_ns", c.output_token_ns),
            ("constants.chain_token_ns", c.chain_token_ns),
            ("constants.activation_fixed_bytes", c.activation_fixed_bytes),
            ("constants.activation_bytes_per_token_hidden", c.activation_bytes_per_token_hidden),
        ] {
            if !(amount >= 0.0 && amount.is_finite()) {
                return Err(ProfileError::Negative { key, amount });
            }
        }
        if !(c.kv_reread_efficiency > 0.0 && c.kv_reread_efficiency.is_finite()) {
            return Err(ProfileError::Reread);
        }
        for weights in &self.weights {
            let has = match weights {
                _ if self.steps.is_some() => true,
                Weights::Fp16 => true,
                Weights::Fp8 | Weights::Int4 | Weights::Nvfp4 | Weights::Mxfp4 => {
                    return Err(ProfileError::NeedsSteps(*weights));
                }
                Weights::Fp32 | Weights::SqueezeLlm => {
                    return Err(ProfileError::NoConstants(*weights));
                }
                Weights::Gptq => self.kernels.gptq.is_some(),
                Weights::Awq => self.kernels.awq.is_some(),
            };
            if !has {
                return Err(ProfileError::NoKernels(*weights));
            }
        }
        Ok(())
    }
}

/// The names and the texts of the built-in profiles.
const FILES: [(&str, &str); 11] = [
    ("a100-40g-vllm-0.2.7", include_str!("../data/profiles/a100-40g-vllm-0.2.7.toml")),
    ("a100-40g-tgi-1.3.4", include_str!("../data/profiles/a100-40g-tgi-1.3.4.toml")),
    ("a100-40g-vllm-0.2.5-awq", include_str!("../data/profiles/a100-40g-vllm-0.2.5-awq.toml")),
    ("a100-40g-vllm-0.32", include_str!("../data/profiles/a100-40g-vllm-0.32.toml")),
    ("v100-32g-x4-vllm-0.2", include_str!("../data/profiles/v100-32g-x4-vllm-0.2.toml")),
    ("vllm-0.23-h100-sxm", include_str!("../data/profiles/vllm-0.23-h100-sxm.toml")),
    ("vllm-0.11-h100-sxm", include_str!("../data/profiles/vllm-0.11-h100-sxm.toml")),
    ("vllm-0.15-h100-sxm", include_str!("../data/profiles/vllm-0.15-h100-sxm.toml")),
    ("vllm-0.8-h100-pcie", include_str!("../data/profiles/vllm-0.8-h100-pcie.toml")),
    ("vllm-0.8-l40s", include_str!("../data/profiles/vllm-0.8-l40s.toml")),
    ("vllm-0.19-rtx-pro-6000", include_str!("../data/profiles/vllm-0.19-rtx-pro-6000.toml")),
];

/// The built-in profiles that were needed so far. Most commands need one of them.
static PARSED: [OnceLock<Profile>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];

static PROFILES: LazyLock<Vec<Profile>> =
    LazyLock::new(|| FILES.iter().filter_map(|(name, _)| built_in(name)).cloned().collect());

/// The built-in profile with this name.
fn built_in(name: &str) -> Option<&'static Profile> {
    let at = FILES.iter().position(|(known, _)| *known == name)?;
    let parsed = || Profile::parse(FILES[at].1, name).expect("invariant: embedded profiles parse");
    Some(PARSED[at].get_or_init(parsed))
}

/// The built-in profiles.
pub fn profiles() -> &'static [Profile] {
    &PROFILES
}

/// Returns a profile by name, or from the path of a file.
///
/// # Errors
/// If there is no such profile, or if the file cannot be read or is not a profile.
pub fn profile(name: &str) -> Result<Profile, EngineError> {
    if let Some(profile) = built_in(name) {
        return Ok(profile.clone());
    }
    if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
        let text = file::read_text(Path::new(name), MAX_SETTINGS_BYTES).map_err(|error| {
            EngineError::Unreadable { path: name.to_owned(), reason: error.to_string() }
        })?;
        return Profile::parse(&text, name);
    }
    let names: Vec<_> = profiles().iter().map(|profile| profile.name.as_str()).collect();
    Err(EngineError::UnknownProfile { name: name.to_owned(), known: names.join(", ") })
}

/// Returns the default profile of a model. It is used if the user names no profile.
///
/// # Errors
/// Those of [`profile`].
pub fn default_profile(model: &ModelSpec) -> Result<Profile, EngineError> {
    profile(&model.default_profile)
}

#[cfg(test)]
mod tests;
