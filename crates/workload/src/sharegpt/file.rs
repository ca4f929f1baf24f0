//! Reads a ShareGPT file one row at a time, and stores only the turns that are used. Unusable rows are
//! counted by reason.

use std::{cell::Cell, fmt, io::Read, path::Path};

use inferometer_model::Finding;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::Value;

use crate::data_set::{self, DataSetReader, RowEnd, RowMeter};
use crate::{LeftOut, Reason, WorkloadError, workload::rows_left_out};

/// The first human turn of a conversation that the model answers, and the turns around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exchange {
    /// The system prompt.
    pub system: Option<Box<str>>,
    /// Whether a turn of the model comes before the prompt.
    pub has_earlier_answer: bool,
    pub prompt: Box<str>,
    pub answer: Box<str>,
}

/// The contents of a file. `T` is the part of each conversation that is stored, by default the first
/// human turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded<T = Box<str>> {
    /// The usable conversations, in the order of the file.
    pub conversations: Vec<T>,
    /// The rows that cannot be used.
    pub left_out: LeftOut<RowReason>,
}

impl<T> Loaded<T> {
    /// The finding on rows that are left out, with the reasons; empty if no row is left out.
    pub(super) fn findings(&self) -> Vec<Finding> {
        rows_left_out(self.conversations.len(), &self.left_out).into_iter().collect()
    }
}

/// Why a row cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum RowReason {
    /// The row is not a JSON object.
    #[error("not an object")]
    NotAnObject,
    /// The row has no array `conversations`.
    #[error("no array `conversations`")]
    NoConversations,
    /// A turn without the text `from` or without the text `value`. If answers are used, only `value` is needed.
    #[error("a turn without the texts `from` and `value`")]
    BrokenTurn,
    /// Fewer than two turns. Whether system turns are counted depends on the workload.
    #[error("fewer than two turns")]
    TooFewTurns,
    /// The first human turn has no answer after it.
    #[error("a first human turn without an answer")]
    NoAnswer,
    /// No turn from `human` or `user`.
    #[error("no human turn")]
    NoHumanTurn,
    /// The first human turn is empty, or has only white space.
    #[error("an empty prompt")]
    EmptyTurn,
}

impl Reason for RowReason {}

/// Reads the first human turn of each conversation of a file.
///
/// # Errors
/// If the file cannot be read, is not a JSON array, or has no usable row.
pub fn load(path: &Path) -> Result<Loaded, WorkloadError> {
    let DataSetReader { reader, meter } = data_set::open(path, RowEnd::Explicit)?;
    read_rows(reader, &meter, path, |row| first_human_turn(row).map(Into::into))
}

/// Reads the first human turn with an answer, and the answer, of each conversation of a file.
///
/// # Errors
/// As [`load`].
pub(super) fn load_exchanges(path: &Path) -> Result<Loaded<Exchange>, WorkloadError> {
    let DataSetReader { reader, meter } = data_set::open(path, RowEnd::Explicit)?;
    read_rows(reader, &meter, path, first_exchange)
}

/// As [`load`], but reads from `reader`. `path` is only used in errors.
///
/// # Errors
/// As [`load`].
pub fn read(reader: impl Read, path: &Path) -> Result<Loaded, WorkloadError> {
    read_rows(reader, &RowMeter::default(), path, |row| first_human_turn(row).map(Into::into))
}

fn read_rows<T>(
    reader: impl Read,
    meter: &RowMeter,
    path: &Path,
    take: fn(&Value) -> Result<T, RowReason>,
) -> Result<Loaded<T>, WorkloadError> {
    let mut loaded = Loaded { conversations: Vec::new(), left_out: LeftOut::default() };
    let rows = each_row(reader, meter, path, |row, value| match take(value) {
        Ok(taken) => loaded.conversations.push(taken),
        Err(reason) => loaded.left_out.add_row(reason, row),
    })?;
    if loaded.conversations.is_empty() {
        return Err(WorkloadError::empty(path, rows, "the array is empty", &loaded.left_out));
    }
    Ok(loaded)
}

