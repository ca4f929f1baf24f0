//! Traces as tables with commas: Azure's, BurstGPT's and plain ones. Columns are found by their
//! names; no field of theirs holds a comma or a quote.

use inferometer_plan::TraceFormat;

use super::file::{RowReason, Written};
use super::instant::seconds_or_date;

/// The names of the three columns, in the spelling of each format.
const NAMES: [(TraceFormat, [&str; 3]); 3] = [
    (TraceFormat::Azure, ["TIMESTAMP", "ContextTokens", "GeneratedTokens"]),
    (TraceFormat::Burstgpt, ["Timestamp", "Request tokens", "Response tokens"]),
    (TraceFormat::Plain, ["timestamp", "input_tokens", "output_tokens"]),
];

/// Where the three fields are.
#[derive(Debug)]
pub struct Columns {
    names: [&'static str; 3],
    places: [usize; 3],
    fields: usize,
}

impl Columns {
    /// The columns by the first line, and whether it is a header. A plain trace may have none.
    pub fn of(first: &str, format: Option<TraceFormat>) -> Result<(Self, bool), String> {
        let fields: Vec<&str> = first.split(',').map(bare).collect();
        let place = |name: &str| fields.iter().position(|field| field.eq_ignore_ascii_case(name));
        let wanted = |known: TraceFormat| format.is_none_or(|format| format == known);
        for (known, names) in NAMES {
            if let ([Some(at), Some(input), Some(output)], true) = (names.map(place), wanted(known))
            {
                let places = [at, input, output];
                return Ok((Self { names, places, fields: fields.len() }, true));
            }
        }
        let (_, names) = NAMES[2];
        let is_row = fields.len() == 3 && seconds_or_date(fields[0]).is_some();
        if is_row && wanted(TraceFormat::Plain) {
            return Ok((Self { names, places: [0, 1, 2], fields: 3 }, false));
        }
        let expected: Vec<String> = NAMES
            .iter()
            .filter(|(known, _)| wanted(*known))
            .map(|(known, names)| format!("{known} has {}", names.join(", ")))
            .collect();
        let expected = match expected.is_empty() {
            true => "a Mooncake trace is lines of JSON objects".to_owned(),
            false => expected.join("; "),
        };
        let found: String = first.chars().take(80).collect();
        Err(format!("its first line is `{found}`; {expected}"))
    }

    /// The row of a line.
    pub fn row(&self, line: &str) -> Result<Written<'static>, RowReason> {
        let mut found = [""; 3];
        let mut fields = 0;
        for (number, field) in line.split(',').enumerate() {
            fields += 1;
            if let Some(which) = self.places.iter().position(|&place| place == number) {
                found[which] = bare(field);
            }
        }
        if fields != self.fields {
            return Err(RowReason::Fields);
        }
        let [at, input, output] = found;
        let at_ns = seconds_or_date(at).ok_or(RowReason::NotAnInstant(self.names[0]))?;
        let tokens = |text: &str, name| tokens(text).ok_or(RowReason::NotTokens(name));
        let (input, output) = (tokens(input, self.names[1])?, tokens(output, self.names[2])?);
        Ok(Written { at_ns, input, output, blocks: &[] })
    }
}

/// A field without spaces and quotes around it.
fn bare(field: &str) -> &str {
    field.trim().trim_matches('"').trim()
}

/// A number of tokens; tables that passed through other programs write `472.0`.
fn tokens(text: &str) -> Option<u32> {
    text.strip_suffix(".0").unwrap_or(text).parse().ok()
}
