//! The source of prompts in its resolved form.

use serde::{Deserialize, Serialize};

use super::{blocks::InFlight, serving::ServingLimits};
use crate::template::{BlockPass, Template};
use crate::{AgentsPlan, ClassPlan, ClassesPlan, DrawnPlan, PrefixPlan, RowsPlan, TracePlan};
use inferometer_model::load::conversation::{ConversationPlan, TurnsFrom};
use inferometer_model::metrics::request_objective::RequestObjective;
use inferometer_model::{CellPlan, PassPlan};

/// The source of prompts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadPlan {
    /// Seeded words of the tokenizer's vocabulary.
    Random,
    /// Seeded words with lengths that vary, or with a prefix that all prompts share.
    Drawn(DrawnPlan),
    /// Classes of traffic, each with seeded words of its own lengths.
    Classes(ClassesPlan),
    /// Seeded words in groups of prompts with a shared prefix.
    Prefix(PrefixPlan),
    /// Rows of the user's own data.
    Rows(RowsPlan),
    /// The requests of an earlier run, sent again.
    Replay {
        /// The file that `--dump-workload` wrote.
        dataset: String,
    },
    /// First turns of the conversations in a ShareGPT file, cut to the lengths of the grid.
    Sharegpt {
        /// The path of the JSON file, or the name of a fetched data set.
        dataset: String,
    },
    /// Lengths and arrival times from a trace of production traffic, with seeded words as prompts.
    Trace(TracePlan),
    /// Jobs of a trace of agents, with seeded words or the recorded messages as prompts.
    Agents(AgentsPlan),
    /// Conversations of several turns. Each request contains all earlier turns and answers.
    Conversation(ConversationPlan),
    /// The unchanged first turns of the conversations in a ShareGPT file. The output length of each request
    /// is the length of the recorded answer, as in the serving benchmark of vLLM.
    ServingRun {
        /// The path of the JSON file, or the name of a fetched data set.
        dataset: String,
        /// The limits that decide which conversations are used.
        limits: ServingLimits,
    },
    /// Blocks of a corpus in a template that asks for a text of about a given number of characters.
    Blocks {
        /// A file, a folder, `shipped-zh` or `shipped-en`.
        corpus: String,
        /// The template around a block.
        template: Template,
        /// The number of requests in flight for each size of block; empty if the user gives the loads.
        in_flight: Vec<InFlight>,
        /// The maximum number of output tokens of a request; absent: derived from the requested length.
        max_output_tokens: Option<u32>,
    },
}

/// The axes of a workload's grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// Input lengths and output lengths, in tokens.
    Tokens,
    /// Block sizes and requested lengths, in characters.
    Characters,
    /// One cell, [`CellPlan::OWN`]: each request has its own lengths.
    Own,
}

impl WorkloadPlan {
    /// The name that selects the workload in a plan file or by a flag.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Random | Self::Drawn(_) | Self::Classes(_) => "random",
            Self::Prefix(_) => "prefix",
            Self::Rows(plan) => plan.format.name(),
            Self::Replay { .. } => "replay",
            Self::Trace(_) => "trace",
            Self::Agents(_) => "agents",
            Self::Conversation(_) => "conversation",
            Self::Sharegpt { .. } | Self::ServingRun { .. } => "sharegpt",
            Self::Blocks { .. } => "blocks",
        }
    }

    /// The axes of the grid of this workload.
    pub fn grid(&self) -> Grid {
        match self {
            Self::Drawn(plan) if plan.input.is_own() && plan.output.is_own() => Grid::Own,
            Self::Rows(_) | Self::Trace(_) | Self::Classes(_) => Grid::Own,
            Self::Agents(_) | Self::Conversation(_) => Grid::Own,
            Self::ServingRun { .. } => Grid::Own,
            Self::Blocks { .. } => Grid::Characters,
            _ => Grid::Tokens,
        }
    }

    /// The file, the folder or the name of the data set, if the workload has one.
    pub fn dataset(&self) -> Option<&str> {
        match self {
            Self::Replay { dataset } => Some(dataset),
            Self::Rows(plan) => Some(&plan.dataset),
            Self::Trace(plan) => Some(&plan.dataset),
            Self::Agents(plan) => Some(&plan.dataset),
            Self::Conversation(plan) => match &plan.turns {
                TurnsFrom::Random { .. } => None,
                TurnsFrom::Sharegpt { dataset, .. } => Some(dataset),
            },
            Self::Sharegpt { dataset } | Self::ServingRun { dataset, .. } => Some(dataset),
            Self::Blocks { corpus, .. } => (!corpus.starts_with("shipped-")).then_some(corpus),
            Self::Random | Self::Drawn(_) | Self::Classes(_) | Self::Prefix(_) => None,
        }
    }

    /// Whether requests wait for the ends of others: the calls of jobs, or the turns of conversations.
    pub fn has_jobs(&self) -> bool {
        matches!(self, Self::Agents(_) | Self::Conversation(_))
    }

    /// Two facts: whether each request has its own input length, and whether each request has its own
    /// output length, instead of a length of the grid.
    pub fn own_axes(&self) -> (bool, bool) {
        match self {
            Self::Drawn(plan) => (plan.input.is_own(), plan.output.is_own()),
            _ => (self.grid() == Grid::Own, self.grid() == Grid::Own),
        }
    }

    /// The number of tokens of the shared prefix of prompts; 0 if the workload has none.
    pub fn prefix_length(&self) -> u32 {
        match self {
            Self::Drawn(plan) => plan.prefix_length,
            Self::Prefix(plan) => plan.prefix_length,
            _ => 0,
        }
    }

    /// The classes of traffic of a pass, with their objectives; empty for other workloads.
    pub fn class_objectives(&self, pass: &PassPlan) -> Vec<(&str, &[RequestObjective])> {
        let (Self::Classes(ClassesPlan(classes)), PassPlan::Mixed(load)) = (self, pass) else {
            return Vec::new();
        };
        let is_in = |class: &&ClassPlan| load.classes.contains(&class.arrivals);
        let of = classes.iter().filter(is_in);
        of.map(|class| (class.arrivals.name.as_str(), class.goodput.as_slice())).collect()
    }

    /// The template of text blocks; `None` for other workloads. If the template is a file, the text of the
    /// file has not been read yet.
    pub fn template_mut(&mut self) -> Option<&mut Template> {
        match self {
            Self::Blocks { template, .. } => Some(template),
            _ => None,
        }
    }

    /// The number of requests in flight in a cell of text blocks. `None` for other workloads, and if no number
    /// is set for this size of block.
    pub fn in_flight(&self, cell: CellPlan) -> Option<u32> {
        let Self::Blocks { in_flight, .. } = self else { return None };
        let of = in_flight.iter().find(|of| of.block_chars == cell.input_length)?;
        Some(of.concurrency)
    }

    /// The facts of a pass over text blocks that records do not contain; `None` for other workloads.
    /// `origin_unix_ns` is the wall-clock time at which the run's monotonic clock is 0, in nanoseconds since
    /// 1970.
    pub fn block_pass(&self, cell: CellPlan, origin_unix_ns: i64) -> Option<BlockPass> {
        let Self::Blocks { template, .. } = self else { return None };
        let (block_chars, wanted_chars) = (cell.input_length, cell.output_length);
        let prompt_chars = template.prompt_chars(block_chars, wanted_chars).ok()?;
        Some(BlockPass { block_chars, wanted_chars, prompt_chars, origin_unix_ns })
    }
}
