//! The table of another tool as data and as text. No figure is computed here.

use std::fmt::Write as _;

use serde_json::{Map, json};

/// What a tool would have printed of a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    /// The words above it.
    pub title: String,
    /// Its lines.
    pub lines: Vec<Line>,
    /// Figures that the tool prints and the records do not have, with why.
    pub left_out: Vec<&'static str>,
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// A heading between lines.
    Section(String),
    /// A figure.
    Figure {
        /// What it is called on the screen.
        label: String,
        /// What it is called in the tool's result files.
        key: String,
        /// Its value.
        value: Value,
    },
    /// Statistics of a figure.
    Statistics {
        /// What it is called on the screen, with its unit.
        label: String,
        /// What it is called in the tool's result files.
        key: String,
        /// Name and value of each, as in the tool's result files; absent is not available.
        values: Vec<(&'static str, Option<f64>)>,
        /// By how much the tool multiplies them for the screen, where it has another unit there.
        scale: f64,
    },
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A count.
    Count(u64),
    /// A number, printed with two decimals.
    Number(f64),
    /// A number, printed with all the digits that it has.
    Exact(f64),
    /// Words.
    Words(String),
}

impl Printed {
    /// The value of a figure by its key, or of one of its statistics by `key.statistic`.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.lines.iter().find_map(|line| match line {
            Line::Figure { key, value, .. } if key == name => match value {
                Value::Count(count) => Some(*count as f64),
                Value::Number(value) | Value::Exact(value) => Some(*value),
                Value::Words(_) => None,
            },
            Line::Statistics { key, values, .. } => {
                let statistic = name.strip_prefix(key.as_str())?.strip_prefix('.')?;
                values.iter().find(|(known, _)| *known == statistic)?.1
            }
            _ => None,
        })
    }

    /// As an object under the tool's own names.
    pub fn json(&self) -> serde_json::Value {
        let mut object = Map::new();
        for line in &self.lines {
            match line {
                Line::Section(_) => {}
                Line::Figure { key, value, .. } => {
                    let value = match value {
                        Value::Count(count) => json!(count),
                        Value::Number(value) | Value::Exact(value) => json!(value),
                        Value::Words(words) => json!(words),
                    };
                    object.insert(key.clone(), value);
                }
                Line::Statistics { key, values, .. } => {
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

    /// As text: lines of figures as vLLM and SGLang print them, statistics as a table.
    pub fn text(&self) -> String {
        const WIDTH: usize = 50;
        let mut out = format!("{:=^WIDTH$}\n", format!(" {} ", self.title));
        let mut heads: Option<Vec<&str>> = None;
        for line in &self.lines {
            match line {
                Line::Section(words) => {
                    let _ = writeln!(out, "{words:-^WIDTH$}");
                    heads = None;
                }
                Line::Figure { label, value, .. } => {
                    let value = match value {
                        Value::Count(count) => count.to_string(),
                        Value::Number(value) => format!("{value:.2}"),
                        Value::Exact(value) => format!("{value}"),
                        Value::Words(words) => words.clone(),
                    };
                    let _ = writeln!(out, "{label:<40} {value:<10}");
                }
                Line::Statistics { label, values, scale, .. } => {
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

/// A count.
pub(crate) fn count(label: &str, key: &str, value: usize) -> Line {
    figure(label, key, Value::Count(value as u64))
}

/// A number with two decimals.
pub(crate) fn number(label: &str, key: &str, value: f64) -> Line {
    figure(label, key, Value::Number(value))
}

pub(crate) fn figure(label: &str, key: &str, value: Value) -> Line {
    Line::Figure { label: label.to_owned(), key: key.to_owned(), value }
}

/// A heading.
pub(crate) fn section(words: &str) -> Line {
    Line::Section(words.to_owned())
}

pub(crate) fn statistics(label: &str, key: &str, values: Vec<(&'static str, Option<f64>)>) -> Line {
    Line::Statistics { label: label.to_owned(), key: key.to_owned(), values, scale: 1.0 }
}
