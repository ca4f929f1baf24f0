//! Finds contradictions, missing rows and repeated values in the figures of an import. Each of them becomes a
//! finding with its evidence. No figure is changed.

mod columns;
mod grid;
mod log;
mod phantom;

use inferometer_analysis::table_import::PublishedTable;
use inferometer_model::{CellPlan, Finding, code};

pub(crate) use log::{of_characters, of_log};

/// Returns the findings of a published table.
pub(crate) fn of_table(table: &PublishedTable) -> Vec<Finding> {
    let phantom = phantom::tokens(table);
    let (throughput, latencies) = (columns::throughput(table), columns::latencies(table));
    let grid = [grid::missing(table), grid::repeated(table)];
    [phantom, throughput, latencies].into_iter().chain(grid).flatten().collect()
}

/// Returns the finding that no heading names the engine, and that `line` names it.
pub(crate) fn engine_from_prose(line: usize) -> Finding {
    Finding::of(
        code::IMPORTED_ENGINE_FROM_PROSE,
        format!(
            "no heading above the figures names the engine: its name was taken from line {line}, \
                because the page names no other engine. The version of the engine is not stated"
        ),
    )
}

/// Returns the finding that vLLM 0.2's script uses the data set's lengths.
pub(crate) fn lengths_of_the_data_set() -> Finding {
    Finding::of(
        code::IMPORTED_LENGTHS_OF_DATA_SET,
        "the script computes with the lengths of the data set's answers, not of the real outputs: \
            tokens/s and latencies per token are correct only if the server ignored the \
            end-of-text token",
    )
}

/// The maximum number of rows whose evidence is listed. The text then states the number of further rows.
const LISTED_ROWS: usize = 6;

/// Returns the evidence as text: `128 x 2048: what; 512 x 2048: what; and 3 more`.
fn listed(evidence: &[(CellPlan, String)]) -> String {
    let spelled = evidence.iter().take(LISTED_ROWS).map(|(cell, what)| format!("{cell}: {what}"));
    let mut parts: Vec<String> = spelled.collect();
    if let Some(more) = evidence.len().checked_sub(LISTED_ROWS).filter(|more| *more > 0) {
        parts.push(format!("and {more} more"));
    }
    parts.join("; ")
}

/// The interval of the values that round to a printed number.
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

    /// The quotient. Its upper end is infinite if the divisor may be zero.
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
