//! What `check` found, as `check --json` prints it.

use inferometer_truth::{ServerStats, Spread, Stamped};
use serde::{Deserialize, Serialize};

/// The name and version of the document.
pub const SCHEMA: &str = "inferometer.check/1";

/// All of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    /// `SCHEMA`.
    pub schema: &'static str,
    /// By number of streams.
    pub levels: Vec<Level>,
    /// Open loops, by rate.
    pub open_loops: Vec<OpenLoop>,
    /// Up to where figures of this machine can be trusted.
    pub verdict: Verdict,
}

/// So many streams at once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// Streams.
    pub streams: u32,
    /// The time between two tokens of a stream while errors were measured, in milliseconds.
    pub gap_ms: f64,
    /// Tokens per second then.
    pub paced_tokens_per_s: f64,
    /// Arrival of the first token minus the instant at which the server sent it.
    pub ttft_error_us: Stamped,
    /// TTFT of the client beyond the bare reader's at the same pace, in milliseconds: what a client
    /// adds to what the machine and the server make of so many requests at once.
    pub ttft_beyond_reader_ms: Ttft,
    /// Each gap between tokens against the gap with which the server sent them.
    pub gap_error_us: Stamped,
    /// Arrival of every token minus the instant at which the server sent it.
    pub arrival_error_us: Stamped,
    /// Width of the interval in which a token may have arrived.
    pub arrival_width_us: Spread,
    /// Token events whose read bore no stamp of the kernel's.
    pub unstamped_events: u64,
    /// Send after the end that made it due.
    pub send_delay_us: Spread,
    /// Client CPU per million tokens while paced, stamps and records included.
    pub paced_client_cpu_s_per_mtok: f64,
    /// The bare reader's at the same pace.
    pub paced_reader_cpu_s_per_mtok: f64,
    /// Tokens per second when the server sends as fast as it can: the capacity beside it.
    pub tokens_per_s: f64,
    /// The bare reader's.
    pub reader_tokens_per_s: f64,
    /// Client CPU per million tokens then, stamps and records included.
    pub client_cpu_s_per_mtok: f64,
    /// The bare reader's.
    pub reader_cpu_s_per_mtok: f64,
    /// Memory per stream beyond what the process had before the first request.
    pub bytes_per_stream: f64,
    /// Requests in flight as the client reports them.
    pub peak_concurrency: u64,
    /// Their mean.
    pub mean_concurrency: f64,
    /// What the server saw while errors and concurrency were measured.
    pub server: ServerStats,
}

/// Arrivals at a rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenLoop {
    /// Requests per second asked for.
    pub rate: f64,
    /// Requests sent.
    pub requests: u64,
    /// Send after the instant at which the plan had it.
    pub send_delay_us: Spread,
    /// Processors that the client used.
    pub client_cores: f64,
}

/// Up to where figures of this machine can be trusted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verdict {
    /// The most streams, of those measured.
    pub streams: Option<u32>,
    /// The most tokens per second, at so many streams or fewer.
    pub tokens_per_s: Option<f64>,
    /// What kept each other level out.
    pub reasons: Vec<String>,
}

/// What the client's process says of one measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientMeasure {
    /// Absent when only capacity was measured.
    pub errors: Option<ClientErrors>,
    /// Send after due.
    pub send_delay_us: Spread,
    /// TTFT, as the client reports it.
    pub ttft: Ttft,
    /// Requests completed.
    pub requests: u64,
    /// Tokens received.
    pub tokens: u64,
    /// From the first send to the last end.
    pub duration_s: f64,
    /// CPU of the whole process from before the pass to after its figures.
    pub cpu_s: f64,
    /// The time of that.
    pub wall_s: f64,
    /// Memory before the pass.
    pub rss_before: u64,
    /// The most memory until it ended.
    pub rss_peak: u64,
    /// Requests in flight.
    pub peak_concurrency: u64,
    /// Their mean.
    pub mean_concurrency: f64,
    /// What the server saw.
    pub server: Option<ServerStats>,
}

/// The errors of one measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientErrors {
    /// See [`Level`].
    pub ttft_us: Stamped,
    /// See [`Level`].
    pub gap_us: Stamped,
    /// See [`Level`].
    pub arrival_us: Stamped,
    /// See [`Level`].
    pub width_us: Spread,
    /// See [`Level`].
    pub unstamped: u64,
}

/// TTFT in milliseconds, from the send to the arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ttft {
    /// Mean.
    pub mean: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// What the bare reader's process says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReaderMeasure {
    /// Tokens received.
    #[serde(rename = "out_tokens")]
    pub tokens: u64,
    /// Its TTFT, by its own stamps.
    pub ttft: Ttft,
    /// From its first turn to its last.
    pub wall_s: f64,
    /// CPU of the process in between.
    pub cpu_s: f64,
}
