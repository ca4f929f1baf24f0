//! The keys for traces of agents.

use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::{Mistakes, values, values::Value};
use crate::{AgentsPlan, Answers};
use inferometer_model::did_you_mean;

/// The keys of `--workload agents`.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentKeys {
    /// Number of jobs in each pass. More than the trace has are copies, which share nothing with
    /// each other [default: all jobs of the trace] (agents)
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N", help_heading = "Workload")]
    pub jobs: Option<u32>,
    /// Cut longer gaps between calls (tools, people) to this time; the report states the time that
    /// was removed: 10s, or 0s for no gaps [default: gaps as recorded] (agents)
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "TIME", help_heading = "Workload")]
    pub max_gap: Option<Value>,
    /// Whose answers the later prompts of a session contain: recorded (every prompt has its recorded
    /// length), live (those of the server) or live-with-reasoning (also its reasoning) [default:
    /// recorded] (agents)
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "recorded|live|...", help_heading = "Workload")]
    pub answers: Option<String>,
}

impl AgentKeys {
    /// The keys that no other workload has.
    pub(crate) const OWN: &[&str] = &["jobs", "max_gap", "answers"];
    pub(crate) const NAMES: &[&str] =
        &["jobs", "max_gap", "answers", "trace_format", "output_length"];

    /// Resolves the options of the trace of agents in the file `dataset`. `format` and `output_length` are keys that
    /// other workloads have, too.
    pub(crate) fn resolve(
        &self,
        dataset: String,
        (format, output_length): (Option<String>, Option<u32>),
        mistakes: &mut Mistakes,
    ) -> AgentsPlan {
        let Self { jobs, max_gap, answers } = self;
        for (key, given) in [("jobs", *jobs), ("output_length", output_length)] {
            if given == Some(0) {
                mistakes.add(key, "is 0; give at least 1");
            }
        }
        let span = |value: &Value| match value {
            Value::Text(text) if text == "0" || text == "0s" => Ok(Duration::ZERO),
            value => values::span(value),
        };
        let max_gap = mistakes.read("max_gap", max_gap.as_ref(), span);
        let named = answers.as_deref().map(|name| (name, Answers::named(name)));
        if let Some((name, None)) = named {
            let names = Answers::ALL.map(Answers::name);
            let problem =
                format!("`{name}` is not one of {}{}", names.join(", "), did_you_mean(name, names));
            mistakes.add("answers", problem);
        }
        AgentsPlan {
            dataset,
            format: format.filter(|name| name != "auto"),
            jobs: *jobs,
            max_gap,
            output_length,
            answers: named.and_then(|(_, named)| named).unwrap_or_default(),
        }
    }
}
