//! The requests of one pass, from either source.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use inferometer_core::plan::{CellPlan, WorkloadPlan};
use inferometer_core::request::{Prompt, Request};
use inferometer_core::traits::Tokenizer;

use crate::error::WorkloadError;
use crate::fit::{self, Made, Words};
use crate::parallel;
use crate::place::{PromptForm, PromptPlace};
use crate::random::{Random, check_plain_ids};
use crate::sharegpt::{Corpus, Loaded, Picked};

/// What all prompts of a run have in common.
#[derive(Clone)]
pub struct WorkloadSpec {
    source: Source,
    tokenizer: Arc<dyn Tokenizer>,
    seed: u64,
    salt: String,
    /// How prompts are sent.
    pub form: PromptForm,
    /// Tokens that the server adds to a prompt, such as a beginning-of-sequence token or a chat
    /// template that is to count; prompts are made shorter by as many.
    pub reserve: u32,
}

#[derive(Clone)]
enum Source {
    Random,
    Sharegpt(Arc<Corpus>),
}

impl WorkloadSpec {
    /// Opens the source of a plan: text prompts, with nothing reserved.
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
        let source = match plan {
            WorkloadPlan::Random => Source::Random,
            WorkloadPlan::Sharegpt { dataset } => Source::Sharegpt(Arc::new(Corpus::open(
                PathBuf::from(dataset),
                tokenizer.clone(),
                seed,
            )?)),
        };
        let (salt, form) = (salt.into(), PromptForm::Text);
        Ok(Self { source, tokenizer, seed, salt, form, reserve: 0 })
    }

    /// The same with random words for prompts: for questions to a server that no data set answers.
    #[must_use]
    pub fn random_words(&self) -> Self {
        Self { source: Source::Random, ..self.clone() }
    }

    /// The data set, where the source has one: how many conversations, which rows were rejected.
    #[must_use]
    pub fn data_set(&self) -> Option<&Loaded> {
        match &self.source {
            Source::Random => None,
            Source::Sharegpt(corpus) => Some(corpus.loaded()),
        }
    }
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
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inexact { prompts, asked, farthest } => write!(
                f,
                "{prompts} prompts do not have exactly {asked} tokens (the farthest has \
                 {farthest})"
            ),
            Self::ShortTag { tokens, full } => write!(
                f,
                "prompts are told apart by {tokens} tokens, where {full} make them surely differ"
            ),
            Self::Reused { prompts, available } => write!(
                f,
                "{prompts} prompts use a conversation again: the data set has {available} of that \
                 length"
            ),
        }
    }
}

/// The `count` requests of a pass: prompts of the cell's input length, reserve included, and its
/// output length. The same for the same spec and place, on any number of threads.
///
/// `counted_tokens` of a request is what the tokenizer counted, plus the reserve.
///
/// # Errors
/// When the reserve leaves nothing of the input length, the data set has no turn of that length, or
/// the tokenizer fails.
pub fn requests(
    spec: &WorkloadSpec,
    cell: CellPlan,
    place: &PromptPlace,
    count: usize,
) -> Result<Built, WorkloadError> {
    let CellPlan { input_length, output_length } = cell;
    let length = input_length.checked_sub(spec.reserve).filter(|length| *length > 0);
    let length =
        length.ok_or(WorkloadError::NothingLeft { input_length, reserve: spec.reserve })?;
    let mut notes = Vec::new();
    let made = match &spec.source {
        Source::Random => {
            let random = Random::new(spec.tokenizer.clone(), spec.seed, &*spec.salt, place.clone());
            random.prompts(count, length, spec.form)?
        }
        Source::Sharegpt(corpus) => {
            let picked = corpus.pick(input_length, place.taken, count)?;
            if picked.reused > 0 {
                let available = picked.available as u64;
                notes.push(Note::Reused { prompts: picked.reused, available });
            }
            parallel::in_order(count, |at| cut(spec, corpus, &picked, place, at, length))?
        }
    };
    notes.extend(short_tag(spec, length));
    notes.extend(inexact(&made, length, spec.reserve));
    let request = |made: Made| Request {
        prompt: made.prompt,
        input_tokens: input_length,
        counted_tokens: Some(made.counted + spec.reserve),
        output_tokens: output_length,
    };
    Ok(Built { requests: made.into_iter().map(request).collect(), notes })
}

/// A first turn behind its tag, cut to `length` tokens.
fn cut(
    spec: &WorkloadSpec,
    corpus: &Corpus,
    picked: &Picked,
    place: &PromptPlace,
    at: usize,
    length: u32,
) -> Result<Made, WorkloadError> {
    let tokenizer = spec.tokenizer.as_ref();
    let mut words = Words::new(tokenizer, place.rng(spec.seed, &spec.salt, at as u64));
    let tag = fit::tag_of(length, tokenizer.plain_ids().len());
    let turn = corpus.turn(picked.conversations[at])?;
    Ok(match spec.form {
        PromptForm::Text => fit::tagged(tokenizer, &mut words, length, tag, &turn)?,
        PromptForm::TokenIds => {
            let mut ids = words.take(tag);
            ids.extend(&turn[..(length - tag) as usize]);
            Made { prompt: Prompt::TokenIds(ids), counted: length }
        }
    })
}

fn short_tag(spec: &WorkloadSpec, length: u32) -> Option<Note> {
    let plain = spec.tokenizer.plain_ids().len();
    let full = fit::full_tag(plain);
    let tokens = match spec.source {
        Source::Random => length,
        Source::Sharegpt(_) => fit::tag_of(length, plain),
    };
    (tokens < full).then_some(Note::ShortTag { tokens, full })
}

fn inexact(made: &[Made], length: u32, reserve: u32) -> Option<Note> {
    let off = || made.iter().map(|made| made.counted).filter(|counted| *counted != length);
    let farthest = off().max_by_key(|counted| counted.abs_diff(length))?;
    Some(Note::Inexact {
        prompts: off().count() as u64,
        asked: length + reserve,
        farthest: farthest + reserve,
    })
}
