//! The interface of workloads. A workload is the source of the requests of a run. [`crate::registry`]
//! lists all workloads; this module does not depend on that list.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use inferometer_model::load::{Recording, Script, Share};
use inferometer_model::{CellPlan, Finding, Nanos, PassPlan, Prompt, Request, Source, code};

use crate::{LeftOut, Note, PromptContext, PromptScope, Reason, WorkloadError};

/// A workload as the plan configures it.
pub(crate) trait WorkloadDefinition {
    /// Opens the workload: reads its data set, if it has one.
    ///
    /// # Errors
    /// If the data set, a histogram of lengths or a template cannot be used.
    fn open(&self, context: &PromptContext) -> Result<Arc<dyn Workload>, WorkloadError>;

    /// Completes the passes of the plan. For recorded arrivals, writes the arrival times into the passes.
    /// For conversations, writes the number of turns and the think times. The result does not depend on
    /// the tokenizer.
    ///
    /// # Errors
    /// If the data set cannot be used.
    fn prepare(&self, _passes: &mut [PassPlan], _seed: u64) -> Result<(), WorkloadError> {
        Ok(())
    }

    /// Whether the data set has chat messages.
    fn has_messages(&self) -> bool {
        false
    }

    /// Whether the data set states how long each call of its jobs took; false if it cannot be read.
    fn has_recorded_times(&self) -> bool {
        false
    }
}

/// The requests that a pass needs.
#[derive(Clone, Copy)]
pub struct RequestsNeeded<'a> {
    /// The settings that all prompts of the run share.
    pub context: &'a PromptContext,
    /// The input length and the output length: in characters for the workload `blocks`, in tokens for all
    /// others. A length is 0 if each request has its own length.
    pub cell: CellPlan,
    /// The pass for which the requests are made.
    pub scope: &'a PromptScope,
    /// The index of the first request; 0 if [`Workload::can_begin_anywhere`] is false.
    pub first: u64,
    /// The number of requests.
    pub count: usize,
}

/// The jobs or conversations that a pass needs.
#[derive(Clone, Copy)]
pub struct JobsNeeded<'a> {
    /// The settings that all prompts of the run share.
    pub context: &'a PromptContext,
    /// The pass for which they are made.
    pub scope: &'a PromptScope,
    /// What calls wait for.
    pub script: &'a Script,
    /// Those that are sent.
    pub share: Share,
    /// How earlier turns are sent.
    pub history: History,
    /// Whether the tokenizer is that of the model, so that its counts are used.
    pub counts: bool,
}

/// The jobs or conversations of a pass.
pub struct PassJobs {
    /// What the hash of the workload covers: the calls of every job, with what is known of their prompts before the pass.
    pub planned: Vec<Vec<Request>>,
    /// The source of the requests that are sent.
    pub source: Box<dyn Source>,
    /// Why requests could not be made during the pass; empty as long as they could.
    pub error: Arc<OnceLock<String>>,
}

/// How earlier turns and answers become part of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// As messages of the user and the assistant.
    Messages,
    /// As one text: each answer directly follows its turn, and the next turn begins on a new line.
    Text,
}

/// Requests that are too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beyond {
    /// The lengths of the longest one.
    pub longest: CellPlan,
    /// How many are known to be too long.
    pub requests: u64,
    /// The number of all requests.
    pub of: u64,
}

impl Beyond {
    /// Only the longest one, if the lengths of the others are upper limits, or not those of single requests.
    pub(crate) fn only_longest(self) -> Self {
        Self { requests: 1, ..self }
    }
}

/// The requests that are too long, if there are any.
pub type TooLong = Result<Option<Beyond>, WorkloadError>;

