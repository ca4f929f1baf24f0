//! Rows of one's own, from JSON lines, CSV or Parquet: a prompt, messages or token ids, an output length,
//! and fields of the request's body (a LoRA adapter by `model`, structured output, sampling).
//!
//! Rows are sent in the file's order, as they are: nothing is cut, salted or put in front of them.
//! Each pass goes on where the one before it ended. Where a run has more requests than the file has
//! rows, they begin again, and a note says so. Rows that are replayed at their own instants are in
//! the order of their time, and each such pass sends all of them; a warm-up takes some from the end.

mod csv;
mod file;
mod parquet;

use std::path::PathBuf;

use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Finding, Severity};
use inferometer_model::request::{Message, Prompt, Request};
use inferometer_model::time::Nanos;
use inferometer_model::tokenizer::TokenizerError;
use inferometer_plan::RowsPlan;
use serde_json::Value;

use crate::error::WorkloadError;
use crate::place::PromptPlace;
use crate::requests::{Built, Note, Shared, Workload, one_of_each};

use file::read;
pub use file::{LeftOut, Loaded, Row, RowReason};

/// The workloads `jsonl`, `csv` and `parquet`.
pub(crate) struct Rows {
    loaded: Loaded,
    /// Whether they are replayed at their own instants.
    timed: bool,
}

impl Rows {
    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be read, or none of its rows can be used.
    pub(crate) fn open(plan: &RowsPlan) -> Result<Self, WorkloadError> {
        let path = PathBuf::from(&plan.dataset);
        let mut loaded = read(&path, plan)?;
        loaded.sort();
        if loaded.rows.is_empty() {
            let rows = loaded.left_out.total();
            let why = match rows {
                0 => "it has none".to_owned(),
                _ => loaded.left_out.to_string(),
            };
            return Err(WorkloadError::EmptyDataSet { path, rows, why });
        }
        Ok(Self { loaded, timed: plan.timed })
    }

    /// When each row is due, from the first; all at once where rows have no instants.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = Nanos> + '_ {
        let first = self.loaded.rows.first().map_or(0, |row| row.at_ns);
        self.loaded.rows.iter().map(move |row| Nanos(row.at_ns.abs_diff(first)))
    }

    fn request(&self, shared: &Shared, row: usize) -> Result<Request, TokenizerError> {
        let Row { prompt, output_tokens, body, .. } = &self.loaded.rows[row];
        let tokens = match prompt {
            Prompt::Text(text) => shared.tokenizer.count(text)?,
            Prompt::TokenIds(ids) => ids.len() as u32,
            Prompt::Messages(messages) => {
                let counts =
                    messages.iter().flat_map(texts).map(|text| shared.tokenizer.count(text));
                counts.sum::<Result<u32, _>>()?
            }
        } + shared.reserve;
        // What the template puts between messages is the server's.
        let is_whole = !matches!(prompt, Prompt::Messages(_));
        Ok(Request {
            counted_tokens: is_whole.then_some(tokens),
            extra_body: body.clone(),
            ..Request::new(prompt.clone(), tokens, *output_tokens)
        })
    }
}

/// The texts of a message: its content, or the text parts of it.
fn texts(message: &Message) -> Vec<&str> {
    match message.get("content") {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()
        }
        _ => Vec::new(),
    }
}

impl Workload for Rows {
    fn requests(
        &self,
        shared: &Shared,
        _cell: CellPlan,
        place: &PromptPlace,
        count: usize,
    ) -> Result<Built, WorkloadError> {
        let rows = self.loaded.rows.len();
        // The instants of a replay are those of the rows from the first on.
        let taken = if self.timed { 0 } else { place.taken };
        let from_the_end = self.timed && place.pass == "warm-up";
        let requests = shared.make(count, |index| {
            let row = ((taken + index as u64) % rows as u64) as usize;
            self.request(shared, if from_the_end { rows - 1 - row } else { row })
        })?;
        // Requests at places from the number of rows on send a row again.
        let again = (taken + count as u64).saturating_sub(rows as u64).min(count as u64);
        let note = Note::RowsAgain { prompts: again, rows: rows as u64 };
        Ok(Built { requests, notes: (again > 0).then_some(note).into_iter().collect() })
    }

    fn as_they_are(&self) -> Vec<&Prompt> {
        one_of_each(self.loaded.rows.iter().map(|row| &row.prompt))
    }

    fn findings(&self) -> Vec<Finding> {
        let Loaded { rows, left_out, unused, out_of_order } = &self.loaded;
        let mut findings = Vec::new();
        if left_out.total() > 0 {
            let message = format!(
                "rows of the data set that are left out: {}; that are used: {}. {left_out}",
                left_out.total(),
                rows.len()
            );
            findings.push(Finding::new("data_set_rows_left_out", Severity::Note, message));
        }
        if *out_of_order > 0 {
            let message = format!(
                "{out_of_order} rows stand below one that came later; they are sent in the order of \
                 their time"
            );
            findings.push(Finding::new("rows_out_of_order", Severity::Note, message));
        }
        if !unused.is_empty() {
            let names: Vec<&str> = unused.iter().map(String::as_str).collect();
            let message = format!("columns that nothing is made of: {}", names.join(", "));
            findings.push(
                Finding::new("data_set_columns_unused", Severity::Note, message)
                    .advise("--columns says which column is what; further fields go into `body`"),
            );
        }
        findings
    }
}
