//! Reads values of JSON rows by their paths (JSON pointers). Rows of CSV are JSON objects whose values are texts.

use inferometer_model::calendar::{decimal, parse};
use inferometer_plan::spec::MAX_LENGTH;
use serde_json::Value;

use super::call::GapKind;
use crate::trace::RowReason;

/// One second, in nanoseconds.
pub const S: i64 = 1_000_000_000;
/// One millisecond, in nanoseconds.
pub const MS: i64 = 1_000_000;
/// The largest time, so that the difference of two times fits into 64 bits.
const MOST_NS: u64 = 1 << 62;

/// The paths of a value, separated by `|`, of which the first present one counts.
pub type Paths = &'static str;

/// The first present value, and its path without the first slash. `null` and empty texts are absent.
pub fn find(row: &Value, paths: Paths) -> Option<(&Value, &'static str)> {
    let is_there = |value: &&Value| !value.is_null() && value.as_str() != Some("");
    let found = |path: &'static str| Some((row.pointer(path).filter(is_there)?, path));
    paths.split('|').find_map(found).map(|(value, path)| (value, path.trim_start_matches('/')))
}

/// A text; a number is written as one.
pub fn text(row: &Value, paths: Paths) -> Option<String> {
    match find(row, paths)?.0 {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A list; absent counts as empty.
pub fn list<'a>(row: &'a Value, path: &str) -> &'a [Value] {
    row.pointer(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A time or a duration in nanoseconds: a number, the text of a number, or a date.
pub fn nanos(value: &Value, unit_ns: i64) -> Option<i64> {
    let found = match value {
        Value::Number(number) => decimal(&number.to_string(), unit_ns),
        Value::String(text) => decimal(text.trim(), unit_ns).or_else(|| parse(text.trim())),
        _ => None,
    };
    found.filter(|ns| ns.unsigned_abs() < MOST_NS)
}

/// The time or duration at these paths, in nanoseconds.
///
/// # Errors
/// If it is none.
pub fn time(row: &Value, paths: Paths, unit_ns: i64) -> Result<Option<i64>, RowReason> {
    let Some((value, name)) = find(row, paths) else { return Ok(None) };
    nanos(value, unit_ns).map(Some).ok_or(RowReason::NotAnInstant(name))
}

/// The number of tokens at these paths.
///
/// # Errors
/// If it is no whole number, or more than the limit.
pub fn tokens(row: &Value, paths: Paths) -> Result<Option<u32>, RowReason> {
    let Some((value, name)) = find(row, paths) else { return Ok(None) };
    let text = value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_owned());
    let found: Result<u64, _> = text.strip_suffix(".0").unwrap_or(&text).parse();
    match found.map(u32::try_from).map_err(|_| RowReason::NotTokens(name))? {
        Ok(tokens @ ..=MAX_LENGTH) => Ok(Some(tokens)),
        _ => Err(RowReason::TooManyTokens),
    }
}

/// What happened before a call, from the last message of its prompt: a tool ran, or a person wrote.
pub fn kind_of(message: Option<&Value>) -> GapKind {
    let Some(message) = message else { return GapKind::Unknown };
    let mut parts = list(message, "/content").iter().chain(list(message, "/parts"));
    let has_tool =
        parts.any(|part| part["type"].as_str().is_some_and(|kind| kind.starts_with("tool")));
    match text(message, "/role|/type|/source").as_deref() {
        Some("tool" | "function_call_output" | "custom_tool_call_output") => GapKind::Tool,
        Some("user" | "message") if has_tool => GapKind::Tool,
        Some("user" | "message") => GapKind::Human,
        _ => GapKind::Unknown,
    }
}
