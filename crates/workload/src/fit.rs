//! Text of an exact number of tokens. Decoding tokens and encoding the text again may give another
//! number of them, so the text is counted, corrected and counted again, a bounded number of times;
//! what is returned says what was counted, and never claims more.

use inferometer_model::request::Prompt;
use inferometer_model::tokenizer::{PlainWords, Tokenizer, TokenizerError};
use inferometer_stats::seed;
use rand_chacha::ChaCha8Rng;

use crate::parallel;
use crate::place::PromptForm;
use crate::requests::Shared;
use crate::tokenizer::is_han;

/// Corrections of one prompt.
const TRIES: u32 = 32;

/// Corrections by length alone, before words are replaced as well.
const PLAIN_TRIES: u32 = 4;

/// Bits that tell one prompt's tag from another's: among a million prompts, two have the same tag
/// with a probability below 1e-7.
const TAG_BITS: u32 = 64;

/// A prompt and the tokens it has by the tokenizer that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The prompt.
    pub prompt: Prompt,
    /// Its tokens, counted.
    pub counted: u32,
}

/// Seeded words of a tokenizer.
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

/// Tokens of a full tag for a vocabulary with so many plain ids: enough to be unique.
pub fn full_tag(plain_ids: usize) -> u32 {
    // Whole numbers, for a logarithm is another in the last digit on another machine.
    let (mut tags, mut tokens) = (1_u128, 0);
    while tags < 1 << TAG_BITS {
        tags = tags.saturating_mul(plain_ids.max(2) as u128);
        tokens += 1;
    }
    tokens
}

/// Tokens of the tag of a prompt of `length` tokens: at most half of it.
pub fn tag_of(length: u32, plain_ids: usize) -> u32 {
    full_tag(plain_ids).min(length / 2)
}

/// Words whose text has `length` tokens.
pub fn words(
    tokenizer: &dyn Tokenizer,
    words: &mut Words,
    length: u32,
) -> Result<Made, TokenizerError> {
    text_after(tokenizer, words, length, "", &[])
}

/// Of prompts that are put together from words that stand apart, one in so many is counted.
const COUNTED_ONE_IN: usize = 256;

/// `count` texts of words, each put together from the words of `positions` where the tokenizer has
/// them as text. Where it keeps them apart, one text in 256 is counted to see that it does; if not,
/// each is counted. What has another length is made by `search`, which counts and corrects.
pub fn texts(
    shared: &Shared,
    count: usize,
    positions: impl Fn(usize) -> Vec<usize> + Sync,
    search: impl Fn(usize) -> Result<Made, TokenizerError> + Sync,
) -> Result<Vec<Made>, TokenizerError> {
    let tokenizer = shared.tokenizer.as_ref();
    let Some(plain) = tokenizer.plain_words() else {
        return shared.make(count, search);
    };
    if plain.apart {
        let composed = shared.make(count, |at| {
            let words = positions(at);
            let counted = words.len() as u32;
            Ok::<_, TokenizerError>(Made { prompt: Prompt::Text(plain.text(&words)), counted })
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
    shared.make(count, |at| match composed(tokenizer, plain, &positions(at))? {
        Some(made) => Ok(made),
        None => search(at),
    })
}

/// The text of these words, if it has as many tokens.
fn composed(
    tokenizer: &dyn Tokenizer,
    plain: &PlainWords,
    positions: &[usize],
) -> Result<Option<Made>, TokenizerError> {
    let (text, counted) = (plain.text(positions), positions.len() as u32);
    let holds = tokenizer.count(&text)? == counted;
    Ok(holds.then_some(Made { prompt: Prompt::Text(text), counted }))
}

/// The text `head`, then words: `length` tokens together.
pub fn words_behind(
    tokenizer: &dyn Tokenizer,
    words: &mut Words,
    length: u32,
    head: &str,
) -> Result<Made, TokenizerError> {
    text_after(tokenizer, words, length, head, &[])
}

/// The words at these positions among the plain ids; `words` supplies others where their text has
/// not as many tokens.
pub fn at_positions(
    tokenizer: &dyn Tokenizer,
    words: &mut Words,
    positions: &[usize],
    form: PromptForm,
) -> Result<Made, TokenizerError> {
    let counted = positions.len() as u32;
    let ids = || -> Vec<u32> {
        positions.iter().map(|&position| tokenizer.plain_ids()[position]).collect()
    };
    match (form, tokenizer.plain_words()) {
        (PromptForm::TokenIds, _) => {
            return Ok(Made { prompt: Prompt::TokenIds(ids()), counted });
        }
        (PromptForm::Text, Some(plain)) if plain.apart => {
            return Ok(Made { prompt: Prompt::Text(plain.text(positions)), counted });
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

/// The tag of `tag` words, then as much of `body` as fits; then further words, where cutting at a
/// whole character left room.
pub fn tagged(
    tokenizer: &dyn Tokenizer,
    words: &mut Words,
    length: u32,
    tag: u32,
    body: &[u32],
) -> Result<Made, TokenizerError> {
    let mut head = tokenizer.decode(&words.take(tag))?;
    if !head.is_empty() {
        head.push('\n');
    }
    text_after(tokenizer, words, length, &head, &body[..body.len().min((length - tag) as usize)])
}

/// `head`, then the text of a prefix of `body`, then words: `length` tokens together.
fn text_after(
    tokenizer: &dyn Tokenizer,
    words: &mut Words,
    length: u32,
    head: &str,
    body: &[u32],
) -> Result<Made, TokenizerError> {
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
        // Two words that grew together come apart when one of them is another word.
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
    let (text, counted) = best.expect("invariant: there is at least one try");
    Ok(Made { prompt: Prompt::Text(text), counted })
}

fn joined(
    tokenizer: &dyn Tokenizer,
    head: &str,
    body: &[u32],
    filler: &[u32],
) -> Result<String, TokenizerError> {
    let mut text = head.to_owned();
    if !body.is_empty() {
        // A cut inside a character leaves a replacement character, which is no text of the source.
        text.push_str(tokenizer.decode(body)?.trim_end_matches('\u{fffd}'));
    }
    if !filler.is_empty() {
        let words = tokenizer.decode(filler)?;
        // Some tokenizers drop the space before the first word; Chinese characters have none.
        let apart = words.starts_with(|first: char| first == ' ' || is_han(first));
        if !text.is_empty() && !apart {
            text.push(' ');
        }
        text.push_str(&words);
    }
    Ok(text)
}
