//! Reads published tables from Markdown text. This module opens no file, and judges no figure.
//!
//! Columns are recognised by the words of their headings, in any order, with or without outer pipes. The headings of
//! lengths may be English or Chinese. The input length may be in a line above the table instead (`**input 500**`).

mod blocks;
mod form;
mod place;

pub use blocks::{LoggedBlock, logged_blocks};
pub use form::{ColumnForm, FormCell, TableForm};
pub use place::{HeadingFacts, engine_in_prose, place_of};

use crate::prediction::Columns;
use inferometer_model::CellPlan;

/// A published table, with the headings above it.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedTable {
    /// The headings above the table, the outermost first. A heading replaces earlier headings of its level and of
    /// deeper levels.
    pub headings: Vec<String>,
    /// The model, the card and the engine that the headings name.
    pub place: HeadingFacts,
    /// The rows that have both lengths and a figure.
    pub rows: Vec<PublishedRow>,
    /// The tables from which the rows come, with their format.
    pub forms: Vec<TableForm>,
}

/// A row of a published table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedRow {
    /// Input and output length, in the unit of the table, such as tokens.
    pub cell: CellPlan,
    /// The figures of the row.
    pub measured: Columns,
}

impl PublishedTable {
    /// Whether a heading above the table contains these words. Only letters and digits are compared.
    pub fn is_under(&self, words: &str) -> bool {
        is_under(&self.headings, words)
    }

    /// The largest number of decimals of each figure, in the order of [`Columns::NAMES`].
    pub fn decimals(&self) -> [Option<u8>; 4] {
        let mut most = [None; 4];
        for form in &self.forms {
            for (at, heading) in form.columns.iter().map(|column| &column.heading).enumerate() {
                let Some(Column::Figure(figure)) = column(heading) else { continue };
                for row in &form.rows {
                    if let Some(FormCell::Number { decimals, .. }) = row.get(at) {
                        most[figure] = most[figure].max(Some(*decimals));
                    }
                }
            }
        }
        most
    }
}

/// Whether one of the headings contains these words. Only letters and digits are compared.
pub fn is_under(headings: &[String], words: &str) -> bool {
    let wanted = squeezed(words);
    headings.iter().any(|heading| squeezed(heading).contains(&wanted))
}

/// The content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    InputLength,
    OutputLength,
    /// A figure, by its index in [`Columns::NAMES`].
    Figure(usize),
}

/// A cell of a table must be a number, and is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: `{text}` is not a number of 0 or more")]
pub struct NoNumber {
    /// The number of the line, from 1.
    pub line: u32,
    /// The cell.
    pub text: String,
}

/// Reads the tables of a Markdown text that have a row with an input length, an output length and a figure. Consecutive
/// tables under the same headings are joined.
///
/// # Errors
/// If a cell that must be a number is no number of 0 or more.
pub fn published_tables(text: &str) -> Result<Vec<PublishedTable>, NoNumber> {
    let mut reader = Reader::default();
    let mut lines = text.lines().zip(1..).peekable();
    let mut is_code = false;
    while let Some((line, _)) = lines.next() {
        is_code ^= is_fence(line);
        let is_table = lines.peek().is_some_and(|(next, _)| is_rule(next));
        match (is_table, heading(line)) {
            (false, Some((level, text))) if !is_code => reader.heading(level, text),
            (false, _) => reader.text(line),
            (true, _) => {
                let columns = cells(line).into_iter().map(column).collect::<Vec<_>>();
                let rule = lines.next().map_or("", |(rule, _)| rule);
                let mut form = TableForm::new(line, rule, reader.above.as_deref());
                let mut rows = Vec::new();
                while let Some((row, number)) = lines.next_if(|(row, _)| row.contains('|')) {
                    rows.extend(reader.row(&columns, row, number)?);
                    form.row(row);
                }
                reader.push(rows, form);
            }
        }
    }
    Ok(reader.tables)
}

#[derive(Default)]
struct Reader {
    tables: Vec<PublishedTable>,
    headings: Vec<(usize, String)>,
    place: HeadingFacts,
    /// The input length above a table. `above` is the line that states it.
    input_above: Option<u32>,
    above: Option<String>,
}

