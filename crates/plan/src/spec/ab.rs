//! `[ab]`: the options of a comparison in alternating blocks, as the user writes them.

use serde::{Deserialize, Serialize};

use super::Value;

/// The keys of `[ab]`. Everything is optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AbSpec {
    /// The figures that are compared. The first one decides when the comparison ends.
    pub metric: Option<Vec<String>>,
    /// The smallest relevant difference, as a share.
    pub minimal_effect: Option<Value>,
    /// The number of requests at the start of each block that are not counted.
    pub uncounted: Option<u32>,
    /// The maximum number of requests in total, over the blocks of both servers.
    pub max_requests: Option<u64>,
    /// The maximum time in total, over the blocks of both servers.
    pub max_time: Option<Value>,
}
