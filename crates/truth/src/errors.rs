//! The load generator's error: its records compared with the send times inside the events.

use inferometer_metrics::arrival_widths;
use inferometer_model::record::Record;
use inferometer_model::time::Nanos;
use inferometer_stats::percentile;
use serde::{Deserialize, Serialize};

use crate::frame;

/// Why a record cannot be compared with the truth.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// The request did not complete.
    #[error("request {index} was not completed: {outcome}")]
    NotComplete {
        /// Its index.
        index: u32,
        /// Its outcome, for people.
        outcome: String,
    },
    /// The text is not the server's.
    #[error("the text of request {index} is not what the server sent")]
    Text {
        /// Its index.
        index: u32,
    },
    /// The record has more or fewer events than the server sent.
    #[error("request {index} has {events} token events, the server sent {sent}")]
    Count {
        /// Its index.
        index: u32,
        /// Token events of the record.
        events: usize,
        /// Tokens in its text.
        sent: usize,
    },
}

/// Absolute errors, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorSpread {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// Errors by each of the two stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stamped {
    /// By the kernel's stamps, which records use if they have them.
    pub kernel: ErrorSpread,
    /// By the program's.
    pub user: ErrorSpread,
}

#[derive(Clone, Debug, Default)]
struct Both {
    kernel_us: Vec<f64>,
    user_us: Vec<f64>,
}

impl Both {
    fn add(&mut self, kernel_us: f64, user_us: f64) {
        self.kernel_us.push(kernel_us.abs());
        self.user_us.push(user_us.abs());
    }

    fn stamped(&mut self) -> Stamped {
        Stamped { kernel: spread(&mut self.kernel_us), user: spread(&mut self.user_us) }
    }
}

/// Quantiles of some values; zeros for none.
fn spread(values: &mut [f64]) -> ErrorSpread {
    values.sort_unstable_by(f64::total_cmp);
    let Some(&max) = values.last() else { return ErrorSpread::default() };
    ErrorSpread { p50: percentile(values, 0.50), p99: percentile(values, 0.99), max }
}

/// Collects the errors of records.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    ttft: Both,
    gap: Both,
    arrival: Both,
    widths_us: Vec<f64>,
    unstamped: u64,
}

impl Errors {
    /// Compares a record with its text, which holds the send time of each token.
    ///
    /// # Errors
    /// When they do not match: then the load generator lost or invented something.
    pub fn add(&mut self, record: &Record, text: &str) -> Result<(), Mismatch> {
        let index = record.index;
        if !record.outcome.is_complete() {
            let outcome = format!("{:?} {:?}", record.outcome, record.detail);
            return Err(Mismatch::NotComplete { index, outcome });
        }
        let sent = frame::instants(text).ok_or(Mismatch::Text { index })?;
        let events = record.token_events().count();
        if events != sent.len() {
            return Err(Mismatch::Count { index, events, sent: sent.len() });
        }
        let us = |at: Nanos, before: Nanos| at.ms_after(before) * 1e3;
        let mut before: Option<(Nanos, Nanos, Nanos)> = None;
        for (event, &sent) in record.token_events().zip(&sent) {
            let read = &record.reads[event.read as usize];
            self.unstamped += u64::from(read.kernel.is_none());
            let (kernel, user) = (read.arrival(), read.user);
            self.arrival.add(us(kernel, sent), us(user, sent));
            match before {
                None => self.ttft.add(us(kernel, sent), us(user, sent)),
                Some((kernel_before, user_before, sent_before)) => {
                    let truth = us(sent, sent_before);
                    self.gap.add(us(kernel, kernel_before) - truth, us(user, user_before) - truth);
                }
            }
            before = Some((kernel, user, sent));
        }
        self.widths_us.extend(arrival_widths(record).map(|width| width.as_secs_f64() * 1e6));
        Ok(())
    }

    /// Errors of TTFT.
    pub fn ttft_us(&mut self) -> Stamped {
        self.ttft.stamped()
    }

    /// Errors of the gaps between tokens.
    pub fn gap_us(&mut self) -> Stamped {
        self.gap.stamped()
    }

    /// Arrivals after the send times.
    pub fn arrival_us(&mut self) -> Stamped {
        self.arrival.stamped()
    }

    /// Widths of arrival intervals.
    pub fn width_us(&mut self) -> ErrorSpread {
        spread(&mut self.widths_us)
    }

    /// Events whose read had no kernel stamp.
    pub fn unstamped(&self) -> u64 {
        self.unstamped
    }
}