impl Reader {
    fn heading(&mut self, level: usize, text: &str) {
        // Some pages use one level for the headings of model, card and engine: `place` recognises their words.
        self.headings.retain(|(known, _)| *known < level);
        self.headings.push((level, text.to_owned()));
        self.place.heading(level, text);
        (self.input_above, self.above) = (None, None);
    }

    fn text(&mut self, line: &str) {
        let words = line.trim().trim_matches('*').trim().to_lowercase();
        let number = words.strip_prefix("input").or_else(|| words.strip_prefix("输入"));
        if let Some(length) = number.and_then(|number| number.trim().parse().ok()) {
            (self.input_above, self.above) = (Some(length), Some(line.trim().to_owned()));
        }
    }

    fn row(
        &self,
        columns: &[Option<Column>],
        row: &str,
        number: u32,
    ) -> Result<Option<PublishedRow>, NoNumber> {
        let (mut input, mut output) = (self.input_above, None);
        let mut figures = [None; 4];
        for (column, text) in columns.iter().zip(cells(row)) {
            let Some(column) = column else { continue };
            if text.is_empty() || text == "-" {
                continue;
            }
            let plain = text.replace([',', '*', '`'], "");
            // A mark may follow a figure: `1.50 ±0.02`, `1.50 ?`.
            let figure = plain.split(['±', '?']).next().unwrap_or(&plain).trim_end();
            let value: f64 = figure
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite() && *value >= 0.0)
                .ok_or_else(|| NoNumber { line: number, text: text.to_owned() })?;
            match column {
                Column::InputLength => input = Some(value as u32),
                Column::OutputLength => output = Some(value as u32),
                Column::Figure(at) => figures[*at] = Some(value),
            }
        }
        let cell = input.zip(output).filter(|_| figures.iter().any(Option::is_some));
        Ok(cell.map(|(input_length, output_length)| PublishedRow {
            cell: CellPlan { input_length, output_length },
            measured: Columns::from_values(figures),
        }))
    }

    /// Adds a table if it has a row with both lengths and a figure.
    fn push(&mut self, rows: Vec<PublishedRow>, form: TableForm) {
        if rows.is_empty() {
            return;
        }
        let headings: Vec<String> = self.headings.iter().map(|(_, text)| text.clone()).collect();
        match self.tables.last_mut() {
            Some(table) if table.headings == headings => {
                table.rows.extend(rows);
                table.forms.push(form);
            }
            _ => {
                let place = self.place.clone();
                self.tables.push(PublishedTable { headings, place, rows, forms: vec![form] });
            }
        }
    }
}

/// The level and the text of a heading; `None` if the line is not a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let words = line.trim_start_matches('#');
    let level = line.len() - words.len();
    (level > 0 && words.starts_with(' ')).then(|| (level, words.trim()))
}

/// Whether a line begins or ends a code block. In a code block, `#` does not begin a heading.
fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

/// Whether a line is the rule below the headings of a table, such as `| :---: | ---`.
fn is_rule(line: &str) -> bool {
    line.contains("--") && line.contains('|') && line.chars().all(|c| "|:- \t".contains(c))
}

fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').unwrap_or(line);
    line.split('|').map(str::trim).collect()
}

/// The content of a column, from its heading; `None` if the heading is unknown.
fn column(heading: &str) -> Option<Column> {
    let words = heading.to_lowercase();
    let has = |part: &str| words.contains(part);
    let (input, output) = (has("input") || has("输入"), has("output") || has("输出"));
    let length = has("len") || has("长度");
    let per_second = has("/s") || has("/second") || has("per second") || has("qps");
    match () {
        () if length && input && !output => Some(Column::InputLength),
        () if length && output => Some(Column::OutputLength),
        () if per_second && (has("request") || has("req/") || has("qps")) => {
            Some(Column::Figure(0))
        }
        () if per_second && has("token") && !input && !has("prompt") => Some(Column::Figure(1)),
        () if has("per output token") => Some(Column::Figure(3)),
        () if has("per token") => Some(Column::Figure(2)),
        () => None,
    }
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests;
