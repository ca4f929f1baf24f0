//! Stores a table as numbers with their format, so that its rows can be written again byte for byte. Only a cell that
//! is not a plain number is stored as text. This module judges no figure.

use inferometer_model::json::one_of;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A table of a published page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TableForm {
    /// The line above the table that belongs to its rows, such as `**input 500**`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<String>,
    /// The columns, from left to right.
    pub columns: Vec<ColumnForm>,
    /// Whether each line begins and ends with a pipe.
    pub outer_pipes: bool,
    /// The rows, from top to bottom.
    pub rows: Vec<Vec<FormCell>>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnForm {
    /// The heading of the column.
    pub heading: String,
    /// The Markdown rule below the heading, which states the alignment of the cells.
    pub rule: String,
    /// The width of a cell in characters, including spaces; absent if cells have different widths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<usize>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum FormCell {
    /// A number, and its number of decimals.
    Number {
        /// The value of the number.
        value: f64,
        /// The number of decimals.
        decimals: u8,
    },
    /// Text that is not a plain number.
    Words(String),
}

impl<'de> Deserialize<'de> for FormCell {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        one_of(from, "a number with its decimals or a text", |value| match value {
            Value::String(words) => Some(Self::Words(words)),
            value => {
                let decimals = u8::try_from(value["decimals"].as_u64()?).ok()?;
                Some(Self::Number { value: value["value"].as_f64()?, decimals })
            }
        })
    }
}

impl FormCell {
    /// Parses a cell. A number that would be formatted differently is stored as text.
    fn of(text: &str) -> Self {
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let number = text.parse::<f64>().ok().filter(|value| value.is_finite());
        match (number, u8::try_from(decimals)) {
            (Some(value), Ok(few)) if format!("{value:.decimals$}") == text => {
                Self::Number { value, decimals: few }
            }
            _ => Self::Words(text.to_owned()),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Number { value, decimals } => {
                format!("{value:.decimals$}", decimals = usize::from(*decimals))
            }
            Self::Words(words) => words.clone(),
        }
    }
}

impl TableForm {
    /// A table without rows, from the line of its headings and the rule below them.
    pub(super) fn new(headings: &str, rule: &str, above: Option<&str>) -> Self {
        let (names, rules) = (segments(headings), segments(rule));
        let columns = names.iter().zip(&rules).map(|(name, rule)| ColumnForm {
            heading: name.trim().to_owned(),
            rule: rule.trim().to_owned(),
            width: Some(rule.len()),
        });
        Self {
            above: above.map(str::to_owned),
            columns: columns.collect(),
            outer_pipes: rule.trim().starts_with('|') && rule.trim().ends_with('|'),
            rows: Vec::new(),
        }
    }

    /// A table from its lines: headings, rule and rows.
    pub fn of_lines(headings: &str, rule: &str, rows: &[&str]) -> Self {
        let mut form = Self::new(headings, rule, None);
        rows.iter().for_each(|row| form.row(row));
        form
    }

    /// Adds a row from its line.
    pub(super) fn row(&mut self, line: &str) {
        let cells = segments(line);
        for (column, cell) in self.columns.iter_mut().zip(&cells) {
            let width = cell.chars().count();
            column.width = column.width.filter(|known| *known == width);
        }
        self.rows.push(cells.iter().map(|cell| FormCell::of(cell.trim())).collect());
    }

    /// The table as Markdown, beginning with the line above it, if there is one.
    pub fn markdown(&self) -> String {
        let mut out = self.above.as_ref().map_or(String::new(), |above| format!("{above}\n\n"));
        let names = self.columns.iter().map(|column| column.heading.clone()).collect();
        out += &self.line(names);
        out += &self.line(self.columns.iter().map(|column| column.rule.clone()).collect());
        for row in &self.rows {
            out += &self.line(row.iter().map(FormCell::text).collect());
        }
        out
    }

    fn line(&self, texts: Vec<String>) -> String {
        let is_rule = texts.iter().all(|text| is_rule_text(text));
        let cells = texts.iter().enumerate().map(|(at, text)| {
            let column = self.columns.get(at);
            match column.and_then(|column| Some((column, column.width?))) {
                Some((column, width)) => padded(text, width, &column.rule),
                None if is_rule && !self.outer_pipes => text.clone(),
                None => format!(" {text} "),
            }
        });
        let line = cells.collect::<Vec<_>>().join("|");
        if self.outer_pipes { format!("|{line}|\n") } else { format!("{}\n", line.trim()) }
    }
}

fn is_rule_text(text: &str) -> bool {
    text.contains("--") && text.chars().all(|c| ":-".contains(c))
}

/// The texts between the pipes of a line, including spaces.
fn segments(line: &str) -> Vec<&str> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    line.strip_suffix('|').unwrap_or(line).split('|').collect()
}

/// Pads a text with spaces, aligned as the rule states. If the number of spaces is odd, the right side gets one more.
fn padded(text: &str, width: usize, rule: &str) -> String {
    let room = width.saturating_sub(text.chars().count());
    let left = match (rule.starts_with(':'), rule.ends_with(':')) {
        (true, true) => room / 2,
        (false, true) => room.saturating_sub(1),
        _ => room.min(1),
    };
    format!("{}{text}{}", " ".repeat(left), " ".repeat(room - left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_cell_keeps_the_decimals_of_a_number_and_any_other_text() {
        for text in ["21.36", "0.40", "128", "-", "1,000.5", "**3.1**", "1e3", "007", "", "n/a"] {
            let cell = FormCell::of(text);
            assert_eq!(cell.text(), text);
            let json = serde_json::to_string(&cell).unwrap();
            assert_eq!(serde_json::from_str::<FormCell>(&json).unwrap(), cell, "{json}");
        }
        assert_eq!(FormCell::of("0.40"), FormCell::Number { value: 0.4, decimals: 2 });
    }

    #[test]
    fn every_published_table_is_reproduced_byte_for_byte() {
        let mut rows = 0;
        for text in [
            include_str!("fixtures/chatglm3-6b.md"),
            include_str!("fixtures/qwen-14b.md"),
            include_str!("fixtures/baichuan2-13b-gptq.md"),
            include_str!("fixtures/mistral-7b-openorca-awq.md"),
            include_str!("fixtures/sus-chat-34b.md"),
        ] {
            for table in super::super::published_tables(text).unwrap() {
                for form in table.forms {
                    let json = serde_json::to_string(&form).unwrap();
                    let kept: TableForm = serde_json::from_str(&json).unwrap();
                    assert!(text.contains(&kept.markdown()), "{}", kept.markdown());
                    let is_number = |cell: &FormCell| matches!(cell, FormCell::Number { .. });
                    assert!(kept.rows.iter().flatten().all(is_number), "{kept:?}");
                    rows += kept.rows.len();
                }
            }
        }
        assert_eq!(rows, 16 + 16 + 15 + 32 + 50);
    }
}
