//! Measured rows as CSV: the columns of the published tables, and the `--max-model-len` of each row.

use inferometer_model::CellPlan;

use super::csv;
use crate::EngineError;

/// One measured row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredRow {
    /// Input and output length, in tokens.
    pub cell: CellPlan,
    /// Output tokens per second of the saturated pass.
    pub output_tokens_per_s: f64,
    /// Latency per output token of the one-by-one pass, in milliseconds.
    pub latency_per_output_token_ms: f64,
    /// The `--max-model-len` of the server, in tokens.
    pub max_model_len: u32,
    /// The mean output tokens of a request, tokens/s / requests/s; absent if outputs had the requested length.
    pub mean_output: Option<f64>,
}

/// How the outputs of measured rows ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputs {
    /// Outputs ended after the requested number of tokens.
    RequestedLength,
    /// The model ended the outputs; their mean length is tokens/s / requests/s.
    EndOfText,
}

const HEADER: &str = "input_tokens,output_tokens,requests_per_s,output_tokens_per_s,\
                      latency_per_token_ms,latency_per_output_token_ms,max_model_len";

/// Parses rows from CSV; lines that begin with `#` are ignored. `path` is used only in messages. `outputs`
/// states how the outputs ended.
///
/// # Errors
/// If the header is wrong, or a row does not have seven positive finite numbers.
pub fn parse_rows(
    text: &str,
    path: &str,
    outputs: Outputs,
) -> Result<Vec<MeasuredRow>, EngineError> {
    let row =
        |[input, output, requests_per_s, tokens_per_s, _, latency, limit]: [f64; 7]| MeasuredRow {
            cell: CellPlan { input_length: input as u32, output_length: output as u32 },
            output_tokens_per_s: tokens_per_s,
            latency_per_output_token_ms: latency,
            max_model_len: limit as u32,
            mean_output: (outputs == Outputs::EndOfText).then_some(tokens_per_s / requests_per_s),
        };
    Ok(csv::parse(text, path, HEADER)?.into_iter().map(row).collect())
}
