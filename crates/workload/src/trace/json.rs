//! Parses traces with one JSON object per line. In the format of Mooncake, arrival times are in
//! milliseconds, and each block of a prompt may have a hash. In the plain format, arrival times are in seconds
//! or are dates. The module `row` checks the ranges of the values.

use std::io::{self, BufRead};

use inferometer_plan::TraceFormat;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::row::{ParsedRow, RowReason, trimmed};
use crate::TraceError;
use inferometer_model::calendar::{decimal, seconds_or_date};

/// Parses the rows of a file. `first` is the first line of the file, and `rest` reads the lines after it.
/// If `format` is `None`, the keys of the first line determine the format.
///
/// # Errors
/// If the first line does not have the keys of a known format. If `format` is given, only this
/// format is accepted.
pub fn rows<'a>(
    first: String,
    rest: impl BufRead + 'a,
    format: Option<TraceFormat>,
) -> Result<impl Iterator<Item = io::Result<Result<ParsedRow, RowReason>>> + 'a, TraceError> {
    let keys = Keys::of(&first, format)?;
    let lines = std::iter::once(Ok(first)).chain(rest.lines());
    Ok(lines.filter_map(move |line| match line {
        Ok(line) => {
            let text = trimmed(&line);
            (!text.is_empty()).then(|| Ok(keys.row(text)))
        }
        Err(error) => Some(Err(error)),
    }))
}

/// The keys of a row in one format.
#[derive(Debug)]
struct Keys {
    /// The keys of the arrival time, the input tokens and the output tokens.
    names: [&'static str; 3],
    is_mooncake: bool,
}

const MOONCAKE: [&str; 3] = ["timestamp", "input_length", "output_length"];
const PLAIN: [&str; 3] = ["timestamp", "input_tokens", "output_tokens"];
/// The key of the hashes in a Mooncake row, one hash for each block of the prompt.
const HASHES: &str = "hash_ids";

impl Keys {
    /// Finds the format whose keys are in the first line. An error if there is none.
    fn of(first: &str, format: Option<TraceFormat>) -> Result<Self, TraceError> {
        let fields: Map<String, Value> =
            serde_json::from_str(first).map_err(|error| TraceError::NoObject(error.to_string()))?;
        let has = |names: [&str; 3]| names.iter().all(|name| fields.contains_key(*name));
        for (known, names) in [(TraceFormat::Mooncake, MOONCAKE), (TraceFormat::Plain, PLAIN)] {
            if has(names) && format.is_none_or(|format| format == known) {
                return Ok(Self { names, is_mooncake: known == TraceFormat::Mooncake });
            }
        }
        let expected = format!(
            "mooncake has {} and optionally {HASHES}; plain has {}",
            MOONCAKE.join(", "),
            PLAIN.join(", ")
        );
        Err(TraceError::Keys { found: fields.keys().cloned().collect(), expected })
    }

    /// Parses the row of a line.
    fn row(&self, line: &str) -> Result<ParsedRow, RowReason> {
        let fields: Map<String, Value> =
            serde_json::from_str(line).map_err(|_| RowReason::NotAnObject)?;
        let [at, input, output] = self.names;
        let at_ns = self.instant(field(&fields, at)?).ok_or(RowReason::NotAnInstant(at))?;
        let tokens = |name| {
            let count = field(&fields, name)?.as_u64().and_then(|count| u32::try_from(count).ok());
            count.ok_or(RowReason::NotTokens(name))
        };
        let blocks = match fields.get(HASHES).filter(|_| self.is_mooncake) {
            None => Vec::new(),
            Some(hashes) => Vec::deserialize(hashes).map_err(|_| RowReason::Blocks)?,
        };
        Ok(ParsedRow { at_ns, input: tokens(input)?, output: tokens(output)?, blocks })
    }

    /// Parses an arrival time. Returns nanoseconds.
    fn instant(&self, value: &Value) -> Option<i64> {
        match value {
            Value::Number(number) if self.is_mooncake => decimal(&number.to_string(), 1_000_000),
            Value::Number(number) => seconds_or_date(&number.to_string()),
            Value::String(text) if !self.is_mooncake => seconds_or_date(text),
            _ => None,
        }
    }
}

fn field<'a>(fields: &'a Map<String, Value>, name: &'static str) -> Result<&'a Value, RowReason> {
    fields.get(name).ok_or(RowReason::Missing(name))
}
