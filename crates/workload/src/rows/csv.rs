//! Parses rows from CSV (RFC 4180): a quoted field may contain commas, line breaks and doubled quotes.
//! The first record contains the names of the columns. Every value is text; an empty value counts as
//! absent.

use csv::{ReaderBuilder, StringRecord, Terminator};
use inferometer_plan::RowsPlan;
use serde_json::{Map, Value};

use super::row::{Loaded, RowReason};
use crate::data_set::MAX_ROW_BYTES;

/// Parses the text of a file.
pub fn read(text: &str, plan: &RowsPlan) -> Loaded {
    let mut loaded = Loaded::default();
    let mut records = records(text);
    let names = match records.next() {
        Some((_, Ok(names))) => names,
        Some((line, Err(reason))) => {
            loaded.add(line, Err(reason), plan);
            Vec::new()
        }
        None => Vec::new(),
    };
    for (line, fields) in records {
        loaded.add(line, fields.and_then(|fields| by_name(&names, fields)), plan);
    }
    loaded
}

/// The fields of a row by the names of their columns, without empty fields.
fn by_name(names: &[String], fields: Vec<String>) -> Result<Map<String, Value>, RowReason> {
    if fields.len() != names.len() {
        return Err(RowReason::Fields);
    }
    let filled = names.iter().zip(fields).filter(|(_, field)| !field.is_empty());
    Ok(filled.map(|(name, field)| (name.trim().to_owned(), Value::String(field))).collect())
}

/// The records of a text, each with the number of its first line, from 1. Empty lines are skipped.
fn records(text: &str) -> impl Iterator<Item = (u64, Result<Vec<String>, RowReason>)> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .terminator(Terminator::Any(b'\n'))
        .from_reader(text.as_bytes());
    let mut record = StringRecord::new();
    std::iter::from_fn(move || {
        loop {
            let start = reader.position().clone();
            let is_read = reader.read_record(&mut record);
            if !is_read.expect("invariant: memory is readable, and the text is UTF-8") {
                return None;
            }
            let written = &text[start.byte() as usize..reader.position().byte() as usize];
            let trimmed = written.trim_start_matches(['\n', '\r']);
            if !trimmed.is_empty() {
                let skipped = &written[..written.len() - trimmed.len()];
                let line = start.line() + skipped.matches('\n').count() as u64;
                if written.len() > MAX_ROW_BYTES {
                    return Some((line, Err(RowReason::TooLarge)));
                }
                return Some((line, fields(&record, trimmed).ok_or(RowReason::BrokenQuotes)));
            }
        }
    })
}

/// The fields of a record, without carriage returns outside of quotes. `None` if the quotes of a field do
/// not end where the field ends. The CSV reader accepts such a record, so its fields are compared with
/// the text of the record, `written`.
fn fields(record: &StringRecord, written: &str) -> Option<Vec<String>> {
    let mut rest = written.strip_suffix('\n').unwrap_or(written);
    let field = |field: &str| {
        let Some(quoted) = rest.strip_prefix('"') else {
            rest = rest.strip_prefix(field).unwrap_or_default();
            rest = rest.strip_prefix(',').unwrap_or(rest);
            return Some(field.replace('\r', ""));
        };
        let escaped = field.replace('"', "\"\"");
        let (inside, behind) = quoted.get(..=escaped.len())?.rsplit_once('"')?;
        if escaped != format!("{inside}{behind}") || behind.contains(|c| c != '\r') {
            return None;
        }
        rest = &quoted[escaped.len() + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
        Some(field[..field.len() - behind.len()].to_owned())
    };
    record.iter().map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_fields_may_contain_commas_line_ends_and_quotes() {
        let text = "a,b\r\n\"1, \"\"one\"\"\",\"two\nlines\"\n\nä,\n";
        let found: Vec<_> = records(text).collect();
        let record = |fields: &[&str]| Ok(fields.iter().map(|field| (*field).to_owned()).collect());
        assert_eq!(
            found,
            [
                (1, record(&["a", "b"])),
                (2, record(&["1, \"one\"", "two\nlines"])),
                (5, record(&["ä", ""])),
            ]
        );
    }

    #[test]
    fn a_field_whose_closing_quote_is_missing_or_misplaced_is_rejected() {
        for text in ["\"never ends, a\n", "\"ends\" early,b\n"] {
            assert_eq!(records(text).next().unwrap().1, Err(RowReason::BrokenQuotes), "{text}");
        }
    }

    #[test]
    fn carriage_returns_outside_of_quotes_are_dropped() {
        let found: Vec<_> = records("a\rb,\"c\r\"\r\r\n").collect();
        assert_eq!(found, [(1, Ok(vec!["ab".to_owned(), "c\r".to_owned()]))]);
    }
}
