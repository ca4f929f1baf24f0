//! Checks of a card file: the form of its rows, and the range of each figure. A figure outside of its range is most
//! often in another unit, so each message says what to write.

use std::fmt::Write as _;

use toml::{Table, Value};

/// A figure of a card, as a check sees it.
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
    /// The mistake, if the value is outside of its range or not a number.
    pub(super) fn mistake(&self) -> Option<String> {
        let Self { key, value, range: [low, high], write } = self;
        let is_plausible = (*low..=*high).contains(value);
        let [low, high] = [*low, *high].map(|end| short(rounded(end)));
        let value = short(*value);
        (!is_plausible)
            .then(|| format!("{key} = {value}: must be between {low} and {high}; write {write}"))
    }
}

/// A number with four digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// A number with few characters: `3.35e12`.
pub(super) fn short(value: f64) -> String {
    let is_usual = value == 0.0 || (1e-3..1e6).contains(&value.abs());
    if is_usual || !value.is_finite() { value.to_string() } else { format!("{value:e}") }
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
