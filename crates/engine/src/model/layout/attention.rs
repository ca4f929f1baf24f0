//! The kinds of attention, and what each of them stores, reads and computes.
//!
//! s is the number of tokens of a sequence before the one that is computed, b the bytes of a number in the cache, and n
//! the number of tensor-parallel cards:
//!
//! | kind | bytes in the cache of a layer | operations for a pair of tokens |
//! |---|---|---|
//! | heads | ceil(kv/n) (d_k + d_v) b min(s, window) | 2 ceil(heads/n) (d_k + d_v) |
//! | latent (MLA) | (rank + rope) b s on each card | 2 ceil(heads/n) (d_k + d_v) |
//! | sparse latent | also 132 s for the keys of the indexer | over the chosen tokens, and 2 heads d of the indexer |
//! | compressed | 584 min(s, window) + (584 + 132) s / ratio + a state in single precision | as sparse latent |
//! | recurrent | a state that does not depend on s, split over the cards | - |
//!
//! Sources: `vllm/v1/kv_cache_interface.py` (heads, MLA), `vllm/model_executor/models/deepseek_v2.py` (keys of the
//! indexer: 128 numbers of 8 bits and a scale of 4 bytes), `vllm/v1/attention/backends/mla/flashmla_sparse.py` (656 bytes
//! of a sparse latent with `--kv-cache-dtype fp8`), the cache of DeepSeek V4 in vLLM (`fp8_ds_mla`: 448 numbers of 8
//! bits, 64 of 16 bits, 7 scales and a byte of padding), and `mamba_utils.py` (`MambaStateShapeCalculator`).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Bytes of a latent of 512 + 64 numbers in the eight-bit format of sparse attention.
const SPARSE_EIGHT_BIT: f64 = 656.0;
/// Bytes of a latent of 448 + 64 numbers in the cache of DeepSeek V4.
const COMPRESSED_ENTRY: f64 = 584.0;
/// Bytes of the scale of an indexer's key.
const INDEX_SCALE: f64 = 4.0;

/// The part of a sparse attention that chooses the tokens to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// The number of heads.
    pub heads: u32,
    /// Width of a head, and of the key of a token.
    pub dim: u32,
    /// The number of entries of the cache that it chooses.
    pub top: u32,
    /// Whether the layer computes a choice. Otherwise it takes that of an earlier layer.
    pub chooses: bool,
    /// Whether the layer stores keys. Otherwise it takes those of an earlier layer.
    pub stores: bool,
}

/// The kinds of recurrent layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recurrence {
    /// Gated delta rule (Qwen3-Next, Qwen3.5).
    GatedDelta,
    /// Kimi Delta Attention.
    Kda,
    /// Mamba 2.
    Mamba,
}

/// How the tokens of a sequence see each other in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attention {
    /// The layer has no attention.
    None,
    /// One matrix instead of attention (models that were pruned by a search).
    Linear,
    /// Keys and values of heads.
    Heads {
        /// The number of query heads.
        heads: u32,
        /// The number of key and value heads.
        kv_heads: u32,
        /// Width of a query and of a key.
        key: u32,
        /// Width of a value.
        value: u32,
        /// The number of tokens that the layer reads; absent: all.
        window: Option<u32>,
    },
    /// One latent vector for the keys and values of all heads (MLA), without or with an indexer.
    Latent {
        /// The number of query heads.
        heads: u32,
        /// Width of the latent.
        rank: u32,
        /// Width of the part of keys with positions, which all heads share.
        rope: u32,
        /// Width of the part of a query and a key without positions.
        nope: u32,
        /// Width of a value.
        value: u32,
        /// The indexer of sparse attention.
        index: Option<Index>,
    },
    /// A window of latents, and latents of groups of tokens before it (DeepSeek V4).
    Compressed {
        /// The number of query heads.
        heads: u32,
        /// Width of a latent, which is key and value at once.
        dim: u32,
        /// The number of tokens of the window.
        window: u32,
        /// The number of tokens of a group; 0: the layer has only the window.
        ratio: u32,
        /// Whether the layer stores latents of groups. Otherwise it reads those of an earlier layer.
        stores: bool,
        /// The indexer that chooses groups; absent: all groups are read.
        index: Option<Index>,
        /// Bytes of the states of incomplete groups.
        state: u32,
    },
    /// A state of fixed size instead of a cache that grows with the sequence.
    Recurrent {
        /// The kind.
        kind: Recurrence,
        /// The number of matrices in the state.
        heads: u32,
        /// Width of a key, the first side of a matrix.
        key: u32,
        /// Width of a value, the other side.
        value: u32,
        /// The number of channels of the convolution.
        channels: u32,
        /// The number of tokens that the convolution sees.
        kernel: u32,
        /// Bytes of a number of the matrices.
        number: u32,
    },
}

/// An amount per token that is counted for the last `window` tokens of a sequence, or for all tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// The number of tokens; `u32::MAX`: all.
    pub window: u32,
    /// The amount for each of these tokens.
    pub per_token: f64,
}

