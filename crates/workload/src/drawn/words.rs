//! Makes requests of seeded words, each with its own length and possibly with a shared prefix.

use inferometer_model::{Prompt, Request, Tokenizer, TokenizerError, stats::seed};

use crate::fit::{self, SizedPrompt, Words, short_tag};
use crate::{
    Note, PromptContext, PromptForm, PromptScope, RequestBatch, RequestsNeeded, WorkloadError,
};

/// The lengths, the group and the class of one request.
pub struct Shape<'a> {
    /// Input tokens, including those of the prefix and those that the server adds.
    pub input: u32,
    /// Output tokens.
    pub output: u32,
    /// The group of prompts that share their prefix with this prompt; `None` if it has no shared prefix.
    pub group: Option<u32>,
    /// The class of the request, for the report.
    pub class: Option<&'a str>,
}

/// The prefix that the prompts of a group share.
struct SharedPrefix {
    positions: Vec<usize>,
    ids: Vec<u32>,
    text: String,
}

impl SharedPrefix {
    /// Makes the prefix of a group, with `length` tokens. Each group of each scope has its own prefix.
    fn new(
        context: &PromptContext,
        scope: &PromptScope,
        group: u32,
        length: u32,
    ) -> Result<Self, TokenizerError> {
        let tokenizer = context.tokenizer.as_ref();
        let (repeat, group) = (scope.repeat.to_string(), group.to_string());
        let labels = ["prefix", &context.salt, &scope.cell, &scope.pass, &repeat, &group];
        let positions = Words::new(tokenizer, seed::rng(context.seed, &labels)).positions(length);
        let ids: Vec<u32> = positions.iter().map(|at| tokenizer.plain_ids()[*at]).collect();
        let text = tokenizer.decode(&ids)?;
        Ok(Self { positions, ids, text })
    }
}

/// Makes the requests with these shapes. A prompt consists of its group's prefix, which has
/// `prefix_length` tokens, and of its own words. A prompt without a group has only its own words.
pub fn requests(
    wanted: &RequestsNeeded<'_>,
    prefix_length: u32,
    shapes: &[Shape<'_>],
) -> Result<RequestBatch, WorkloadError> {
    let RequestsNeeded { context, scope, .. } = *wanted;
    let groups = shapes.iter().filter_map(|shape| shape.group).max().map_or(0, |most| most + 1);
    let prefixes = context.in_order(groups as usize, |group| {
        SharedPrefix::new(context, scope, group as u32, prefix_length)
    })?;
    let made = prompts(wanted, &prefixes, prefix_length, shapes)?;

    let own = |shape: &Shape<'_>| {
        let prefix = if shape.group.is_some() { prefix_length } else { 0 };
        shape.input - context.reserve - prefix
    };
    let mut notes: Vec<Note> = Vec::new();
    notes.extend(shapes.iter().map(own).min().and_then(|shortest| short_tag(context, shortest)));
    notes.extend(inexact(context, &made, shapes));
    let request = |(made, shape): (SizedPrompt, &Shape<'_>)| Request {
        counted_tokens: Some(made.counted + context.reserve),
        class: shape.class.map(Into::into),
        session: shape.group.map(u64::from),
        ..Request::new(made.prompt, shape.input, shape.output)
    };
    Ok(RequestBatch { requests: made.into_iter().zip(shapes).map(request).collect(), notes })
}

fn prompts(
    wanted: &RequestsNeeded<'_>,
    prefixes: &[SharedPrefix],
    prefix_length: u32,
    shapes: &[Shape<'_>],
) -> Result<Vec<SizedPrompt>, WorkloadError> {
    let RequestsNeeded { context, scope, first, .. } = *wanted;
    let tokenizer: &dyn Tokenizer = context.tokenizer.as_ref();
    for shape in shapes {
        let length = context.own_length(shape.input)?;
        if shape.group.is_some() && length <= prefix_length {
            let (input_length, reserve) = (shape.input, context.reserve + prefix_length);
            return Err(WorkloadError::NothingLeft { input_length, reserve });
        }
    }
    let length = |at: usize| shapes[at].input - context.reserve;
    let prefix = |at: usize| shapes[at].group.map(|group| &prefixes[group as usize]);
    let rng = |at: usize| scope.rng(context.seed, &context.salt, first + at as u64);
    let words = |at: usize| Words::new(tokenizer, rng(at));
    if context.form == PromptForm::TokenIds {
        return context.make(shapes.len(), |at| {
            let mut ids = prefix(at).map_or_else(Vec::new, |prefix| prefix.ids.clone());
            ids.extend(words(at).take(length(at) - ids.len() as u32));
            Ok(SizedPrompt { prompt: Prompt::TokenIds(ids), counted: length(at) })
        });
    }
    let positions = |at: usize| {
        let mut all = prefix(at).map_or_else(Vec::new, |prefix| prefix.positions.clone());
        all.extend(words(at).positions(length(at) - all.len() as u32));
        all
    };
    let search = |at: usize| match prefix(at) {
        Some(prefix) => fit::words_after(tokenizer, &mut words(at), length(at), &prefix.text),
        None => fit::words(tokenizer, &mut words(at), length(at)),
    };
    Ok(fit::texts(context, shapes.len(), positions, search)?)
}

/// A note if some prompts do not have the length of their shape; otherwise `None`.
fn inexact(context: &PromptContext, made: &[SizedPrompt], shapes: &[Shape<'_>]) -> Option<Note> {
    let off = || {
        let counted = made.iter().map(|made| made.counted + context.reserve);
        counted.zip(shapes).filter(|(counted, shape)| *counted != shape.input)
    };
    let (farthest, shape) = off().max_by_key(|(counted, shape)| counted.abs_diff(shape.input))?;
    Some(Note::Inexact { prompts: off().count() as u64, asked: shape.input, farthest })
}
