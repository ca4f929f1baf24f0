//! The errors of this crate: of configurations, files and measured rows, and of the HTTP server.

use std::fmt;

use crate::Weights;

/// Why an engine cannot be created or served as requested, or why a file cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum EngineError {
    /// No model has this name.
    #[error(
        "--model: no model named `{name}`; the known names are {known}, or give a path to a \
            config.json"
    )]
    UnknownModel { name: String, known: String },
    /// No profile has this name.
    #[error(
        "--profile: no profile named `{name}`; the known names are {known}, or give a path to a \
            file"
    )]
    UnknownProfile { name: String, known: String },
    /// A profile names a card that is not known.
    #[error("profile {profile}: no card named `{card}`; the known names are {known}")]
    UnknownCard { profile: String, card: String, known: String },
    /// A file that cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable { path: String, reason: String },
    /// A file whose contents are invalid.
    #[error("{path}: {reason}")]
    Malformed { path: String, reason: String },
    /// This program has no scheduler for an engine version.
    #[error("profile {profile}: no scheduler for {engine} {version}, only for {known}")]
    UnknownEngine { profile: String, engine: String, version: String, known: String },
    /// The profile has no constants for the kernel of these weights. `known`: the weights that the profile has
    /// constants for, joined by commas.
    #[error(
        "--weights: {weights} cannot be simulated for {engine} on {card}, only {known}; choose other \
            --weights, or another --engine, --card or --profile"
    )]
    KernelNotCalibrated { engine: String, card: String, weights: Weights, known: String },
    /// The value of an option, or of a column of measured rows, is not accepted. `flag`: the option, such as `--max-
    /// model-len`, or the column, such as `rate`. `found`: the value that was given, or the words `is missing` or `is
    /// absent`.
    #[error("{flag} {found}: {expected}")]
    Invalid { flag: &'static str, found: String, expected: String },
    /// The weights alone are larger than the memory.
    #[error(
        "{model}: the weights alone need {weights_gb:.1} GB, but only {usable_gb:.1} GB of {card} are \
            usable; use more cards (--tensor-parallel-size), a smaller kind of weights (--weights){}, \
            or a larger card",
        if *.fit_the_card { ", a higher --gpu-memory-utilization" } else { "" }
    )]
    WeightsTooLarge {
        /// The model.
        model: String,
        /// The card.
        card: String,
        /// The weights on one card, in 10^9 bytes.
        weights_gb: f64,
        /// The memory of one card that the engine may use, in 10^9 bytes.
        usable_gb: f64,
        /// Whether the weights fit into the whole memory of the card.
        fit_the_card: bool,
    },
    /// Weights and activations leave no room for the KV cache. `needed_gb`: weights and the peak of the profiling
    /// run, on one card, in 10^9 bytes. `usable_gb`: the memory of one card that the engine may use, in 10^9 bytes.
    #[error(
        "no memory is left for the KV cache: {model} needs {needed_gb:.1} GB, but only \
            {usable_gb:.1} GB of {card} are usable; raise --gpu-memory-utilization or \
            --tensor-parallel-size, or lower --max-num-batched-tokens (vllm 0.2: --max-model-len)"
    )]
    NoKvMemory { model: String, card: String, needed_gb: f64, usable_gb: f64 },
    /// A `--fault` that cannot be parsed.
    #[error("--fault {found}: {expected}")]
    Fault { found: String, expected: String },
    /// The server cannot listen on an address, or its event loop failed.
    #[error("cannot serve on {address}: {reason}; choose another address with --listen")]
    Socket { address: String, reason: String },
    /// The tokenizer failed to create the output texts.
    #[error("cannot create the output texts of the engine: {0}")]
    Tokenizer(#[from] inferometer_model::tokenizer::TokenizerError),
    /// An injected fault ended the server.
    #[error("an injected fault ended the server")]
    Died,
}

impl EngineError {
    /// Returns the error [`EngineError::Invalid`].
    pub(crate) fn invalid(
        flag: &'static str,
        found: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        Self::Invalid { flag, found: found.to_string(), expected: expected.into() }
    }
}
