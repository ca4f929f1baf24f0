//! Makes the requests of a trace: seeded words with the lengths of each row. Equal hashes become equal
//! blocks of tokens, so that prompts share prefixes as they did in production.

use std::sync::Arc;

use inferometer_model::{CellPlan, Finding, Nanos, PassPlan, Request, code, stats::seed};
use inferometer_plan::TracePlan;

use super::row::{Row, Rows};
use super::timeline::{Arrival, Timeline};
use crate::fit::{self, Words, short_tag};
use crate::workload::{
    WorkloadDefinition, longest_beyond, rows_left_out, unused_columns, write_instants,
};
use crate::{
    Note, PromptContext, PromptScope, RequestBatch, RequestsNeeded, TooLong, Workload,
    WorkloadError, fetch,
};

/// The maximum number of requests of a scaled trace (about 16.8 million). Their [`Arrival`]s take about
/// 0.7 GB of memory.
const MOST_REQUESTS: u32 = 1 << 24;

impl WorkloadDefinition for TracePlan {
    fn open(&self, _context: &PromptContext) -> Result<Arc<dyn Workload>, WorkloadError> {
        Ok(Arc::new(Trace::open(self)?))
    }

    fn prepare(&self, passes: &mut [PassPlan], _seed: u64) -> Result<(), WorkloadError> {
        write_instants(passes, &self.dataset, || Ok(Trace::open(self)?.offsets().collect()))
    }
}

/// The workload `trace`.
struct Trace {
    rows: Rows,
    timeline: Timeline,
    /// The largest [`Arrival::copy`] in the timeline.
    most_copies: u32,
}

impl Trace {
    /// Reads the file and selects the rows that are sent.
    fn open(plan: &TracePlan) -> Result<Self, WorkloadError> {
        let path = &fetch::data_file(&plan.dataset)?;
        let rows = Rows::load(path, plan)?;
        let played = Timeline::of(&rows, plan.window, 1.0).arrivals.len();
        if played as f64 * plan.scale > f64::from(MOST_REQUESTS) {
            let (rows, scale) = (played as u64, plan.scale.to_string());
            let path = path.to_owned();
            return Err(WorkloadError::TooMuchOfATrace { path, rows, scale, most: MOST_REQUESTS });
        }
        let timeline = Timeline::of(&rows, plan.window, plan.scale);
        if timeline.arrivals.is_empty() {
            let (rows, why) = (rows.rows.len() as u64, "all are outside of --trace-window".into());
            return Err(WorkloadError::EmptyDataSet { path: path.to_owned(), rows, why });
        }
        let copies = timeline.arrivals.iter().map(|arrival| arrival.copy);
        let most_copies = copies.max().unwrap_or(0);
        Ok(Self { rows, timeline, most_copies })
    }

    /// The time at which each request is due, as an offset from the first request.
    fn offsets(&self) -> impl Iterator<Item = Nanos> + '_ {
        self.timeline.arrivals.iter().map(|arrival| arrival.due)
    }

    /// The arrival for the request with this index in a pass. If a pass has more requests than the trace,
    /// the trace is sent again, with a new copy of every row.
    fn arrival(&self, index: u64) -> Arrival {
        let count = self.timeline.arrivals.len() as u64;
        let arrival = self.timeline.arrivals[(index % count) as usize];
        let again = (index / count) as u32;
        Arrival { copy: arrival.copy + again * (1 + self.most_copies), ..arrival }
    }

    fn request(
        &self,
        context: &PromptContext,
        scope: &PromptScope,
        index: u64,
    ) -> Result<Request, WorkloadError> {
        let arrival = self.arrival(index);
        let row = arrival.row;
        let length = own_length(context, row.input);
        let tokenizer = context.tokenizer.as_ref();
        let mut words = Words::new(tokenizer, scope.rng(context.seed, &context.salt, index));
        let mut positions = self.block_positions(context, scope, &arrival, length);
        positions.extend(words.positions(length - positions.len() as u32));
        let made = fit::at_positions(tokenizer, &mut words, &positions, context.form)?;
        let cell = lengths(&row);
        // Requests that begin with the same block share a prefix, so they form a session.
        let first = self.rows.blocks(&row).first();
        let session = first.map(|block| block ^ u64::from(arrival.copy) << 40);
        Ok(Request { session, ..made.request(context, cell) })
    }

    /// The words of a row's blocks, at most `length` words, as positions among the plain ids. Within a
    /// run, the words of a block depend only on its hash, on the copy of the row and on the scope.
    fn block_positions(
        &self,
        context: &PromptContext,
        scope: &PromptScope,
        arrival: &Arrival,
        length: u32,
    ) -> Vec<usize> {
        let mut positions = Vec::new();
        let (copy, repeat) = (arrival.copy.to_string(), scope.repeat.to_string());
        for block in self.rows.blocks(&arrival.row) {
            let block = block.to_string();
            let of: [&str; 7] =
                ["block", &context.salt, &scope.cell, &scope.pass, &repeat, &copy, &block];
            let rng = seed::rng(context.seed, &of);
            let count = self.rows.block_tokens.min(length - positions.len() as u32);
            positions.extend(Words::new(context.tokenizer.as_ref(), rng).positions(count));
        }
        positions
    }
}

