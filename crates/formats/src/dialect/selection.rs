//! Which figures `vllm bench serve` is asked for by its flags. None is computed here.

use inferometer_model::time::Nanos;

/// A metric of its table, in the order in which it prints them.
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
    /// The wait for a place among the requests in flight.
    ClientQueueTime,
    /// That wait and the latency.
    E2elIncludingClientQueue,
}

impl ServingMetric {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Ttft,
        Self::Tpot,
        Self::Itl,
        Self::E2el,
        Self::ClientQueueTime,
        Self::E2elIncludingClientQueue,
    ];

    /// Its name in flags and in result files.
    pub fn key(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::Tpot => "tpot",
            Self::Itl => "itl",
            Self::E2el => "e2el",
            Self::ClientQueueTime => "client_queue_time",
            Self::E2elIncludingClientQueue => "e2el_including_client_queue",
        }
    }

    /// Its name in lines of the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ttft => "TTFT",
            Self::Tpot => "TPOT",
            Self::Itl => "ITL",
            Self::E2el => "E2EL",
            Self::ClientQueueTime => "Client Queue Time",
            Self::E2elIncludingClientQueue => "E2EL incl. Client Queue",
        }
    }

    /// The heading above its lines.
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

/// How the steady state is found: the time from when nearly as many requests are in flight as may be until the
/// last such time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyStateWindow {
    /// The most requests that may be in flight.
    pub most_in_flight: u32,
    /// The share of them, above 0 and at most 1, that is in flight when the window opens.
    pub threshold: f64,
    /// A shorter window has a warning, in seconds; absent: 10 s, or a tenth of the pass if that is longer.
    pub shortest_s: Option<f64>,
}

impl SteadyStateWindow {
    /// What is taken where nothing is said.
    pub const THRESHOLD: f64 = 0.95;

    /// The fewest requests in flight in the window.
    pub(crate) fn fewest(&self) -> u32 {
        (f64::from(self.most_in_flight) * self.threshold).ceil() as u32
    }
}

/// What is printed and saved.
#[derive(Clone, Debug, PartialEq)]
pub struct ServingSelection {
    /// The metrics.
    pub metrics: Vec<ServingMetric>,
    /// The percentiles of each, from 0 to 100.
    pub percentiles: Vec<f64>,
    /// Limits in milliseconds, all of which a good request keeps: TTFT, TPOT, E2EL.
    pub goodput: Vec<(ServingMetric, f64)>,
    /// Whether all requests arrive when the pass begins and wait for a place; else they arrive when
    /// they are due.
    pub all_arrive_at_start: bool,
    /// When the pass began, from which `vllm bench serve` counts its duration; absent: it counts from
    /// the first send.
    pub begin: Option<Nanos>,
    /// How the steady state is found, where it is stated.
    pub steady_state: Option<SteadyStateWindow>,
}

impl Default for ServingSelection {
    /// What is known of a pass of which nobody says more: the 99th percentile of four metrics.
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

/// A percentile as in `P99` and `p99.9`.
pub(crate) fn percentile_word(percentile: f64) -> String {
    format!("{percentile}")
}
