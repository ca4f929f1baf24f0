//! The 95 % intervals of a pass: how far its figures lie from those of other passes like it.
//!
//! Requests of a pass share a queue and a batch, so that they are not independent. Their values are
//! taken as a series in the order in which they were sent, and the error of a mean follows from the
//! series' slow fluctuations (`inferometer_stats::serial`). What the load is known to do is taken
//! out first: the first requests of a closed loop meet an empty server and its last ones an
//! emptying one, and arrivals that are scaled to a span have no chance to be more than asked for.
//!
//! Never here: what varies between days. Repeats tell that, and only they.

mod course;
mod series;
mod throughput;

pub(crate) use course::{Course, Holds, Layout};
pub(crate) use series::{Part, Series};
pub(crate) use throughput::throughput;

use serde::{Deserialize, Serialize};

/// What the intervals of a pass are of, or why it has none. In words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intervals {
    /// What they hold in 95 of 100 cases; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Why there are none; absent where there are.
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
