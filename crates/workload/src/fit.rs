//! Prompts of an exact number of tokens. To decode tokens and to encode the text again may give
//! another number of tokens, so the text is counted, corrected and counted again, a bounded number
//! of times. The result states the tokens that were counted, which may still not be the number
//! asked for; [`inexact`] notes that.

use inferometer_model::cell::CellPlan;
use inferometer_model::request::{Prompt, Request};
use inferometer_model::tokenizer::{PlainWords, Tokenizer, TokenizerError};
use inferometer_stats::seed;
use rand_chacha::ChaCha8Rng;

use crate::context::PromptContext;
use crate::error::WorkloadError;
use crate::note::Note;
use crate::parallel;
use crate::scope::PromptForm;
use crate::tokenizer::is_han;

/// Largest number of attempts at one prompt.
const TRIES: u32 = 32;

/// Attempts that correct the length only; later ones also replace words.
const PLAIN_TRIES: u32 = 4;

/// Random bits of a tag: among a million prompts, two have the same tag with a probability below
/// 1e-7.
const TAG_BITS: u32 = 64;

/// Plain words that a tokenizer must have, so that prompts differ.
const FEWEST_WORDS: usize = 16;

/// A prompt with the number of its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizedPrompt {
    /// The prompt.
    pub prompt: Prompt,
    /// Its tokens, as the tokenizer counts them.
    pub counted: u32,
}

impl SizedPrompt {
    /// The request of this prompt; the tokens that the server adds are counted too.
    pub fn request(self, context: &PromptContext, cell: CellPlan) -> Request {
        Request {
            counted_tokens: Some(self.counted + context.reserve),
            ..Request::new(self.prompt, cell.input_length, cell.output_length)
        }
    }
}

/// Refuses a tokenizer that has too few words to make prompts of.
///
/// # Errors
/// [`WorkloadError::TooFewPlainTokens`].
pub fn require_plain_words(tokenizer: &dyn Tokenizer) -> Result<(), WorkloadError> {
    let found = tokenizer.plain_ids().len();
    if found < FEWEST_WORDS {
        let (tokenizer, needed) = (tokenizer.name(), FEWEST_WORDS);
        return Err(WorkloadError::TooFewPlainTokens { tokenizer, found, needed });
    }
    Ok(())
}

/// The note that prompts have fewer tokens of their own than a full tag.
pub fn short_tag(context: &PromptContext, tokens: u32) -> Option<Note> {
    let full = full_tag(context.tokenizer.plain_ids().len());
    (tokens < full).then_some(Note::ShortTag { tokens, full })
}

/// The note that prompts do not have the length that was asked for, without the reserve.
pub fn inexact(context: &PromptContext, made: &[SizedPrompt], length: u32) -> Option<Note> {
    let off = || made.iter().map(|made| made.counted).filter(|counted| *counted != length);
    let farthest = off().max_by_key(|counted| counted.abs_diff(length))?;
    Some(Note::Inexact {
        prompts: off().count() as u64,
        asked: length + context.reserve,
        farthest: farthest + context.reserve,
    })
}

/// An endless sequence of seeded words of a tokenizer.
pub struct Words<'a> {
    tokenizer: &'a dyn Tokenizer,
    rng: ChaCha8Rng,
}

impl<'a> Words<'a> {
    pub fn new(tokenizer: &'a dyn Tokenizer, rng: ChaCha8Rng) -> Self {
        Self { tokenizer, rng }
    }

    /// The next word, by its position among the plain ids.
    fn position(&mut self) -> usize {
        seed::below(&mut self.rng, self.tokenizer.plain_ids().len() as u64) as usize
    }

    fn draw(&mut self) -> u32 {
        let position = self.position();
        self.tokenizer.plain_ids()[position]
    }

    /// The positions of the next words among the plain ids.
    pub fn positions(&mut self, count: u32) -> Vec<usize> {
        (0..count).map(|_| self.position()).collect()
    }

    /// The next words, as token ids.
    pub fn take(&mut self, count: u32) -> Vec<u32> {
        (0..count).map(|_| self.draw()).collect()
    }
}

/// Tokens of a full tag, which has [`TAG_BITS`] random bits, for a number of plain ids.
pub fn full_tag(plain_ids: usize) -> u32 {
    // Integers only: the last digit of a logarithm may differ between machines.
    let (mut tags, mut tokens) = (1_u128, 0);
    while tags < 1 << TAG_BITS {
        tags = tags.saturating_mul(plain_ids.max(2) as u128);
        tokens += 1;
    }
    tokens
}

/// Tokens of the tag of a prompt of `length` tokens: at most half of the prompt.
pub fn tag_of(length: u32, plain_ids: usize) -> u32 {
    full_tag(plain_ids).min(length / 2)
}

/// A prompt of seeded words with `length` tokens.
pub fn words(
    tokenizer: &dyn Tokenizer,
    words: &mut Words,
    length: u32,
) -> Result<SizedPrompt, TokenizerError> {
    text_after(tokenizer, words, length, "", &[])
}

/// One in so many texts is counted if the tokenizer is known to keep words apart.
const COUNTED_ONE_IN: usize = 256;

