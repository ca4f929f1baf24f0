//! The numbers that a layer holds at once for each token that it computes. They determine the memory of activations.
//!
//! vLLM keeps two vectors of the hidden width (the residual stream, and the output of the last block) while a block
//! runs. Attention holds queries, keys, values and its output; a dense block its wide vectors before and after the
//! activation function; routed experts two workspaces with a row for each token and chosen expert, of the larger of the
//! hidden width and the width of gate and up projection together, and of the larger of the hidden width and one of them
//! (`TritonExperts.workspace_shapes` in `vllm/model_executor/layers/fused_moe/fused_moe.py`).

use super::{Attention, Feed, Layer};

impl Layer {
    /// The numbers for each token on one of `cards` tensor-parallel cards.
    pub fn numbers_at_once(self, hidden: u32, cards: u32) -> f64 {
        2.0 * f64::from(hidden)
            + self.attention.at_once(cards).max(self.feed.at_once(hidden, cards))
    }
}

impl Attention {
    fn at_once(self, cards: u32) -> f64 {
        let own = |heads: u32| f64::from(heads.div_ceil(cards));
        match self {
            Self::None | Self::Linear => 0.0,
            Self::Heads { heads, kv_heads, key, value, .. } => {
                (own(heads) + own(kv_heads)) * f64::from(key + value)
            }
            Self::Latent { heads, rope, nope, value, index: None, .. } => {
                2.0 * own(heads) * f64::from(nope + rope + value)
            }
            // Queries and outputs have the width of the latent.
            Self::Latent { heads, rank, rope, .. } => own(heads) * f64::from(2 * rank + rope),
            Self::Compressed { heads, dim, .. } => 2.0 * own(heads) * f64::from(dim),
            Self::Recurrent { heads, value, channels, .. } => {
                let outputs = 2.0 * own(heads) * f64::from(value);
                2.0 * f64::from(channels) / f64::from(cards) + outputs
            }
        }
    }
}

impl Feed {
    fn at_once(self, hidden: u32, cards: u32) -> f64 {
        let own = |width: u32| f64::from(width) / f64::from(cards);
        match self {
            Self::None | Self::Linear => 0.0,
            Self::Dense { width } => 3.0 * own(width),
            Self::Experts { per_token, width, shared, .. } => {
                let hidden = f64::from(hidden);
                let rows = (2.0 * own(width)).max(hidden) + own(width).max(hidden);
                f64::from(per_token) * rows + 3.0 * own(shared)
            }
        }
    }
}
