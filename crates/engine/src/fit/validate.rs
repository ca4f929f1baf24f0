//! Cross-validation: the errors of a fit on rows that it was not fitted on.

use std::collections::BTreeSet;

use super::{MeasuredRow, MeasuredTable, RowError, errors, fit};
use crate::config::EngineConfig;
use crate::error::EngineError;
use crate::profile::{Coverage, Profile};

/// Errors of every row, by table: under a fit (`fit_to`) without the rows of its input length, then
/// under one without those of its output length.
///
/// # Errors
/// As `fit_to`.
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
        // A single length cannot be left out.
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

/// Errors of the rows of one table under a fit to the others.
///
/// # Errors
/// As [`fit`].
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

/// The ranges that the rows of a table cover; there must be a row.
///
/// # Errors
/// When a row's configuration is one that the engine would refuse to start with.
pub fn coverage(profile: &Profile, table: &MeasuredTable) -> Result<Coverage, EngineError> {
    let mut config = EngineConfig { profile: profile.clone(), ..table.config.clone() };
    // The number of requests that were sent at once, with which a prediction is compared: how many of
    // them fit into memory follows from the lengths.
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
    })
}
