//! Reads the values of flags, and collects mistakes in them and notes for users.

use std::{fmt::Display, str::FromStr};

use super::given::GivenFlags;

/// The flags, with the mistakes and notes that were collected so far.
pub struct Reader<'a> {
    given: &'a GivenFlags,
    /// The mistakes, each with its flag.
    pub mistakes: Vec<String>,
    /// Notes for users about differences from vLLM.
    pub notes: Vec<String>,
}

impl<'a> Reader<'a> {
    pub fn new(given: &'a GivenFlags) -> Self {
        Self { given, mistakes: Vec::new(), notes: Vec::new() }
    }

    /// The given flags.
    pub fn given(&self) -> &'a GivenFlags {
        self.given
    }

    /// Whether the flag was given.
    pub fn has(&self, flag: &str) -> bool {
        self.given.values(flag).is_some()
    }

    /// The first value of a flag; None if the flag is absent or has no value.
    pub fn text(&self, flag: &str) -> Option<&'a str> {
        self.given.values(flag)?.first().map(String::as_str)
    }

    /// All values of a flag; None if the flag is absent.
    pub fn many(&self, flag: &str) -> Option<&'a [String]> {
        self.given.values(flag)
    }

    /// Parses the value of a flag as a number. If it is not a number, or if `is_taken` returns false, adds a mistake
    /// which states that the value is not `what`.
    pub fn number<T: FromStr>(
        &mut self,
        flag: &str,
        what: &str,
        is_taken: impl Fn(&T) -> bool,
    ) -> Option<T> {
        let text = self.text(flag)?;
        match text.parse() {
            Ok(number) if is_taken(&number) => Some(number),
            _ => {
                self.mistake(flag, format!("`{text}` is not {what}"));
                None
            }
        }
    }

    /// Parses the value of a flag as a whole number of at least 1.
    pub fn count(&mut self, flag: &str) -> Option<u32> {
        self.number(flag, "a whole number of at least 1", |count| *count > 0)
    }

    /// The values of a flag, each split at `sign` into key and value. Values without `sign` are recorded as mistakes.
    pub fn pairs(&mut self, flag: &str, sign: char) -> Vec<(&'a str, &'a str)> {
        let mut pairs = Vec::new();
        for text in self.many(flag).unwrap_or_default() {
            match text.split_once(sign) {
                Some((key, value)) => pairs.push((key.trim(), value.trim())),
                // The value may be an API key, so the message does not repeat it.
                None => self.mistake(flag, format!("a value is not KEY{sign}VALUE")),
            }
        }
        pairs
    }

    pub fn mistake(&mut self, flag: &str, problem: impl Display) {
        self.mistakes.push(format!("{flag}: {problem}"));
    }

    pub fn note(&mut self, flag: &str, note: impl Display) {
        self.notes.push(format!("{flag}: {note}"));
    }
}
