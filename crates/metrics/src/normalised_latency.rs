//! Normalised latency: the name that papers use for latency per output token.

use super::{Definition, Value, latency_per_output_token};

/// Normalised latency: E2E divided by the output tokens.
pub static DEFINITION: Definition = Definition {
    name: "normalised_latency",
    notes: "The same value as latency per output token, under the name used in papers.",
    source: "Yu et al., Orca (OSDI 2022); Kwon et al., vLLM (SOSP 2023).",
    value: Value::Request(latency_per_output_token::latency_ms_per_output_token),
    title: "Normalised latency",
    result_key: None,
    exported: None,
    ..latency_per_output_token::DEFINITION
};
