//! A workload, opened; and what it makes for one pass.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use inferometer_load::PassPlan;
use inferometer_load::Recording;
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::Finding;
use inferometer_model::request::{Prompt, Request};
use inferometer_model::tokenizer::Tokenizer;
use inferometer_plan::{Plan, WorkloadPlan};

use crate::blocks::TextBlocks;
use crate::conversation::{Conversations, Turn};
use crate::drawn::{Drawn, Groups};
use crate::error::WorkloadError;
use crate::fetch::{self, FetchConfig};
use crate::fit::Made;
use crate::parallel;
use crate::place::{PromptForm, PromptPlace};
use crate::random::{RandomWords, check_plain_ids};
use crate::replay::{self, Replay};
use crate::rows::Rows;
use crate::sharegpt::{ServingRun, ShareGpt};
use crate::trace::Trace;

/// Where the prompts of a run come from. One for each variant of [`WorkloadPlan`].
pub trait Workload: Send + Sync {
    /// The `count` requests of one pass. They are the same for the same `shared`, cell and place,
    /// on any number of threads.
    ///
    /// # Errors
    /// When they cannot be made.
    fn requests(
        &self,
        shared: &Shared,
        cell: CellPlan,
        place: &PromptPlace,
        count: usize,
    ) -> Result<Built, WorkloadError>;

    /// Prompts that are sent as the data has them, in whatever form: one of each form is enough.
    /// A dialect that cannot say one of them is told before anything is sent.
    fn as_they_are(&self) -> Vec<&Prompt> {
        Vec::new()
    }

    /// Its requests in parts, where these can be made while others are sent.
    fn parts(&self) -> Option<&dyn Parts> {
        None
    }

    /// What users say in the `count` conversations of a pass; nothing where requests do not follow
    /// one another.
    ///
    /// # Errors
    /// When it cannot be made.
    fn conversations(
        &self,
        _shared: &Shared,
        _place: &PromptPlace,
        _count: u32,
    ) -> Result<Option<Vec<Vec<Turn>>>, WorkloadError> {
        Ok(None)
    }

    /// Requests that its data has to play, where a pass of more begins the data again.
    fn plays(&self) -> Option<u64> {
        None
    }

    /// What a reader should know of its data: rows that are left out, and why.
    fn findings(&self) -> Vec<Finding> {
        Vec::new()
    }
}

/// The requests of a pass in parts, so that not all of them must be held at once.
pub trait Parts {
    /// Prompt tokens of the first `count` requests.
    fn tokens(&self, count: usize) -> u64;

    /// The `count` requests from the `first` on, counted from 0: the same ones as
    /// [`Workload::requests`] has there.
    ///
    /// # Errors
    /// When they cannot be made.
    fn part(
        &self,
        shared: &Shared,
        place: &PromptPlace,
        first: u64,
        count: usize,
    ) -> Result<Built, WorkloadError>;
}

/// What all prompts of a run have in common.
#[derive(Clone)]
pub struct Shared {
    /// Counts and makes the tokens of prompts.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// Makes every random choice.
    pub seed: u64,
    /// Keeps this run's prompts apart from every other's.
    pub salt: String,
    /// How prompts are sent.
    pub form: PromptForm,
    /// Tokens that the server adds to a prompt, such as a beginning-of-sequence token or a chat
    /// template that is to count; prompts are made shorter by as many.
    pub reserve: u32,
    /// Prompts made so far.
    made: Arc<AtomicU64>,
}

impl Shared {
    /// Counts the prompts that are made, for who shows it while they are.
    #[must_use]
    pub fn made(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.made)
    }

    /// Prompts `0` to `count - 1`, or the error of the lowest one that failed.
    pub(crate) fn make<T: Send, E: Send>(
        &self,
        count: usize,
        make: impl Fn(usize) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, E> {
        parallel::in_order(self.tokenizer.as_ref(), count, |at| {
            let made = make(at);
            self.made.fetch_add(1, Ordering::Relaxed);
            made
        })
    }

    /// The tokens that a prompt of this length has of its own, without what the server adds.
    ///
    /// # Errors
    /// When nothing is left.
    pub fn own_length(&self, input_length: u32) -> Result<u32, WorkloadError> {
        let reserve = self.reserve;
        let length = input_length.checked_sub(reserve).filter(|length| *length > 0);
        length.ok_or(WorkloadError::NothingLeft { input_length, reserve })
    }

    /// The request of a prompt; its count is what the tokenizer counted, plus the reserve.
    pub(crate) fn request(&self, made: Made, cell: CellPlan) -> Request {
        let counted_tokens = Some(made.counted + self.reserve);
        Request {
            counted_tokens,
            ..Request::new(made.prompt, cell.input_length, cell.output_length)
        }
    }
}

