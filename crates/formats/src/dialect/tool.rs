//! The description of a benchmark of another project: its name, its definitions and its table. The benchmarks
//! themselves are in other modules.

use inferometer_analysis::ImportedPass;
use inferometer_model::Record;

use super::{layout::ToolTable, stream::Stream};

/// [`Tool::origin`] of tools that measure latencies from the pick of a request.
pub(super) const FROM_PICK: &str = "measured from the pick of the request: the instant after its \
    wait in the client and before the client connects";

/// A benchmark of another project.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// The name on the command line.
    pub name: &'static str,
    /// The instant from which the tool measures latencies, in words.
    pub origin: &'static str,
    /// How the tool defines its figures.
    pub definitions: &'static [Definition],
    pub(super) printed: fn(&Pass<'_>) -> ToolTable,
    /// The format of the tool's result files, if `import` reads them.
    pub(super) stated: Option<Stated>,
}

/// A result file of a tool that states the figures of its table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stated {
    /// The name of the format.
    pub format: &'static str,
    pub table: fn(&ImportedPass) -> ToolTable,
}

impl Tool {
    /// Returns the table that the tool printed for a pass, from the figures in its result file. `None` if the file
    /// is of another tool, or does not state the figures.
    pub fn printed_again(self, format: &str, pass: &ImportedPass) -> Option<ToolTable> {
        let stated = self.stated.filter(|stated| stated.format == format)?;
        (!pass.numbers.is_empty()).then(|| (stated.table)(pass))
    }

    /// Returns the table that the tool would have printed for a pass.
    pub fn printed(self, pass: &Pass<'_>) -> ToolTable {
        (self.printed)(pass)
    }
}

/// How a tool defines one of its figures.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The name of the figure in the tool.
    pub name: &'static str,
    /// The unit that the tool uses.
    pub unit: &'static str,
    /// How the tool computes the figure.
    pub formula: &'static str,
}

/// A pass with its records.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pass<'a> {
    /// The records of all requests of the pass.
    pub records: &'a [Record],
    /// The API dialect of the requests.
    pub dialect: &'a str,
    /// The limit of requests in flight, if it is constant.
    pub concurrency: Option<u32>,
    /// The request rate in requests/s, if it is constant and finite.
    pub rate: Option<f64>,
    /// The duration that the tool would have measured, in seconds. If absent, the duration is computed from the
    /// records, for most tools from the first pick to the last end of a request. The table of vLLM 0.2 always
    /// computes it from the records.
    pub duration_s: Option<f64>,
}

impl<'a> Pass<'a> {
    /// The completed requests that have output.
    pub(super) fn completed(&self) -> Vec<Stream<'a>> {
        let complete = self.records.iter().filter(|record| record.outcome.is_complete());
        complete.filter_map(Stream::new).collect()
    }

    /// Returns [`Self::duration_s`], otherwise the seconds from the first pick to the last end of any
    /// request. `None` if the result is unknown or not positive.
    pub(super) fn duration(&self) -> Option<f64> {
        let picked = self.records.iter().filter_map(|record| record.picked.or(record.send_start));
        let ended = self.records.iter().filter_map(|record| record.ended);
        let measured = picked.min().zip(ended.max()).map(|(first, last)| last.seconds_after(first));
        self.duration_s.or(measured).filter(|seconds| *seconds > 0.0)
    }
}
