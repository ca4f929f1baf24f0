//! Makes prompts with a requested number of tokens. If tokens are decoded to text, encoding the text may
//! give another number of tokens. So the tokens of the text are counted, and the text is corrected and
//! counted again, with at most [`TRIES`] counts. The result may still have another number of tokens than
//! requested. A prompt states its counted tokens, and [`inexact`] makes a note of differences. If the
//! tokenizer keeps words apart, most texts are not counted (see [`texts`]).
//!
//! A tag is a sequence of seeded words at the beginning of a prompt. It makes prompts differ within their
//! first KV block.

use inferometer_model::stats::seed;
use inferometer_model::tokenizer::PlainWords;
use inferometer_model::{CellPlan, Prompt, Request, Tokenizer, TokenizerError};
use rand_chacha::ChaCha8Rng;

use crate::{Note, PromptContext, PromptForm, WorkloadError, tokenizer::is_han};

/// The maximum number of attempts to make one prompt.
const TRIES: u32 = 32;

/// After each of the first `PLAIN_TRIES` attempts, only the length of the text is corrected. After later
/// attempts, a word is also replaced.
const PLAIN_TRIES: u32 = 4;

/// The number of random bits of a full tag. The probability that any two of a million prompts have the
/// same tag is below 1e-7.
const TAG_BITS: u32 = 64;

/// The smallest number of plain words that a tokenizer must have, so that prompts differ.
const FEWEST_WORDS: usize = 16;

/// A prompt with its number of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizedPrompt {
    /// The prompt.
    pub prompt: Prompt,
    /// The number of its tokens: counted by the tokenizer, or equal to the number of words of the prompt.
    pub counted: u32,
}

impl SizedPrompt {
    /// The request with this prompt. Its counted tokens include those that the server adds.
    pub fn request(self, context: &PromptContext, cell: CellPlan) -> Request {
        Request {
            counted_tokens: Some(self.counted + context.reserve),
            ..Request::new(self.prompt, cell.input_length, cell.output_length)
        }
    }
}

/// Checks that a tokenizer has enough plain words to make prompts.
///
/// # Errors
/// [`WorkloadError::TooFewPlainTokens`] if it has too few.
pub fn require_plain_words(tokenizer: &dyn Tokenizer) -> Result<(), WorkloadError> {
    let found = tokenizer.plain_ids().len();
    if found < FEWEST_WORDS {
        let (tokenizer, needed) = (tokenizer.name(), FEWEST_WORDS);
        return Err(WorkloadError::TooFewPlainTokens { tokenizer, found, needed });
    }
    Ok(())
}

/// A note if the number of tokens in which prompts can differ (`tokens`) is smaller than a full tag;
/// otherwise `None`.
pub fn short_tag(context: &PromptContext, tokens: u32) -> Option<Note> {
    let full = full_tag(context.tokenizer.plain_ids().len());
    (tokens < full).then_some(Note::ShortTag { tokens, full })
}

/// A note if some prompts do not have `length` tokens (without the tokens that the server adds);
/// otherwise `None`.
pub fn inexact(context: &PromptContext, made: &[SizedPrompt], length: u32) -> Option<Note> {
    let off = || made.iter().map(|made| made.counted).filter(|counted| *counted != length);
    let farthest = off().max_by_key(|counted| counted.abs_diff(length))?;
    Some(Note::Inexact {
        prompts: off().count() as u64,
        asked: length + context.reserve,
        farthest: farthest + context.reserve,
    })
}

/// An endless sequence of a tokenizer's plain words, drawn from a random stream.
pub struct Words<'a> {
    tokenizer: &'a dyn Tokenizer,
    rng: ChaCha8Rng,
}

impl<'a> Words<'a> {
    pub fn new(tokenizer: &'a dyn Tokenizer, rng: ChaCha8Rng) -> Self {
        Self { tokenizer, rng }
    }

    /// Draws the next word. Returns its position among the plain ids.
    fn position(&mut self) -> usize {
        seed::below(&mut self.rng, self.tokenizer.plain_ids().len() as u64) as usize
    }

    fn draw(&mut self) -> u32 {
        let position = self.position();
        self.tokenizer.plain_ids()[position]
    }

    /// Draws the next `count` words. Returns their positions among the plain ids.
    pub fn positions(&mut self, count: u32) -> Vec<usize> {
        (0..count).map(|_| self.position()).collect()
    }

