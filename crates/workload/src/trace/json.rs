//! Parses traces with one JSON object per line. In the formats of Mooncake and Bailian, arrival times are in
//! milliseconds or seconds, and each block of a prompt may have a hash. In the plain format, arrival times are
//! in seconds or are dates. The module `row` checks the ranges of the values.

use std::{collections::BTreeSet, io::BufRead};

use inferometer_plan::TraceFormat;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::row::{ParsedRow, ParsedRows, RowReason, trimmed};
use super::unstated::MILLISECOND_NS;
use crate::TraceError;
use inferometer_model::calendar::{decimal, seconds_or_date};

/// Parses the rows of a file. `first` is the first line of the file, and `rest` reads the lines after it.
/// If `format` is `None`, the keys of the first line determine the format. Also returns the format.
///
/// # Errors
/// If the first line does not have the keys of a known format. If `format` is given, only this
/// format is accepted.
pub fn rows<'a>(
    first: String,
    rest: impl BufRead + 'a,
    format: Option<TraceFormat>,
) -> Result<(TraceFormat, ParsedRows<'a>), TraceError> {
    let mut keys = Keys::of(&first, format)?;
    let format = keys.format;
    let lines = std::iter::once(Ok(first)).chain(rest.lines());
    let rows = lines.filter_map(move |line| match line {
        Ok(line) => {
            let text = trimmed(&line);
            (!text.is_empty()).then(|| Ok(keys.row(text)))
        }
        Err(error) => Some(Err(error)),
    });
    Ok((format, Box::new(rows)))
}

/// Whether a first line has a key of traces of agents, whose rows are no independent requests.
pub fn is_of_jobs(first: &str) -> bool {
    let fields: Option<Map<String, Value>> = serde_json::from_str(first).ok();
    fields.is_some_and(|fields| OF_JOBS.iter().any(|key| fields.contains_key(*key)))
}

const OF_JOBS: [&str; 5] = ["session_id", "wait_for", "requests", "event", "spans"];

/// The keys of a row in one format.
#[derive(Debug)]
struct Keys {
    /// The keys of the arrival time, the input tokens and the output tokens.
    names: [&'static str; 3],
    format: TraceFormat,
    /// The keys of the rows so far that are not used.
    unused: BTreeSet<String>,
}

const MOONCAKE: [&str; 3] = ["timestamp", "input_length", "output_length"];
const PLAIN: [&str; 3] = ["timestamp", "input_tokens", "output_tokens"];
/// The key of the hashes in a Mooncake row, one hash for each block of the prompt.
const HASHES: &str = "hash_ids";
/// A key that only rows of Bailian have.
const OF_BAILIAN: &str = "parent_chat_id";

impl Keys {
    /// Finds the format whose keys are in the first line. An error if there is none.
    fn of(first: &str, format: Option<TraceFormat>) -> Result<Self, TraceError> {
        let fields: Map<String, Value> =
            serde_json::from_str(first).map_err(|error| TraceError::NoObject(error.to_string()))?;
        let has = |names: [&str; 3]| names.iter().all(|name| fields.contains_key(*name));
        let is_bailian = fields.contains_key(OF_BAILIAN);
        for (known, names, is_usual) in [
            (TraceFormat::Bailian, MOONCAKE, is_bailian),
            (TraceFormat::Mooncake, MOONCAKE, true),
            (TraceFormat::Plain, PLAIN, true),
        ] {
            if has(names) && format.map_or(is_usual, |format| format == known) {
                return Ok(Self { names, format: known, unused: BTreeSet::new() });
            }
        }
        let expected = format!(
            "mooncake and bailian have {} and optionally {HASHES}; plain has {}",
            MOONCAKE.join(", "),
            PLAIN.join(", ")
        );
        Err(TraceError::Keys { found: fields.keys().cloned().collect(), expected })
    }

    /// Parses the row of a line.
    fn row(&mut self, line: &str) -> Result<ParsedRow, RowReason> {
        let fields: Map<String, Value> =
            serde_json::from_str(line).map_err(|_| RowReason::NotAnObject)?;
        let has_hashes = self.format != TraceFormat::Plain;
        let [at, input, output] = self.names;
        let at_ns = self.instant(field(&fields, at)?).ok_or(RowReason::NotAnInstant(at))?;
        let tokens = |name| {
            let count = field(&fields, name)?.as_u64().and_then(|count| u32::try_from(count).ok());
            count.ok_or(RowReason::NotTokens(name))
        };
        let blocks = match fields.get(HASHES).filter(|_| has_hashes) {
            None => Vec::new(),
            Some(hashes) => Vec::deserialize(hashes).map_err(|_| RowReason::Hashes)?,
        };
        let (input, output) = (tokens(input)?, tokens(output)?);
        let is_used = |key: &str| self.names.contains(&key) || has_hashes && key == HASHES;
        let unused: Vec<String> =
            fields.into_iter().map(|(key, _)| key).filter(|key| !is_used(key)).collect();
        let unused = unused.into_iter().filter(|key| self.unused.insert(key.clone())).collect();
        Ok(ParsedRow { at_ns, input, output, blocks, unused })
    }

    /// Parses an arrival time. Returns nanoseconds.
    fn instant(&self, value: &Value) -> Option<i64> {
        match value {
            Value::Number(number) if self.format == TraceFormat::Mooncake => {
                decimal(&number.to_string(), MILLISECOND_NS)
            }
            Value::Number(number) => seconds_or_date(&number.to_string()),
            Value::String(text) if self.format == TraceFormat::Plain => seconds_or_date(text),
            _ => None,
        }
    }
}

fn field<'a>(fields: &'a Map<String, Value>, name: &'static str) -> Result<&'a Value, RowReason> {
    fields.get(name).ok_or(RowReason::Missing(name))
}
