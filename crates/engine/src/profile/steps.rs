//! Constants of the cost model for vLLM 0.8 and later (see [`crate::cost`]), and their check.

use serde::{Deserialize, Serialize};

use super::error::ProfileError;

/// Constants of the steps of vLLM 0.8 and later. Most factors multiply the speed of an operation. This speed was
/// measured on the card with the single operation, or is estimated from the card's data sheet. `reduction_factor`
/// multiplies a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepConstants {
    /// Whether the engine schedules the next step while a step runs (`--async-scheduling`); absent: depends on the
    /// version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asynchronous: Option<bool>,
    /// The default of `--max-num-seqs`; absent: depends on the card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_num_seqs: Option<u32>,
    /// The default of `--max-num-batched-tokens`; absent: depends on the card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_num_batched_tokens: Option<u32>,
    /// Host time per step that does not overlap with the card's work, in microseconds.
    pub step_us: f64,
    /// Additional host time per sequence of the step, in microseconds.
    pub sequence_us: f64,
    /// Additional host time of a step that computes prompts, in microseconds.
    pub prompt_step_us: f64,
    /// Additional time of the first step after a time without requests, in microseconds: the engine waits for a message,
    /// and its preparation of this step overlaps with no other step. 0 if a profile file does not have this key.
    #[serde(default)]
    pub waking_us: f64,
    /// Latency of the front end in microseconds: the time of a request from its arrival to the scheduler, plus the time
    /// of its first token back to the client.
    pub front_us: f64,
    /// Additional latency of the front end per other request in flight, in microseconds. Reason: after each step, the
    /// front end sends a token to each request in flight. 0 if a profile file does not have this key.
    #[serde(default)]
    pub front_sequence_us: f64,
    /// Time in which the front end handles one request before it can handle the next, in microseconds.
    pub front_service_us: f64,
    /// Time of a layer in addition to its matrix products and attention, in microseconds.
    pub layer_us: f64,
    /// Time of a layer's attention per sequence, in microseconds.
    pub sequence_layer_us: f64,
    /// Time of a layer's attention per prompt or chunk of a prompt, in microseconds.
    pub prompt_layer_us: f64,
    /// Factor on the bandwidth with which weights, activations and logits are read.
    pub bandwidth_factor: f64,
    /// Factor on the speed of matrix products of many rows, and of the attention of prompts.
    pub products_factor: f64,
    /// Factor on the bandwidth with which keys and values are read.
    pub kv_factor: f64,
    /// Additional factor on the speed of matrix products with FP8 weights.
    pub fp8_factor: f64,
    /// Factor on the time of reductions over cards.
    pub reduction_factor: f64,
}

impl StepConstants {
    /// Rejects values that no engine or card can have.
    pub(super) fn check(&self) -> Result<(), ProfileError> {
        let (sequences, tokens) = (self.max_num_seqs, self.max_num_batched_tokens);
        if sequences == Some(0) || tokens.is_some_and(|tokens| tokens < sequences.unwrap_or(1)) {
            return Err(ProfileError::Batch);
        }
        for (key, time) in [
            ("step_us", self.step_us),
            ("sequence_us", self.sequence_us),
            ("prompt_step_us", self.prompt_step_us),
            ("waking_us", self.waking_us),
            ("front_us", self.front_us),
            ("front_sequence_us", self.front_sequence_us),
            ("front_service_us", self.front_service_us),
            ("layer_us", self.layer_us),
            ("sequence_layer_us", self.sequence_layer_us),
            ("prompt_layer_us", self.prompt_layer_us),
        ] {
            if !(time >= 0.0 && time.is_finite()) {
                return Err(ProfileError::StepTime { key, time });
            }
        }
        for (key, factor) in [
            ("bandwidth_factor", self.bandwidth_factor),
            ("products_factor", self.products_factor),
            ("kv_factor", self.kv_factor),
            ("fp8_factor", self.fp8_factor),
            ("reduction_factor", self.reduction_factor),
        ] {
            if !(0.1..=4.0).contains(&factor) {
                return Err(ProfileError::StepFactor { key, factor });
            }
        }
        Ok(())
    }
}
