//! Phantom tokens: the model stopped at a limit on the total length, but the figures divide by the
//! output length that was asked for.

use inferometer_analysis::table_import::{PublishedRow, PublishedTable};
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Finding, code};

use super::listed;

/// Total lengths at which models stop.
const LIMITS: [u32; 6] = [1024, 2048, 4096, 8192, 16384, 32768];
/// Largest relative difference between a latency and the one that the limit explains.
const NEAR: f64 = 0.03;
/// Rows that must agree, as one may do so by chance.
const ROWS: usize = 2;

/// A decode step does not get faster as the context grows. If the latency per output token falls by
/// the very factor by which a limit on the total would cut the output, it was divided by tokens that
/// were never generated.
pub(super) fn tokens(table: &PublishedTable) -> Vec<Finding> {
    LIMITS.iter().find_map(|limit| at_limit(table, *limit)).into_iter().collect()
}

fn at_limit(table: &PublishedTable, limit: u32) -> Option<Finding> {
    let mut evidence: Vec<(CellPlan, String)> = Vec::new();
    for row in &table.rows {
        let CellPlan { input_length, output_length } = row.cell;
        if input_length >= limit || total(row.cell) <= u64::from(limit) {
            continue;
        }
        let latency = per_output_token(row)?;
        let before = table.rows.iter().filter(|other| {
            other.cell.input_length == input_length && total(other.cell) <= u64::from(limit)
        });
        let before = before.max_by_key(|other| other.cell.output_length)?;
        let came = limit - input_length;
        let explained = per_output_token(before)? * f64::from(came) / f64::from(output_length);
        if (latency / explained - 1.0).abs() > NEAR {
            return None;
        }
        let tokens = row.measured.output_tokens_per_s.map_or(String::new(), |stated| {
            let real = stated * f64::from(came) / f64::from(output_length);
            format!(", and {real:.2} of its {stated} tokens/s")
        });
        let text = format!(
            "{latency} ms for {} ms at {}, as of {came} tokens{tokens}",
            per_output_token(before)?,
            before.cell
        );
        evidence.push((row.cell, text));
    }
    (evidence.len() >= ROWS).then(|| {
        Finding::of(
            code::IMPORTED_PHANTOM_TOKENS,
            format!(
                "outputs ended where prompt and output together were {limit} tokens, and {} rows \
                 count the output length that was asked for: latency per output token falls there \
                 just as it would ({})",
                evidence.len(),
                listed(&evidence)
            ),
        )
    })
}

/// Tokens of prompt and output together.
fn total(cell: CellPlan) -> u64 {
    u64::from(cell.input_length) + u64::from(cell.output_length)
}

fn per_output_token(row: &PublishedRow) -> Option<f64> {
    row.measured.latency_per_output_token_ms.filter(|latency| *latency > 0.0)
}
