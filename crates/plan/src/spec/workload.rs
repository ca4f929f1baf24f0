//! The source of prompts: the keys, their resolved form, and how the one becomes the other. A new workload needs a
//! variant of [`WorkloadPlan`] with its name, an entry in `WORKLOADS`, and a field in [`WorkloadKeys`] for its keys, if
//! it has any.

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::blocks::BlockKeys;
use super::serving::ServingKeys;
use super::workload_plan::WorkloadPlan;
use super::{AgentKeys, ConversationKeys, DrawnKeys, Mistakes, RowsKeys, TraceKeys};
use crate::RowsFormat;
use inferometer_model::did_you_mean;

/// The keys of a plan for the source of prompts.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkloadKeys {
    /// Where prompts come from [default: random]:
    ///   random: random words
    ///   prefix: random words, in groups with a shared prefix
    ///   sharegpt: conversations of a ShareGPT file
    ///   jsonl, csv, parquet: rows of a file
    ///   replay: requests that --dump-workload wrote
    ///   trace: recorded lengths, and arrivals if no load is given
    ///   agents: recorded calls of agents, which wait for each other (in `run` and `predict`)
    ///   conversation: several turns (only in `run`)
    ///   blocks: pieces of a text (not in `predict`)
    /// If a flag is only for some workloads, its help or the heading of its group names these workloads
    #[arg(long, verbatim_doc_comment, value_name = "NAME", help_heading = "Workload")]
    pub workload: Option<String>,
    /// File of the data set, or name of a downloaded data set (`inferometer fetch`). For the
    /// workload blocks: a text file, a JSONL file or a folder [default for blocks: the built-in
    /// Chinese text shipped-zh, or shipped-en with an English --template] (sharegpt, jsonl, csv,
    /// parquet, replay, trace, agents, conversation, blocks)
    #[arg(long, value_name = "FILE", help_heading = "Workload")]
    pub dataset: Option<String>,
    /// The keys for seeded words.
    #[serde(flatten)]
    #[command(flatten)]
    pub drawn: DrawnKeys,
    /// The keys for rows of the user's own data.
    #[serde(flatten)]
    #[command(flatten)]
    pub rows: RowsKeys,
    /// Typical lengths and prefixes of an application: rag, classifier, rewriting, summarising,
    /// code-completion, and chat and agent (conversations, only in `run`). `inferometer list
    /// scenarios` describes them
    #[arg(long, value_name = "NAME", help_heading = "Workload")]
    pub scenario: Option<String>,
    /// The keys for a trace.
    #[serde(flatten)]
    #[command(flatten)]
    pub trace: TraceKeys,
    /// The keys for a trace of agents.
    #[serde(flatten)]
    #[command(flatten)]
    pub agents: AgentKeys,
    /// The keys for conversations.
    #[serde(flatten)]
    #[command(flatten)]
    pub conversation: ConversationKeys,
    /// The keys for text blocks.
    #[serde(flatten)]
    #[command(flatten)]
    pub blocks: BlockKeys,
    /// The keys of `sharegpt` for conversations with their own lengths.
    #[serde(flatten)]
    #[command(flatten)]
    pub serving: ServingKeys,
}

/// The facts about the other keys of a spec on which a workload depends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    /// Whether the user gave input or output lengths, so that the grid is in tokens.
    pub lengths: bool,
    /// Whether the user gave a load or named passes.
    pub own_load: bool,
    /// Whether the user gave no target, server, lengths, sizes of blocks, passes or loads: a first try of the
    /// program.
    pub is_demonstration: bool,
}

/// The definition of a workload.
struct WorkloadDefinition {
    name: &'static str,
    /// The keys that the workload uses and that some other workloads do not use.
    keys: &'static [&'static str],
    resolve: fn(&WorkloadKeys, Asked, &mut Mistakes) -> WorkloadPlan,
}

