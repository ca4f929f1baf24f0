//! What the fixtures state: one row for each file.

use inferometer_model::metrics::{Definition, Statistic, e2e, icl, itl, tpot, ttft};

/// A file, and what its import must state.
pub struct Row {
    pub file: &'static str,
    pub load: &'static str,
    /// Planned, completed and failed requests.
    pub requests: [u64; 3],
    /// Input and output length.
    pub lengths: [u32; 2],
    /// The place of a figure in the file and the factor to our unit, or the value itself if the place is empty.
    pub figures: &'static [(Figure, &'static str, f64)],
    /// Metrics that must be absent.
    pub absent: &'static [&'static Definition],
    /// Parts of findings.
    pub told: &'static [&'static str],
}

pub enum Figure {
    Total,
    Duration,
    Requests,
    Tokens,
    Latency(&'static Definition, Statistic),
}
pub use Figure::{Duration, Latency, Requests, Tokens, Total};
use Statistic::{Max, Mean, P50, P90, P99, P999};

pub const TTFT: &Definition = &ttft::FROM_SENT;
pub const TPOT: &Definition = &tpot::DEFINITION;
pub const ITL: &Definition = &itl::DEFINITION;
pub const ICL: &Definition = &icl::DEFINITION;
pub const E2E: &Definition = &e2e::FROM_SENT;

pub static ROWS: [Row; 14] = [
    // Only the measured phase counts, with its own duration.
    Row {
        file: "aiperf-warmup-records.jsonl",
        load: "replay",
        requests: [3, 3, 0],
        lengths: [8, 6],
        figures: &[(Latency(TTFT, Mean), "", 106.637_625)],
        absent: &[],
        told: &["2 requests of the warm-up are left out"],
    },
    Row {
        file: "aiperf-warmup.json",
        load: "closed loop, 2 in flight",
        requests: [3, 3, 0],
        lengths: [8, 6],
        figures: &[(Requests, "/request_throughput/avg", 1.0)],
        absent: &[],
        told: &["the requests of the warm-up, not those of the measurement"],
    },
    // Throughputs are over 1.498 s, not over the `benchmark_duration` of 1.034 s; six tokens come in two chunks.
    Row {
        file: "aiperf-bundled.json",
        load: "closed loop, 3 in flight",
        requests: [6, 6, 0],
        lengths: [8, 6],
        figures: &[
            (Duration, "", 1.498_159_653),
            (Requests, "/request_throughput/avg", 1.0),
            (Tokens, "/output_token_throughput/avg", 1.0),
            (Latency(TTFT, P90), "/time_to_first_token/p90", 1.0),
            (Latency(ICL, P99), "/inter_chunk_latency/p99", 1.0),
            (Latency(E2E, Max), "/request_latency/max", 1.0),
        ],
        absent: &[TPOT, ITL],
        told: &["6 gaps between chunks for 30 tokens"],
    },
    // An answer that was not streamed has no TTFT.
    Row {
        file: "aiperf-nostream-records.jsonl",
        load: "replay",
        requests: [2, 2, 0],
        lengths: [8, 6],
        figures: &[(Latency(E2E, Max), "", 335.069_48)],
        absent: &[TTFT, TPOT, ITL, ICL],
        told: &[],
    },
    Row {
        file: "vllm-ramp.json",
        load: "open loop",
        requests: [20, 20, 0],
        lengths: [0, 6],
        figures: &[
            (Duration, "/duration", 1.0),
            (Requests, "/request_throughput", 1.0),
            (Tokens, "/output_throughput", 1.0),
            (Latency(TTFT, Mean), "/mean_ttft_ms", 1.0),
            (Latency(TTFT, P50), "/median_ttft_ms", 1.0),
            (Latency(TPOT, P99), "/p99_tpot_ms", 1.0),
            (Latency(ICL, P99), "/p99_itl_ms", 1.0),
            (Latency(ITL, P50), "/median_itl_ms", 1.0),
            // The mean of `latencies`.
            (Latency(E2E, Mean), "", 83.348_891_6),
        ],
        absent: &[],
        told: &[],
    },
    // The Rust client does not write its ramp, and states that all requests were sent at once.
    Row {
        file: "vllm-rs-ramp.json",
        load: "replay",
        requests: [12, 12, 0],
        lengths: [64, 16],
        figures: &[(Duration, "/duration", 1.0), (Latency(E2E, P99), "/p99_e2el_ms", 1.0)],
        absent: &[],
        told: &["The load is unknown"],
    },
    Row {
        file: "vllm-rs-plain.json",
        load: "saturated",
        requests: [8, 8, 0],
        lengths: [8, 6],
        figures: &[
            (Latency(TTFT, P90), "/p90_ttft_ms", 1.0),
            (Latency(ITL, P99), "/p99_itl_ms", 1.0),
            (Latency(E2E, Mean), "/mean_e2el_ms", 1.0),
        ],
        absent: &[],
        told: &[],
    },
    Row {
        file: "vllm-rs-asked.json",
        load: "closed loop, 4 in flight",
        requests: [12, 12, 0],
        lengths: [64, 16],
        figures: &[
            (Latency(TTFT, P999), "/p99.9_ttft_ms", 1.0),
            (Latency(TPOT, P999), "/p99.9_tpot_ms", 1.0),
        ],
        absent: &[],
        told: &[],
    },
    Row {
        file: "vllm-rs-multi-turn.json",
        load: "closed loop, 3 in flight",
        requests: [9, 9, 0],
        lengths: [28, 6],
        figures: &[
            (Tokens, "/output_throughput", 1.0),
            (Latency(TTFT, P99), "/p99_ttft_ms", 1.0),
            (Latency(E2E, P90), "/p90_e2el_ms", 1.0),
        ],
        absent: &[],
        told: &["conversations of several turns"],
    },
    Row {
        file: "vllm-rs-embeddings.json",
        load: "saturated",
        requests: [6, 6, 0],
        lengths: [8, 0],
        figures: &[(Latency(E2E, P99), "/p99_e2el_ms", 1.0)],
        absent: &[TTFT, TPOT, ITL, ICL],
        told: &[],
    },
    Row {
        file: "sglang-short.jsonl",
        load: "saturated",
        requests: [4, 4, 0],
        lengths: [8, 6],
        figures: &[
            (Tokens, "/output_throughput", 1.0),
            (Latency(TTFT, Mean), "/mean_ttft_ms", 1.0),
        ],
        absent: &[TPOT],
        told: &["counts 24 output tokens, but its texts have 12"],
    },
    Row {
        file: "sglang-failed.jsonl",
        load: "closed loop, 4 in flight",
        requests: [12, 10, 2],
        lengths: [64, 16],
        figures: &[(Latency(TTFT, P99), "/p99_ttft_ms", 1.0)],
        absent: &[],
        told: &["2 of 12 requests did not complete"],
    },
    Row {
        file: "inference-perf-stage.json",
        load: "open loop, 10 requests/s",
        requests: [20, 20, 0],
        lengths: [0, 0],
        figures: &[
            (Duration, "/benchmark_time_seconds", 1.0),
            (Requests, "/successes/throughput/requests_per_sec", 1.0),
            (Tokens, "/successes/throughput/output_tokens_per_sec", 1.0),
            (Latency(TTFT, P90), "/successes/latency/time_to_first_token/p90", 1e3),
            (Latency(TTFT, P999), "/successes/latency/time_to_first_token/p99.9", 1e3),
        ],
        absent: &[TPOT, ITL, E2E],
        told: &["802 output tokens, but the server counted 320"],
    },
    Row {
        file: "evalscope-failed.json",
        load: "closed loop, 4 in flight",
        requests: [12, 10, 2],
        lengths: [0, 16],
        figures: &[
            (Duration, "/Test Duration (s)", 1.0),
            (Requests, "/Req Throughput (req~1s)", 1.0),
            (Tokens, "/Output Throughput (tok~1s)", 1.0),
            (Total, "/Total Throughput (tok~1s)", 1.0),
            (Latency(TTFT, Mean), "/Avg TTFT (ms)", 1.0),
            (Latency(E2E, Mean), "/Avg Latency (s)", 1e3),
        ],
        absent: &[ITL],
        told: &[],
    },
];
