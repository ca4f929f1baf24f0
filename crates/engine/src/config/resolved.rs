//! A configuration with nothing left open, and what no measured row stands behind in it.

use crate::card::Card;
use crate::model::{Experts, ModelSpec};
use crate::noise::Noise;
use crate::profile::Profile;
use crate::weights::Weights;

/// Limits of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Tokens of a sequence, prompt and output.
    pub max_model_len: u32,
    /// Sequences that run at once.
    pub max_num_seqs: u32,
    /// Tokens of a prompt step, padding included.
    pub max_num_batched_tokens: u32,
    /// Padding of a prompt step, in tokens.
    pub max_paddings: u32,
    /// Tokens of one prompt in a step.
    pub max_prompt_part: u32,
    /// A prompt is only begun where there is memory for the whole of it.
    pub reserves_prompts: bool,
}

/// A configuration with nothing left open.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedConfig {
    /// The model.
    pub model: ModelSpec,
    /// The engine on its card.
    pub profile: Profile,
    /// The card of the profile.
    pub card: Card,
    /// How the linear layers are stored.
    pub weights: Weights,
    /// Limits of the scheduler.
    pub limits: Limits,
    /// Tokens in a KV block.
    pub block_size: u32,
    /// Share of a card's memory that the engine may use.
    pub gpu_memory_utilization: f64,
    /// Number of cards over which each layer is split.
    pub tensor_parallel_size: u32,
    /// Stages that share the layers.
    pub pipeline_parallel_size: u32,
    /// Bytes of a number of the KV cache.
    pub kv_bytes_per_number: f64,
    /// Cached prefixes of prompts are not computed again.
    pub prefix_caching: bool,
    /// How its steps differ from their cost; absent: not at all.
    pub noise: Option<Noise>,
}

impl ResolvedConfig {
    /// Bytes of keys and values of a token in all layers, of heads that are not shared over cards.
    pub fn kv_bytes_per_token(&self) -> f64 {
        self.model.kv_bytes_per_token() * self.kv_bytes_per_number / 2.0
    }

    /// Operations per second that the card states for products of the activations' type.
    pub fn flops_per_s(&self) -> f64 {
        match self.weights {
            Weights::Fp32 => self.card.single_flops_per_s,
            Weights::Fp16 | Weights::Fp8 | Weights::Gptq | Weights::Awq | Weights::SqueezeLlm => {
                self.card.dense_flops_per_s
            }
        }
    }

    /// Why its cost has a form for which no profile has measured rows, if it has one.
    pub fn uncalibrated_form(&self) -> Option<String> {
        if self.pipeline_parallel_size > 1 {
            let stages = self.pipeline_parallel_size;
            return Some(format!(
                "no row of {stages} pipeline stages was fitted; a step goes through all in turn"
            ));
        }
        self.model.experts.map(|experts| {
            let Experts { count, per_token, .. } = experts;
            format!("no row of a mixture of experts ({per_token} of {count}) was fitted")
        })
    }

    /// What of it no measured rows stand behind, as sentences for readers of predictions.
    pub fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        let cards = self.tensor_parallel_size;
        if cards > 1 && !self.profile.provenance.iter().any(|p| p.seen.cards == cards) {
            caveats.push(format!(
                "tensor parallelism over {} cards is estimated from their link and uncalibrated",
                self.tensor_parallel_size
            ));
        }
        let mut known = self.profile.provenance.iter();
        if !self.profile.provenance.is_empty() && !known.any(|p| p.weights == self.weights) {
            let weights = self.weights;
            let analogy = match weights {
                Weights::SqueezeLlm => "; they are priced by analogy with gptq",
                _ => "",
            };
            caveats.push(format!("no row of {weights} weights was fitted{analogy}: uncalibrated"));
        }
        caveats.extend(self.uncalibrated_form().map(|form| format!("{form}: uncalibrated")));
        if self.profile.provenance.is_empty() {
            let name = &self.profile.name;
            caveats.push(format!(
                "profile {name} was not compared with measured rows: \
                uncalibrated"
            ));
        }
        caveats
    }
}