/// Calls `see` for each row of a JSON array, with the number of the row from 1. Returns the number of
/// rows.
///
/// # Errors
/// If the reader fails, or its content is not a JSON array.
pub(crate) fn each_row(
    reader: impl Read,
    meter: &RowMeter,
    path: &Path,
    mut see: impl FnMut(u64, &Value),
) -> Result<u64, WorkloadError> {
    let row = Cell::new(0);
    let mut json = serde_json::Deserializer::from_reader(reader);
    let see = |number: u64, value: &Value| {
        meter.next_row();
        see(number, value);
    };
    let outcome = Rows { row: &row, see }.deserialize(&mut json).and_then(|()| json.end());
    outcome.map_err(|error| wrong(path, row.get(), &error))?;
    Ok(row.get())
}

fn wrong(path: &Path, rows_read: u64, error: &serde_json::Error) -> WorkloadError {
    if error.is_io() {
        return WorkloadError::unreadable(path, error);
    }
    let (line, column) = (error.line(), error.column());
    let message = error.to_string();
    // The library appends the line and the column to the message. They are removed, because the error has
    // fields for them.
    let reason = message.strip_suffix(&format!(" at line {line} column {column}"));
    let reason = reason.unwrap_or(&message).to_owned();
    let (path, row) = (path.to_owned(), rows_read + 1);
    WorkloadError::MalformedDataSet { path, row, line, column, reason }
}

/// Visits the array of rows: counts the rows, and calls `see` for each of them.
struct Rows<'a, See> {
    row: &'a Cell<u64>,
    see: See,
}

impl<'de, See: FnMut(u64, &Value)> DeserializeSeed<'de> for Rows<'_, See> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, See: FnMut(u64, &Value)> Visitor<'de> for Rows<'_, See> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of conversations, as in ShareGPT files")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut rows: A) -> Result<(), A::Error> {
        while let Some(value) = rows.next_element::<Value>()? {
            self.row.set(self.row.get() + 1);
            (self.see)(self.row.get(), &value);
        }
        Ok(())
    }
}

/// The first turn of the model after a human turn, and the human turn just before it. Turns behind them may be broken.
/// A first turn without an author is human.
fn first_exchange(row: &Value) -> Result<Exchange, RowReason> {
    let row = row.as_object().ok_or(RowReason::NotAnObject)?;
    let turns = row.get("conversations").and_then(Value::as_array);
    let turns = turns.ok_or(RowReason::NoConversations)?;
    if turns.len() < 2 {
        return Err(RowReason::TooFewTurns);
    }
    let (mut system, mut human, mut has_earlier_answer) = (None, None, false);
    for turn in turns {
        let text = |key: &str| turn.get(key).and_then(Value::as_str);
        let value = text("value").ok_or(RowReason::BrokenTurn)?;
        match (text("from"), human) {
            (Some("system"), Some(_)) => {}
            (Some("system"), None) => system = Some(value).filter(|it| !it.trim().is_empty()),
            (Some("human" | "user"), _) | (None, None) if value.trim().is_empty() => {
                return Err(RowReason::EmptyTurn);
            }
            (Some("human" | "user"), _) | (None, None) => human = Some(value),
            (Some(_), None) => has_earlier_answer = true,
            (_, Some(prompt)) => {
                let (system, prompt, answer) =
                    (system.map(Into::into), prompt.into(), value.into());
                return Ok(Exchange { system, has_earlier_answer, prompt, answer });
            }
        }
    }
    Err(if human.is_some() { RowReason::NoAnswer } else { RowReason::NoHumanTurn })
}

fn first_human_turn(row: &Value) -> Result<&str, RowReason> {
    let row = row.as_object().ok_or(RowReason::NotAnObject)?;
    let turns = row.get("conversations").and_then(Value::as_array);
    let mut texts = Vec::new();
    for turn in turns.ok_or(RowReason::NoConversations)? {
        let text = |key: &str| turn.get(key).and_then(Value::as_str).ok_or(RowReason::BrokenTurn);
        let (from, value) = (text("from")?, text("value")?);
        if from != "system" {
            texts.push((from, value));
        }
    }
    if texts.len() < 2 {
        return Err(RowReason::TooFewTurns);
    }
    let human = texts.iter().find(|(from, _)| ["human", "user"].contains(from));
    let (_, value) = human.ok_or(RowReason::NoHumanTurn)?;
    if value.trim().is_empty() { Err(RowReason::EmptyTurn) } else { Ok(value) }
}
