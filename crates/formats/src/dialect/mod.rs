//! The tables of other benchmarks, computed from our records under their names and by their
//! definitions ([`definitions`]).
//!
//! A request that failed by our outcome counts as failed here, also where the tool would not have
//! noticed. Figures of different runs are never mixed. A further tool is a file with its formulas
//! and a line of [`Tool::ALL`].

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

pub use layout::{Line, Printed, Value};
pub(crate) use numbers::Numbers;
pub(crate) use selection::percentile_word;
pub use selection::{ServingMetric, ServingSelection, SteadyStateWindow};
pub(crate) use stream::Stream;
pub use tool::{Definition, Pass, Tool};
pub use vllm::serving_table;

impl Tool {
    /// Every tool.
    pub const ALL: [Self; 6] =
        [vllm::TOOL, sglang::TOOL, guidellm::TOOL, aiperf::TOOL, inference_perf::TOOL, v02::TOOL];

    /// The tool of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name == name)
    }
}

/// The definitions of every tool.
pub fn definitions() -> impl Iterator<Item = (Tool, &'static [Definition])> {
    Tool::ALL.into_iter().map(|tool| (tool, tool.definitions))
}
