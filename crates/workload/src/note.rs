//! Notes on differences between the prompts of a pass and the plan. A note is never an error: the
//! requests are sent, and the report states the difference.

use std::fmt;

/// A difference between the prompts of a pass and the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum Note {
    /// Prompts that do not have the requested length. `asked`: the requested length of the prompt with the largest
    /// difference, in tokens.
    Inexact { prompts: u64, asked: u32, farthest: u32 },
    /// Prompts that are too short for a full tag, so that some of them may be equal. `tokens`: the number of tokens
    /// in which the prompts can differ.
    ShortTag { tokens: u32, full: u32 },
    /// Prompts with a conversation that an earlier prompt of the run already had. Such prompts differ from the
    /// earlier ones only in their tags, if they have tags. `available`: the number of conversations that the pass can
    /// use. With input lengths, these are the conversations of the requested length. Without input lengths, these are
    /// the conversations within the limits of the plan.
    Reused { prompts: u64, available: u64 },
    /// Prompts whose rows were sent earlier in the run.
    RowsAgain { prompts: u64, rows: u64, sent: u64 },
    /// Pictures or sounds of files are sent again. `files`: the number of files of this kind.
    FilesAgain { kind: &'static str, files: u64 },
    /// Prompts without a turn that their conversation has before them.
    TurnLeftOut { prompts: u64, turn: &'static str },
    /// Blocks that may overlap an earlier block of the run. In the first n rounds through the corpus, no two blocks
    /// of n characters begin at the same character. `available`: the number of blocks of this size in the corpus that
    /// do not overlap.
    Overlapping { prompts: u64, available: u64 },
}

impl Note {
    /// Whether the note depends on the prompts of earlier passes.
    pub fn depends_on_earlier(&self) -> bool {
        match self {
            Self::Reused { .. }
            | Self::RowsAgain { .. }
            | Self::Overlapping { .. }
            | Self::FilesAgain { .. } => true,
            Self::Inexact { .. } | Self::ShortTag { .. } | Self::TurnLeftOut { .. } => false,
        }
    }

    /// Adds the note of a chunk of requests to the notes of earlier chunks. All notes on inexact lengths
    /// become one note, and all notes on short tags become one note. Of other equal notes, only one
    /// remains.
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
                "{} not have exactly the requested number of tokens (the largest difference: \
                    {farthest} instead of {asked})",
                many(*prompts, "prompt does", "prompts do")
            ),
            Self::ShortTag { tokens, full } => write!(
                f,
                "prompts can differ only in {tokens} tokens, so some may be equal; with {full} \
                    tokens, equal prompts are practically impossible"
            ),
            Self::RowsAgain { prompts, rows, sent } => write!(
                f,
                "{} sent before in the same run or its warm-up, because the pass has {sent} \
                    requests (--requests, --one-by-one) and the file has only {rows} usable rows: a cache may have \
                    answered them",
                many(*prompts, "prompt was", "prompts were")
            ),
            Self::FilesAgain { kind, files } => write!(
                f,
                "the folder has {} with {kind}, fewer than are sent, so they repeat: a cache may have answered them",
                many(*files, "file", "files")
            ),
            Self::TurnLeftOut { prompts, turn } => {
                write!(f, "{} sent without {turn}", many(*prompts, "prompt is", "prompts are"))
            }
            Self::Reused { prompts, available } => write!(
                f,
                "{} a conversation again: the data set has only {available} conversations of a \
                    suitable length, fewer than --requests",
                many(*prompts, "prompt uses", "prompts use")
            ),
            Self::Overlapping { prompts, available } => write!(
                f,
                "{} earlier blocks: the corpus has only {available} blocks of that size without \
                    overlap",
                many(*prompts, "block overlaps", "blocks overlap")
            ),
        }
    }
}

/// A count with its noun and verb: `1 prompt was`, `2 prompts were`.
fn many(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}
