//! A seeded sample of the conversations of a ShareGPT file, which is an array of `{conversations: [{from,
//! value}, ...]}`. The file is read one row at a time. Unusable rows are counted by reason.

use std::path::{Path, PathBuf};
use std::{collections::BTreeMap, io::Read};

use inferometer_model::{Finding, code, stats::seed};
use rand_core::RngCore;
use serde_json::Value;

use crate::data_set::{self, DataSetReader, RowEnd, RowMeter};
use crate::sharegpt::{RowReason, each_row};
use crate::{LeftOut, WorkloadError};

/// The text of a human turn and its answer.
type Exchange = (Box<str>, Box<str>);

/// A sample of the conversations of a file.
pub struct ConversationFile {
    path: PathBuf,
    /// The sampled conversations, in the order of their random keys.
    conversations: Vec<Vec<Exchange>>,
    needed: usize,
    usable: u64,
    left_out: LeftOut<RowReason>,
}

impl ConversationFile {
    /// Reads a sample of at most `count` conversations of a file.
    ///
    /// # Errors
    /// If the file cannot be read, is not a JSON array, or has no usable row.
    pub fn load(path: &Path, seed: u64, count: usize) -> Result<Self, WorkloadError> {
        let DataSetReader { reader, meter } = data_set::open(path, RowEnd::Explicit)?;
        Self::read(reader, &meter, path, seed, count)
    }

    /// As [`ConversationFile::load`], but reads from `reader`. `path` is only used in errors and findings.
    fn read(
        reader: impl Read,
        meter: &RowMeter,
        path: &Path,
        seed: u64,
        count: usize,
    ) -> Result<Self, WorkloadError> {
        // Each usable row gets a random key, and the sample consists of the rows with the smallest keys. So
        // the file is read only once, and only the sample is in memory.
        let mut sample: BTreeMap<u64, Vec<Exchange>> = BTreeMap::new();
        let mut keys = seed::rng(seed, &["conversation", "sample"]);
        let mut left_out = LeftOut::default();
        let mut usable = 0;
        let rows = each_row(reader, meter, path, |row, value| match exchanges(value) {
            Ok(conversation) => {
                usable += 1;
                let key = keys.next_u64();
                let is_full = sample.len() >= count;
                if !is_full || sample.last_key_value().is_some_and(|(last, _)| key < *last) {
                    sample.insert(key, conversation);
                    if sample.len() > count {
                        sample.pop_last();
                    }
                }
            }
            Err(reason) => left_out.add_row(reason, row),
        })?;
        if sample.is_empty() {
            return Err(WorkloadError::empty(path, rows, "the array is empty", &left_out));
        }
        let conversations = sample.into_values().collect();
        Ok(Self { path: path.to_owned(), conversations, needed: count, usable, left_out })
    }

    /// The human turns and answers of the conversation with this number (from 0), at least one pair.
    /// After the last conversation of the sample, the first one follows again.
    pub fn conversation(&self, number: u32) -> &[Exchange] {
        &self.conversations[number as usize % self.conversations.len()]
    }

    /// Findings about the rows of the file.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut note = |code, message| findings.push(Finding::of(code, message));
        let count = self.left_out.total();
        if count > 0 {
            let (usable, left_out) = (self.usable, &self.left_out);
            let message =
                format!("skipped rows of the data set: {count}; usable rows: {usable}. {left_out}");
            note(code::DATA_SET_ROWS_LEFT_OUT, message);
        }
        if self.conversations.len() < self.needed {
            note(
                code::CONVERSATIONS_USED_AGAIN,
                format!(
                    "{} has {} usable conversations, but a pass needs {}: some are sent again, \
                        with other random words at the beginning",
                    self.path.display(),
                    self.conversations.len(),
                    self.needed
                ),
            );
        }
        findings
    }
}

/// The human turns of a row with their answers. System turns, and turns before the first human turn, are
/// skipped. The list ends before a human turn that is empty or has no answer, and before a second answer in
/// succession.
fn exchanges(row: &Value) -> Result<Vec<Exchange>, RowReason> {
    let row = row.as_object().ok_or(RowReason::NotAnObject)?;
    let listed = row.get("conversations").and_then(Value::as_array);
    let mut turns = Vec::new();
    for turn in listed.ok_or(RowReason::NoConversations)? {
        let text = |key: &str| turn.get(key).and_then(Value::as_str).ok_or(RowReason::BrokenTurn);
        match (text("from")?, text("value")?) {
            ("system", _) => {}
            ("human" | "user", text) => turns.push((true, text)),
            (_, text) => turns.push((false, text)),
        }
    }
    let first = turns.iter().position(|(is_human, _)| *is_human).ok_or(RowReason::NoHumanTurn)?;
    let exchanges: Vec<Exchange> = turns[first..]
        .chunks_exact(2)
        .map_while(|pair| match pair {
            [(true, question), (false, answer)] if !question.trim().is_empty() => {
                Some(((*question).into(), (*answer).into()))
            }
            _ => None,
        })
        .collect();
    match (exchanges.is_empty(), turns[first].1.trim().is_empty()) {
        (false, _) => Ok(exchanges),
        (true, true) => Err(RowReason::EmptyTurn),
        (true, false) => Err(RowReason::NoAnswer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_without_an_exchange_is_rejected_with_its_reason() {
        let turns = |turns: &[(&str, &str)]| {
            let turn =
                |(from, value): &(&str, &str)| serde_json::json!({"from": from, "value": value});
            serde_json::json!({ "conversations": turns.iter().map(turn).collect::<Vec<_>>() })
        };
        let cases: [(&[(&str, &str)], RowReason); 4] = [
            (&[("gpt", "good morning")], RowReason::NoHumanTurn),
            (&[("system", "be brief"), ("human", "why?")], RowReason::NoAnswer),
            (&[("human", "why?"), ("human", "and how?"), ("gpt", "so")], RowReason::NoAnswer),
            (&[("human", " "), ("gpt", "yes?")], RowReason::EmptyTurn),
        ];
        for (listed, reason) in cases {
            assert_eq!(exchanges(&turns(listed)).err(), Some(reason), "{listed:?}");
        }
    }
}
