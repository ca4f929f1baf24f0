//! What people said in a ShareGPT file: an array of `{conversations: [{from, value}, ...]}`, read
//! one row in memory at a time. A seeded sample of the conversations is kept, the same one however
//! many there are of others. No row is dropped in silence.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use inferometer_model::finding::{Finding, Severity};
use inferometer_stats::seed;
use rand_core::RngCore;
use serde_json::Value;

use crate::error::WorkloadError;
use crate::sharegpt::{Rejected, RowReason, each_row};

/// A question and its answer.
type Exchange = (Box<str>, Box<str>);

/// Conversations of a file.
pub struct Spoken {
    path: PathBuf,
    /// By the key that orders the sample.
    talks: Vec<Vec<Exchange>>,
    asked: usize,
    usable: u64,
    rejected: Rejected,
}

impl Spoken {
    /// A sample of at most `count` conversations of a file.
    ///
    /// # Errors
    /// When it cannot be read, is no JSON array, or none of its rows can be used.
    pub fn load(path: &Path, seed: u64, count: usize) -> Result<Self, WorkloadError> {
        let unreadable = |error: std::io::Error| WorkloadError::UnreadableDataSet {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let file = File::open(path).map_err(unreadable)?;
        Self::read(BufReader::with_capacity(1 << 20, file), path, seed, count)
    }

    /// As [`Spoken::load`], of what a file holds; `path` names it in errors.
    fn read(
        reader: impl Read,
        path: &Path,
        seed: u64,
        count: usize,
    ) -> Result<Self, WorkloadError> {
        // The sample with the smallest keys: one pass, and no more in memory than is kept.
        let mut sample: BTreeMap<u64, Vec<Exchange>> = BTreeMap::new();
        let mut keys = seed::rng(seed, &["conversation", "sample"]);
        let mut rejected = Rejected::default();
        let mut usable = 0;
        let rows = each_row(reader, path, |row, value| match exchanges(value) {
            Ok(talk) => {
                usable += 1;
                let key = keys.next_u64();
                let is_full = sample.len() >= count;
                if !is_full || sample.last_key_value().is_some_and(|(last, _)| key < *last) {
                    sample.insert(key, talk);
                    if sample.len() > count {
                        sample.pop_last();
                    }
                }
            }
            Err(reason) => rejected.add(row, reason),
        })?;
        if sample.is_empty() {
            let why = match rejected.total() {
                0 => "the array is empty".to_owned(),
                _ => rejected.to_string(),
            };
            return Err(WorkloadError::EmptyDataSet { path: path.to_owned(), rows, why });
        }
        let talks = sample.into_values().collect();
        Ok(Self { path: path.to_owned(), talks, asked: count, usable, rejected })
    }

    /// The questions and answers of a conversation, at least one. Beyond those of the sample they
    /// are dealt again from its first.
    pub fn talk(&self, number: u32) -> &[Exchange] {
        &self.talks[number as usize % self.talks.len()]
    }

    /// What a reader should know.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut note = |code, told| findings.push(Finding::new(code, Severity::Note, told));
        let left_out = self.rejected.total();
        if left_out > 0 {
            let (usable, rejected) = (self.usable, &self.rejected);
            note(
                "data_set_rows_left_out",
                format!(
                    "rows of the data set that are left out: {left_out}; that can be used: \
                     {usable}. {rejected}"
                ),
            );
        }
        if self.talks.len() < self.asked {
            note(
                "conversations_used_again",
                format!(
                    "{} has {} conversations where a pass has {}: some are led again, behind \
                     another tag",
                    self.path.display(),
                    self.talks.len(),
                    self.asked
                ),
            );
        }
        findings
    }
}

/// The questions of a row with their answers, up to the first that has none.
fn exchanges(row: &Value) -> Result<Vec<Exchange>, RowReason> {
    let row = row.as_object().ok_or(RowReason::NotAnObject)?;
    let turns = row.get("conversations").and_then(Value::as_array);
    let mut spoken = Vec::new();
    for turn in turns.ok_or(RowReason::NoConversations)? {
        let text = |key: &str| turn.get(key).and_then(Value::as_str).ok_or(RowReason::BrokenTurn);
        match (text("from")?, text("value")?) {
            ("system", _) => {}
            ("human" | "user", said) => spoken.push((true, said)),
            (_, said) => spoken.push((false, said)),
        }
    }
    let first = spoken.iter().position(|(is_human, _)| *is_human).ok_or(RowReason::NoHumanTurn)?;
    let exchanges: Vec<Exchange> = spoken[first..]
        .chunks_exact(2)
        .map_while(|pair| match pair {
            [(true, asked), (false, answered)] if !asked.trim().is_empty() => {
                Some(((*asked).into(), (*answered).into()))
            }
            _ => None,
        })
        .collect();
    match (exchanges.is_empty(), spoken[first].1.trim().is_empty()) {
        (false, _) => Ok(exchanges),
        (true, true) => Err(RowReason::EmptyTurn),
        (true, false) => Err(RowReason::TooFewTurns),
    }
}
