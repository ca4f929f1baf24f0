//! What can be wrong with a configuration or a profile: one closed enum.

use crate::model::Weights;

/// Why an engine cannot be made as asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EngineError {
    /// No model of this name.
    #[error("--model: no model named `{name}`; known are {known}, or give a path to a config.json")]
    UnknownModel {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// No profile of this name.
    #[error("--profile: no profile named `{name}`; known are {known}, or give a path to a file")]
    UnknownProfile {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A profile names a card that is not known.
    #[error("profile {profile}: no card named `{card}`; known are {known}")]
    UnknownCard {
        /// The profile.
        profile: String,
        /// The card it names.
        card: String,
        /// The names there are.
        known: String,
    },
    /// A file that cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// A file that is not what it should be.
    #[error("{path}: {reason}")]
    Malformed {
        /// The file.
        path: String,
        /// What is wrong in it, and where.
        reason: String,
    },
    /// An engine version without a scheduler here.
    #[error(
        "profile {profile}: no scheduler for {engine} {version}; there are those of vllm 0.2.x, \
         vllm from 0.8 on and tgi 1.3.x"
    )]
    UnknownEngine {
        /// The profile.
        profile: String,
        /// The engine it names.
        engine: String,
        /// And its version.
        version: String,
    },
    /// Weights whose kernel the profile has no constants for.
    #[error(
        "--quantization: profile {profile} has no constants for {weights} weights; it has {known}"
    )]
    KernelNotCalibrated {
        /// The profile.
        profile: String,
        /// The weights asked for.
        weights: Weights,
        /// Those it can do.
        known: String,
    },
    /// A value outside of what the engine takes.
    #[error("{flag} {found}: {expected}")]
    Invalid {
        /// The option.
        flag: &'static str,
        /// Its value.
        found: String,
        /// What it may be, and why.
        expected: String,
    },
    /// Weights and activations leave no room for the KV cache.
    #[error(
        "no memory for the KV cache: {model} needs {needed_gb:.1} GB of the {usable_gb:.1} GB that \
         {card} may use; raise --gpu-memory-utilization or --tensor-parallel-size, or lower \
         --max-model-len"
    )]
    NoKvMemory {
        /// The model.
        model: String,
        /// The card.
        card: String,
        /// Weights and the peak of the profiling run, on one card.
        needed_gb: f64,
        /// What the engine may use of one card.
        usable_gb: f64,
    },
    /// A fault that cannot be read.
    #[error("--fault {found}: {expected}")]
    Fault {
        /// What was given.
        found: String,
        /// What it may be.
        expected: String,
    },
    /// An address that cannot be served on.
    #[error("cannot serve on {address}: {reason}; take another --listen")]
    Socket {
        /// The address.
        address: String,
        /// What the system said.
        reason: String,
    },
    /// A tokenizer that cannot make the engine's texts.
    #[error("the engine's texts: {0}")]
    Tokenizer(#[from] inferometer_model::tokenizer::TokenizerError),
    /// The server ended because it was told to.
    #[error("the server died of an injected fault")]
    Died,
}