/// A workload, opened: all that makes the prompts of a run.
#[derive(Clone)]
pub struct WorkloadSpec {
    workload: Arc<dyn Workload>,
    /// What its prompts have in common.
    pub shared: Shared,
}

impl WorkloadSpec {
    /// Opens the workload of a plan: text prompts, with nothing reserved.
    ///
    /// # Errors
    /// When the data set cannot be used, or the tokenizer has no words to draw.
    pub fn open(
        plan: &WorkloadPlan,
        tokenizer: Arc<dyn Tokenizer>,
        seed: u64,
        salt: impl Into<String>,
    ) -> Result<Self, WorkloadError> {
        check_plain_ids(tokenizer.as_ref())?;
        let (salt, form) = (salt.into(), PromptForm::Text);
        let made = Arc::default();
        let shared = Shared { tokenizer, seed, salt, form, reserve: 0, made };
        let file = |dataset: &str| fetch::local(dataset, &FetchConfig::from_env());
        let workload: Arc<dyn Workload> = match plan {
            WorkloadPlan::Random => Arc::new(RandomWords),
            WorkloadPlan::Drawn(plan) => Arc::new(Drawn::open(plan)?),
            WorkloadPlan::Prefix(plan) => Arc::new(Groups::new(plan)),
            WorkloadPlan::Rows(plan) => Arc::new(Rows::open(plan)?),
            WorkloadPlan::Replay { dataset } => Arc::new(Replay::open(dataset)?),
            WorkloadPlan::Trace(plan) => Arc::new(Trace::open(plan)?),
            WorkloadPlan::Conversation(plan) => Arc::new(Conversations::open(plan, seed)?),
            WorkloadPlan::Sharegpt { dataset } => {
                Arc::new(ShareGpt::open(file(dataset)?, &shared)?)
            }
            WorkloadPlan::ServingRun { dataset, limits } => {
                Arc::new(ServingRun::open(file(dataset)?, *limits, &shared)?)
            }
            WorkloadPlan::Blocks { corpus, template, max_output_tokens, .. } => {
                Arc::new(TextBlocks::open(corpus, template, *max_output_tokens)?)
            }
        };
        Ok(Self { workload, shared })
    }

    /// The same with random words for prompts: for questions to a server that no data set answers.
    #[must_use]
    pub fn random_words(&self) -> Self {
        Self { workload: Arc::new(RandomWords), shared: self.shared.clone() }
    }

    /// [`Workload::as_they_are`]
    #[must_use]
    pub fn as_they_are(&self) -> Vec<&Prompt> {
        self.workload.as_they_are()
    }

    /// The workload.
    #[must_use]
    pub fn workload(&self) -> &dyn Workload {
        self.workload.as_ref()
    }

    /// [`Workload::findings`]
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.workload.findings()
    }
}

/// Reads what passes need to know of a workload before it is opened: the instants of a trace or of
/// rows, the turns of conversations. They are the same whatever tokenizer makes the prompts.
///
/// # Errors
/// When the data set cannot be used.
pub fn prepare(plan: &mut Plan) -> Result<(), WorkloadError> {
    match &plan.workload {
        WorkloadPlan::Trace(trace) => {
            let of_trace = |recording: &&mut Recording| recording.file == trace.dataset;
            let mut recordings =
                plan.passes.iter_mut().filter_map(PassPlan::recording_mut).filter(of_trace);
            if let Some(recording) = recordings.next() {
                recording.write(Trace::open(trace)?.offsets());
            }
        }
        WorkloadPlan::Rows(rows) if rows.timed => {
            let of_rows = |recording: &&mut Recording| recording.file == rows.dataset;
            let mut recordings = plan.passes.iter_mut().filter_map(PassPlan::recording_mut);
            if let Some(recording) = recordings.find(of_rows) {
                recording.write(Rows::open(rows)?.offsets());
            }
        }
        WorkloadPlan::Replay { dataset } => {
            let of_dump = |recording: &&mut Recording| recording.file == *dataset;
            let mut recordings = plan.passes.iter_mut().filter_map(PassPlan::recording_mut);
            if let Some(recording) = recordings.find(of_dump) {
                recording.write(replay::instants(dataset)?);
            }
        }
        WorkloadPlan::Conversation(conversation) => {
            let opened = Conversations::open(conversation, plan.seed)?;
            for script in plan.passes.iter_mut().filter_map(PassPlan::script_mut) {
                let think = |number| {
                    let talk = opened.talk(plan.seed, number);
                    talk.iter().map(|turn| turn.think).collect()
                };
                script.write((0..script.conversations).map(think));
            }
        }
        _ => {}
    }
    Ok(())
}

/// The requests of a pass, and what a reader should know of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Built {
    /// In the order in which they are sent.
    pub requests: Vec<Request>,
    /// What is not as asked for.
    pub notes: Vec<Note>,
}

