//! The feed-forward block of a layer.

use derive_more::Display;
use serde::{Deserialize, Serialize};

/// The block of a layer that each token passes through on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Display)]
#[serde(rename_all = "snake_case")]
pub enum Feed {
    /// There is no block.
    #[display("no feed-forward block")]
    None,
    /// One matrix instead of the block (models that were pruned by a search).
    #[display("one matrix instead of a feed-forward block")]
    Linear,
    /// Gate, up and down projection.
    #[display("dense {width}")]
    Dense {
        /// Intermediate width.
        width: u32,
    },
    /// Experts, of which a router chooses some for each token.
    #[display("{count} experts of {width}, {per_token} per token{}", with_shared(*shared))]
    Experts {
        /// The number of experts.
        count: u32,
        /// The number of experts for each token.
        per_token: u32,
        /// Intermediate width of an expert.
        width: u32,
        /// Intermediate width of the block that every token passes through as well; 0 if there is none.
        shared: u32,
    },
}

fn with_shared(width: u32) -> String {
    if width == 0 { String::new() } else { format!(", and a block of {width} for all tokens") }
}

impl Feed {
    /// The intermediate width that one token passes through, over all its experts.
    pub fn passed(self) -> u32 {
        match self {
            Self::None | Self::Linear => 0,
            Self::Dense { width } => width,
            Self::Experts { per_token, width, shared, .. } => {
                per_token.saturating_mul(width).saturating_add(shared)
            }
        }
    }
}
