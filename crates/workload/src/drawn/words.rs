//! Requests of words behind shared beginnings, each of a length of its own.

use inferometer_model::request::{Prompt, Request};
use inferometer_model::tokenizer::{Tokenizer, TokenizerError};
use inferometer_stats::seed;

use crate::error::WorkloadError;
use crate::fit::{self, Made, Words};
use crate::parallel;
use crate::place::{PromptForm, PromptPlace};
use crate::requests::{Built, Note, Shared, short_tag};

/// What one request is like.
pub struct Shape {
    /// Prompt tokens, those of the beginning and those that the server adds included.
    pub input: u32,
    /// Output tokens.
    pub output: u32,
    /// The group whose beginning it has, if any.
    pub group: Option<u32>,
    /// Its class.
    pub class: Option<&'static str>,
}

/// The words that begin the prompts of a group.
struct Beginning {
    positions: Vec<usize>,
    ids: Vec<u32>,
    text: String,
}

impl Beginning {
    /// Those of a group in this place: no two places of a run share one.
    fn new(
        shared: &Shared,
        place: &PromptPlace,
        group: u32,
        length: u32,
    ) -> Result<Self, TokenizerError> {
        let tokenizer = shared.tokenizer.as_ref();
        let (repeat, group) = (place.repeat.to_string(), group.to_string());
        let labels = ["prefix", &shared.salt, &place.cell, &place.pass, &repeat, &group];
        let positions = Words::new(tokenizer, seed::rng(shared.seed, &labels)).positions(length);
        let ids: Vec<u32> = positions.iter().map(|at| tokenizer.plain_ids()[*at]).collect();
        let text = tokenizer.decode(&ids)?;
        Ok(Self { positions, ids, text })
    }
}

/// The requests of these shapes. Words of their own follow the `prefix_length` tokens of their
/// group's beginning; a request of no group has as many words of its own more.
pub fn requests(
    shared: &Shared,
    place: &PromptPlace,
    prefix_length: u32,
    shapes: &[Shape],
) -> Result<Built, WorkloadError> {
    let groups = shapes.iter().filter_map(|shape| shape.group).max().map_or(0, |most| most + 1);
    let beginnings = parallel::in_order(shared.tokenizer.as_ref(), groups as usize, |group| {
        Beginning::new(shared, place, group as u32, prefix_length)
    })?;
    let made = prompts(shared, place, &beginnings, prefix_length, shapes)?;

    let own = |shape: &Shape| {
        let prefix = if shape.group.is_some() { prefix_length } else { 0 };
        shape.input - shared.reserve - prefix
    };
    let mut notes: Vec<Note> = Vec::new();
    notes.extend(shapes.iter().map(own).min().and_then(|shortest| short_tag(shared, shortest)));
    notes.extend(inexact(shared, &made, shapes));
    let request = |(made, shape): (Made, &Shape)| Request {
        counted_tokens: Some(made.counted + shared.reserve),
        class: shape.class.map(Into::into),
        ..Request::new(made.prompt, shape.input, shape.output)
    };
    Ok(Built { requests: made.into_iter().zip(shapes).map(request).collect(), notes })
}

fn prompts(
    shared: &Shared,
    place: &PromptPlace,
    beginnings: &[Beginning],
    prefix_length: u32,
    shapes: &[Shape],
) -> Result<Vec<Made>, WorkloadError> {
    let tokenizer: &dyn Tokenizer = shared.tokenizer.as_ref();
    for shape in shapes {
        let length = shared.own_length(shape.input)?;
        if shape.group.is_some() && length <= prefix_length {
            let (input_length, reserve) = (shape.input, shared.reserve + prefix_length);
            return Err(WorkloadError::NothingLeft { input_length, reserve });
        }
    }
    let length = |at: usize| shapes[at].input - shared.reserve;
    let beginning = |at: usize| shapes[at].group.map(|group| &beginnings[group as usize]);
    let words = |at: usize| Words::new(tokenizer, place.rng(shared.seed, &shared.salt, at as u64));
    if shared.form == PromptForm::TokenIds {
        return shared.make(shapes.len(), |at| {
            let mut ids = beginning(at).map_or_else(Vec::new, |beginning| beginning.ids.clone());
            ids.extend(words(at).take(length(at) - ids.len() as u32));
            Ok(Made { prompt: Prompt::TokenIds(ids), counted: length(at) })
        });
    }
    let positions = |at: usize| {
        let mut all = beginning(at).map_or_else(Vec::new, |beginning| beginning.positions.clone());
        all.extend(words(at).positions(length(at) - all.len() as u32));
        all
    };
    let search = |at: usize| match beginning(at) {
        Some(beginning) => {
            fit::words_behind(tokenizer, &mut words(at), length(at), &beginning.text)
        }
        None => fit::words(tokenizer, &mut words(at), length(at)),
    };
    Ok(fit::texts(shared, shapes.len(), positions, search)?)
}

/// Prompts that do not have the length that was drawn for them.
fn inexact(shared: &Shared, made: &[Made], shapes: &[Shape]) -> Option<Note> {
    let off = || {
        let counted = made.iter().map(|made| made.counted + shared.reserve);
        counted.zip(shapes).filter(|(counted, shape)| *counted != shape.input)
    };
    let (farthest, shape) = off().max_by_key(|(counted, shape)| counted.abs_diff(shape.input))?;
    Some(Note::Inexact { prompts: off().count() as u64, asked: shape.input, farthest })
}
