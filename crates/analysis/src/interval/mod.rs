//! Computes the 95 % confidence intervals of a pass: how far its figures may be from those of other passes like it.
//!
//! Requests of a pass share a queue and a batch, so they are not independent. Their values form a series in the order
//! in which the requests were sent. The error of a mean follows from the slow fluctuations of this series
//! (`inferometer_model::stats::serial`). Known effects of the load are removed first. In a closed loop, the first requests
//! arrive at an empty server, and the last ones run while the server empties. Arrivals that are scaled to a time span
//! have exactly the requested rate.
//!
//! The intervals do not include the variation between days, which only repeats show.

mod by_work;
mod contribution;
mod course;
mod drain;
mod first_wave;
mod lockstep;
mod sent;
mod series;
mod throughput;
mod waves;
mod work;

pub(crate) use contribution::Contribution;
pub(crate) use course::{Course, Layout, NoLayout};
pub(crate) use sent::SentRequest;
pub(crate) use series::{Series, Shares};
pub(crate) use throughput::{RateIntervals, attainment, throughput};

use serde::{Deserialize, Serialize};

/// The meaning of the intervals of a pass, or the reason why it has none, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intervals {
    /// The passes whose figures the intervals cover in 95 of 100 cases; absent if there are no intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Why the pass has no intervals; absent if it has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub none_because: Option<String>,
}

impl Intervals {
    pub(crate) fn of_layout(layout: &Result<Layout, NoLayout>) -> Self {
        match layout {
            Ok(_) => Self {
                of: Some(
                    "passes like this one: the same load with other prompts and \
                    arrivals"
                        .into(),
                ),
                none_because: None,
            },
            Err(why) => Self { of: None, none_because: Some(why.to_string()) },
        }
    }
}

#[cfg(test)]
mod tests;