/// An opened workload: a source of requests.
pub trait Workload: Send + Sync {
    /// Makes requests of one pass. The same context, cell and scope give the same request at an index, on any
    /// number of threads.
    ///
    /// # Errors
    /// If the requests cannot be made.
    fn requests(&self, wanted: &RequestsNeeded<'_>) -> Result<RequestBatch, WorkloadError>;

    /// One example prompt of each form (text, token ids, messages) in the data set. Empty if the data set
    /// does not determine the form of the prompts. A plan is refused before the run if its dialect cannot
    /// send one of these forms.
    fn verbatim_prompts(&self) -> Vec<&Prompt> {
        Vec::new()
    }

    /// Whether a request depends only on its index, so that requests can be made while earlier ones are sent.
    fn can_begin_anywhere(&self) -> bool {
        false
    }

    /// The jobs or conversations of a pass; `None` if the workload has none.
    ///
    /// # Errors
    /// If they cannot be made.
    fn jobs(&self, _wanted: &JobsNeeded<'_>) -> Result<Option<PassJobs>, WorkloadError> {
        Ok(None)
    }

    /// The lengths of the longest request of a pass, if its prompt and its output have more than `limit` tokens together;
    /// `None` if no request is known to be so long. Makes no prompt. `wanted.count` may be larger than any pass.
    ///
    /// # Errors
    /// If the tokens of a prompt cannot be counted.
    fn beyond(&self, wanted: &RequestsNeeded<'_>, limit: u64) -> TooLong {
        Ok(longest_beyond(limit, [wanted.cell]))
    }

    /// The number of requests of a trace, after its selection and scaling; `None` if the workload has no
    /// trace. A pass with more requests than this repeats the trace.
    fn trace_length(&self) -> Option<u64> {
        None
    }

    /// Whether a trace has hashes, which show the prompts that share a prefix; `None` if the workload has no trace.
    fn has_hashes(&self) -> Option<bool> {
        None
    }

    /// Findings about the data set, for example on rows that are left out.
    fn findings(&self) -> Vec<Finding> {
        Vec::new()
    }
}

/// Requests, with notes on their differences from the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestBatch {
    /// The requests, in the order in which they are sent.
    pub requests: Vec<Request>,
    /// The differences between the requests and the plan.
    pub notes: Vec<Note>,
}

/// Those of these requests whose prompt and output have more than `limit` tokens together.
pub(crate) fn longest_beyond(
    limit: u64,
    lengths: impl IntoIterator<Item = CellPlan>,
) -> Option<Beyond> {
    let (mut of, mut requests, mut longest) = (0, 0, None);
    for cell in lengths {
        of += 1;
        if cell.tokens() > limit {
            requests += 1;
            longest = longest.into_iter().chain([cell]).max_by_key(CellPlan::tokens);
        }
    }
    longest.map(|longest| Beyond { longest, requests, of })
}

/// Whether one of the prompts that a data set determines is a list of messages; false if it cannot be read.
pub(crate) fn any_messages(opened: Result<impl Workload, WorkloadError>) -> bool {
    let is_chat = |prompt: &&Prompt| matches!(prompt, Prompt::Messages(_));
    opened.is_ok_and(|opened| opened.verbatim_prompts().iter().any(is_chat))
}

/// The first prompt of each form (text, token ids, messages).
pub(crate) fn one_of_each_form<'a>(prompts: impl Iterator<Item = &'a Prompt>) -> Vec<&'a Prompt> {
    let mut found: Vec<&Prompt> = Vec::new();
    for prompt in prompts {
        let form = std::mem::discriminant(prompt);
        if found.iter().all(|other| std::mem::discriminant(*other) != form) {
            found.push(prompt);
        }
    }
    found
}

/// A finding with the number of rows that are left out, and the reasons.
pub(crate) fn rows_left_out<R: Reason>(used: usize, left_out: &LeftOut<R>) -> Option<Finding> {
    let count = left_out.total();
    let message = format!("skipped rows of the data set: {count}; used rows: {used}. {left_out}");
    (count > 0).then(|| Finding::of(code::DATA_SET_ROWS_LEFT_OUT, message))
}

/// The finding on the columns of a data set that are not used; `None` if all are used.
pub(crate) fn unused_columns(names: &BTreeSet<String>) -> Option<Finding> {
    let list: Vec<&str> = names.iter().map(String::as_str).collect();
    let message = format!("{} unused columns: {}", list.len(), list.join(", "));
    (!list.is_empty()).then(|| Finding::of(code::DATA_SET_COLUMNS_UNUSED, message))
}

/// Writes the arrival times of the data set into the first pass that replays this data set. Does nothing
/// if no pass replays it.
///
/// # Errors
/// The errors of `instants`.
pub(crate) fn write_instants(
    passes: &mut [PassPlan],
    dataset: &str,
    instants: impl FnOnce() -> Result<Vec<Nanos>, WorkloadError>,
) -> Result<(), WorkloadError> {
    let replays_it = |recording: &&mut Recording| recording.file == dataset;
    if let Some(recording) = passes.iter_mut().filter_map(PassPlan::recording_mut).find(replays_it)
    {
        recording.write(instants()?);
    }
    Ok(())
}
