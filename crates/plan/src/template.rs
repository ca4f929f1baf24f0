//! The prompt around a block: a text with named fields. This module opens no file.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// A template, and the text before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    /// The name of one of [`TEMPLATES`], or the file of the template.
    pub name: String,
    /// The text, with the fields `{text}` (the block) and `{num_completion}` (the requested number of
    /// characters). `{{` and `}}` stand for single braces.
    pub text: String,
    /// The text before the template in every prompt. It has no fields, and is usually empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preamble: String,
}

/// A built-in template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltInTemplate {
    /// The name that selects the template. It ends with the language, such as `-en`.
    pub name: &'static str,
    /// The text.
    pub text: &'static str,
    /// A short description of the task in the template.
    pub asks: &'static str,
}

/// The built-in templates. The first one is exactly that of the published log of SUS-Chat-34B.
pub static TEMPLATES: [BuiltInTemplate; 8] = inferometer_model::table! { BuiltInTemplate { name, text, asks }
    ("continue-zh", "\"\"\"\n{text}\n\"\"\"\n\n阅读上面的文本，续写后面的内容, 要求续写 {num_completion} 个字左右:\n",
     "continue a text (Chinese; as in the published log of SUS-Chat-34B)")
    ("continue-en",
     "\"\"\"\n{text}\n\"\"\"\n\nRead the text above and continue it. Write about {num_completion} characters:\n",
     "continue a text (English)")
    ("repeat-zh", "\"\"\"\n{text}\n\"\"\"\n\n重复上面的文本, 需要时从头再来, 直到写满 {num_completion} 个字左右:\n",
     "repeat a text, again from its start if it is too short (Chinese)")
    ("repeat-en",
     "\"\"\"\n{text}\n\"\"\"\n\nRepeat the text above, from its start again where it ends, until you have written \
      about {num_completion} characters:\n", "repeat a text, again from its start if it is too short (English)")
    ("summarise-zh", "\"\"\"\n{text}\n\"\"\"\n\n阅读上面的文本, 总结其内容, 要求总结为 {num_completion} 个字左右:\n",
     "summarise a text (Chinese)")
    ("summarise-en", "\"\"\"\n{text}\n\"\"\"\n\nSummarise the text above in about {num_completion} characters:\n",
     "summarise a text (English)")
    ("translate-zh", "\"\"\"\n{text}\n\"\"\"\n\n将上面的文本翻译成英文, 要求译文 {num_completion} 个字符左右:\n",
     "translate a text into English (instruction in Chinese)")
    ("translate-en",
     "\"\"\"\n{text}\n\"\"\"\n\nTranslate the text above into Chinese, in about {num_completion} characters:\n",
     "translate a text into Chinese (instruction in English)")
};

/// What is wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// An unknown field.
    #[error(
        "has the unknown field `{{{0}}}`; the fields are {{text}} and {{num_completion}}; write {{{{ \
            for a brace"
    )]
    UnknownField(String),
    /// A single brace that does not belong to a field.
    #[error("has a single brace at character {0}; write {{{{ or }}}} for a brace")]
    LoneBrace(usize),
    /// A required field is missing.
    #[error("has no {{{0}}}: a template must contain the block and the requested length")]
    MissingField(&'static str),
}

enum Part {
    Literal(String),
    Text,
    NumCompletion,
}

impl Template {
    /// A built-in template by its name.
    pub fn named(name: &str) -> Option<Self> {
        let known = TEMPLATES.iter().find(|template| template.name == name)?;
        Some(Self { name: name.to_owned(), text: known.text.to_owned(), preamble: String::new() })
    }

    /// Checks that the template can be filled in.
    ///
    /// # Errors
    /// If a field is unknown or missing, or a brace does not belong to a field.
    pub fn check(&self) -> Result<(), TemplateError> {
        let parts = parts(&self.text)?;
        if !parts.iter().any(|part| matches!(part, Part::Text)) {
            return Err(TemplateError::MissingField("text"));
        }
        if !parts.iter().any(|part| matches!(part, Part::NumCompletion)) {
            return Err(TemplateError::MissingField("num_completion"));
        }
        Ok(())
    }

    /// Returns the prompt for a block and a requested number of characters.
    ///
    /// # Errors
    /// If a field is unknown, or a brace does not belong to a field.
    pub fn fill(&self, block: &str, wanted_chars: u32) -> Result<String, TemplateError> {
        let mut out = self.preamble.clone();
        for part in parts(&self.text)? {
            match part {
                Part::Literal(text) => out += &text,
                Part::Text => out += block,
                Part::NumCompletion => {
                    let _ = write!(out, "{wanted_chars}");
                }
            }
        }
        Ok(out)
    }

    /// The number of characters of a prompt with a block of `block_chars` characters, including template
    /// and preamble.
    ///
    /// # Errors
    /// If a field is unknown, or a brace does not belong to a field.
    pub fn prompt_chars(&self, block_chars: u32, wanted_chars: u32) -> Result<u64, TemplateError> {
        let blocks = parts(&self.text)?.iter().filter(|part| matches!(part, Part::Text)).count();
        let around = self.fill("", wanted_chars)?.chars().count() as u64;
        Ok(around + u64::from(block_chars) * blocks as u64)
    }
}

fn parts(text: &str) -> Result<Vec<Part>, TemplateError> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut characters = text.chars().enumerate().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '{' | '}' if characters.next_if(|(_, next)| *next == character).is_some() => {
                literal.push(character);
            }
            '{' => {
                let mut name = String::new();
                loop {
                    match characters.next() {
                        Some((_, '}')) => break,
                        Some((_, inner)) if inner != '{' && inner != '\n' => name.push(inner),
                        _ => return Err(TemplateError::LoneBrace(at + 1)),
                    }
                }
                parts.push(Part::Literal(std::mem::take(&mut literal)));
                parts.push(match name.as_str() {
                    "text" => Part::Text,
                    "num_completion" => Part::NumCompletion,
                    _ => return Err(TemplateError::UnknownField(name)),
                });
            }
            '}' => return Err(TemplateError::LoneBrace(at + 1)),
            other => literal.push(other),
        }
    }
    parts.push(Part::Literal(literal));
    Ok(parts)
}

/// The facts of a pass over text blocks that records do not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPass {
    /// Characters of a block.
    pub block_chars: u32,
    /// The requested length in characters.
    pub wanted_chars: u32,
    /// Characters of each prompt: [`Template::prompt_chars`].
    pub prompt_chars: u64,
    /// The wall-clock time at which the run's monotonic clock is 0, in nanoseconds since 1970.
    pub origin_unix_ns: i64,
}
