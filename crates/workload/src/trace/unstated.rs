//! Derives from the rows what a file in the form of Mooncake does not state: the unit of its times, and the
//! number of tokens for which a hash stands.

use inferometer_plan::TraceFormat;

use super::block_size;
use super::row::{Row, RowReason, Rows};
use crate::TraceError;

/// One millisecond, the unit of times in Mooncake's traces.
pub(super) const MILLISECOND_NS: i64 = 1_000_000;
/// With a mean gap of this many units or more, times are milliseconds: as seconds, they would be those of a
/// server with less than one request in 100 s.
const GAP_OF_MILLISECONDS: f64 = 100.0;
/// Such a server is only ruled out by more rows than this with whole numbers. Otherwise, the unit is told.
const ROWS_OF_A_TRACE: u64 = 100;
/// With a mean gap below this many units, times are seconds: as milliseconds, they would be those of a server
/// with more than 1000 requests/s.
const GAP_OF_SECONDS: f64 = 1.0;

/// The times of the rows that were read so far, in milliseconds. Rows that are too long for the plan count too,
/// so that the unit does not depend on the plan.
#[derive(Default)]
pub(super) struct Times {
    count: u64,
    first_ns: i64,
    last_ns: i64,
    has_fractions: bool,
}

impl Times {
    pub(super) fn add(&mut self, at_ns: i64) {
        let is_first = self.count == 0;
        self.first_ns = if is_first { at_ns } else { self.first_ns.min(at_ns) };
        self.last_ns = if is_first { at_ns } else { self.last_ns.max(at_ns) };
        self.has_fractions |= at_ns % MILLISECOND_NS != 0;
        self.count += 1;
    }

    /// Converts times to seconds if they are seconds. `rows` has the times as if they were milliseconds.
    pub(super) fn settle(&self, rows: &mut Rows) {
        let units = self.last_ns.abs_diff(self.first_ns) as f64 / MILLISECOND_NS as f64;
        let gap = units / self.count.saturating_sub(1).max(1) as f64;
        let is_slow = gap >= GAP_OF_MILLISECONDS;
        let is_certain = is_slow && !self.has_fractions && self.count > ROWS_OF_A_TRACE;
        if units == 0.0 || is_certain {
            return;
        }
        let in_seconds = |row: &Row| Some(Row { at_ns: row.at_ns.checked_mul(1_000)?, ..*row });
        let as_seconds = (gap < GAP_OF_SECONDS || (self.has_fractions && !is_slow))
            .then(|| rows.rows.iter().map(in_seconds).collect::<Option<Vec<_>>>())
            .flatten();
        let (unit, span_s, other, other_unit) = match &as_seconds {
            Some(_) => ("seconds", units, TraceFormat::Mooncake, "milliseconds"),
            None => ("milliseconds", units / 1_000.0, TraceFormat::Bailian, "seconds"),
        };
        rows.rows = as_seconds.unwrap_or_else(|| std::mem::take(&mut rows.rows));
        rows.derived.push(format!(
            "times are read as {unit}: {} rows in {span_s:.3} s; --trace-format {other} reads {other_unit}",
            self.count
        ));
    }
}

/// Sets the number of tokens for which a hash stands: `given`, or else the number that fits most rows. Leaves
/// out the rows that it does not fit. `numbers` has the row number of each row.
///
/// # Errors
/// If the number does not fit more than half of the rows with hashes.
pub(super) fn settle_blocks(
    rows: &mut Rows,
    numbers: &[u64],
    given: Option<u32>,
    format: TraceFormat,
) -> Result<(), TraceError> {
    let hashed: Vec<(u32, u32)> = rows.rows.iter().filter_map(lengths).collect();
    if hashed.is_empty() {
        return Ok(());
    }
    let usual = if format == TraceFormat::Bailian { 16 } else { 512 };
    let best = block_size::best(&hashed, usual);
    let tokens = given.unwrap_or(best);
    let fitting = |tokens| hashed.iter().filter(|row| block_size::fits(tokens, **row)).count();
    if let Some((input, hashes)) =
        hashed.iter().find(|row| !block_size::fits(tokens, **row)).copied()
        && fitting(tokens) * 2 <= hashed.len()
    {
        let rows = hashed.len();
        let (fitting, fitting_best) = (fitting(tokens), fitting(best));
        return Err(TraceError::Blocks {
            tokens,
            fitting,
            rows,
            input,
            hashes,
            best,
            fitting_best,
        });
    }
    if given.is_none() && tokens != usual {
        rows.derived.push(format!(
            "a hash stands for {tokens} tokens, which fits the lengths of {} of {} rows; \
                --trace-format {format}:N sets another number",
            fitting(tokens),
            hashed.len()
        ));
    }
    rows.block_tokens = tokens;
    let mut kept = Vec::with_capacity(rows.rows.len());
    for (row, number) in std::mem::take(&mut rows.rows).into_iter().zip(numbers) {
        match lengths(&row).is_none_or(|lengths| block_size::fits(tokens, lengths)) {
            true => kept.push(row),
            false => rows.left_out.add_row(RowReason::Blocks(tokens), *number),
        }
    }
    rows.rows = kept;
    Ok(())
}

/// The input tokens and the number of hashes of a row; `None` if it has no hashes.
fn lengths(row: &Row) -> Option<(u32, u32)> {
    (row.blocks.1 > 0).then_some((row.input, row.blocks.1))
}
