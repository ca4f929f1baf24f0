//! The workloads `jsonl`, `csv` and `parquet`: the user's own rows. Each row has a prompt, messages or
//! token ids. It also has an output length, unless the plan has a default for rows without one. A row may
//! also have fields of the request body, for example for a LoRA adapter (in `model`), structured output,
//! or sampling.
//!
//! Rows are sent unchanged and in the order of the file: nothing is cut, and no tag is added. Each pass
//! begins after the rows that earlier passes may have used. After the last row of the file, the first row
//! follows again, and a note reports this. If rows are replayed at their own arrival times, they are
//! sorted by time, and each pass begins with the first row. A warm-up then uses rows from the end.

mod csv;
mod parquet;
mod row;

use std::{cmp::Reverse, io::BufRead, path::Path, sync::Arc};

use inferometer_model::{
    CellPlan, Finding, Nanos, PassPlan, Prompt, Request, TokenizerError, code, request::Message,
};
use inferometer_plan::{RowsFormat, RowsPlan};
use serde_json::Value;

use crate::data_set::{self, RowEnd};
use crate::workload::{
    WorkloadDefinition, any_messages, longest_beyond, one_of_each_form, rows_left_out,
    unused_columns, write_instants,
};
use crate::{Note, PromptContext, RequestBatch, RequestsNeeded, TooLong, Workload, WorkloadError};

pub use row::{Loaded, Row, RowReason};

impl WorkloadDefinition for RowsPlan {
    fn open(&self, _context: &PromptContext) -> Result<Arc<dyn Workload>, WorkloadError> {
        Ok(Arc::new(Rows::open(self)?))
    }

    fn prepare(&self, passes: &mut [PassPlan], _seed: u64) -> Result<(), WorkloadError> {
        if !self.timed {
            return Ok(());
        }
        write_instants(passes, &self.dataset, || Ok(Rows::open(self)?.offsets().collect()))
    }

    fn has_messages(&self) -> bool {
        any_messages(Rows::open(self))
    }
}

/// The number of prompts whose tokens are counted at most to find the longest request of a pass.
const MOST_COUNTED: usize = 16;

/// The opened workload.
struct Rows {
    loaded: Loaded,
    /// Whether rows are replayed at their own arrival times.
    timed: bool,
}

/// Reads the file of a plan.
fn read(path: &Path, plan: &RowsPlan) -> Result<Loaded, WorkloadError> {
    match plan.format {
        RowsFormat::Parquet => parquet::read(path, plan),
        RowsFormat::Csv => Ok(csv::read(&data_set::read_text(path)?, plan)),
        RowsFormat::Jsonl => read_json_lines(path, plan),
    }
}

fn read_json_lines(path: &Path, plan: &RowsPlan) -> Result<Loaded, WorkloadError> {
    let mut loaded = Loaded::default();
    for (number, line) in (1..).zip(data_set::open(path, RowEnd::Line)?.reader.lines()) {
        let line = line
            .map_err(|error| WorkloadError::unreadable(path, format!("line {number}: {error}")))?;
        if !line.trim().is_empty() {
            let fields = serde_json::from_str(&line).map_err(|_| RowReason::NotAnObject);
            loaded.add(number, fields, plan);
        }
    }
    Ok(loaded)
}

impl Rows {
    /// Reads the file.
    fn open(plan: &RowsPlan) -> Result<Self, WorkloadError> {
        let path = Path::new(&plan.dataset);
        let mut loaded = read(path, plan)?;
        loaded.sort();
        if loaded.rows.is_empty() {
            let (rows, none) = (loaded.left_out.total(), "the file has no rows");
            return Err(WorkloadError::empty(path, rows, none, &loaded.left_out));
        }
        Ok(Self { loaded, timed: plan.timed })
    }

