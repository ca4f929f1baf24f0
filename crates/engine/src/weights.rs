//! The storage formats of a model's weights, and their sizes in bytes. Weights are never loaded.

use derive_more::Display;
use serde::{Deserialize, Serialize};

/// The storage format of the weights of the linear layers.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    Display,
)]
#[display("{}", self.name())]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// Sixteen bits per weight.
    #[default]
    Fp16,
    /// Four bits per weight with a scale for each group of 128 weights, in GPTQ's layout.
    Gptq,
    /// Four bits per weight with a scale for each group of 128 weights, in AWQ's layout.
    Awq,
    /// Four bits per weight, an index into a table of sixteen values for each output, in SqueezeLLM's layout.
    #[serde(rename = "squeezellm")]
    SqueezeLlm,
    /// Thirty-two bits per weight; activations also have thirty-two bits.
    Fp32,
    /// Eight bits per weight, multiplied by activations of eight bits.
    Fp8,
    /// Four-bit integers with a 16-bit scale for each group of 32 weights, in the layout of compressed-tensors.
    Int4,
    /// Four-bit floats with an 8-bit scale for each block of 16 weights (NVFP4).
    Nvfp4,
    /// Four-bit floats with an 8-bit exponent for each block of 32 weights (OCP MXFP4).
    Mxfp4,
}

inferometer_model::names!(Weights {
    Fp16 => "fp16", Gptq => "gptq", Awq => "awq", SqueezeLlm => "squeezellm", Fp32 => "fp32",
    Fp8 => "fp8", Int4 => "int4", Nvfp4 => "nvfp4", Mxfp4 => "mxfp4",
});

impl Weights {
    /// Bytes per parameter of a linear layer, scales and zero points included.
    pub fn bytes_per_parameter(self) -> f64 {
        match self {
            Self::Fp16 => 2.0,
            // Four bits per weight, and for each group of 128 one 16-bit scale and one 4-bit zero point.
            Self::Gptq | Self::Awq => (4.0 + 20.0 / 128.0) / 8.0,
            // Four bits per weight, and sixteen 16-bit values for each output of about 4,096 inputs.
            Self::SqueezeLlm => (4.0 + 16.0 * 16.0 / 4096.0) / 8.0,
            Self::Fp32 => 4.0,
            Self::Fp8 => 1.0,
            Self::Int4 => (4.0 + 16.0 / 32.0) / 8.0,
            Self::Nvfp4 => (4.0 + 8.0 / 16.0) / 8.0,
            Self::Mxfp4 => (4.0 + 8.0 / 32.0) / 8.0,
        }
    }

    /// Bytes of a number that is not quantised, as in activations and embeddings, and by default in keys and values.
    pub fn bytes_per_activation(self) -> f64 {
        match self {
            Self::Fp32 => 4.0,
            Self::Fp16
            | Self::Fp8
            | Self::Gptq
            | Self::Awq
            | Self::SqueezeLlm
            | Self::Int4
            | Self::Nvfp4
            | Self::Mxfp4 => 2.0,
        }
    }
}
