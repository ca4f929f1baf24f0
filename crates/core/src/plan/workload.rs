//! Where prompts come from: one variant for each workload, with all of its options resolved.

use serde::{Deserialize, Serialize};

use super::{DrawnPlan, PrefixPlan, RowsPlan, TracePlan};
use crate::conversation::{ConversationPlan, TurnsFrom};

/// Where prompts come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadPlan {
    /// Seeded words of the tokenizer's vocabulary.
    Random,
    /// The same with lengths that vary, or a beginning that all prompts share.
    Drawn(DrawnPlan),
    /// Seeded words in groups of prompts that share a beginning.
    Prefix(PrefixPlan),
    /// Rows of one's own.
    Rows(RowsPlan),
    /// The requests of a run, sent again.
    Replay {
        /// The file that `--dump-workload` wrote.
        dataset: String,
    },
    /// First turns of the conversations of a ShareGPT file, cut to length.
    Sharegpt {
        /// The JSON file.
        dataset: String,
    },
    /// Lengths and instants of a trace of production traffic, filled with seeded words.
    Trace(TracePlan),
    /// Conversations of several turns, each of which carries the answers before it.
    Conversation(ConversationPlan),
}

/// What the cells of a workload's grid are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// Input by output lengths, in tokens.
    Tokens,
    /// One cell, [`super::CellPlan::OWN`]: the requests have lengths of their own.
    Own,
}

impl WorkloadPlan {
    /// The name that selects it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Random | Self::Drawn(_) => "random",
            Self::Prefix(_) => "prefix",
            Self::Rows(plan) => plan.format.name(),
            Self::Replay { .. } => "replay",
            Self::Sharegpt { .. } => "sharegpt",
            Self::Trace(_) => "trace",
            Self::Conversation(_) => "conversation",
        }
    }

    /// What its cells are.
    #[must_use]
    pub fn grid(&self) -> Grid {
        match self {
            Self::Random | Self::Sharegpt { .. } | Self::Prefix(_) => Grid::Tokens,
            Self::Drawn(plan) if plan.input.is_own() && plan.output.is_own() => Grid::Own,
            Self::Drawn(_) | Self::Replay { .. } => Grid::Tokens,
            Self::Rows(_) | Self::Trace(_) | Self::Conversation(_) => Grid::Own,
        }
    }

    /// The data set's file, where it has one.
    #[must_use]
    pub fn dataset(&self) -> Option<&str> {
        match self {
            Self::Random | Self::Drawn(_) | Self::Prefix(_) => None,
            Self::Sharegpt { dataset } | Self::Replay { dataset } => Some(dataset),
            Self::Rows(plan) => Some(&plan.dataset),
            Self::Trace(plan) => Some(&plan.dataset),
            Self::Conversation(plan) => match &plan.turns {
                TurnsFrom::Random { .. } => None,
                TurnsFrom::Sharegpt { dataset, .. } => Some(dataset),
            },
        }
    }

    /// Whether input and output lengths are the requests' own, where the other is the grid's.
    #[must_use]
    pub fn own_axes(&self) -> (bool, bool) {
        match self {
            Self::Drawn(plan) => (plan.input.is_own(), plan.output.is_own()),
            _ => (self.grid() == Grid::Own, self.grid() == Grid::Own),
        }
    }

    /// Tokens of a prompt that others share by intention.
    #[must_use]
    pub fn prefix_length(&self) -> u32 {
        match self {
            Self::Drawn(plan) => plan.prefix_length,
            Self::Prefix(plan) => plan.prefix_length,
            _ => 0,
        }
    }
}
