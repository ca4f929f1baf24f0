//! The figures that the flags of `vllm bench serve` select. This module computes no figure.

use inferometer_model::Nanos;

/// A metric in the table of `vllm bench serve`, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServingMetric {
    /// Time to first token.
    Ttft,
    /// Time per output token.
    Tpot,
    /// Inter-token latency.
    Itl,
    /// End-to-end latency.
    E2el,
    /// The wait in the client until a request in flight ends and makes room.
    ClientQueueTime,
    /// The wait in the client plus the end-to-end latency.
    E2elIncludingClientQueue,
}

// The names are those in flags and in result files.
inferometer_model::names!(ServingMetric {
    Ttft => "ttft", Tpot => "tpot", Itl => "itl", E2el => "e2el",
    ClientQueueTime => "client_queue_time", E2elIncludingClientQueue => "e2el_including_client_queue",
});

impl ServingMetric {
    /// The name in lines of the table.
    pub fn label(self) -> &'static str {
        match self {
            Self::Ttft => "TTFT",
            Self::Tpot => "TPOT",
            Self::Itl => "ITL",
            Self::E2el => "E2EL",
            Self::ClientQueueTime => "Client Queue Time",
            Self::E2elIncludingClientQueue => "E2EL incl. Client Queue",
        }
    }

    /// The heading above the lines of the metric.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Ttft => "Time to First Token",
            Self::Tpot => "Time per Output Token (excl. 1st token)",
            Self::Itl => "Inter-token Latency",
            Self::E2el => "End-to-end Latency",
            Self::ClientQueueTime => "Client-side Queueing",
            Self::E2elIncludingClientQueue => "Queue-inclusive End-to-end Latency",
        }
    }
}

/// How the steady-state window is found. It begins when the number of requests in flight first reaches a
/// threshold, and ends when the number last falls below the threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyStateWindow {
    /// The limit of requests in flight (`--max-concurrency`).
    pub most_in_flight: u32,
    /// The threshold as a share of that limit, above 0 and at most 1.
    pub threshold: f64,
    /// The window length, in seconds, below which a warning is given. If absent: 10 s or a tenth of the duration
    /// of the pass, whichever is longer.
    pub shortest_s: Option<f64>,
}

impl SteadyStateWindow {
    /// The default threshold.
    pub const THRESHOLD: f64 = 0.95;

    /// The threshold as a number of requests in flight.
    pub(crate) fn fewest(&self) -> u32 {
        (f64::from(self.most_in_flight) * self.threshold).ceil() as u32
    }
}

/// The figures that are printed and saved.
#[derive(Clone, Debug, PartialEq)]
pub struct ServingSelection {
    /// The metrics.
    pub metrics: Vec<ServingMetric>,
    /// The percentiles of each metric, from 0 to 100.
    pub percentiles: Vec<f64>,
    /// Limits in milliseconds for TTFT, TPOT or E2EL. A request is good if it meets all of them.
    pub goodput: Vec<(ServingMetric, f64)>,
    /// Whether all requests arrive when the pass begins ([`Self::begin`]), and then wait in the client. If
    /// not, or if `begin` is absent, each request arrives when it is due.
    pub all_arrive_at_start: bool,
    /// When the pass began. `vllm bench serve` measures its duration from this instant. If absent, or if no
    /// request ended after it, the duration of the pass itself is used.
    pub begin: Option<Nanos>,
    /// How the steady-state window is found; absent if its figures are not wanted.
    pub steady_state: Option<SteadyStateWindow>,
}

impl Default for ServingSelection {
    /// The selection without any flags: TTFT, TPOT, ITL and E2EL, each with the 99th percentile.
    fn default() -> Self {
        use ServingMetric::{E2el, Itl, Tpot, Ttft};
        Self {
            metrics: vec![Ttft, Tpot, Itl, E2el],
            percentiles: vec![99.0],
            goodput: Vec::new(),
            all_arrive_at_start: false,
            begin: None,
            steady_state: None,
        }
    }
}

/// The number of a percentile as in `P99` and `p99.9`.
pub(crate) fn percentile_word(percentile: f64) -> String {
    format!("{percentile}")
}
