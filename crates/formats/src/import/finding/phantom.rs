//! Finds phantom tokens: tokens that the figures count but that were not generated. Outputs ended early, at a
//! limit on the total length or elsewhere, but the figures divide by the requested output length.

use inferometer_analysis::table_import::{PublishedRow, PublishedTable};
use inferometer_model::{CellPlan, Finding, code};

use super::listed;

/// Usual limits on the total length, in tokens of prompt and output.
const LIMITS: [u32; 6] = [1024, 2048, 4096, 8192, 16384, 32768];
/// The maximum relative difference between a latency and the latency that a limit predicts.
const NEAR: f64 = 0.03;
/// The minimum number of rows that must agree, because one row may agree by chance.
const ROWS: usize = 2;

/// Additional tokens are reported as not generated if they take at most this share of the usual time per
/// token. The share is low, because a disturbed measurement of a shorter row also makes additional tokens
/// look fast.
const LEAST_SHARE: f64 = 0.25;

/// Returns the findings about phantom tokens. A decode step does not get faster as the context grows. So two
/// signs show that a latency was divided by too many tokens:
///
/// - The latency per output token falls by the factor by which a limit on the total length cuts the output.
/// - Additional tokens take almost no time, whether or not a limit on the length ended the outputs.
pub(super) fn tokens(table: &PublishedTable) -> Vec<Finding> {
    let explained = LIMITS.iter().find_map(|limit| Some((*limit, at_limit(table, *limit)?)));
    let mut findings = Vec::new();
    let mut known = Vec::new();
    if let Some((limit, evidence)) = explained {
        findings.push(Finding::of(
            code::IMPORTED_PHANTOM_TOKENS,
            format!(
                "outputs ended when prompt plus output reached {limit} tokens, but {} rows count \
                    the requested output length: the latency per output token of these rows is as \
                    low as this limit predicts ({})",
                evidence.len(),
                listed(&evidence)
            ),
        ));
        known.extend(evidence.into_iter().map(|(cell, _)| cell));
    }
    findings.extend(in_no_time(table, &known));
    findings
}

/// Returns the finding about rows whose additional tokens took almost no time. Ignores the rows in `known`.
fn in_no_time(table: &PublishedTable, known: &[CellPlan]) -> Option<Finding> {
    let mut evidence: Vec<(CellPlan, String)> = Vec::new();
    for row in table.rows.iter().filter(|row| !known.contains(&row.cell)) {
        let shorter = table.rows.iter().filter(|other| {
            other.cell.input_length == row.cell.input_length
                && other.cell.output_length < row.cell.output_length
                && !known.contains(&other.cell)
                && per_output_token(other).is_some()
        });
        let mut shorter: Vec<&PublishedRow> = shorter.collect();
        shorter.sort_by_key(|other| other.cell.output_length);
        let (Some(before), Some(seconds)) = (shorter.last(), seconds(row)) else { continue };
        // The usual seconds per token, from the shortest output to the longest of the shorter outputs. With
        // fewer than two shorter rows it is 0, so that only a row without any additional time is reported.
        let usual = match shorter.as_slice() {
            [first, .., last] => further(first, last).unwrap_or(0.0).max(0.0),
            _ => 0.0,
        };
        if further(before, row).is_none_or(|each| each > LEAST_SHARE * usual) {
            continue;
        }
        let text = format!(
            "{seconds:.2} s for {} output tokens, but {:.2} s for {} ({:.2} ms and {:.2} ms per \
                token)",
            row.cell.output_length,
            self::seconds(before).unwrap_or_default(),
            before.cell.output_length,
            per_output_token(row).unwrap_or_default(),
            per_output_token(before).unwrap_or_default(),
        );
        evidence.push((row.cell, text));
    }
    (!evidence.is_empty()).then(|| {
        let finding = Finding::of(
            code::IMPORTED_PHANTOM_TOKENS,
            format!(
                "{} of {} rows have more output tokens than the next shorter row with the same input \
                    length, but took about the same time or less: the figures count tokens that \
                    were not generated, or something slowed down the shorter row ({})",
                evidence.len(),
                table.rows.len(),
                listed(&evidence)
            ),
        );
        finding.advise(
            "exclude these rows from comparisons: the table does not state the number of generated \
                tokens",
        )
    })
}

/// Returns the seconds for each additional token, from one row to a row with a longer output.
fn further(from: &PublishedRow, to: &PublishedRow) -> Option<f64> {
    let tokens = to.cell.output_length.checked_sub(from.cell.output_length)?;
    if tokens == 0 {
        return None;
    }
    Some((seconds(to)? - seconds(from)?) / f64::from(tokens))
}

/// Returns the latency of a request, in seconds.
fn seconds(row: &PublishedRow) -> Option<f64> {
    Some(per_output_token(row)? * 1e-3 * f64::from(row.cell.output_length))
}

/// Returns the rows that a limit cuts, with the evidence. A limit cuts a row if the prompt is shorter than
/// the limit and the total length exceeds the limit. `None` if there are fewer than [`ROWS`] such rows, or if
/// the limit does not explain the latency of one of them. The latency is compared with that of a row with the
/// same prompt that the limit does not cut; `None` also if one of these two latencies is missing.
fn at_limit(table: &PublishedTable, limit: u32) -> Option<Vec<(CellPlan, String)>> {
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
            format!(", and to {real:.2} of the stated {stated} tokens/s")
        });
        let text = format!(
            "{} ms, compared with {} ms at {}: this corresponds to {came} generated tokens{tokens}",
            rounded(latency),
            rounded(per_output_token(before)?),
            before.cell
        );
        evidence.push((row.cell, text));
    }
    (evidence.len() >= ROWS).then_some(evidence)
}

/// Returns the tokens of prompt and output together.
fn total(cell: CellPlan) -> u64 {
    u64::from(cell.input_length) + u64::from(cell.output_length)
}

/// Returns the latency per output token in milliseconds. If the table states only the latency per token, the
/// latency per output token is computed from it with the lengths of the row.
fn per_output_token(row: &PublishedRow) -> Option<f64> {
    let stated = row.measured.latency_per_output_token_ms;
    let per_token = row.measured.latency_per_token_ms;
    let of_all =
        |latency: f64| latency * total(row.cell) as f64 / f64::from(row.cell.output_length);
    let latency =
        stated.or_else(|| Some(of_all(per_token.filter(|_| row.cell.output_length > 0)?)));
    latency.filter(|latency| *latency > 0.0)
}

/// Rounds a latency to two decimals, as in published tables.
fn rounded(latency_ms: f64) -> f64 {
    (latency_ms * 100.0).round() / 100.0
}
