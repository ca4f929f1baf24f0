//! Prompts of a trace: seeded words of each row's length. Equal hashes of a trace become equal
//! blocks of tokens, so that a server's prefix cache meets what it met in production.

use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Finding, Severity};
use inferometer_model::request::Request;
use inferometer_model::time::Nanos;
use inferometer_plan::TracePlan;
use inferometer_stats::seed;

use super::file::{BLOCK_TOKENS, Rows};
use super::timeline::{Arrival, Timeline};
use crate::error::WorkloadError;
use crate::fetch::{self, FetchConfig};
use crate::fit::{self, Words};
use crate::place::PromptPlace;
use crate::requests::{Built, Note, Parts, Shared, Workload, short_tag};

/// The most requests that a trace is scaled to: their instants alone take a gigabyte.
const MOST_REQUESTS: u32 = 1 << 24;

/// The workload `trace`.
pub struct Trace {
    rows: Rows,
    timeline: Timeline,
    /// The most requests of the same row before one of them.
    most_copies: u32,
}

impl Trace {
    /// Reads the file, and chooses what of it is played.
    ///
    /// # Errors
    /// When it cannot be read or used, or the window holds nothing of it.
    pub fn open(plan: &TracePlan) -> Result<Self, WorkloadError> {
        let path = &fetch::local(&plan.dataset, &FetchConfig::from_env())?;
        let rows = Rows::load(path, plan.format, plan.max_tokens)?;
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

    /// When each request is due, from the first.
    pub fn offsets(&self) -> impl Iterator<Item = Nanos> + '_ {
        self.timeline.arrivals.iter().map(|arrival| arrival.due)
    }

    /// What a request of a pass stands for. A pass of more requests than the trace has begins it
    /// again, as another copy of every row.
    fn arrival(&self, index: u64) -> Arrival {
        let count = self.timeline.arrivals.len() as u64;
        let arrival = self.timeline.arrivals[(index % count) as usize];
        let again = (index / count) as u32;
        Arrival { copy: arrival.copy + again * (1 + self.most_copies), ..arrival }
    }

    fn request(
        &self,
        shared: &Shared,
        place: &PromptPlace,
        index: u64,
    ) -> Result<Request, WorkloadError> {
        let arrival = self.arrival(index);
        let row = arrival.row;
        // A prompt shorter than what the server adds still needs a token of its own.
        let length = row.input.saturating_sub(shared.reserve).max(1);
        let tokenizer = shared.tokenizer.as_ref();
        let mut words = Words::new(tokenizer, place.rng(shared.seed, &shared.salt, index));
        let mut positions = self.shared_positions(shared, place, &arrival, length);
        positions.extend(words.positions(length - positions.len() as u32));
        let made = fit::at_positions(tokenizer, &mut words, &positions, shared.form)?;
        Ok(shared.request(made, CellPlan { input_length: row.input, output_length: row.output }))
    }

    /// The words that a row's hashes stand for, at most `length`, as positions among plain ids.
    fn shared_positions(
        &self,
        shared: &Shared,
        place: &PromptPlace,
        arrival: &Arrival,
        length: u32,
    ) -> Vec<usize> {
        let mut positions = Vec::new();
        let (copy, repeat) = (arrival.copy.to_string(), place.repeat.to_string());
        for block in self.rows.blocks(&arrival.row) {
            let block = block.to_string();
            let of: [&str; 7] =
                ["block", &shared.salt, &place.cell, &place.pass, &repeat, &copy, &block];
            let rng = seed::rng(shared.seed, &of);
            let count = BLOCK_TOKENS.min(length - positions.len() as u32);
            positions.extend(Words::new(shared.tokenizer.as_ref(), rng).positions(count));
        }
        positions
    }
}

impl Workload for Trace {
    fn requests(
        &self,
        shared: &Shared,
        _cell: CellPlan,
        place: &PromptPlace,
        count: usize,
    ) -> Result<Built, WorkloadError> {
        self.part(shared, place, 0, count)
    }

    fn parts(&self) -> Option<&dyn Parts> {
        Some(self)
    }

    fn plays(&self) -> Option<u64> {
        Some(self.timeline.arrivals.len() as u64)
    }

    fn findings(&self) -> Vec<Finding> {
        let timeline = &self.timeline;
        let note = |code, told: String| Finding::new(code, Severity::Note, told);
        let mut findings = Vec::new();
        if self.rows.left_out.total() > 0 {
            let told = format!(
                "rows of the data set that are left out: {}; that are used: {}. {}",
                self.rows.left_out.total(),
                self.rows.rows.len(),
                self.rows.left_out
            );
            findings.push(note("data_set_rows_left_out", told));
        }
        let outside = timeline.before + timeline.behind;
        if outside > 0 {
            let told = format!(
                "{outside} of {} rows of the trace are outside of --trace-window and not played: \
                 {} before it begins, {} from its end on",
                self.rows.rows.len(),
                timeline.before,
                timeline.behind
            );
            findings.push(note("trace_rows_outside_of_the_window", told));
        }
        if timeline.out_of_order > 0 {
            let told = format!(
                "{} rows of the trace stand below one that came later; they are played in the \
                 order of their time",
                timeline.out_of_order
            );
            findings.push(note("trace_out_of_order", told));
        }
        let count = timeline.arrivals.len() as u64;
        if timeline.simultaneous * 10 > count {
            let told = format!(
                "{} of {count} requests are due at the instant of the one before: the trace's \
                 clock is coarse, and its bursts within a tick are all at once",
                timeline.simultaneous
            );
            findings.push(note("trace_clock_is_coarse", told));
        }
        findings
    }
}

impl Parts for Trace {
    fn tokens(&self, count: usize) -> u64 {
        (0..count as u64).map(|index| u64::from(self.arrival(index).row.input)).sum()
    }

    fn part(
        &self,
        shared: &Shared,
        place: &PromptPlace,
        first: u64,
        count: usize,
    ) -> Result<Built, WorkloadError> {
        let requests = shared.make(count, |at| self.request(shared, place, first + at as u64))?;
        let notes = notes(shared, &requests, self.rows.has_blocks());
        Ok(Built { requests, notes })
    }
}

/// What of some prompts is not as the trace says.
fn notes(shared: &Shared, requests: &[Request], has_blocks: bool) -> Vec<Note> {
    let counted = |request: &Request| request.counted_tokens.unwrap_or(0);
    let off = |request: &Request| counted(request).abs_diff(request.input_tokens);
    let inexact = requests.iter().filter(|request| off(request) > 0);
    let farthest = inexact.clone().max_by_key(|request| off(request));
    let note = farthest.map(|farthest| Note::Inexact {
        prompts: inexact.count() as u64,
        asked: farthest.input_tokens,
        farthest: counted(farthest),
    });
    // Prompts with hashes in common are meant to be the same.
    let shortest = requests.iter().map(|request| request.input_tokens).min();
    let short = shortest.filter(|_| !has_blocks).and_then(|tokens| short_tag(shared, tokens));
    note.into_iter().chain(short).collect()
}
