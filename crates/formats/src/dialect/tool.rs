//! What a benchmark of another project is made of: its name, its definitions and its table. Which
//! ones there are is not known here.

use inferometer_model::record::Record;

use super::layout::Printed;
use super::stream::Stream;

/// [`Tool::origin`] of tools that count from the pick.
pub(super) const FROM_PICK: &str =
    "counted from the pick: after waiting for its turn, before connecting";

/// A benchmark of another project.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Its name on the command line.
    pub name: &'static str,
    /// The instant from which its latencies count.
    pub origin: &'static str,
    /// How it defines its figures.
    pub definitions: &'static [Definition],
    pub(super) printed: fn(&Pass<'_>) -> Printed,
}

impl Tool {
    /// What it would have printed of a pass.
    pub fn printed(self, pass: &Pass<'_>) -> Printed {
        (self.printed)(pass)
    }
}

/// How a tool defines one of its figures.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The name that the tool gives it.
    pub name: &'static str,
    /// Its unit there.
    pub unit: &'static str,
    /// How it is computed.
    pub formula: &'static str,
}

/// A pass with its records.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    /// The records of all of its requests.
    pub records: &'a [Record],
    /// The dialect in which the server was addressed.
    pub dialect: &'a str,
    /// The limit of requests in flight, if it is one number.
    pub concurrency: Option<u32>,
    /// The request rate in requests/s, if it is one finite number.
    pub rate: Option<f64>,
    /// The duration that the tool would have measured, in seconds; if absent, it is taken from the
    /// first pick to the last end.
    pub duration_s: Option<f64>,
}

impl<'a> Pass<'a> {
    /// The requests that completed.
    pub(super) fn completed(&self) -> Vec<Stream<'a>> {
        let complete = self.records.iter().filter(|record| record.outcome.is_complete());
        complete.filter_map(Stream::new).collect()
    }

    /// Seconds from the first pick to the last end of any request that was begun.
    pub(super) fn duration(&self) -> Option<f64> {
        let picked = self.records.iter().filter_map(|record| record.picked.or(record.send_start));
        let ended = self.records.iter().filter_map(|record| record.ended);
        let measured = picked.min().zip(ended.max()).map(|(first, last)| last.seconds_after(first));
        self.duration_s.or(measured).filter(|seconds| *seconds > 0.0)
    }
}
