//! Computes the error of the load generator: compares the arrival times in its records with the send times inside the
//! events. It does no network I/O.

use inferometer_model::{Nanos, Record, metrics::Timeline, stats::percentile};
use serde::{Deserialize, Serialize};

use crate::truth::frame;

/// The reason why a record cannot be compared with the send times in its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum Mismatch {
    /// The request did not complete. `outcome`: the outcome of the request and its detail, as debug text.
    #[error("request {index} was not completed: {outcome}")]
    NotComplete { index: u32, outcome: String },
    /// The text of the record is not a sequence of send times, so [`crate::truth::TruthServer`] did not send it.
    #[error("the text of request {index} is not what the server sent")]
    Text { index: u32 },
    /// The record has more or fewer token events than the server sent tokens. `sent`: the number of send times in the
    /// text: the number of tokens that the server sent.
    #[error("request {index} has {events} token events, but the server sent {sent}")]
    Count { index: u32, events: usize, sent: usize },
}

/// Quantiles of absolute errors, of interval widths or of send delays, in microseconds; all 0 if there are no values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorSpread {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// Errors with two kinds of arrival times: those of the kernel and those of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stamped {
    /// The errors with the kernel's time stamps. For a read without a kernel time stamp, the program's time is used.
    pub kernel: ErrorSpread,
    /// The errors with the times at which the program had read the data.
    pub user: ErrorSpread,
}

/// The errors of one measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientErrors {
    /// The absolute errors of TTFT: the difference between arrival and send time of the first token of each record.
    pub ttft_us: Stamped,
    /// The absolute errors of the gaps between successive tokens of a stream.
    pub gap_us: Stamped,
    /// For every token, the absolute difference between its arrival and its send time.
    pub arrival_us: Stamped,
    /// For each token, the width of the interval that certainly contains its arrival time.
    pub width_us: ErrorSpread,
    /// The number of token events whose read had no kernel time stamp.
    pub unstamped: u64,
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

/// Sorts the values and returns their quantiles; zeros if there are no values.
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
    /// Adds the errors of a record. `text` is its received text, which contains the send time of each token.
    ///
    /// # Errors
    /// If the request did not complete, if the text is not a sequence of send times, or if the record has another
    /// number of token events than the text has send times.
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
        let timeline = Timeline::new(record);
        self.widths_us.extend(timeline.events.iter().map(|event| event.width_ms * 1e3));
        Ok(())
    }

    /// The errors of all records.
    pub fn finish(mut self) -> ClientErrors {
        ClientErrors {
            ttft_us: self.ttft.stamped(),
            gap_us: self.gap.stamped(),
            arrival_us: self.arrival.stamped(),
            width_us: spread(&mut self.widths_us),
            unstamped: self.unstamped,
        }
    }
}