/// Makes `count` texts, each joined from the words of `positions` if the tokenizer has them as text.
/// If the tokenizer keeps words apart, so that n words are n tokens, only one text in 256 is counted
/// as a check; otherwise, or if the check fails, every text is. A text that does not have its length
/// is made by `search`, which counts and corrects.
pub fn texts(
    context: &PromptContext,
    count: usize,
    positions: impl Fn(usize) -> Vec<usize> + Sync,
    search: impl Fn(usize) -> Result<SizedPrompt, TokenizerError> + Sync,
) -> Result<Vec<SizedPrompt>, TokenizerError> {
    let tokenizer = context.tokenizer.as_ref();
    let Some(plain) = tokenizer.plain_words() else {
        return context.make(count, search);
    };
    if plain.apart {
        let composed = context.make(count, |at| {
            let words = positions(at);
            let counted = words.len() as u32;
            Ok::<_, TokenizerError>(SizedPrompt {
                prompt: Prompt::Text(plain.text(&words)),
                counted,
            })
        })?;
        let holds = parallel::in_order(tokenizer, count.div_ceil(COUNTED_ONE_IN), |part| {
            let made = &composed[part * COUNTED_ONE_IN];
            let Prompt::Text(text) = &made.prompt else { return Ok(true) };
            Ok(tokenizer.count(text)? == made.counted)
        })?;
        if holds.into_iter().all(|holds| holds) {
            return Ok(composed);
        }
    }
    context.make(count, |at| match composed(tokenizer, plain, &positions(at))? {
        Some(made) => Ok(made),
        None => search(at),
    })
}

/// The text of these words, if it has one token for each.
fn composed(
    tokenizer: &dyn Tokenizer,
    plain: &PlainWords,
    positions: &[usize],
) -> Result<Option<SizedPrompt>, TokenizerError> {
    let (text, counted) = (plain.text(positions), positions.len() as u32);
    let holds = tokenizer.count(&text)? == counted;
    Ok(holds.then_some(SizedPrompt { prompt: Prompt::Text(text), counted }))
}

/// The text `head`, then words; `length` tokens together.
pub fn words_behind(
    tokenizer: &dyn Tokenizer,
    words: &mut Words,
    length: u32,
    head: &str,
) -> Result<SizedPrompt, TokenizerError> {
    text_after(tokenizer, words, length, head, &[])
}

/// A prompt of the plain ids at these positions. If their text has another number of tokens, words
/// are replaced by others from `words`.
pub fn at_positions(
    tokenizer: &dyn Tokenizer,
    words: &mut Words,
    positions: &[usize],
    form: PromptForm,
) -> Result<SizedPrompt, TokenizerError> {
    let counted = positions.len() as u32;
    let ids = || -> Vec<u32> {
        positions.iter().map(|&position| tokenizer.plain_ids()[position]).collect()
    };
    match (form, tokenizer.plain_words()) {
        (PromptForm::TokenIds, _) => {
            return Ok(SizedPrompt { prompt: Prompt::TokenIds(ids()), counted });
        }
        (PromptForm::Text, Some(plain)) if plain.apart => {
            return Ok(SizedPrompt { prompt: Prompt::Text(plain.text(positions)), counted });
        }
        (PromptForm::Text, Some(plain)) => {
            if let Some(made) = composed(tokenizer, plain, positions)? {
                return Ok(made);
            }
        }
        (PromptForm::Text, None) => {}
    }
    text_after(tokenizer, words, counted, "", &ids())
}

/// A tag of `tag` words, then as many tokens of `body` as fit, then further words if a cut at a whole
/// character left room; `length` tokens together.
pub fn tagged(
    tokenizer: &dyn Tokenizer,
    words: &mut Words,
    length: u32,
    tag: u32,
    body: &[u32],
) -> Result<SizedPrompt, TokenizerError> {
    let mut head = tokenizer.decode(&words.take(tag))?;
    if !head.is_empty() {
        head.push('\n');
    }
    text_after(tokenizer, words, length, &head, &body[..body.len().min((length - tag) as usize)])
}

/// `head`, then the text of a prefix of `body`, then words; `length` tokens together.
fn text_after(
    tokenizer: &dyn Tokenizer,
    words: &mut Words,
    length: u32,
    head: &str,
    body: &[u32],
) -> Result<SizedPrompt, TokenizerError> {
    let mut body = body;
    let missing = if head.is_empty() { length - body.len() as u32 } else { 0 };
    let mut filler = words.take(missing);
    let mut best: Option<(String, u32)> = None;
    for attempt in 0..TRIES {
        let text = joined(tokenizer, head, body, &filler)?;
        let counted = tokenizer.count(&text)?;
        if best.as_ref().is_none_or(|(_, found)| counted.abs_diff(length) < found.abs_diff(length))
        {
            best = Some((text, counted));
        }
        if counted == length {
            break;
        }
        // If two words are one token together, another word separates them.
        if attempt >= PLAIN_TRIES && filler.pop().is_some() {
            filler.push(words.draw());
        }
        if counted < length {
            filler.extend(words.take(length - counted));
        } else {
            let over = (counted - length) as usize;
            let from_filler = over.min(filler.len());
            filler.truncate(filler.len() - from_filler);
            body = &body[..body.len().saturating_sub(over - from_filler)];
        }
    }
    let (text, counted) = best.expect("invariant: there is at least one attempt");
    Ok(SizedPrompt { prompt: Prompt::Text(text), counted })
}

fn joined(
    tokenizer: &dyn Tokenizer,
    head: &str,
    body: &[u32],
    filler: &[u32],
) -> Result<String, TokenizerError> {
    let mut text = head.to_owned();
    if !body.is_empty() {
        // A cut within a character leaves a replacement character, which is not in the source.
        text.push_str(tokenizer.decode(body)?.trim_end_matches('\u{fffd}'));
    }
    if !filler.is_empty() {
        let words = tokenizer.decode(filler)?;
        // Some tokenizers drop the space before the first word; Chinese characters have none.
        let is_separate = words.starts_with(|first: char| first == ' ' || is_han(first));
        if !text.is_empty() && !is_separate {
            text.push(' ');
        }
        text.push_str(&words);
    }
    Ok(text)
}
