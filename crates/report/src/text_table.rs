//! The model of a table, and its text for Markdown and for a terminal. [`crate::page::table`] converts it to
//! HTML. This module does not depend on the meaning of the figures.

use std::collections::BTreeMap;

use inferometer_model::visible;
use unicode_width::UnicodeWidthStr;

/// The alignment of the texts in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Used for text.
    Left,
    /// Used in the published tables. On a terminal, such a column is right-aligned.
    Centre,
    /// Used for numbers, so that readers can compare the digits of a column.
    Right,
}

/// The text of a cell, with the heading and the alignment of its column.
pub struct Entry {
    heading: String,
    align: Align,
    text: String,
}

/// A cell with text.
pub fn left(heading: impl Into<String>, text: impl Into<String>) -> Entry {
    Entry { heading: heading.into(), align: Align::Left, text: text.into() }
}

/// A cell with a number.
pub fn right(heading: impl Into<String>, text: impl Into<String>) -> Entry {
    Entry { align: Align::Right, ..left(heading, text) }
}

/// A table. Each column has a heading and an alignment, and each row has one text per column.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
    links: BTreeMap<(usize, usize), String>,
}

impl Table {
    /// A table without rows.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = (S, Align)>) -> Self {
        let columns = columns.into_iter().map(|(name, align)| (name.into(), align)).collect();
        Self { columns, rows: Vec::new(), links: BTreeMap::new() }
    }

    /// A table with these rows, which all have the same columns. Without rows it has no columns.
    pub fn of<Row: IntoIterator<Item = Entry>>(rows: impl IntoIterator<Item = Row>) -> Self {
        let mut table = Self::new::<String>([]);
        for row in rows {
            let row =
                row.into_iter().map(|Entry { heading, align, text }| ((heading, align), text));
            let (columns, texts) = row.unzip();
            table.columns = columns;
            table.push(texts);
        }
        table
    }

    /// Adds a row. Control characters for terminals and for text direction are shown as escapes.
    ///
    /// # Panics
    /// If the number of texts is not the number of columns.
    pub fn push(&mut self, row: Vec<String>) {
        assert_eq!(row.len(), self.columns.len(), "invariant: a row has one text per column");
        self.rows.push(row.iter().map(|text| visible::line(text).into_owned()).collect());
    }

    /// Makes the text of a cell a link in HTML, to an address or to a part of the same page (`#ID`).
    /// Markdown and the terminal show only the text.
    pub fn set_link(&mut self, row: usize, column: usize, to: impl Into<String>) {
        self.links.insert((row, column), to.into());
    }

    pub(crate) fn link(&self, row: usize, column: usize) -> Option<&str> {
        self.links.get(&(row, column)).map(String::as_str)
    }

    pub(crate) fn columns(&self) -> &[(String, Align)] {
        &self.columns
    }

    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Whether a cell contains this text.
    pub(crate) fn has(&self, text: &str) -> bool {
        self.rows.iter().flatten().any(|cell| cell.contains(text))
    }

    /// Whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table in Markdown. Spaces align the columns, so that the source is also readable as plain
    /// text.
    pub(crate) fn to_markdown(&self) -> String {
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| {
                let cells = self.rows.iter().map(|row| markdown_cell(&row[column]).width());
                cells.chain([self.columns[column].0.width(), 3]).max().unwrap_or(3)
            })
            .collect();
        let line = |texts: Vec<String>| format!("| {} |\n", texts.join(" | "));
        let fill = |index: usize, text: &str| {
            padded(&markdown_cell(text), widths[index], self.columns[index].1)
        };
        let heads = self.columns.iter().enumerate();
        let mut out = line(heads.clone().map(|(i, (name, _))| fill(i, name)).collect());
        out += &line(heads.map(|(i, (_, align))| rule(widths[i], *align)).collect());
        for row in &self.rows {
            out += &line(row.iter().enumerate().map(|(i, text)| fill(i, text)).collect());
        }
        out
    }

    /// The table as text for a terminal with `columns` characters per line; `None` means no limit.
    /// Headings are wrapped at `heading_width` characters. A table that is too wide is split into parts
    /// below each other. Each part begins with the first `keys` columns of the table.
    pub fn to_text(&self, heading_width: usize, columns: Option<usize>, keys: usize) -> String {
        let part = |TerminalTable { heading, rule, rows }| -> String {
            heading.into_iter().chain([rule]).chain(rows).map(|line: String| line + "\n").collect()
        };
        let parts = self.fitted(heading_width, columns, keys);
        parts.into_iter().map(part).collect::<Vec<_>>().join("\n")
    }

    /// The table in parts that are at most `columns` characters wide, if possible. Each part has the
    /// first `keys` columns and as many other columns as fit, but at least one.
    pub(crate) fn fitted(
        &self,
        heading_width: usize,
        columns: Option<usize>,
        keys: usize,
    ) -> Vec<TerminalTable> {
        let whole = self.to_terminal(heading_width);
        let Some(most) = columns.filter(|&most| whole.rule.width() > most) else {
            return vec![whole];
        };
        let widths: Vec<usize> = whole.rule.split("  ").map(str::width).collect();
        let of_keys: usize = widths.iter().take(keys).map(|width| width + 2).sum();
        let (mut parts, mut used) = (vec![Vec::new()], of_keys);
        for (column, width) in widths.iter().enumerate().skip(keys) {
            let part = parts.last_mut().expect("invariant: the list of parts is never empty");
            if used + width > most && !part.is_empty() {
                parts.push(vec![column]);
                used = of_keys + width + 2;
            } else {
                part.push(column);
                used += width + 2;
            }
        }
        let with_keys = |part: Vec<usize>| (0..keys).chain(part).collect::<Vec<_>>();
        let parts = parts.into_iter().map(|part| self.only(&with_keys(part)));
        parts.map(|part| part.to_terminal(heading_width)).collect()
    }

    /// A table with only these columns, in this order and without links.
    fn only(&self, columns: &[usize]) -> Self {
        let cells = |row: &Vec<String>| columns.iter().map(|&column| row[column].clone()).collect();
        Self {
            columns: columns.iter().map(|&column| self.columns[column].clone()).collect(),
            rows: self.rows.iter().map(cells).collect(),
            links: BTreeMap::new(),
        }
    }

    /// Lines of text without colour, with two spaces between columns and a rule below the heading.
    /// Headings are wrapped at `heading_width` characters.
    pub(crate) fn to_terminal(&self, heading_width: usize) -> TerminalTable {
        let fits = |line: &str, word: &str| line.width() + 1 + word.width() <= heading_width;
        let heads: Vec<Vec<String>> =
            self.columns.iter().map(|(name, _)| wrapped(name, fits)).collect();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| {
                let cells = self.rows.iter().map(|row| row[column].width());
                cells.chain(heads[column].iter().map(|line| line.width())).max().unwrap_or(0)
            })
            .collect();
        let line = |texts: &[&str]| {
            let padded = texts.iter().enumerate().map(|(index, text)| {
                let align = match self.columns[index].1 {
                    Align::Left => Align::Left,
                    Align::Centre | Align::Right => Align::Right,
                };
                padded(text, widths[index], align)
            });
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let height = heads.iter().map(Vec::len).max().unwrap_or(0);
        let heading = (0..height).map(|row| {
            let texts: Vec<&str> = heads
                .iter()
                .map(|lines| (row + lines.len()).checked_sub(height).map_or("", |i| &lines[i]))
                .collect();
            line(&texts)
        });
        let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
        TerminalTable {
            heading: heading.collect(),
            rule: rule.join("  "),
            rows: self
                .rows
                .iter()
                .map(|row| line(&row.iter().map(String::as_str).collect::<Vec<_>>()))
                .collect(),
        }
    }
}

