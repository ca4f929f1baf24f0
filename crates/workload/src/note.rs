//! How the prompts of a pass may differ from what was asked for. A note is never an error: requests
//! are sent, and the report says what differs.

use std::fmt;

/// How the prompts of a pass differ from what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Prompts whose length is not the one that was asked for.
    Inexact {
        /// How many.
        prompts: u64,
        /// The length asked for.
        asked: u32,
        /// The length that differs most from it.
        farthest: u32,
    },
    /// Prompts too short for a full tag, so that some may repeat within the run.
    ShortTag {
        /// Tokens of the tag that they have.
        tokens: u32,
        /// Tokens of a full tag.
        full: u32,
    },
    /// Prompts that use a conversation again: behind the tag they repeat an earlier prompt.
    Reused {
        /// How many.
        prompts: u64,
        /// Conversations of the length that was asked for.
        available: u64,
    },
    /// Prompts whose rows the run has sent before.
    RowsAgain {
        /// How many.
        prompts: u64,
        /// Rows that can be used.
        rows: u64,
    },
    /// Blocks that overlap an earlier block of the run. No two blocks begin at the same character.
    Overlapping {
        /// How many.
        prompts: u64,
        /// Blocks of that size that do not overlap.
        available: u64,
    },
}

impl Note {
    /// Whether it depends on the prompts of earlier passes.
    pub fn depends_on_earlier(&self) -> bool {
        match self {
            Self::Reused { .. } | Self::RowsAgain { .. } | Self::Overlapping { .. } => true,
            Self::Inexact { .. } | Self::ShortTag { .. } => false,
        }
    }

    /// Adds the note of a chunk to those of the chunks before it; notes of one kind are merged.
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
                "{} not have exactly the requested tokens (the largest difference: {farthest} \
                    instead of {asked})",
                many(*prompts, "prompt does", "prompts do")
            ),
            Self::ShortTag { tokens, full } => write!(
                f,
                "prompts differ in {tokens} tokens; {full} would make them certainly unique"
            ),
            Self::RowsAgain { prompts, rows } => write!(
                f,
                "{} sent before in the same run or its warm-up, because the file has only {rows} \
                    usable rows: a cache may have answered them",
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
