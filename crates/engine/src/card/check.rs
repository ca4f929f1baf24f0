//! Checks of a card file: its keys, tables and lists, and the range of each figure. A figure outside of its range is
//! most often in another unit, so each message says what to write.

use std::fmt::Write as _;

use serde::{Deserialize, Deserializer, de::Error as _};
use toml::{Table, Value};

/// A figure of a card, with its plausible range.
pub(super) struct Figure {
    /// The key in the file, such as `operations.bf16.tflops`.
    pub key: String,
    /// The value that was found.
    pub value: f64,
    /// The smallest and the largest plausible value.
    pub range: [f64; 2],
    /// The unit with an example: what to write.
    pub write: &'static str,
}

impl Figure {
    /// The mistake, if the value is outside of the range or not a number.
    pub(super) fn mistake(&self) -> Option<String> {
        let Self { key, value, range: [low, high], write } = self;
        let is_plausible = (*low..=*high).contains(value);
        let [low, high] = [*low, *high].map(|end| short(rounded(end)));
        let value = short(*value);
        (!is_plausible)
            .then(|| format!("{key} = {value}: must be between {low} and {high}; write {write}"))
    }
}

/// The value rounded to four significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// A number with few characters: `3.35e12`.
pub(super) fn short(value: f64) -> String {
    let is_usual = value == 0.0 || (1e-3..1e6).contains(&value.abs());
    if is_usual || !value.is_finite() { value.to_string() } else { format!("{value:e}") }
}

/// The keys that every card file must have, each with what to write. The keys of a table are needed only if the file
/// has the table.
const REQUIRED: [(&str, &str); 16] = [
    ("name", "a short name in lower case, such as \"my-card\""),
    ("source", "the source of the figures, as text"),
    ("memory_bytes", "bytes, such as 48e9"),
    ("bandwidth_bytes_per_s", "bytes per second, such as 3.35e12"),
    ("dense_flops_per_s", "operations per second in sixteen bits, such as 9.89e14"),
    ("single_flops_per_s", "operations per second in single precision, such as 6.7e13"),
    ("capability", "the CUDA compute capability, such as 8.9, or 0.0 for a device without CUDA"),
    ("link_bytes_per_s", "bytes per second to another card, such as 4.5e11; for a single card 1e6"),
    ("link_latency_us", "microseconds, such as 4.8; for a single card 0"),
    ("operations.kv_bandwidth_share", "a share of the bandwidth, such as 0.9"),
    ("operations.prompt_attention_tflops", "10^12 operations per second, such as 680"),
    ("operations.bf16", "a table with stream_tb_per_s and tflops"),
    ("operations.bf16.stream_tb_per_s", "a list of [rows, TB/s]"),
    ("operations.bf16.tflops", "a list of [rows, TFLOP/s]"),
    ("operations.fp8.stream_tb_per_s", "a list of [rows, TB/s]"),
    ("operations.fp8.tflops", "a list of [rows, TFLOP/s]"),
];

/// One mistake that names all missing keys of a card file, each with what to write. Empty if no key is missing.
pub(super) fn missing(file: &Table) -> Vec<String> {
    let is_table = |key: &str| at(file, key).is_some_and(Value::is_table);
    let is_needed = |key: &str| key.rsplit_once('.').is_none_or(|(of, _)| is_table(of));
    let absent = REQUIRED.iter().filter(|(key, _)| is_needed(key) && at(file, key).is_none());
    let absent: Vec<String> = absent.map(|(key, write)| format!("{key} ({write})")).collect();
    match absent.as_slice() {
        [] => Vec::new(),
        _ => vec![format!(
            "these keys are missing: {}; `inferometer list cards l4` prints a card file as an example",
            absent.join(", ")
        )],
    }
}

/// The values that must be tables and are not, each with what to write.
pub(super) fn wrong_tables(file: &Table) -> Vec<String> {
    let tables = ["operations", "operations.bf16", "operations.fp8"];
    let wrong = tables.into_iter().filter_map(|key| Some((key, at(file, key)?)));
    wrong
        .filter(|(_, value)| !value.is_table())
        .map(|(key, value)| {
            format!("{key} = {value}: must be a table; write [{key}] and its keys below this line")
        })
        .collect()
}

/// The mistake if a compute capability is written as a number with several digits after the point, the last of which is
/// a zero, such as 8.10. TOML reads 8.10 as 8.1.
pub(super) fn lost_zero(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Written {
        capability: toml::Spanned<Value>,
    }
    let Written { capability } = toml::from_str(text).ok()?;
    let written = text.get(capability.span())?;
    let (major, minor) = written.split_once('.')?;
    (capability.get_ref().is_float() && minor.len() > 1 && minor.ends_with('0')).then(|| {
        format!(
            "capability = {written}: a number does not keep the zero at its end; write [{major}, \
                {minor}]"
        )
    })
}

/// Reads a compute capability: two whole numbers, or one number such as 8.9, which may also be a text.
pub(super) fn capability<'de, D: Deserializer<'de>>(value: D) -> Result<(u32, u32), D::Error> {
    let wrong = |found: &str| {
        D::Error::custom(format!(
            "capability = {found}: write the major and the minor number, such as 8.9 or [8, 9]"
        ))
    };
    let text = match Value::deserialize(value)? {
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::String(text) => text,
        other => {
            let pair = other.clone().try_into::<Vec<u32>>().unwrap_or_default();
            let [major, minor] = pair[..] else { return Err(wrong(&other.to_string())) };
            return Ok((major, minor));
        }
    };
    let parts = text.split_once('.').unwrap_or((&text, "0"));
    match (parts.0.parse(), parts.1.parse()) {
        (Ok(major), Ok(minor)) => Ok((major, minor)),
        _ => Err(wrong(&text)),
    }
}

/// The keys whose values are lists of a certain length: the key, whether the value is a list of such lists, and the
/// names of the numbers.
const LISTS: [(&str, bool, &[&str]); 6] = [
    ("capability", false, &["major", "minor"]),
    (
        "operations.reductions",
        true,
        &["cards", "microseconds", "microseconds per million elements"],
    ),
    ("operations.bf16.stream_tb_per_s", true, &["rows", "TB/s"]),
    ("operations.bf16.tflops", true, &["rows", "TFLOP/s"]),
    ("operations.fp8.stream_tb_per_s", true, &["rows", "TB/s"]),
    ("operations.fp8.tflops", true, &["rows", "TFLOP/s"]),
];

/// The lists of a card file that have too few or too many numbers, each with what to write.
pub(super) fn wrong_lists(file: &Table) -> Vec<String> {
    let mut mistakes = Vec::new();
    for (key, has_rows, names) in LISTS {
        let Some(value) = at(file, key).and_then(Value::as_array) else { continue };
        let one = std::slice::from_ref(value);
        let rows: Vec<&Vec<Value>> = match has_rows {
            true => value.iter().filter_map(Value::as_array).collect(),
            false => one.iter().collect(),
        };
        for (number, row) in (1..).zip(rows).filter(|(_, row)| row.len() != names.len()) {
            let mut place = key.to_owned();
            if has_rows {
                let _ = write!(place, ", row {number}");
            }
            let found: Vec<String> = row.iter().map(Value::to_string).collect();
            mistakes.push(format!(
                "{place} = [{}]: has {} values; write {}: [{}]",
                found.join(", "),
                row.len(),
                names.len(),
                names.join(", ")
            ));
        }
    }
    mistakes
}

/// The value of a key such as `operations.bf16.tflops`.
fn at<'a>(file: &'a Table, key: &str) -> Option<&'a Value> {
    let mut parts = key.split('.');
    let first = file.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}
