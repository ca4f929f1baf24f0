//! Requests without output tokens: embeddings, and documents ranked for a query. A request has one or several inputs.

use serde::{Deserialize, Serialize};

/// The dialect of embeddings.
pub const EMBEDDINGS: &str = "openai-embeddings";
/// The dialect of documents that are ranked for a query.
pub const RERANK: &str = "rerank";

/// Whether the answers of this dialect have no output tokens.
pub fn is_pooling(dialect: &str) -> bool {
    [EMBEDDINGS, RERANK].contains(&dialect)
}

/// What a request without output tokens had, and what came. All are 0 for a request of generated text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pooled {
    /// The inputs of the request: texts, or documents beside a query.
    pub inputs: u32,
    /// The numbers of each vector of the answer; 0 for scores.
    pub dimension: u32,
}

impl Pooled {
    /// Whether the request generates text.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
