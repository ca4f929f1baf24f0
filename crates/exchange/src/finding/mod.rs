//! What the figures of an import say against one another: each finding with its evidence. It
//! changes no figure.

mod columns;
mod grid;
mod log;
mod phantom;

use inferometer_analysis::table_import::PublishedTable;
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Finding, Severity};

pub(crate) use log::{of_characters, of_log};

/// The code of the finding that lengths are characters: a warning where they stand as lengths, a
/// note where the tokens are known.
pub const CHARACTERS: &str = "imported_characters_not_tokens";

/// The findings of a published table.
pub(crate) fn of_table(table: &PublishedTable) -> Vec<Finding> {
    let phantom = phantom::tokens(table);
    let (throughput, latencies) = (columns::throughput(table), columns::latencies(table));
    let grid = [grid::missing(table), grid::repeated(table)];
    [phantom, throughput, latencies].into_iter().chain(grid).flatten().collect()
}

/// The engine stands in no heading.
pub(crate) fn engine_from_prose(line: usize) -> Finding {
    Finding::new(
        "imported_engine_from_prose",
        Severity::Note,
        format!(
            "no heading above the figures names the engine: it is the only one that the page \
             names, first in line {line}; its version is not said"
        ),
    )
}

/// What the serving script of vLLM 0.2 took for output lengths.
pub(crate) fn lengths_of_the_data_set() -> Finding {
    Finding::new(
        "imported_lengths_of_data_set",
        Severity::Warning,
        "the script divides by the lengths of the data set's answers and not by those that came: \
         tokens/s and the latencies per token are true only if the server ignored end-of-text",
    )
}

/// Evidence from so many rows is spelled out; of more, the number is said.
const SPELLED_OUT: usize = 6;

/// `128 x 2048: what; 512 x 2048: what; and 3 more`.
fn listed(evidence: &[(CellPlan, String)]) -> String {
    let spelled = evidence.iter().take(SPELLED_OUT).map(|(cell, what)| format!("{cell}: {what}"));
    let mut parts: Vec<String> = spelled.collect();
    if let Some(more) = evidence.len().checked_sub(SPELLED_OUT).filter(|more| *more > 0) {
        parts.push(format!("and {more} more"));
    }
    parts.join("; ")
}

/// What a number may have been before it was written with so many decimals.
#[derive(Clone, Copy, Debug)]
struct Rounded {
    low: f64,
    high: f64,
}

impl Rounded {
    fn new(value: f64, decimals: Option<u8>) -> Self {
        let half = 0.5 * 10_f64.powi(-i32::from(decimals.unwrap_or(0)));
        Self { low: (value - half).max(0.0), high: value + half }
    }

    /// The quotient; its upper end is infinite where the divisor may be nothing.
    fn over(self, other: Self) -> Self {
        Self { low: self.low / other.high, high: self.high / other.low }
    }

    fn below(self, value: f64) -> bool {
        self.high < value * (1.0 - 1e-9)
    }

    fn above(self, value: f64) -> bool {
        self.low > value * (1.0 + 1e-9)
    }
}
