//! The inputs of requests without output tokens, as data.

use serde::{Deserialize, Serialize};

/// The inputs of each request for embeddings, or for a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolingPlan {
    /// The number of texts, or of documents beside the query.
    pub inputs: u32,
    /// The tokens of the query; absent for embeddings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_length: Option<u32>,
}
