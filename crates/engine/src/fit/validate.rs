//! Cross-validation: the errors of a fit on rows that were left out of the fit.

use std::collections::BTreeSet;

use super::{MeasuredRow, MeasuredTable, RowError, errors, fit};
use crate::profile::{Coverage, SignedError, SignedErrors};
use crate::{EngineConfig, EngineError, Profile};

/// Returns two errors of every row, by table. One comes from a fit (`fit_to`) without all rows of the same input
/// length, the other from a fit without all rows of the same output length. If all rows have the same input (or output)
/// length, there is no such fit.
///
/// # Errors
/// Those of `fit_to`, or if the engine cannot start with the configuration of a row.
pub fn leave_lengths_out(
    tables: &[MeasuredTable],
    fit_to: impl Fn(&[MeasuredTable]) -> Result<Profile, EngineError>,
) -> Result<Vec<Vec<RowError>>, EngineError> {
    let mut found = vec![Vec::new(); tables.len()];
    let input = |row: &MeasuredRow| row.cell.input_length;
    let output = |row: &MeasuredRow| row.cell.output_length;
    for length_of in [input, output] {
        let rows = tables.iter().flat_map(|table| &table.rows);
        let lengths: BTreeSet<u32> = rows.map(length_of).collect();
        // If there is only one length, a fit without it would have no rows.
        for length in lengths.iter().filter(|_| lengths.len() > 1) {
            let others: Vec<_> =
                tables.iter().map(|table| table.only(|row| length_of(row) != *length)).collect();
            let fitted = fit_to(&others)?;
            for (table, found) in tables.iter().zip(&mut found) {
                found.extend(errors(&fitted, &table.only(|row| length_of(row) == *length))?);
            }
        }
    }
    Ok(found)
}

/// Returns the errors of the rows of the table with the index `out`, from a fit to the other tables.
///
/// # Errors
/// See [`fit`].
pub fn leave_table_out(
    start: &Profile,
    tables: &[MeasuredTable],
    names: &[&str],
    out: usize,
) -> Result<Vec<RowError>, EngineError> {
    let mut others = tables.to_vec();
    let left = others.remove(out);
    errors(&fit(start, &others, names)?, &left)
}

/// Returns the bias and the scatter of the errors by column: the mean and the standard deviation of their
/// logarithms, in percent, rounded to two decimals. There must be at least two errors.
pub fn signed(errors: &[RowError]) -> SignedErrors {
    let column = |of: fn(&RowError) -> f64| {
        let values: Vec<f64> = errors.iter().map(|error| 100.0 * of(error).ln_1p()).collect();
        SignedError::of(&values)
    };
    SignedErrors::from([
        ("output_tokens_per_s".to_owned(), column(|error| error.output_tokens_per_s)),
        ("latency_per_output_token_ms".to_owned(), column(|e| e.latency_per_output_token_ms)),
    ])
}

/// Returns the ranges of lengths and sequences that the rows of a table cover.
///
/// # Errors
/// If the engine cannot start with the configuration of a row.
pub fn coverage(profile: &Profile, table: &MeasuredTable) -> Result<Coverage, EngineError> {
    let mut config = EngineConfig { profile: profile.clone(), ..table.config.clone() };
    // The maximum number of requests that the engine runs at the same time, according to its limit. The KV memory may
    // allow fewer requests. This second limit is ignored, because the memory of a request follows from its lengths.
    let mut most = 1;
    for row in &table.rows {
        config.max_model_len = Some(row.max_model_len);
        most = most.max(config.resolve()?.limits.max_num_seqs.min(table.requests));
    }
    let range = |length: fn(&MeasuredRow) -> u32| {
        let lengths = table.rows.iter().map(length);
        let (least, most) = (lengths.clone().min(), lengths.max());
        (least.unwrap_or(0), most.unwrap_or(0))
    };
    Ok(Coverage {
        input_tokens: range(|row| row.cell.input_length),
        output_tokens: range(|row| row.cell.output_length),
        sequences: (1, most),
        cards: config.resolve()?.tensor_parallel_size,
        cached_percent: (0, 0),
    })
}
