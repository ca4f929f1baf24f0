//! The workload and its options, from what was asked for. A further workload is a name, its keys,
//! and an arm here.

use serde::{Deserialize, Serialize};

use super::blocks::BlockKeys;
use super::serving::ServingKeys;
use super::{ConversationKeys, DrawnKeys, Mistakes, RowsKeys, TraceKeys};
use crate::parts::RowsFormat;
use crate::parts::WorkloadPlan;
use inferometer_model::suggest::did_you_mean;

/// The keys of a plan that say where prompts come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkloadKeys {
    /// Where prompts come from: one of [`WORKLOADS`].
    pub workload: Option<String>,
    /// The data set's file.
    pub dataset: Option<String>,
    /// Those of seeded words.
    #[serde(flatten)]
    pub drawn: DrawnKeys,
    /// Those of rows of one's own.
    #[serde(flatten)]
    pub rows: RowsKeys,
    /// The scenario whose keys lie under those that were given.
    pub scenario: Option<String>,
    /// Those of a trace.
    #[serde(flatten)]
    pub trace: TraceKeys,
    /// Those of conversations.
    #[serde(flatten)]
    pub conversation: ConversationKeys,
    /// The options of `blocks`.
    #[serde(flatten)]
    pub blocks: BlockKeys,
    /// The options of `sharegpt` where conversations keep their own lengths.
    #[serde(flatten)]
    pub serving: ServingKeys,
}

/// What else was asked for, as far as a workload depends on it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    /// Input lengths, so that the grid is one of tokens.
    pub lengths: bool,
    /// Loads of the user's own.
    pub own_load: bool,
    /// Nothing at all: somebody tries the tool.
    pub is_demonstration: bool,
}

/// Every workload by name.
pub const WORKLOADS: [&str; 10] = [
    "random",
    "prefix",
    "sharegpt",
    "jsonl",
    "csv",
    "parquet",
    "replay",
    "trace",
    "conversation",
    "blocks",
];

impl WorkloadKeys {
    /// The workload; where it is not one, the mistakes are noted and a stand-in is returned.
    pub(crate) fn resolve(&self, asked: Asked, mistakes: &mut Mistakes) -> WorkloadPlan {
        self.unused(asked, mistakes);
        let name = self.name();
        self.drawn.refuse(name, mistakes);
        if !["jsonl", "csv", "parquet"].contains(&name) {
            self.rows.refuse(mistakes);
        }
        match name {
            "random" => {
                self.no_dataset("random", mistakes);
                self.drawn.random(mistakes).map_or(WorkloadPlan::Random, WorkloadPlan::Drawn)
            }
            "prefix" => {
                self.no_dataset("prefix", mistakes);
                WorkloadPlan::Prefix(self.drawn.prefix(mistakes))
            }
            "jsonl" | "csv" | "parquet" => {
                let (format, what) = match name {
                    "csv" => (RowsFormat::Csv, "a CSV file of rows"),
                    "parquet" => (RowsFormat::Parquet, "a Parquet file of rows"),
                    _ => (RowsFormat::Jsonl, "a file of JSON lines"),
                };
                let dataset = self.dataset(what, mistakes);
                WorkloadPlan::Rows(self.rows.resolve(format, dataset, mistakes))
            }
            "replay" => WorkloadPlan::Replay {
                dataset: self.dataset("a file that --dump-workload wrote", mistakes),
            },
            "sharegpt" => {
                let dataset = self.dataset("a ShareGPT JSON file", mistakes);
                if asked.lengths {
                    return WorkloadPlan::Sharegpt { dataset };
                }
                WorkloadPlan::ServingRun { dataset, limits: self.serving.resolve(mistakes) }
            }
            "blocks" => {
                let (own_load, demonstration) = (asked.own_load, asked.is_demonstration);
                let corpus = self.dataset.as_deref();
                self.blocks.resolve(corpus, own_load, demonstration, mistakes)
            }
            "trace" => {
                let dataset = self.dataset("a trace: Mooncake, Azure, BurstGPT, plain", mistakes);
                WorkloadPlan::Trace(self.trace.resolve(dataset, mistakes))
            }
            "conversation" => {
                let dataset = self.dataset.as_deref();
                WorkloadPlan::Conversation(self.conversation.resolve(dataset, mistakes))
            }
            other => {
                mistakes.add(
                    "workload",
                    format!(
                        "`{other}` is not a workload{}; there are {}",
                        did_you_mean(other, WORKLOADS),
                        WORKLOADS.join(", ")
                    ),
                );
                WorkloadPlan::Random
            }
        }
    }

    /// The workload by name.
    pub(crate) fn name(&self) -> &str {
        self.workload.as_deref().unwrap_or("random")
    }

    /// A key that the workload does not listen to is a mistake.
    fn unused(&self, asked: Asked, mistakes: &mut Mistakes) {
        if self.name() != "trace" {
            self.trace.refuse(mistakes);
        }
        if self.name() != "conversation" {
            self.conversation.refuse(mistakes);
        }
        if self.name() != "blocks" {
            for key in self.blocks.given() {
                mistakes.add(key, "belongs to --workload blocks");
            }
        }
        for key in self.serving.given() {
            if self.name() != "sharegpt" {
                mistakes.add(key, "belongs to --workload sharegpt");
            } else if asked.lengths {
                mistakes.add(key, "chooses among lengths of their own; leave input_lengths out");
            }
        }
    }

    /// The data set, which this workload must have.
    fn dataset(&self, what: &str, mistakes: &mut Mistakes) -> String {
        self.dataset.clone().unwrap_or_else(|| {
            let name = self.workload.as_deref().unwrap_or("random");
            mistakes.add("dataset", format!("is missing: {name} reads {what}"));
            String::new()
        })
    }

    fn no_dataset(&self, name: &str, mistakes: &mut Mistakes) {
        if self.dataset.is_some() {
            let problem = format!("is not used by {name}; choose a --workload that reads one");
            mistakes.add("dataset", problem);
        }
    }
}