/// Something about the prompts of a pass that is not as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Prompts that could not be made to have the length asked for.
    Inexact {
        /// How many.
        prompts: u64,
        /// The length asked for.
        asked: u32,
        /// The count that is farthest from it.
        farthest: u32,
    },
    /// Prompts too short to hold a full tag: some may be the same as others of the run.
    ShortTag {
        /// Tokens that tell prompts apart.
        tokens: u32,
        /// Tokens of a full tag.
        full: u32,
    },
    /// Prompts that share their text, behind the tag, with an earlier prompt of the run.
    Reused {
        /// How many.
        prompts: u64,
        /// Conversations of the length asked for.
        available: u64,
    },
    /// Prompts that are rows which the run has sent before.
    RowsAgain {
        /// How many.
        prompts: u64,
        /// Rows that can be used.
        rows: u64,
    },
    /// Blocks that share text with an earlier block of the run; none begins where another did.
    Overlapping {
        /// How many.
        prompts: u64,
        /// Blocks of that size that the corpus has.
        available: u64,
    },
}

impl Note {
    /// Whether it counts what earlier passes had.
    #[must_use]
    pub fn depends_on_earlier(&self) -> bool {
        match self {
            Self::Reused { .. } | Self::RowsAgain { .. } | Self::Overlapping { .. } => true,
            Self::Inexact { .. } | Self::ShortTag { .. } => false,
        }
    }

    /// Adds the note of a part to those of the parts before: notes of one kind become one.
    pub fn add_to(self, notes: &mut Vec<Self>) {
        for note in notes.iter_mut() {
            match (&mut *note, &self) {
                (
                    Self::Inexact { prompts, asked, farthest },
                    Self::Inexact { prompts: more, asked: other, farthest: reached },
                ) => {
                    *prompts += more;
                    if other.abs_diff(*reached) > asked.abs_diff(*farthest) {
                        (*asked, *farthest) = (*other, *reached);
                    }
                    return;
                }
                (Self::ShortTag { tokens, .. }, Self::ShortTag { tokens: fewer, .. }) => {
                    *tokens = (*tokens).min(*fewer);
                    return;
                }
                (note, part) if *note == *part => return,
                _ => {}
            }
        }
        notes.push(self);
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inexact { prompts, asked, farthest } => write!(
                f,
                "{} not have exactly the tokens asked for (the farthest has {farthest} instead \
                 of {asked})",
                many(*prompts, "prompt does", "prompts do")
            ),
            Self::ShortTag { tokens, full } => write!(
                f,
                "prompts are told apart by {tokens} tokens, where {full} make them surely differ"
            ),
            Self::RowsAgain { prompts, rows } => write!(
                f,
                "{} sent before in the same run, its warm-up included, for the file has {rows} \
                 rows that can be used: a cache may have answered them",
                many(*prompts, "prompt was", "prompts were")
            ),
            Self::Reused { prompts, available } => write!(
                f,
                "{} a conversation again: the data set has {available} of that length",
                many(*prompts, "prompt uses", "prompts use")
            ),
            Self::Overlapping { prompts, available } => write!(
                f,
                "{} earlier ones: the corpus has {available} of that size",
                many(*prompts, "block overlaps", "blocks overlap")
            ),
        }
    }
}

/// `1 prompt was`, `2 prompts were`.
fn many(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// The `count` requests of a pass, in the order in which they are sent.
///
/// # Errors
/// As [`Workload::requests`].
pub fn requests(
    spec: &WorkloadSpec,
    cell: CellPlan,
    place: &PromptPlace,
    count: usize,
) -> Result<Built, WorkloadError> {
    spec.workload.requests(&spec.shared, cell, place, count)
}

/// The first prompt of each form.
pub(crate) fn one_of_each<'a>(prompts: impl Iterator<Item = &'a Prompt>) -> Vec<&'a Prompt> {
    let mut found: Vec<&Prompt> = Vec::new();
    for prompt in prompts {
        let form = std::mem::discriminant(prompt);
        if found.iter().all(|other| std::mem::discriminant(*other) != form) {
            found.push(prompt);
        }
    }
    found
}

/// Prompts that are told apart by fewer tokens than make them surely differ.
pub(crate) fn short_tag(shared: &Shared, tokens: u32) -> Option<Note> {
    let full = crate::fit::full_tag(shared.tokenizer.plain_ids().len());
    (tokens < full).then_some(Note::ShortTag { tokens, full })
}

/// Prompts that do not have the length of their own that was asked for.
pub(crate) fn inexact(shared: &Shared, made: &[Made], length: u32) -> Option<Note> {
    let off = || made.iter().map(|made| made.counted).filter(|counted| *counted != length);
    let farthest = off().max_by_key(|counted| counted.abs_diff(length))?;
    Some(Note::Inexact {
        prompts: off().count() as u64,
        asked: length + shared.reserve,
        farthest: farthest + shared.reserve,
    })
}