impl Workload for Trace {
    fn requests(&self, wanted: &RequestsNeeded<'_>) -> Result<RequestBatch, WorkloadError> {
        let RequestsNeeded { context, scope, first, count, .. } = *wanted;
        let requests = context.make(count, |at| self.request(context, scope, first + at as u64))?;
        let notes = notes(context, &requests, self.rows.has_blocks());
        Ok(RequestBatch { requests, notes })
    }

    fn can_begin_anywhere(&self) -> bool {
        true
    }

    fn trace_length(&self) -> Option<u64> {
        Some(self.timeline.arrivals.len() as u64)
    }

    fn beyond(&self, wanted: &RequestsNeeded<'_>, limit: u64) -> TooLong {
        let sent = self.timeline.arrivals.iter().take(wanted.count);
        Ok(longest_beyond(limit, sent.map(|arrival| lengths(&arrival.row))))
    }

    fn has_hashes(&self) -> Option<bool> {
        Some(self.rows.has_blocks())
    }

    fn findings(&self) -> Vec<Finding> {
        let timeline = &self.timeline;
        let Rows { rows, left_out, .. } = &self.rows;
        let left_out = rows_left_out(rows.len(), left_out);
        let mut findings: Vec<Finding> = left_out.into_iter().collect();
        for derived in &self.rows.derived {
            findings.push(Finding::of(code::TRACE_DERIVED, derived.clone()));
        }
        findings.extend(unused_columns(&self.rows.unused));
        let outside = timeline.before + timeline.behind;
        if outside > 0 {
            let message = format!(
                "{outside} of {} rows of the trace are outside --trace-window and not sent: {} \
                    before its start, {} after its end",
                self.rows.rows.len(),
                timeline.before,
                timeline.behind
            );
            findings.push(Finding::of(code::TRACE_ROWS_OUTSIDE_OF_THE_WINDOW, message));
        }
        if timeline.out_of_order > 0 {
            let message = format!(
                "{} rows of the trace come after a row with a later time; rows are sent in the \
                    order of their time",
                timeline.out_of_order
            );
            findings.push(Finding::of(code::TRACE_OUT_OF_ORDER, message));
        }
        let count = timeline.arrivals.len() as u64;
        if timeline.simultaneous * 10 > count {
            let message = format!(
                "{} of {count} requests have the same time as the previous request: the times in \
                    the trace have a low resolution, so requests with the same time are sent \
                    together",
                timeline.simultaneous
            );
            findings.push(Finding::of(code::TRACE_CLOCK_IS_COARSE, message));
        }
        findings
    }
}

fn lengths(row: &Row) -> CellPlan {
    CellPlan { input_length: row.input, output_length: row.output }
}

/// The number of tokens of a prompt without those that the server adds: at least 1.
fn own_length(context: &PromptContext, input: u32) -> u32 {
    input.saturating_sub(context.reserve).max(1)
}

/// Notes on differences between the prompts and the rows of the trace.
fn notes(context: &PromptContext, requests: &[Request], has_blocks: bool) -> Vec<Note> {
    let counted = |request: &Request| request.counted_tokens.unwrap_or(0);
    let off = |request: &Request| counted(request).abs_diff(request.input_tokens);
    let inexact = requests.iter().filter(|request| off(request) > 0);
    let farthest = inexact.clone().max_by_key(|request| off(request));
    let note = farthest.map(|farthest| Note::Inexact {
        prompts: inexact.count() as u64,
        asked: farthest.input_tokens,
        farthest: counted(farthest),
    });
    // If the trace has hashes, prompts share prefixes on purpose, so no note is needed.
    let shortest = requests.iter().map(|request| own_length(context, request.input_tokens)).min();
    let short = shortest.filter(|_| !has_blocks).and_then(|tokens| short_tag(context, tokens));
    note.into_iter().chain(short).collect()
}