/// Every workload, in the order in which messages list them.
static WORKLOADS: [WorkloadDefinition; 11] = [
    WorkloadDefinition {
        name: "random",
        keys: DrawnKeys::OF_RANDOM,
        resolve: |keys, _, mistakes| {
            keys.no_dataset(mistakes);
            keys.drawn.random(mistakes).map_or(WorkloadPlan::Random, WorkloadPlan::Drawn)
        },
    },
    WorkloadDefinition {
        name: "prefix",
        keys: DrawnKeys::OF_PREFIX,
        resolve: |keys, _, mistakes| {
            keys.no_dataset(mistakes);
            WorkloadPlan::Prefix(keys.drawn.prefix(mistakes))
        },
    },
    WorkloadDefinition {
        name: "sharegpt",
        keys: ServingKeys::NAMES,
        resolve: |keys, asked, mistakes| {
            for key in ServingKeys::NAMES.iter().filter(|key| asked.lengths && keys.gives(key)) {
                mistakes.add(
                    key,
                    "needs conversations with their own lengths; leave out the grid's lengths",
                );
            }
            let dataset = keys.dataset("a ShareGPT JSON file", mistakes);
            match asked.lengths {
                true => WorkloadPlan::Sharegpt { dataset },
                false => {
                    let output_length = keys.rows.output_length;
                    let limits = keys.serving.resolve(output_length, mistakes);
                    WorkloadPlan::ServingRun { dataset, limits }
                }
            }
        },
    },
    WorkloadDefinition {
        name: "jsonl",
        keys: RowsKeys::NAMES,
        resolve: |keys, _, mistakes| keys.rows(RowsFormat::Jsonl, "a file of JSON lines", mistakes),
    },
    WorkloadDefinition {
        name: "csv",
        keys: RowsKeys::NAMES,
        resolve: |keys, _, mistakes| keys.rows(RowsFormat::Csv, "a CSV file of rows", mistakes),
    },
    WorkloadDefinition {
        name: "parquet",
        keys: RowsKeys::NAMES,
        resolve: |keys, _, told| keys.rows(RowsFormat::Parquet, "a Parquet file of rows", told),
    },
    WorkloadDefinition {
        name: "replay",
        keys: &[],
        resolve: |keys, _, mistakes| WorkloadPlan::Replay {
            dataset: keys.dataset("a file that --dump-workload wrote", mistakes),
        },
    },
    WorkloadDefinition {
        name: "trace",
        keys: TraceKeys::NAMES,
        resolve: |keys, _, mistakes| {
            let dataset = keys.dataset("a trace: Mooncake, Azure, BurstGPT, plain", mistakes);
            WorkloadPlan::Trace(keys.trace.resolve(dataset, mistakes))
        },
    },
    WorkloadDefinition {
        name: "agents",
        keys: AgentKeys::NAMES,
        resolve: |keys, _, mistakes| {
            let dataset =
                keys.dataset("a trace of agents (`inferometer trace` reads it)", mistakes);
            let shared = (keys.trace.trace_format.clone(), keys.rows.output_length);
            WorkloadPlan::Agents(keys.agents.resolve(dataset, shared, mistakes))
        },
    },
    WorkloadDefinition {
        name: "conversation",
        keys: ConversationKeys::NAMES,
        resolve: |keys, _, mistakes| {
            WorkloadPlan::Conversation(keys.conversation.resolve(keys.dataset.as_deref(), mistakes))
        },
    },
    WorkloadDefinition {
        name: "blocks",
        keys: BlockKeys::NAMES,
        resolve: |keys, asked, mistakes| {
            let (corpus, of_blocks) = (keys.dataset.as_deref(), &keys.blocks);
            let (corpus, template, in_flight) =
                of_blocks.resolve(corpus, asked.own_load, asked.is_demonstration, mistakes);
            let max_output_tokens = of_blocks.max_output_tokens;
            WorkloadPlan::Blocks { corpus, template, in_flight, max_output_tokens }
        },
    },
];

/// The names of all workloads.
pub fn workload_names() -> impl Iterator<Item = &'static str> {
    WORKLOADS.iter().map(|workload| workload.name)
}

impl WorkloadKeys {
    /// The names of all keys for prompts.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        let of_workloads = WORKLOADS.iter().flat_map(|workload| workload.keys);
        ["workload", "dataset", "scenario"].into_iter().chain(of_workloads.copied())
    }

    /// Resolves the workload. For an unknown name, adds a mistake and returns the workload `random`.
    pub(crate) fn resolve(&self, asked: Asked, mistakes: &mut Mistakes) -> WorkloadPlan {
        let name = self.name();
        let workload = WORKLOADS.iter().find(|workload| workload.name == name);
        self.refuse_others(workload.map_or(&[], |workload| workload.keys), mistakes);
        let Some(workload) = workload else {
            let names = WORKLOADS.each_ref().map(|workload| workload.name);
            let meant = did_you_mean(name, names);
            let names = names.join(", ");
            let problem = format!("`{name}` is not a workload{meant}; there are {names}");
            mistakes.add("workload", problem);
            return WorkloadPlan::Random;
        };
        (workload.resolve)(self, asked, mistakes)
    }

    /// The name of the workload.
    pub(crate) fn name(&self) -> &str {
        self.workload.as_deref().unwrap_or("random")
    }

    /// Adds a mistake for each given key that the workload does not use.
    fn refuse_others(&self, own: &[&str], mistakes: &mut Mistakes) {
        let mut told = Vec::new();
        for key in WORKLOADS.iter().flat_map(|workload| workload.keys) {
            if !own.contains(key) && !told.contains(key) && self.gives(key) {
                told.push(*key);
                let users = WORKLOADS.iter().filter(|workload| workload.keys.contains(key));
                let users: Vec<&str> = users.map(|workload| workload.name).collect();
                let names = match users.split_last() {
                    Some((last, [])) => (*last).to_owned(),
                    Some((last, others)) => format!("{} and {last}", others.join(", ")),
                    None => continue,
                };
                mistakes.add(key, format!("belongs to --workload {names}"));
            }
        }
    }

    /// Whether a key was given; the value `false` counts as not given.
    fn gives(&self, key: &str) -> bool {
        let keys = serde_json::to_value(self).unwrap_or_default();
        !matches!(keys.get(key), None | Some(Json::Null | Json::Bool(false)))
    }

    fn rows(&self, format: RowsFormat, what: &str, mistakes: &mut Mistakes) -> WorkloadPlan {
        let dataset = self.dataset(what, mistakes);
        WorkloadPlan::Rows(self.rows.resolve(format, dataset, mistakes))
    }

    /// The data set. Adds a mistake if the user gave none; `what` describes the file.
    fn dataset(&self, what: &str, mistakes: &mut Mistakes) -> String {
        self.dataset.clone().unwrap_or_else(|| {
            mistakes.add("dataset", format!("is missing: {} needs {what}", self.name()));
            String::new()
        })
    }

    fn no_dataset(&self, mistakes: &mut Mistakes) {
        if self.dataset.is_some() {
            let name = self.name();
            let problem =
                format!("is not used by {name}; choose a --workload that reads a data set");
            mistakes.add("dataset", problem);
        }
    }
}
