//! The table of another tool as data and as text. This module computes no figure.

use std::fmt::Write as _;

use serde_json::{Map, json};

/// The table that a tool would have printed for a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolTable {
    /// The title above the table.
    pub title: String,
    /// The lines of the table.
    pub lines: Vec<TableLine>,
    /// Figures that the tool prints and that cannot be computed from the records, each with the reason.
    pub left_out: Vec<&'static str>,
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq)]
pub enum TableLine {
    /// A heading between lines.
    Section(String),
    /// A figure.
    Figure {
        /// The name on the screen.
        label: String,
        /// The name in the tool's result files.
        key: String,
        /// The value.
        value: Value,
    },
    /// Statistics of a figure.
    Statistics {
        /// The name on the screen, with the unit.
        label: String,
        /// The name in the tool's result files.
        key: String,
        /// The name and the value of each statistic, as in the tool's result files; `None` if the statistic
        /// is not available.
        values: Vec<(&'static str, Option<f64>)>,
        /// The factor from the unit in the result files to the unit on the screen; 1 if they are the same.
        scale: f64,
    },
}

/// The value of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A count.
    Count(u64),
    /// A number, printed with two decimals.
    Number(f64),
    /// A number, printed with all of its digits.
    Exact(f64),
    /// A text.
    Words(String),
}

impl ToolTable {
    /// Returns the value of a figure by its key, or of a statistic by `key.statistic`. `None` if there is no such
    /// value, or if it is a text.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.lines.iter().find_map(|line| match line {
            TableLine::Figure { key, value, .. } if key == name => match value {
                Value::Count(count) => Some(*count as f64),
                Value::Number(value) | Value::Exact(value) => Some(*value),
                Value::Words(_) => None,
            },
            TableLine::Statistics { key, values, .. } => {
                let statistic = name.strip_prefix(key.as_str())?.strip_prefix('.')?;
                values.iter().find(|(known, _)| *known == statistic)?.1
            }
            _ => None,
        })
    }

    /// Returns the figures as a JSON object with the names of the tool's result files.
    pub fn json(&self) -> serde_json::Value {
        let mut object = Map::new();
        for line in &self.lines {
            match line {
                TableLine::Section(_) => {}
                TableLine::Figure { key, value, .. } => {
                    let value = match value {
                        Value::Count(count) => json!(count),
                        Value::Number(value) | Value::Exact(value) => json!(value),
                        Value::Words(words) => json!(words),
                    };
                    object.insert(key.clone(), value);
                }
                TableLine::Statistics { key, values, .. } => {
                    let statistics: Map<_, _> = values
                        .iter()
                        .map(|(name, value)| ((*name).to_owned(), json!(value)))
                        .collect();
                    object.insert(key.clone(), statistics.into());
                }
            }
        }
        object.into()
    }

    /// Returns the table as text. Figures are printed one per line, as vLLM and SGLang do; statistics are
    /// printed as a table.
    pub fn text(&self) -> String {
        const WIDTH: usize = 50;
        let mut out = format!("{:=^WIDTH$}\n", format!(" {} ", self.title));
        let mut heads: Option<Vec<&str>> = None;
        for line in &self.lines {
            match line {
                TableLine::Section(words) => {
                    let _ = writeln!(out, "{words:-^WIDTH$}");
                    heads = None;
                }
                TableLine::Figure { label, value, .. } => {
                    let value = match value {
                        Value::Count(count) => count.to_string(),
                        Value::Number(value) => format!("{value:.2}"),
                        Value::Exact(value) => format!("{value}"),
                        Value::Words(words) => words.clone(),
                    };
                    let _ = writeln!(out, "{label:<40} {value:<10}");
                }
                TableLine::Statistics { label, values, scale, .. } => {
                    let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
                    if heads.as_ref() != Some(&names) {
                        let _ = write!(out, "{:<44}", "");
                        for name in &names {
                            let _ = write!(out, " {name:>10}");
                        }
                        out.push('\n');
                        heads = Some(names);
                    }
                    let _ = write!(out, "{label:<44}");
                    for (_, value) in values {
                        let text =
                            value.map_or("N/A".to_owned(), |value| format!("{:.2}", value * scale));
                        let _ = write!(out, " {text:>10}");
                    }
                    out.push('\n');
                }
            }
        }
        let _ = writeln!(out, "{}", "=".repeat(WIDTH));
        for left_out in &self.left_out {
            let _ = writeln!(out, "left out: {left_out}");
        }
        out
    }
}

/// Makes a line with a count.
pub(crate) fn count(label: &str, key: &str, value: usize) -> TableLine {
    figure(label, key, Value::Count(value as u64))
}

/// Makes a line with a number, printed with two decimals.
pub(crate) fn number(label: &str, key: &str, value: f64) -> TableLine {
    figure(label, key, Value::Number(value))
}

pub(crate) fn figure(label: &str, key: &str, value: Value) -> TableLine {
    TableLine::Figure { label: label.to_owned(), key: key.to_owned(), value }
}

/// Makes a heading.
pub(crate) fn section(words: &str) -> TableLine {
    TableLine::Section(words.to_owned())
}

pub(crate) fn statistics(
    label: &str,
    key: &str,
    values: Vec<(&'static str, Option<f64>)>,
) -> TableLine {
    TableLine::Statistics { label: label.to_owned(), key: key.to_owned(), values, scale: 1.0 }
}
