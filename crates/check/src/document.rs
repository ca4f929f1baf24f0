//! The results of `check`, as `check --json` prints them, and the reports of the processes of a check.

use crate::truth::{ClientErrors, ErrorSpread, ServerStats, Stamped};
use serde::{Deserialize, Serialize};

/// The name and version of the document.
pub const SCHEMA: &str = "inferometer.check/1";

/// The whole document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    /// The name and version of the document: the constant `SCHEMA`.
    pub schema: &'static str,
    /// One entry for each number of streams.
    pub levels: Vec<Level>,
    /// Open loops, one entry for each rate.
    pub open_loops: Vec<OpenLoop>,
    /// The range in which figures from this machine can be trusted.
    pub verdict: Verdict,
}

/// The results with one number of parallel streams.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// The number of streams.
    pub streams: u32,
    /// The pace of the server when it does not send as fast as it can: the time between two successive tokens of a
    /// stream, in milliseconds.
    pub gap_ms: f64,
    /// Tokens per second of all streams together at that pace.
    pub paced_tokens_per_s: f64,
    /// Absolute difference between the arrival of the first token and the instant at which the server sent it, in
    /// microseconds.
    pub ttft_error_us: Stamped,
    /// The client's TTFT minus the bare reader's TTFT at the same pace, in milliseconds. It estimates the part of the
    /// TTFT that the client adds; the rest comes from the machine and the server. It can be negative, because the
    /// client uses the kernel's time stamps, and the reader those of the program.
    pub ttft_beyond_reader_ms: Ttft,
    /// Absolute difference between the measured gap of two successive tokens and the gap with which the server sent
    /// them, in microseconds.
    pub gap_error_us: Stamped,
    /// Absolute difference between the arrival of every token and the instant at which the server sent it, in
    /// microseconds.
    pub arrival_error_us: Stamped,
    /// Width of the time interval in which a token may have arrived, in microseconds.
    pub arrival_width_us: ErrorSpread,
    /// Number of token events whose read had no time stamp of the kernel.
    pub unstamped_events: u64,
    /// Delay from the due time of a request to its send, in microseconds. The first request of a stream is due at the
    /// start of the pass. Each other request is due when the previous request of the same stream ends.
    pub send_delay_us: ErrorSpread,
    /// Client CPU seconds per million tokens at the pace of `gap_ms`, including the work for time stamps and records.
    pub paced_client_cpu_s_per_mtok: f64,
    /// Bare reader CPU seconds per million tokens at the pace of `gap_ms`.
    pub paced_reader_cpu_s_per_mtok: f64,
    /// Tokens per second when the server sends as fast as it can: the client's capacity on the same machine as the
    /// server.
    pub tokens_per_s: f64,
    /// Tokens per second of the bare reader when the server sends as fast as it can.
    pub reader_tokens_per_s: f64,
    /// Client CPU seconds per million tokens at full speed, including the work for time stamps and records.
    pub client_cpu_s_per_mtok: f64,
    /// Bare reader CPU seconds per million tokens at full speed.
    pub reader_cpu_s_per_mtok: f64,
    /// Memory per stream in bytes, without the memory that the process used before the first request.
    pub bytes_per_stream: f64,
    /// Peak number of requests in flight, as the client reports it.
    pub peak_concurrency: u64,
    /// Mean number of requests in flight, as the client reports it.
    pub mean_concurrency: f64,
    /// The server's own statistics of the pass in which CPU time and concurrency were measured at the pace of `gap_ms`.
    /// The errors are measured in a second pass, which these statistics do not include.
    pub server: ServerStats,
}

/// The results of an open loop at one rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenLoop {
    /// The requested rate, in requests per second.
    pub rate: f64,
    /// Requests completed.
    pub requests: u64,
    /// Delay from the due time to the send, in microseconds.
    pub send_delay_us: ErrorSpread,
    /// Mean number of CPU cores that the client used.
    pub client_cores: f64,
}

/// The range in which figures from this machine can be trusted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verdict {
    /// The largest trusted number of streams; `None` if no level is trusted.
    pub streams: Option<u32>,
    /// The highest `paced_tokens_per_s` of the trusted levels; `None` if no level is trusted.
    pub tokens_per_s: Option<f64>,
    /// The reasons why levels are not trusted, one sentence each.
    pub reasons: Vec<String>,
}

/// The report of the client's process about one measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientMeasure {
    /// The errors; `None` if they were not measured.
    pub errors: Option<ClientErrors>,
    /// Delay from the due time to the send, in microseconds.
    pub send_delay_us: ErrorSpread,
    /// TTFT, as the client reports it.
    pub ttft: Ttft,
    /// Requests completed.
    pub requests: u64,
    /// Tokens received.
    pub tokens: u64,
    /// Time from the first send to the last end, in seconds.
    pub duration_s: f64,
    /// CPU seconds of the whole process, from before the pass until its figures are computed.
    pub cpu_s: f64,
    /// Wall-clock seconds of the same interval.
    pub wall_s: f64,
    /// Memory of the process before the pass, in bytes.
    pub rss_before: u64,
    /// Peak memory of the process until the end of the pass, in bytes.
    pub rss_peak: u64,
    /// Peak number of requests in flight.
    pub peak_concurrency: u64,
    /// Mean number of requests in flight.
    pub mean_concurrency: f64,
    /// The server's own statistics; `None` if the client did not request them.
    pub server: Option<ServerStats>,
}

/// TTFT in milliseconds, from the send to the arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ttft {
    /// Mean.
    pub mean: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// The report of the bare reader's process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReaderMeasure {
    /// Tokens received.
    #[serde(rename = "out_tokens")]
    pub tokens: u64,
    /// TTFT as the bare reader measures it, with user-space time stamps.
    pub ttft: Ttft,
    /// Wall-clock seconds from the start to the end of its event loop.
    pub wall_s: f64,
    /// CPU seconds of its process during this time.
    pub cpu_s: f64,
}
