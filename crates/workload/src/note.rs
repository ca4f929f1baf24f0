//! How the prompts of a pass may differ from what the plan asks for. A note is never an error: the
//! requests are sent, and the report states the difference.

use std::fmt;

/// How the prompts of a pass differ from what the plan asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Prompts that do not have the requested length.
    Inexact {
        /// How many.
        prompts: u64,
        /// The requested length, in tokens.
        asked: u32,
        /// The counted length that differs most from it, in tokens.
        farthest: u32,
    },
    /// Prompts that are too short for a full tag. Some may repeat within the run.
    ShortTag {
        /// The tokens of their tag.
        tokens: u32,
        /// The tokens of a full tag.
        full: u32,
    },
    /// Prompts that use a conversation again. Without their tag, if they have one, they repeat an earlier
    /// prompt.
    Reused {
        /// How many.
        prompts: u64,
        /// The number of conversations that have the requested length, or are within the limits of the serving run.
        available: u64,
    },
    /// Prompts whose rows were sent earlier in the run.
    RowsAgain {
        /// How many.
        prompts: u64,
        /// The number of usable rows.
        rows: u64,
    },
    /// Blocks that may overlap an earlier block of the run. With blocks of n characters, no two begin at
    /// the same character in the first n rounds through the corpus.
    Overlapping {
        /// How many.
        prompts: u64,
        /// The number of blocks of that size that do not overlap.
        available: u64,
    },
}

impl Note {
    /// Whether the note depends on the prompts of earlier passes.
    pub fn depends_on_earlier(&self) -> bool {
        match self {
            Self::Reused { .. } | Self::RowsAgain { .. } | Self::Overlapping { .. } => true,
            Self::Inexact { .. } | Self::ShortTag { .. } => false,
        }
    }

    /// Adds the note of a chunk to those of the chunks before it. Notes of inexact lengths become one
    /// note, and so do notes of short tags. Of equal notes, one is kept.
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
