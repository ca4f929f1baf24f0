//! The mistakes in the constants of a profile.

use crate::{Weights, card::WrongFigures};

/// Why the constants of a profile cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum ProfileError {
    /// The card of the user has wrong figures.
    #[error("own_card: {0}")]
    OwnCard(WrongFigures),
    /// The card of the user is not that of the profile.
    #[error("own_card.name = {name}: must be the card of the profile, {card}")]
    OwnCardName { name: String, card: String },
    /// A share is out of range.
    #[error("{key} = {share}: must be above 0 and at most 1")]
    Share { key: &'static str, share: f64 },
    /// An amount is negative or infinite.
    #[error("{key} = {amount}: must be 0 or more")]
    Negative { key: &'static str, amount: f64 },
    /// The efficiency of rereading keys and values is out of range.
    #[error("constants.kv_reread_efficiency must be above 0")]
    Reread,
    /// The weights need the constants of steps.
    #[error("weights: {0} needs a section `steps`; without it, list fp16, gptq or awq")]
    NeedsSteps(Weights),
    /// No profile has constants for these weights.
    #[error("weights: {0} has no constants; list fp16 or gptq")]
    NoConstants(Weights),
    /// The profile has no constants for these weights.
    #[error("weights: there is no section kernels.{0}")]
    NoKernels(Weights),
    /// The limits of a step contradict each other.
    #[error("steps.max_num_batched_tokens: must be at least max_num_seqs, and both at least 1")]
    Batch,
    /// A time of a step is out of range.
    #[error("steps.{key} = {time}: must be finite, and 0 or more")]
    StepTime { key: &'static str, time: f64 },
    /// A factor of a step is out of range.
    #[error("steps.{key} = {factor}: must lie between 0.1 and 4")]
    StepFactor { key: &'static str, factor: f64 },
}
