//! Where prompts come from: one variant for each workload, with all of its options resolved.

use serde::{Deserialize, Serialize};

/// Where prompts come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadPlan {
    /// Seeded words of the tokenizer's vocabulary.
    Random,
    /// First turns of the conversations of a ShareGPT file, cut to length.
    Sharegpt {
        /// The JSON file.
        dataset: String,
    },
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
            Self::Random => "random",
            Self::Sharegpt { .. } => "sharegpt",
        }
    }

    /// What its cells are.
    #[must_use]
    pub fn grid(&self) -> Grid {
        match self {
            Self::Random | Self::Sharegpt { .. } => Grid::Tokens,
        }
    }

    /// The data set's file, where it has one.
    #[must_use]
    pub fn dataset(&self) -> Option<&str> {
        match self {
            Self::Random => None,
            Self::Sharegpt { dataset } => Some(dataset),
        }
    }
}
