//! The engine's own account of each finished request: the truth that clients are held against.

use inferometer_core::time::Nanos;
use serde::Serialize;

/// One finished request. Instants are on the machine's monotonic clock, and those of tokens are
/// when the engine's step was over, not when a socket took the bytes.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Account {
    /// The request's id, as its answer states it.
    pub(super) id: String,
    /// Prompt tokens.
    pub(super) prompt_tokens: u32,
    /// Output tokens.
    pub(super) output_tokens: u32,
    /// When the engine took it up.
    pub(super) arrived_ns: Nanos,
    /// When its first token was made; absent where none was.
    pub(super) first_token_ns: Option<Nanos>,
    /// When it ended.
    pub(super) finished_ns: Nanos,
}