/// A table as lines of text for a terminal.
pub(crate) struct TerminalTable {
    pub heading: Vec<String>,
    pub rule: String,
    pub rows: Vec<String>,
}

/// The words of a text, wrapped to lines: a word that fits after the words of a line is added to it.
pub(crate) fn wrapped(text: &str, fits: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            // A number and its percent sign stay together.
            Some(number) if word.starts_with('%') => *number += &format!(" {word}"),
            _ => words.push(word.to_owned()),
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for word in &words {
        match lines.last_mut() {
            Some(line) if fits(line, word) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A text, escaped so that it cannot end its table cell in Markdown.
fn markdown_cell(text: &str) -> String {
    crate::escape::markdown(text).replace('|', "\\|")
}

/// The part of one column in the row that states the alignments: `:---`, `:---:` or `---:`.
fn rule(width: usize, align: Align) -> String {
    match align {
        Align::Left => format!(":{}", "-".repeat(width - 1)),
        Align::Centre => format!(":{}:", "-".repeat(width - 2)),
        Align::Right => format!("{}:", "-".repeat(width - 1)),
    }
}

/// The text, padded with spaces to `width`. If a centred text needs an odd number of spaces, the right
/// side gets one more, as in the published tables.
fn padded(text: &str, width: usize, align: Align) -> String {
    let spaces = width.saturating_sub(text.width());
    let left = match align {
        Align::Left => 0,
        Align::Centre => spaces / 2,
        Align::Right => spaces,
    };
    format!("{}{text}{}", " ".repeat(left), " ".repeat(spaces - left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_its_percent_sign_stay_in_one_line() {
        let lines = wrapped("rate (95 % interval)", |line, word| line.len() + word.len() < 8);
        assert_eq!(lines, ["rate", "(95 %", "interval)"]);
    }

    #[test]
    fn chinese_text_takes_two_columns_per_character() {
        let mut table = Table::new([("model", Align::Left), ("n", Align::Right)]);
        table.push(vec!["书生".to_owned(), "1".to_owned()]);
        table.push(vec!["chatglm3-6b".to_owned(), "22".to_owned()]);
        let rows = table.to_terminal(16).rows;
        assert_eq!(rows, ["书生          1", "chatglm3-6b  22"]);
    }

    #[test]
    fn a_pipe_in_a_text_does_not_end_its_cell() {
        let mut table = Table::new([("a", Align::Left)]);
        table.push(vec!["x|y\nz".to_owned()]);
        assert_eq!(table.to_markdown(), "| a      |\n| :----- |\n| x\\|y z |\n");
    }
}
