//! `[ab]`: two servers in alternating blocks, as a person asks for it.

use serde::{Deserialize, Serialize};

use super::Value;

/// The keys of `[ab]`. Everything is optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AbSpec {
    /// The figures that are compared, the one that decides first.
    pub metric: Option<Vec<String>>,
    /// The smallest relevant difference.
    pub minimal_effect: Option<Value>,
    /// The first requests of each block, which do not count.
    pub uncounted: Option<u32>,
    /// The most requests of all blocks of both servers.
    pub max_requests: Option<u64>,
    /// The most time of all blocks of both servers.
    pub max_time: Option<Value>,
}