    /// Draws the next `count` words. Returns their token ids.
    pub fn take(&mut self, count: u32) -> Vec<u32> {
        (0..count).map(|_| self.draw()).collect()
    }
}

/// The number of tokens of a full tag, which has at least [`TAG_BITS`] random bits. `plain_ids` is the
/// number of plain ids from which its tokens are drawn.
pub fn full_tag(plain_ids: usize) -> u32 {
    // Only integers are used, because the last digit of a logarithm may differ between machines.
    let (mut tags, mut tokens) = (1_u128, 0);
    while tags < 1 << TAG_BITS {
        tags = tags.saturating_mul(plain_ids.max(2) as u128);
        tokens += 1;
    }
    tokens
}

/// The number of tokens of the tag in a prompt of `length` tokens: at most half of the prompt.
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

/// If the tokenizer keeps words apart (no token spans two words), only one of this many texts is
/// counted, as a check.
const COUNTED_ONE_IN: usize = 256;

/// Makes `count` texts, in the fastest way that the tokenizer allows.
///
/// * If the tokenizer keeps words apart, n words are n tokens. Text `i` is joined from the words at
///   `positions(i)`. Only one text in 256 is counted, as a check, if no test of this program has shown it.
/// * If the tokenizer has only the texts of the words, or if the check fails, texts are joined in the same
///   way, and all are counted. If the count of text `i` is wrong, `search(i)` makes the text instead.
/// * If the tokenizer does not have the texts of the words, `search` makes all texts. It counts tokens and
///   corrects the text.
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
    if plain.encodes_exactly {
        let composed = context.make(count, |at| {
            let words = positions(at);
            let counted = words.len() as u32;
            Ok::<_, TokenizerError>(SizedPrompt {
                prompt: Prompt::Text(plain.text(&words)),
                counted,
            })
        })?;
        if plain.is_proved {
            return Ok(composed);
        }
        let holds = context.in_order(count.div_ceil(COUNTED_ONE_IN), |part| {
            let made = &composed[part * COUNTED_ONE_IN];
            let Prompt::Text(text) = &made.prompt else { return Ok(true) };
            Ok::<_, TokenizerError>(tokenizer.count(text)? == made.counted)
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

/// The text of the words at these positions; `None` if it does not have one token for each word.
fn composed(
    tokenizer: &dyn Tokenizer,
    plain: &PlainWords,
    positions: &[usize],
) -> Result<Option<SizedPrompt>, TokenizerError> {
    let (text, counted) = (plain.text(positions), positions.len() as u32);
    let holds = tokenizer.count(&text)? == counted;
    Ok(holds.then_some(SizedPrompt { prompt: Prompt::Text(text), counted }))
}

/// A prompt of `length` tokens: the text `head`, followed by words.
pub fn words_after(
    tokenizer: &dyn Tokenizer,
    words: &mut Words,
    length: u32,
    head: &str,
) -> Result<SizedPrompt, TokenizerError> {
    text_after(tokenizer, words, length, head, &[])
}

/// A prompt of the plain ids at these positions. If their text has another number of tokens, the end of
/// the text is corrected with words from `words`.
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
        (PromptForm::Text, Some(plain)) if plain.encodes_exactly => {
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

/// A prompt of `length` tokens: a tag of `tag` words, a line break, and as many tokens of `body` as fit. If
/// `tag` is 0, there is no line break. `body` is never cut within a character. If tokens are missing, words
/// follow.
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

/// A prompt of `length` tokens: the text `head`, the text of the first tokens of `body`, and words. If no
/// attempt has exactly this length, the result is the attempt with the nearest length.
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
        // Two neighbouring words may form one token together, so the last word is replaced by another
        // word.
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
        // If `body` ends within a character, the text ends with a replacement character, which is
        // removed.
        text.push_str(tokenizer.decode(body)?.trim_end_matches('\u{fffd}'));
    }
    if !filler.is_empty() {
        let words = tokenizer.decode(filler)?;
        // Some tokenizers drop the space before the first word when they decode, so the space is added.
        // Chinese characters need no space.
        let is_separate = words.starts_with(|first: char| first == ' ' || is_han(first));
        if !text.is_empty() && !is_separate {
            text.push(' ');
        }
        text.push_str(&words);
    }
    Ok(text)
}
