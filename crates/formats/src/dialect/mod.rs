//! The tables of other benchmarks, computed from our records with the names and the definitions of those
//! benchmarks ([`definitions`]).
//!
//! A request counts as failed if our outcome says so, even if the other tool would not have noticed the
//! failure. Figures of different runs are never mixed. To add a tool, add a module with its formulas and an
//! entry in [`Tool::ALL`].

mod layout;
mod numbers;
mod selection;
mod stream;
mod tool;

mod aiperf;
mod guidellm;
mod inference_perf;
mod sglang;
mod v02;
pub(crate) mod vllm;

pub use layout::{TableLine, ToolTable, Value};
pub(crate) use numbers::Numbers;
pub(crate) use selection::percentile_word;
pub use selection::{ServingMetric, ServingSelection, SteadyStateWindow};
pub(crate) use stream::Stream;
pub use tool::{Definition, Pass, Tool};
pub use vllm::serving_table;

impl Tool {
    /// All tools.
    pub const ALL: [Self; 6] =
        [vllm::TOOL, sglang::TOOL, guidellm::TOOL, aiperf::TOOL, inference_perf::TOOL, v02::TOOL];

    /// Returns the tool with this name on the command line.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name == name)
    }
}

/// Returns every tool with the definitions of its figures.
pub fn definitions() -> impl Iterator<Item = (Tool, &'static [Definition])> {
    Tool::ALL.into_iter().map(|tool| (tool, tool.definitions))
}
