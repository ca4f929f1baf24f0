//! Finds columns that contradict each other by more than their rounding allows.

use inferometer_analysis::table_import::PublishedTable;
use inferometer_model::{CellPlan, Finding, code};

use super::{Rounded, listed};

/// Output tokens/s divided by requests/s is the mean output length. If this mean is less than the row's output
/// length, the model or a limit ended outputs early. If it is more, the columns contradict each other.
pub(super) fn throughput(table: &PublishedTable) -> Vec<Finding> {
    let decimals = table.decimals();
    let (mut shorter, mut longer) = (Vec::new(), Vec::new());
    for row in &table.rows {
        let [Some(requests), Some(tokens), ..] = row.measured.values() else { continue };
        let each = Rounded::new(tokens, decimals[1]).over(Rounded::new(requests, decimals[0]));
        let asked = f64::from(row.cell.output_length);
        let evidence = || (row.cell, format!("{:.0} tokens", tokens / requests));
        if each.below(asked) {
            shorter.push(evidence());
        } else if each.above(asked) {
            longer.push(evidence());
        }
    }
    let rows = table.rows.len();
    let mut findings = Vec::new();
    if !shorter.is_empty() {
        findings.push(Finding::of(
            code::IMPORTED_OUTPUTS_SHORTER,
            format!(
                "in {} of {rows} rows, tokens/s divided by requests/s is less than the output \
                    length: the model or a limit ended outputs early, so the outputs of these rows \
                    are shorter than stated ({})",
                shorter.len(),
                listed(&shorter)
            ),
        ));
    }
    if !longer.is_empty() {
        findings.push(Finding::of(
            code::IMPORTED_COLUMNS_INCONSISTENT,
            format!(
                "in {} of {rows} rows, tokens/s divided by requests/s is more than the output \
                    length ({})",
                longer.len(),
                listed(&longer)
            ),
        ));
    }
    findings
}

/// If all requests have the lengths of the row, latency per token divided by latency per output token is output
/// length / (input length + output length). Any other quotient is a contradiction.
pub(super) fn latencies(table: &PublishedTable) -> Vec<Finding> {
    let decimals = table.decimals();
    let mut evidence: Vec<(CellPlan, String)> = Vec::new();
    for row in &table.rows {
        let [.., Some(per_token), Some(per_output)] = row.measured.values() else { continue };
        let share =
            Rounded::new(per_token, decimals[2]).over(Rounded::new(per_output, decimals[3]));
        let (input, output) = (f64::from(row.cell.input_length), f64::from(row.cell.output_length));
        let expected = output / (input + output);
        if share.below(expected) || share.above(expected) {
            let found = per_token / per_output;
            let implied = found * input / (1.0 - found);
            let text = match found < 1.0 {
                true => format!(
                    "{found:.3} instead of {expected:.3}, as if outputs had {implied:.0} tokens"
                ),
                false => format!("{found:.3} instead of {expected:.3}"),
            };
            evidence.push((row.cell, text));
        }
    }
    if evidence.is_empty() {
        return Vec::new();
    }
    vec![Finding::of(
        code::IMPORTED_LATENCIES_INCONSISTENT,
        format!(
            "in {} of {} rows, latency per token divided by latency per output token differs from \
                output length / (input length + output length) by more than rounding allows: the \
                real lengths differ from those of the row, or vary ({})",
            evidence.len(),
            table.rows.len(),
            listed(&evidence)
        ),
    )]
}
