//! The number type in which an engine computes (`--dtype`).

use derive_more::Display;

/// The type of activations, and of weights that are not quantised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
#[display(rename_all = "lowercase")]
pub enum Dtype {
    /// IEEE half precision; `auto` resolves to it.
    Float16,
    /// Brain floating point.
    Bfloat16,
    /// Single precision.
    Float32,
}

impl Dtype {
    /// All accepted names.
    pub const NAMES: [&str; 6] = ["auto", "half", "float16", "bfloat16", "float", "float32"];

    /// The type with this name, in vLLM's spellings (`auto`, `half`, `float` ...).
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "auto" | "half" | "float16" => Some(Self::Float16),
            "bfloat16" => Some(Self::Bfloat16),
            "float" | "float32" => Some(Self::Float32),
            _ => None,
        }
    }
}

/// The number type of the KV cache (`--kv-cache-dtype`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
#[display(rename_all = "lowercase")]
pub enum KvCacheDtype {
    /// The type of the activations.
    Auto,
    /// Eight bits per number.
    Fp8,
}

impl KvCacheDtype {
    /// All accepted names.
    pub const NAMES: [&str; 4] = ["auto", "fp8", "fp8_e4m3", "fp8_e5m2"];

    /// The type with this name, in vLLM's spellings.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "fp8" | "fp8_e4m3" | "fp8_e5m2" => Some(Self::Fp8),
            _ => None,
        }
    }
}