    /// The time at which each row is due, as an offset from the first row.
    fn offsets(&self) -> impl Iterator<Item = Nanos> + '_ {
        let first = self.loaded.rows.first().map_or(0, |row| row.at_ns);
        self.loaded.rows.iter().map(move |row| Nanos(row.at_ns.abs_diff(first)))
    }

    fn request(&self, context: &PromptContext, row: usize) -> Result<Request, TokenizerError> {
        let Row { prompt, body, .. } = &self.loaded.rows[row];
        let CellPlan { input_length, output_length } = self.lengths(context, row)?;
        // For messages, the exact number is unknown, because the chat template adds tokens between them.
        let is_whole = !matches!(prompt, Prompt::Messages(_));
        Ok(Request {
            counted_tokens: is_whole.then_some(input_length),
            extra_body: body.clone(),
            ..Request::new(prompt.clone(), input_length, output_length)
        })
    }

    fn lengths(&self, context: &PromptContext, row: usize) -> Result<CellPlan, TokenizerError> {
        let Row { prompt, output_tokens, .. } = &self.loaded.rows[row];
        let tokens = match prompt {
            Prompt::Text(text) => context.tokenizer.count(text)?,
            Prompt::TokenIds(ids) => ids.len() as u32,
            Prompt::Messages(messages) => {
                let counts =
                    messages.iter().flat_map(texts).map(|text| context.tokenizer.count(text));
                counts.sum::<Result<u32, _>>()?
            }
        } + context.reserve;
        Ok(CellPlan { input_length: tokens, output_length: *output_tokens })
    }
}

/// The bytes of a prompt's text, or the number of its token ids.
fn size(prompt: &Prompt) -> u64 {
    let size = match prompt {
        Prompt::Text(text) => text.len(),
        Prompt::TokenIds(ids) => ids.len(),
        Prompt::Messages(messages) => messages.iter().flat_map(texts).map(str::len).sum(),
    };
    size as u64
}

/// The texts of a message: its content if that is text, or the text parts of its content.
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
    fn requests(&self, wanted: &RequestsNeeded<'_>) -> Result<RequestBatch, WorkloadError> {
        let RequestsNeeded { context, scope, count, .. } = *wanted;
        let rows = self.loaded.rows.len();
        // A replay begins with the first row, because the arrival times of the pass begin with that row.
        let taken = if self.timed { 0 } else { scope.used_before };
        let from_the_end = self.timed && scope.pass == "warm-up";
        let requests = context.make(count, |index| {
            let row = ((taken + index as u64) % rows as u64) as usize;
            self.request(context, if from_the_end { rows - 1 - row } else { row })
        })?;
        let again = (taken + count as u64).saturating_sub(rows as u64).min(count as u64);
        let note = Note::RowsAgain { prompts: again, rows: rows as u64, sent: count as u64 };
        Ok(RequestBatch { requests, notes: (again > 0).then_some(note).into_iter().collect() })
    }

    fn beyond(&self, wanted: &RequestsNeeded<'_>, limit: u64) -> TooLong {
        let RequestsNeeded { context, scope, count, .. } = *wanted;
        let rows = self.loaded.rows.len();
        let taken = if self.timed { 0 } else { scope.used_before };
        let at = |index| ((taken + index as u64) % rows as u64) as usize;
        // A token of text has at least one byte.
        let most = |at: &usize| {
            let Row { prompt, output_tokens, .. } = &self.loaded.rows[*at];
            size(prompt) + u64::from(*output_tokens) + u64::from(context.reserve)
        };
        let mut candidates: Vec<usize> = (0..count.min(rows)).map(at).collect();
        candidates.retain(|at| most(at) > limit);
        candidates.sort_by_key(|at| Reverse(most(at)));
        candidates.truncate(MOST_COUNTED);
        let lengths = candidates.into_iter().map(|at| self.lengths(context, at));
        Ok(longest_beyond(limit, lengths.collect::<Result<Vec<_>, _>>()?))
    }

    fn verbatim_prompts(&self) -> Vec<&Prompt> {
        one_of_each_form(self.loaded.rows.iter().map(|row| &row.prompt))
    }

    fn findings(&self) -> Vec<Finding> {
        let Loaded { rows, left_out, unused, out_of_order, .. } = &self.loaded;
        let left_out = rows_left_out(rows.len(), left_out);
        let mut findings: Vec<Finding> = left_out.into_iter().collect();
        if *out_of_order > 0 {
            let message = format!(
                "{out_of_order} rows come after a row with a later time; rows are sent in the \
                    order of their time"
            );
            findings.push(Finding::of(code::ROWS_OUT_OF_ORDER, message));
        }
        findings.extend(unused_columns(unused));
        findings
    }
}
