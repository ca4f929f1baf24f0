//! Calibration on a text-block log: the log of several closed loops over prompts with blocks of text. Each closed loop
//! is one row, called a block. Only output tokens per second are compared.

use std::collections::BTreeSet;

use super::{BLOCKS_TETHER, csv, search, spread_of_errors};
use crate::{
    EngineConfig, EngineError, Profile, profile::ColumnErrors, text_blocks::ClosedLoopLoad,
};

/// The logarithmic error with which a row has half of its weight. The weight decreases with the size of the error. The
/// log does not state the cost of failed requests. So some rows have large errors with any constants, and must not
/// distort the fit.
const ROBUST: f64 = 0.02;

/// One measured closed loop of a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredBlock {
    /// The number of characters of the text in each prompt.
    pub block_characters: u32,
    /// The requested number of output characters.
    pub requested_characters: u32,
    /// The load of the engine.
    pub block: ClosedLoopLoad,
    /// The measured output tokens per second.
    pub output_tokens_per_s: f64,
}

const HEADER: &str = "block_characters,asked_characters,input_tokens,output_tokens,in_flight,\
                      completed,output_tokens_per_s";

/// Parses blocks from CSV; lines that begin with `#` are ignored. `path` is used only in messages.
///
/// # Errors
/// If the header is wrong, or a row does not have seven positive finite numbers.
pub fn parse_blocks(text: &str, path: &str) -> Result<Vec<MeasuredBlock>, EngineError> {
    let block = |[characters, requested, input, output, in_flight, completed, speed]: [f64; 7]| {
        MeasuredBlock {
            block_characters: characters as u32,
            requested_characters: requested as u32,
            block: ClosedLoopLoad {
                prompt: input.round() as u32,
                mean_output: output,
                in_flight: in_flight as u32,
                completed: completed as u32,
            },
            output_tokens_per_s: speed,
        }
    };
    Ok(csv::parse(text, path, HEADER)?.into_iter().map(block).collect())
}

/// Returns the signed relative errors of the blocks: prediction / measurement - 1.
///
/// # Errors
/// If the engine cannot start with the configuration.
pub fn block_errors(
    profile: &Profile,
    config: &EngineConfig,
    blocks: &[MeasuredBlock],
) -> Result<Vec<f64>, EngineError> {
    let config = EngineConfig { profile: profile.clone(), ..config.clone() };
    let error = |measured: &MeasuredBlock| {
        let found = measured.block.output_tokens_per_s(&config)?;
        Ok(found / measured.output_tokens_per_s - 1.0)
    };
    blocks.iter().map(error).collect()
}

/// Fits the named constants of a profile to blocks. All other constants remain unchanged.
///
/// # Errors
/// See [`super::fit`].
pub fn fit_blocks(
    start: &Profile,
    config: &EngineConfig,
    blocks: &[MeasuredBlock],
    names: &[&str],
) -> Result<Profile, EngineError> {
    block_errors(start, config, blocks)?;
    search(start, names, BLOCKS_TETHER, |profile, mut residuals| {
        for error in block_errors(profile, config, blocks).ok()? {
            let error = error.ln_1p();
            residuals.push(error / (1.0 + error.abs() / ROBUST).sqrt());
        }
        Some(residuals)
    })
}

/// Returns two errors of every block. One comes from a fit without all blocks of the same `block_characters`, the other
/// from a fit without all blocks of the same `requested_characters`.
///
/// # Errors
/// See [`super::fit`].
pub fn leave_blocks_out(
    start: &Profile,
    config: &EngineConfig,
    blocks: &[MeasuredBlock],
    names: &[&str],
) -> Result<Vec<f64>, EngineError> {
    let mut found = Vec::new();
    let block: fn(&MeasuredBlock) -> u32 = |row| row.block_characters;
    let requested: fn(&MeasuredBlock) -> u32 = |row| row.requested_characters;
    for length_of in [block, requested] {
        for length in blocks.iter().map(length_of).collect::<BTreeSet<u32>>() {
            let (left_out, others): (Vec<_>, Vec<_>) =
                blocks.iter().copied().partition(|row| length_of(row) == length);
            let fitted = fit_blocks(start, config, &others, names)?;
            found.extend(block_errors(&fitted, config, &left_out)?);
        }
    }
    Ok(found)
}

/// Returns the distribution of the absolute errors of output tokens/s, in percent. `errors` must not be empty.
pub fn block_error_percent(errors: &[f64]) -> ColumnErrors {
    let found = spread_of_errors(errors.iter().copied());
    ColumnErrors::from([("output_tokens_per_s".to_owned(), found)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_block_row_is_refused_with_its_file_or_line() {
        for (text, wrong) in [("a,b\n", "header"), (&format!("{HEADER}\n1,2\n"), "7 fields")] {
            let message = parse_blocks(text, "x.csv").unwrap_err().to_string();
            assert!(message.contains(wrong) && message.contains("x.csv"), "{message}");
        }
        let zero = format!("{HEADER}\n1,2,3,4,0,6,7\n");
        assert!(parse_blocks(&zero, "x").unwrap_err().to_string().contains("line 2"));
    }
}
