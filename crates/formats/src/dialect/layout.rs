//! The table of another tool as data and as text. This module computes no figure.

use std::fmt::Write as _;

use inferometer_analysis::ImportedPass;
use serde_json::{Map, json};

/// The table that a tool would have printed for a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolTable {
    /// The title above the table.
    pub title: String,
    /// The number of characters of the title's line and of headings.
    pub width: usize,
    /// The lines of the table.
    pub lines: Vec<TableLine>,
    /// Figures that the tool prints and that cannot be computed from the records, each with the reason, and figures
    /// that differ from those of the tool.
    pub left_out: Vec<String>,
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
    /// A table of the usual width.
    pub(super) fn new(title: &str, lines: Vec<TableLine>) -> Self {
        Self { title: title.to_owned(), width: 50, lines, left_out: Vec::new() }
    }

    /// Adds a figure that is left out, or that differs, with the reason.
    pub(super) fn without(mut self, why: impl Into<String>) -> Self {
        self.left_out.push(why.into());
        self
    }

    /// Replaces every value by the one that a result file of the tool states. `name` gives the name in the file for a
    /// key, and for a statistic if there is one. A line of which the file states nothing is left out.
    pub(super) fn of_stated(
        mut self,
        stated: &ImportedPass,
        name: impl Fn(&str, Option<&str>) -> String,
    ) -> Self {
        self.left_out.clear();
        let mut absent = Vec::new();
        self.lines.retain_mut(|line| {
            let is_stated = match line {
                TableLine::Section(_) => true,
                TableLine::Figure { key, value, .. } => {
                    match stated_value(stated, &name(key, None), value) {
                        Some(found) => {
                            *value = found;
                            true
                        }
                        None => false,
                    }
                }
                TableLine::Statistics { key, values, .. } => {
                    for (statistic, value) in values.iter_mut() {
                        *value = stated.numbers.get(&name(key, Some(statistic))).copied();
                    }
                    values.iter().any(|(_, value)| value.is_some())
                }
            };
            if !is_stated
                && let TableLine::Figure { key, .. } | TableLine::Statistics { key, .. } = line
            {
                absent.push(key.clone());
            }
            is_stated
        });
        let is_heading =
            |line: Option<&TableLine>| matches!(line, Some(TableLine::Section(_)) | None);
        let empty: Vec<bool> = (0..self.lines.len())
            .map(|at| is_heading(self.lines.get(at)) && is_heading(self.lines.get(at + 1)))
            .collect();
        let mut empty = empty.into_iter();
        self.lines.retain(|_| !empty.next().unwrap_or(false));
        match absent.is_empty() {
            true => self,
            false => self.without(format!("not in the file: {}", absent.join(", "))),
        }
    }

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
        let width = self.width;
        let mut out = format!("{:=^width$}\n", format!(" {} ", self.title));
        let mut heads: Option<Vec<&str>> = None;
        for line in &self.lines {
            match line {
                TableLine::Section(words) => {
                    let _ = writeln!(out, "{words:-^width$}");
                    heads = None;
                }
                TableLine::Figure { label, value, .. } => {
                    let value = match value {
                        Value::Count(count) => count.to_string(),
                        Value::Number(value) => format!("{:.2}", value + 0.0),
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
                        let text = value.map_or("N/A".to_owned(), |value| {
                            format!("{:.2}", value * scale + 0.0)
                        });
                        let _ = write!(out, " {text:>10}");
                    }
                    out.push('\n');
                }
            }
        }
        let _ = writeln!(out, "{}", "=".repeat(width));
        out.extend(self.left_out.iter().map(|left_out| format!("left out: {left_out}\n")));
        out
    }
}

/// Returns the value of a file under this name, in the form of `like`.
fn stated_value(stated: &ImportedPass, name: &str, like: &Value) -> Option<Value> {
    let number = stated.numbers.get(name).copied();
    Some(match like {
        Value::Count(_) => Value::Count(number? as u64),
        Value::Number(_) => Value::Number(number?),
        Value::Exact(_) => Value::Exact(number?),
        Value::Words(_) => Value::Words(match (stated.texts.get(name), number) {
            (Some(text), _) => text.clone(),
            (None, number) => format!("{:?}", number?),
        }),
    })
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