impl Part {
    fn all(per_token: f64) -> Self {
        Self { window: u32::MAX, per_token }
    }

    /// Adds up the parts with equal windows. Parts without an amount are left out.
    pub fn merged(parts: impl Iterator<Item = Self>) -> Vec<Self> {
        let mut merged: Vec<Self> = Vec::new();
        for part in parts.filter(|part| part.per_token > 0.0) {
            match merged.iter_mut().find(|known| known.window == part.window) {
                Some(known) => known.per_token += part.per_token,
                None => merged.push(part),
            }
        }
        merged
    }
}

/// What a sequence keeps in the cache of one card, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Kept {
    /// For each token.
    pub whole: f64,
    /// For each token of the window.
    pub windowed: f64,
    /// The number of tokens of the window; 0 if no layer has one. With several windows, the longest.
    pub window: u32,
    /// Whatever the length of the sequence is.
    pub state: f64,
}

impl Kept {
    /// The sum of two amounts.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            whole: self.whole + other.whole,
            windowed: self.windowed + other.windowed,
            window: self.window.max(other.window),
            state: self.state + other.state,
        }
    }

    /// The bytes of a sequence of `tokens` tokens, without the padding of blocks.
    pub fn bytes(self, tokens: u32) -> f64 {
        let near = f64::from(tokens.min(self.window));
        f64::from(tokens) * self.whole + near * self.windowed + self.state
    }
}

impl Index {
    fn entry(self) -> f64 {
        f64::from(self.dim) + INDEX_SCALE
    }
}

impl Attention {
    /// What the layer keeps for a sequence on one of `cards` cards, with `number` bytes for a number in the cache.
    pub fn kept(self, number: f64, cards: u32) -> Kept {
        let none = Kept::default();
        match self {
            Self::None | Self::Linear => none,
            Self::Heads { kv_heads, key, value, window, .. } => {
                let token = f64::from(kv_heads.div_ceil(cards)) * f64::from(key + value) * number;
                match window {
                    None => Kept { whole: token, ..none },
                    Some(window) => Kept { windowed: token, window, ..none },
                }
            }
            Self::Latent { rank, rope, index, .. } => {
                let keys = index.filter(|it| it.stores).map_or(0.0, Index::entry);
                Kept { whole: latent(rank + rope, index, number) + keys, ..none }
            }
            Self::Compressed { window, ratio, stores, index, state, .. } => {
                let groups = if ratio == 0 { 0.0 } else { 1.0 / f64::from(ratio) };
                let stored = if stores { COMPRESSED_ENTRY } else { 0.0 };
                let keys = index.filter(|it| it.stores).map_or(0.0, Index::entry);
                Kept {
                    whole: (stored + keys) * groups,
                    windowed: COMPRESSED_ENTRY,
                    window,
                    state: f64::from(state),
                }
            }
            Self::Recurrent { heads, key, value, channels, kernel, number: wide, .. } => {
                // The convolution keeps the last tokens in the type of activations, 16 bits.
                let matrices = f64::from(heads) * f64::from(key) * f64::from(value);
                let convolution = f64::from(channels) * f64::from(kernel.saturating_sub(1)) * 2.0;
                let state = matrices * f64::from(wide) + convolution;
                Kept { state: state / f64::from(cards), ..none }
            }
        }
    }

    /// What one step of one sequence reads from the cache of one card, in bytes per token. A state is not included.
    pub fn reads(self, number: f64, cards: u32) -> Vec<Part> {
        match self {
            Self::None | Self::Linear | Self::Recurrent { .. } => Vec::new(),
            Self::Heads { window, .. } => {
                let Kept { whole, windowed, .. } = self.kept(number, cards);
                vec![Part { window: window.unwrap_or(u32::MAX), per_token: whole + windowed }]
            }
            Self::Latent { rank, rope, index, .. } => {
                let latent = latent(rank + rope, index, number);
                let chosen = index.map_or(u32::MAX, |it| it.top);
                let keys = index.filter(|it| it.chooses).map_or(0.0, Index::entry);
                vec![Part { window: chosen, per_token: latent }, Part::all(keys)]
            }
            Self::Compressed { window, ratio, index, .. } => {
                let mut parts = vec![Part { window, per_token: COMPRESSED_ENTRY }];
                parts.extend(groups(ratio, index, COMPRESSED_ENTRY, Index::entry));
                parts
            }
        }
    }

