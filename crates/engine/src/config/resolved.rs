//! A complete configuration, and which of its parts no measured row of the profile supports.

use crate::card::Card;
use crate::model::layout::Kept;
use crate::model::{Experts, ModelSpec, Windows, built_in};
use crate::{Noise, Profile, Weights};

/// Limits of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum tokens of a sequence, prompt and output together.
    pub max_model_len: u32,
    /// Maximum number of sequences that run at the same time.
    pub max_num_seqs: u32,
    /// Maximum tokens of a step, including padding.
    pub max_num_batched_tokens: u32,
    /// Maximum padding of a prompt step, in tokens.
    pub max_paddings: u32,
    /// Maximum tokens of one prompt in a step; `u32::MAX`: no limit.
    pub max_prompt_part: u32,
    /// Whether the computation of a prompt starts only if there is memory for the whole prompt.
    pub reserves_prompts: bool,
}

/// A configuration with a value for every option.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedConfig {
    /// The model.
    pub model: ModelSpec,
    /// The constants of an engine version on a card.
    pub profile: Profile,
    /// The card of the profile.
    pub card: Card,
    /// The storage format of the linear layers.
    pub weights: Weights,
    /// Limits of the scheduler.
    pub limits: Limits,
    /// Tokens in a KV block.
    pub block_size: u32,
    /// Share of a card's memory that the engine may use, above 0 and at most 1.
    pub gpu_memory_utilization: f64,
    /// Number of cards over which each layer is split.
    pub tensor_parallel_size: u32,
    /// Number of pipeline stages. Each stage has a part of the layers.
    pub pipeline_parallel_size: u32,
    /// The layers with sliding-window attention, if their window is shorter than the longest sequence; absent: every
    /// layer reads the whole sequence.
    pub windows: Option<Windows>,
    /// Bytes per number in the KV cache.
    pub kv_bytes_per_number: f64,
    /// Whether the engine reuses the cached prefixes of prompts instead of computing them again.
    pub prefix_caching: bool,
    /// Whether the engine schedules the next step while a step runs.
    pub async_scheduling: bool,
    /// Random variation of the step times; absent: none.
    pub noise: Option<Noise>,
}

impl ResolvedConfig {
    /// The card's stated throughput of matrix products in the activations' number type, in operations per second.
    pub fn flops_per_s(&self) -> f64 {
        match self.weights {
            Weights::Fp32 => self.card.single_flops_per_s,
            _ => self.card.dense_flops_per_s,
        }
    }

    /// What a sequence keeps in the cache of the card with the most layers; `None` if the model has no layout.
    pub fn kept(&self) -> Option<Kept> {
        let layout = self.model.layout.as_ref()?;
        let kept = layout.kept(self.kv_bytes_per_number, self.tensor_parallel_size);
        let layers = self.model.layers;
        let share = f64::from(layers.div_ceil(self.pipeline_parallel_size)) / f64::from(layers);
        let (whole, windowed, state) = (kept.whole, kept.windowed, kept.state);
        Some(Kept {
            whole: whole * share,
            windowed: windowed * share,
            state: state * share,
            ..kept
        })
    }

    /// Returns why predictions are uncalibrated, if the configuration has pipeline stages, an fp8 KV cache, a sliding
    /// window or a mixture of experts; otherwise `None`. A profile does not store whether its measured rows have
    /// pipeline stages or an fp8 KV cache, so these are always uncalibrated. A mixture of experts is calibrated if
    /// the profile has measured rows of this model. A sliding window is calibrated if the profile has measured rows
    /// of this model, or of another built-in model with a sliding window.
    pub fn uncalibrated_form(&self) -> Option<String> {
        if self.pipeline_parallel_size > 1 {
            let stages = self.pipeline_parallel_size;
            return Some(format!(
                "a profile does not state whether its measured rows have {stages} pipeline stages; a step is assumed to \
                    pass through all stages in sequence"
            ));
        }
        if self.kv_bytes_per_number < 2.0 {
            return Some(
                "a profile does not state whether its measured rows have an fp8 KV cache"
                    .to_owned(),
            );
        }
        if let Some(Windows { tokens, layers }) = self.windows
            && !self.is_fitted_to_windows()
        {
            return Some(format!(
                "no measured row of the profile is of a model with sliding-window attention ({tokens} tokens in \
                    {layers} of {} layers)",
                self.model.layers
            ));
        }
        if self.model.layout.is_some() && !self.is_fitted_to_model() {
            return Some(format!(
                "no measured row of the profile is of {}, whose layers and formats of weights are described one by one",
                self.model.name
            ));
        }
        let experts = self.model.experts.filter(|_| !self.is_fitted_to_model())?;
        let (name, Experts { count, per_token, .. }) = (&self.model.name, experts);
        Some(format!(
            "no measured row of the profile is of {name}, a mixture of experts with {per_token} of {count} experts per \
                token"
        ))
    }

    /// Whether the profile's constants for the memory of activations hold for the model. They were fitted to single
    /// models. Only for models from files, other models count their activations; built-in models keep the constants.
    pub(crate) fn has_fitted_memory(&self) -> bool {
        let is_built_in = !self.model.hub_id.is_empty();
        let grows = self.profile.constants.activation_bytes_per_token_hidden > 0.0;
        self.profile.steps.is_none() || is_built_in || grows || self.is_fitted_to_model()
    }

    /// Whether the profile has measured rows of this model.
    fn is_fitted_to_model(&self) -> bool {
        self.profile.provenance.iter().any(|known| known.table == self.model.name)
    }

    /// Whether the profile has measured rows of this model, or of a built-in model with sliding-window attention.
    fn is_fitted_to_windows(&self) -> bool {
        let has_windows = |name: &str| built_in(name).is_some_and(|model| model.windows.is_some());
        let mut tables = self.profile.provenance.iter();
        self.is_fitted_to_model() || tables.any(|known| has_windows(&known.table))
    }

    /// Returns why no measured row supports the profile, with the source of the constants if known. `None` if the
    /// profile has measured rows.
    pub fn uncalibrated_profile(&self) -> Option<String> {
        let Profile { name, engine, engine_version, .. } = &self.profile;
        // The name of the user's own card, not the path of its file.
        let card = &self.card.name;
        if !self.profile.provenance.is_empty() {
            return None;
        }
        Some(match &self.profile.made_of {
            Some(made_of) => {
                format!("there is no profile of {engine} {engine_version} on {card}: {made_of}")
            }
            None => format!("profile {name} was not compared with measured rows"),
        })
    }

    /// Returns sentences for users: which parts of the configuration no measured row supports.
    pub fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        let cards = self.tensor_parallel_size;
        if cards > 1 && !self.profile.provenance.iter().any(|p| p.seen.cards == cards) {
            caveats.push(format!(
                "no measured row of the profile has {} cards; the cost of tensor parallelism is an estimate: \
                    uncalibrated",
                self.tensor_parallel_size
            ));
        }
        let mut known = self.profile.provenance.iter();
        if !self.profile.provenance.is_empty() && !known.any(|p| p.weights == self.weights) {
            let weights = self.weights;
            let analogy = match weights {
                Weights::SqueezeLlm => "; their cost is assumed to be that of gptq",
                _ => "",
            };
            caveats.push(format!(
                "no measured row of the profile has {weights} weights{analogy}: uncalibrated"
            ));
        }
        caveats.extend(self.uncalibrated_form().map(|form| format!("{form}: uncalibrated")));
        caveats.extend(self.uncalibrated_profile().map(|why| format!("{why}: uncalibrated")));
        caveats
    }
}
