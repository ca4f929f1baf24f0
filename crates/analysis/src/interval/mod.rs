//! The 95 % intervals of a pass: how far its figures may be from those of other passes like it.
//!
//! Requests of a pass share a queue and a batch, so they are not independent. Their values are taken as a
//! series in the order in which they were sent, and the error of a mean follows from the slow
//! fluctuations of this series (`inferometer_stats::serial`). Known effects of the load are removed
//! first. The first requests of a closed loop meet an empty server, and its last ones a server that empties.
//! Arrivals that are scaled to a span have exactly the requested rate.
//!
//! Never here: variation between days. Only repeats show that.

mod course;
mod series;
mod throughput;

pub(crate) use course::{Course, Holds, Layout};
pub(crate) use series::{Contribution, Series};
pub(crate) use throughput::throughput;

use serde::{Deserialize, Serialize};

/// What the intervals of a pass describe, or why it has none, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intervals {
    /// What the intervals cover in 95 of 100 cases; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Why there are none; absent if there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub none_because: Option<String>,
}

impl Intervals {
    pub(crate) fn of_layout(layout: &Result<Layout, String>) -> Self {
        match layout {
            Ok(_) => Self {
                of: Some(
                    "passes like this one: the same load with other prompts and \
                    arrivals"
                        .into(),
                ),
                none_because: None,
            },
            Err(why) => Self { of: None, none_because: Some(why.clone()) },
        }
    }
}

#[cfg(test)]
mod tests;
