//! Finds rows that are missing from a table, and values that occur more than once.

use std::collections::{BTreeMap, BTreeSet};

use inferometer_analysis::{prediction::Columns, table_import::PublishedTable};
use inferometer_model::{CellPlan, Finding, code};

use super::listed;

/// Equal figures are reported only if they have at least this number of significant digits. With fewer
/// digits, figures may be equal by chance.
const DIGITS_THAT_IDENTIFY: u32 = 5;

/// Finds rows that are missing from the full grid of input and output lengths.
pub(super) fn missing(table: &PublishedTable) -> Vec<Finding> {
    let cells: BTreeSet<[u32; 2]> =
        table.rows.iter().map(|row| [row.cell.input_length, row.cell.output_length]).collect();
    let lengths = |at: usize| cells.iter().map(|cell| cell[at]).collect::<BTreeSet<u32>>();
    let (inputs, outputs) = (lengths(0), lengths(1));
    let all = inputs.iter().flat_map(|input| outputs.iter().map(move |output| [*input, *output]));
    let missing: Vec<String> = all
        .filter(|cell| !cells.contains(cell))
        .map(|[input_length, output_length]| CellPlan { input_length, output_length }.to_string())
        .collect();
    // If more than a quarter is missing, the lengths are probably measured instead of requested. Measured
    // lengths do not form a grid.
    if missing.is_empty() || missing.len() * 4 > inputs.len() * outputs.len() {
        return Vec::new();
    }
    vec![Finding::of(
        code::IMPORTED_ROWS_MISSING,
        format!(
            "{} of the {} rows of a full grid of {} input and {} output lengths are missing: {}",
            missing.len(),
            inputs.len() * outputs.len(),
            inputs.len(),
            outputs.len(),
            missing.join(", ")
        ),
    )]
}

/// Finds throughputs that are equal in all digits in several rows. Somebody may have copied them by mistake,
/// or measured them only once.
pub(super) fn repeated(table: &PublishedTable) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, name) in Columns::NAMES.iter().enumerate().take(2) {
        let decimals = i32::from(table.decimals()[at].unwrap_or(0));
        let mut seen: BTreeMap<u64, Vec<CellPlan>> = BTreeMap::new();
        for row in &table.rows {
            let Some(value) = row.measured.values()[at] else { continue };
            let digits = (value * 10_f64.powi(decimals)).round() as u64;
            if digits >= 10_u64.pow(DIGITS_THAT_IDENTIFY - 1) {
                seen.entry(digits).or_default().push(row.cell);
            }
        }
        let twice = seen.into_iter().filter(|(_, cells)| cells.len() > 1);
        let evidence: Vec<(CellPlan, String)> = twice
            .map(|(digits, cells)| {
                let others: Vec<String> = cells[1..].iter().map(CellPlan::to_string).collect();
                let value = digits as f64 / 10_f64.powi(decimals);
                (cells[0], format!("{value} as in {}", others.join(" and ")))
            })
            .collect();
        if !evidence.is_empty() {
            findings.push(Finding::of(
                code::IMPORTED_VALUES_REPEAT,
                format!(
                    "{name} has exactly the same value in several rows ({})",
                    listed(&evidence)
                ),
            ));
        }
    }
    findings
}
