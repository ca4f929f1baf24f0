//! What other tools would have printed of the same records, under their own names and by their own
//! definitions. A tool is a file; its definitions stand beside its formulas ([`definitions`]).
//!
//! A request that failed by our outcome is one that failed here too, also where the tool would not
//! have noticed; figures of other measurements are never mixed in.

mod aiperf;
mod guidellm;
mod inference_perf;
mod layout;
mod numbers;
mod sglang;
mod stream;
mod v02;
pub(crate) mod vllm;

use inferometer_model::record::Record;

pub use layout::{Line, Printed, Value};
pub(crate) use numbers::Numbers;
pub(crate) use stream::Stream;

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// `vllm bench serve`.
    Vllm,
    /// SGLang's `bench_serving`.
    Sglang,
    /// GuideLLM.
    GuideLlm,
    /// AIPerf.
    AiPerf,
    /// inference-perf of the Kubernetes serving group.
    InferencePerf,
    /// vLLM 0.2's `benchmark_serving.py`.
    V02,
}

impl Tool {
    /// Every tool.
    pub const ALL: [Self; 6] =
        [Self::Vllm, Self::Sglang, Self::GuideLlm, Self::AiPerf, Self::InferencePerf, Self::V02];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
            Self::GuideLlm => "guidellm",
            Self::AiPerf => "aiperf",
            Self::InferencePerf => "inference-perf",
            Self::V02 => "v0.2",
        }
    }

    /// The tool of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// From when its figures count.
    #[must_use]
    pub fn origin(self) -> &'static str {
        match self {
            Self::V02 => "counted from the send",
            _ => "counted from the pick: after waiting for its turn, before connecting",
        }
    }

    /// What its figures mean.
    #[must_use]
    pub fn definitions(self) -> &'static [Definition] {
        match self {
            Self::Vllm => &vllm::DEFINITIONS,
            Self::Sglang => &sglang::DEFINITIONS,
            Self::GuideLlm => &guidellm::DEFINITIONS,
            Self::AiPerf => &aiperf::DEFINITIONS,
            Self::InferencePerf => &inference_perf::DEFINITIONS,
            Self::V02 => &v02::DEFINITIONS,
        }
    }

    /// What it would have printed of a pass.
    #[must_use]
    pub fn printed(self, pass: &Pass<'_>) -> Printed {
        match self {
            Self::Vllm => vllm::printed(pass),
            Self::Sglang => sglang::printed(pass),
            Self::GuideLlm => guidellm::printed(pass),
            Self::AiPerf => aiperf::printed(pass),
            Self::InferencePerf => inference_perf::printed(pass),
            Self::V02 => v02::printed(pass),
        }
    }
}

/// The meaning of a figure of another tool.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Its name there.
    pub name: &'static str,
    /// Its unit there.
    pub unit: &'static str,
    /// How it is computed.
    pub formula: &'static str,
}

/// A pass with its records.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    /// The records of all of its requests.
    pub records: &'a [Record],
    /// The dialect in which the server was spoken to.
    pub dialect: &'a str,
    /// Requests in flight that were asked for, where that is one number.
    pub concurrency: Option<u32>,
    /// Requests per second that were asked for, where that is one finite number.
    pub rate: Option<f64>,
    /// The time that the tool would have measured, where it is known, in seconds; else it is taken
    /// from the first pick to the last end.
    pub duration_s: Option<f64>,
}

impl<'a> Pass<'a> {
    /// The requests that completed, as tools see them.
    pub(crate) fn completed(&self) -> Vec<Stream<'a>> {
        let complete = self.records.iter().filter(|record| record.outcome.is_complete());
        complete.filter_map(Stream::new).collect()
    }

    /// From the first pick to the last end of any request that was begun, in seconds.
    pub(crate) fn duration(&self) -> Option<f64> {
        let picked = self.records.iter().filter_map(|record| record.picked.or(record.send_start));
        let ended = self.records.iter().filter_map(|record| record.ended);
        let measured = picked.min().zip(ended.max()).map(|(first, last)| last.seconds_after(first));
        self.duration_s.or(measured).filter(|seconds| *seconds > 0.0)
    }
}

/// The definitions of every tool.
pub fn definitions() -> impl Iterator<Item = (Tool, &'static [Definition])> {
    Tool::ALL.into_iter().map(|tool| (tool, tool.definitions()))
}
