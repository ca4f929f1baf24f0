//! Where prompts come from: one variant for each workload, with all of its options resolved.

use serde::{Deserialize, Serialize};

use inferometer_model::cell::CellPlan;

use super::{DrawnPlan, PrefixPlan, RowsPlan, TracePlan};
use crate::template::{BlockPass, Template};
use inferometer_load::conversation::{ConversationPlan, TurnsFrom};

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
    /// First turns of the conversations of a ShareGPT file as they are, each with the length of
    /// the answer that it got: the serving run of vLLM's scripts.
    ServingRun {
        /// The JSON file.
        dataset: String,
        /// Which conversations are used.
        limits: ServingLimits,
    },
    /// Blocks of a corpus in a template that asks for a text of about so many characters.
    Blocks {
        /// A file, a folder, `shipped-zh` or `shipped-en`.
        corpus: String,
        /// What is asked about a block.
        template: Template,
        /// Requests in flight by the size of a block, where the loads are not the user's own.
        in_flight: Vec<InFlight>,
        /// The most output tokens of a request; absent: by the length asked for.
        max_output_tokens: Option<u32>,
    },
}

/// Which conversations of a ShareGPT file are used, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServingLimits {
    /// Prompts and answers shorter than this are left out.
    pub min_tokens: u32,
    /// Prompts longer than this are left out.
    pub max_prompt_tokens: u32,
    /// Prompts that are longer than this together with their answers are left out.
    pub max_total_tokens: u32,
    /// The output length of all requests, whatever the answers of the conversations have. A plan
    /// without it is written as it was before there was any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u32>,
}

impl ServingLimits {
    /// Those of vLLM's scripts, from 0.2 to today.
    pub const VLLM: Self = Self {
        min_tokens: 4,
        max_prompt_tokens: 1_024,
        max_total_tokens: 2_048,
        output_tokens: None,
    };
}

/// How many blocks of a size are in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// Characters of a block.
    pub block_chars: u32,
    /// Requests in flight.
    pub concurrency: u32,
}

/// What the cells of a workload's grid are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// Input by output lengths, in tokens.
    Tokens,
    /// Block sizes by lengths asked for, in characters.
    Characters,
    /// One cell, [`CellPlan::OWN`]: the requests have lengths of their own.
    Own,
}

impl WorkloadPlan {
    /// The name that selects it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Random | Self::Drawn(_) => "random",
            Self::Prefix(_) => "prefix",
            Self::Rows(plan) => plan.format.name(),
            Self::Replay { .. } => "replay",
            Self::Trace(_) => "trace",
            Self::Conversation(_) => "conversation",
            Self::Sharegpt { .. } | Self::ServingRun { .. } => "sharegpt",
            Self::Blocks { .. } => "blocks",
        }
    }

    /// What its cells are.
    pub fn grid(&self) -> Grid {
        match self {
            Self::Random | Self::Sharegpt { .. } | Self::Prefix(_) => Grid::Tokens,
            Self::Drawn(plan) if plan.input.is_own() && plan.output.is_own() => Grid::Own,
            Self::Drawn(_) | Self::Replay { .. } => Grid::Tokens,
            Self::Rows(_) | Self::Trace(_) | Self::Conversation(_) => Grid::Own,
            Self::ServingRun { .. } => Grid::Own,
            Self::Blocks { .. } => Grid::Characters,
        }
    }

    /// The data set's file, where it has one.
    pub fn dataset(&self) -> Option<&str> {
        match self {
            Self::Random | Self::Drawn(_) | Self::Prefix(_) => None,
            Self::Replay { dataset } => Some(dataset),
            Self::Rows(plan) => Some(&plan.dataset),
            Self::Trace(plan) => Some(&plan.dataset),
            Self::Conversation(plan) => match &plan.turns {
                TurnsFrom::Random { .. } => None,
                TurnsFrom::Sharegpt { dataset, .. } => Some(dataset),
            },
            Self::Sharegpt { dataset } | Self::ServingRun { dataset, .. } => Some(dataset),
            Self::Blocks { corpus, .. } => (!corpus.starts_with("shipped-")).then_some(corpus),
        }
    }

    /// Whether input and output lengths are the requests' own, where the other is the grid's.
    pub fn own_axes(&self) -> (bool, bool) {
        match self {
            Self::Drawn(plan) => (plan.input.is_own(), plan.output.is_own()),
            _ => (self.grid() == Grid::Own, self.grid() == Grid::Own),
        }
    }

    /// Tokens of a prompt that others share by intention.
    pub fn prefix_length(&self) -> u32 {
        match self {
            Self::Drawn(plan) => plan.prefix_length,
            Self::Prefix(plan) => plan.prefix_length,
            _ => 0,
        }
    }

    /// The template of text blocks, whose text may have to be read from its file first.
    pub fn template_mut(&mut self) -> Option<&mut Template> {
        match self {
            Self::Blocks { template, .. } => Some(template),
            _ => None,
        }
    }

    /// Requests in flight in a cell of text blocks, where they depend on the size of the block.
    pub fn in_flight(&self, cell: CellPlan) -> Option<u32> {
        let Self::Blocks { in_flight, .. } = self else { return None };
        let of = in_flight.iter().find(|of| of.block_chars == cell.input_length)?;
        Some(of.concurrency)
    }

    /// What records do not say of a pass over text blocks; nothing of another workload.
    /// `origin_unix_ns` is the wall time at which the monotonic axis of the run has its origin.
    pub fn block_pass(&self, cell: CellPlan, origin_unix_ns: i64) -> Option<BlockPass> {
        let Self::Blocks { template, .. } = self else { return None };
        let (block_chars, wanted_chars) = (cell.input_length, cell.output_length);
        let prompt_chars = template.prompt_chars(block_chars, wanted_chars).ok()?;
        Some(BlockPass { block_chars, wanted_chars, prompt_chars, origin_unix_ns })
    }
}