    /// The operations for each pair of tokens on one card.
    pub fn pairs(self, cards: u32) -> Vec<Part> {
        let own = |heads: u32| f64::from(heads.div_ceil(cards));
        // Every card runs the whole indexer.
        let scores = |it: Index| 2.0 * f64::from(it.heads) * f64::from(it.dim);
        match self {
            Self::None | Self::Linear | Self::Recurrent { .. } => Vec::new(),
            Self::Heads { heads, key, value, window, .. } => {
                let per_token = 2.0 * own(heads) * f64::from(key + value);
                vec![Part { window: window.unwrap_or(u32::MAX), per_token }]
            }
            Self::Latent { heads, rope, nope, value, index: None, .. } => {
                // Prompts are computed with keys and values of heads, not with latents.
                vec![Part::all(2.0 * own(heads) * f64::from(nope + rope + value))]
            }
            Self::Latent { heads, rank, rope, index: Some(index), .. } => {
                let per_token = 2.0 * own(heads) * f64::from(2 * rank + rope);
                let keys = if index.chooses { scores(index) } else { 0.0 };
                vec![Part { window: index.top, per_token }, Part::all(keys)]
            }
            Self::Compressed { heads, dim, window, ratio, index, .. } => {
                let per_token = 4.0 * own(heads) * f64::from(dim);
                let mut parts = vec![Part { window, per_token }];
                parts.extend(groups(ratio, index, per_token, scores));
                parts
            }
        }
    }

    /// The operations for each token of the cache that a decode step reads, on one card. Latents are multiplied with
    /// queries of their own width, instead of keys and values of heads.
    pub fn decoding(self, cards: u32) -> f64 {
        match self {
            Self::Latent { heads, rank, rope, index: None, .. } => {
                2.0 * f64::from(heads.div_ceil(cards)) * f64::from(2 * rank + rope)
            }
            _ => self.pairs(cards).iter().map(|part| part.per_token).sum(),
        }
    }

    /// The operations of a recurrent layer for one token on one of `cards` cards: the state decays, is read for the
    /// key, gets the outer product of key and value, and is read for the query. 0 for other layers.
    pub fn operations(self, cards: u32) -> f64 {
        match self {
            Self::Recurrent { heads, key, value, .. } => {
                7.0 * f64::from(heads) * f64::from(key) * f64::from(value) / f64::from(cards)
            }
            _ => 0.0,
        }
    }

    /// Width of all queries, and of the keys and values that are stored, on one of `cards` cards.
    pub fn widths(self, cards: u32) -> (f64, f64) {
        let own = |heads: u32, width: u32| f64::from(heads.div_ceil(cards)) * f64::from(width);
        match self {
            Self::None | Self::Linear => (0.0, 0.0),
            Self::Heads { heads, kv_heads, key, .. } => (own(heads, key), own(kv_heads, key)),
            Self::Latent { heads, rank, rope, nope, .. } => {
                (own(heads, nope + rope), f64::from(rank + rope) / 2.0)
            }
            Self::Compressed { heads, dim, .. } => (own(heads, dim), f64::from(dim) / 2.0),
            Self::Recurrent { heads, value, channels, .. } => {
                (own(heads, value), f64::from(channels) / f64::from(cards) / 2.0)
            }
        }
    }
}

/// Bytes of a latent. Sparse attention has its own format with eight bits.
fn latent(width: u32, index: Option<Index>, number: f64) -> f64 {
    if index.is_some() && number < 2.0 { SPARSE_EIGHT_BIT } else { f64::from(width) * number }
}

/// The amounts for the latents of groups of `ratio` tokens, of which an indexer may choose some.
fn groups(
    ratio: u32,
    index: Option<Index>,
    amount: f64,
    of_index: impl Fn(Index) -> f64,
) -> Vec<Part> {
    if ratio == 0 {
        return Vec::new();
    }
    let share = 1.0 / f64::from(ratio);
    let chosen = index.map_or(u32::MAX, |it| it.top.saturating_mul(ratio));
    let keys = index.filter(|it| it.chooses).map_or(0.0, of_index);
    vec![Part { window: chosen, per_token: amount * share }, Part::all(keys * share)]
}

impl fmt::Display for Attention {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => write!(text, "no attention"),
            Self::Linear => write!(text, "one matrix instead of attention"),
            Self::Heads { heads, kv_heads, key, window, .. } => {
                write!(text, "attention, {heads} heads of {key}, {kv_heads} key-value heads")?;
                window.map_or(Ok(()), |tokens| write!(text, ", window of {tokens}"))
            }
            Self::Latent { heads, rank, rope, index, .. } => {
                write!(text, "latent attention (MLA), {heads} heads, {rank} + {rope}")?;
                match index {
                    None => Ok(()),
                    Some(Index { top, chooses: true, .. }) => write!(text, ", indexer for {top}"),
                    Some(Index { top, .. }) => write!(text, ", {top} of the indexer before it"),
                }
            }
            Self::Compressed { heads, dim, window, ratio, stores, index, .. } => {
                write!(text, "attention, {heads} heads of {dim}, window of {window}")?;
                if *ratio > 0 {
                    let whose = if *stores { "" } else { " of an earlier layer" };
                    write!(text, ", groups of {ratio}{whose}")?;
                }
                index.map_or(Ok(()), |it| write!(text, ", of which {} are chosen", it.top))
            }
            Self::Recurrent { kind, heads, key, value, .. } => {
                let kind = match kind {
                    Recurrence::GatedDelta => "gated delta rule",
                    Recurrence::Kda => "Kimi delta attention",
                    Recurrence::Mamba => "Mamba 2",
                };
                write!(text, "{kind}, {heads} states of {key} x {value}")
            }
        }
    }
}
