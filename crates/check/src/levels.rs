//! The measurements of a check, with their loads and limits.

use std::path::Path;

use inferometer_model::digits::with_unit;

use crate::document::{ClientMeasure, ReaderMeasure, SCHEMA, Ttft};
use crate::{CheckError, ClientLoad, Document, Level, Load, OpenLoop, Part, Verdict, process};

/// The extent of a check.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Five numbers of streams and two rates, about two minutes.
    Full,
    /// A few seconds, to test that the check works.
    Quick,
}

/// A number of streams and their pace.
struct LoadOfLevel {
    streams: u32,
    gap_us: u64,
    /// Tokens of each request at this pace. Each stream has two requests, one after the other.
    tokens: u32,
    /// The planned number of tokens, over all streams, when the server sends as fast as it can. The real number is a
    /// multiple of `FAST_TOKENS`, so it can be a little lower. It can also be higher, because each stream has at least
    /// one request.
    fast_tokens: u32,
}

const FIRST_US: u64 = 100_000;
/// Tokens of each request when the server sends as fast as it can.
const FAST_TOKENS: u32 = 128;
/// Tokens of each request of an open loop. Two are enough, because only the send is measured.
const OPEN_TOKENS: u32 = 2;

impl Extent {
    fn loads(self) -> Vec<LoadOfLevel> {
        let load = |streams, gap_us, tokens, fast_tokens| LoadOfLevel {
            streams,
            gap_us,
            tokens,
            fast_tokens,
        };
        match self {
            Self::Full => vec![
                load(1, 10_000, 128, 100_000),
                load(64, 10_000, 128, 400_000),
                load(256, 10_000, 128, 400_000),
                load(1_000, 10_000, 128, 400_000),
                // With a gap of 50 ms, the server sends 80,000 tokens/s. With a gap of 10 ms, the server
                // itself would be the bottleneck.
                load(4_000, 50_000, 64, 400_000),
            ],
            Self::Quick => vec![load(1, 5_000, 16, 2_000), load(64, 5_000, 16, 20_000)],
        }
    }

    fn rates(self) -> Vec<(f64, u32)> {
        match self {
            Self::Full => vec![(200.0, 1_000), (2_000.0, 60_000)],
            Self::Quick => vec![(200.0, 60)],
        }
    }
}

/// Runs the check. `program` is the `inferometer` program; it runs the server, the reader and the client as separate
/// processes. `say` receives a progress message before each step.
///
/// # Errors
/// If a part of the check fails. There are no figures in that case.
pub fn measure(extent: Extent, program: &Path, say: impl Fn(&str)) -> Result<Document, CheckError> {
    let mut levels = Vec::new();
    for load in extent.loads() {
        say(&format!("{} streams", load.streams));
        levels.push(level(program, &load)?);
    }
    let mut open_loops = Vec::new();
    for (rate, requests) in extent.rates() {
        say(&format!("open loop, {rate} requests/s"));
        open_loops.push(open_loop(program, rate, requests)?);
    }
    let verdict = verdict(&levels);
    Ok(Document { schema: SCHEMA, levels, open_loops, verdict })
}

fn read(program: &Path, load: Load) -> Result<ReaderMeasure, CheckError> {
    process::run(program, "reader", Part::Reader(load))
}

fn measured(
    program: &Path,
    load: Load,
    rate: Option<f64>,
    errors: bool,
) -> Result<ClientMeasure, CheckError> {
    process::run(program, "client", Part::Client(ClientLoad { load, rate, errors }))
}

fn level(program: &Path, load: &LoadOfLevel) -> Result<Level, CheckError> {
    let LoadOfLevel { streams, gap_us, tokens, fast_tokens } = *load;
    let server = process::server(program, FIRST_US, gap_us)?;
    let paced = Load { server: server.address, streams, requests: 2 * streams, tokens };
    let paced_reader = read(program, paced)?;
    drop(server);
    // A new server, so that its statistics contain only the requests of the client, not those of the reader.
    let server = process::server(program, FIRST_US, gap_us)?;
    let paced = measured(program, Load { server: server.address, ..paced }, None, true)?;
    drop(server);
    let requests = (fast_tokens / FAST_TOKENS).max(streams);
    let server = process::server(program, 0, 0)?;
    let fast = Load { server: server.address, streams, requests, tokens: FAST_TOKENS };
    let fast_reader = read(program, fast)?;
    let fast = measured(program, fast, None, false)?;
    drop(server);
    let missing = "check: the client's report lacks the errors of its time stamps or the server's \
                   statistics";
    let (errors, told) = paced.errors.zip(paced.server).ok_or_else(|| CheckError::new(missing))?;
    let per_mtok = |cpu_s: f64, tokens: u64| cpu_s / tokens as f64 * 1e6;
    let growth = paced.rss_peak.saturating_sub(paced.rss_before);
    Ok(Level {
        streams,
        gap_ms: gap_us as f64 * 1e-3,
        paced_tokens_per_s: paced.tokens as f64 / paced.duration_s,
        ttft_error_us: errors.ttft_us,
        ttft_beyond_reader_ms: Ttft {
            mean: paced.ttft.mean - paced_reader.ttft.mean,
            p99: paced.ttft.p99 - paced_reader.ttft.p99,
        },
        gap_error_us: errors.gap_us,
        arrival_error_us: errors.arrival_us,
        arrival_width_us: errors.width_us,
        unstamped_events: errors.unstamped,
        send_delay_us: paced.send_delay_us,
        paced_client_cpu_s_per_mtok: per_mtok(paced.cpu_s, paced.tokens),
        paced_reader_cpu_s_per_mtok: per_mtok(paced_reader.cpu_s, paced_reader.tokens),
        tokens_per_s: fast.tokens as f64 / fast.duration_s,
        reader_tokens_per_s: fast_reader.tokens as f64 / fast_reader.wall_s,
        client_cpu_s_per_mtok: per_mtok(fast.cpu_s, fast.tokens),
        reader_cpu_s_per_mtok: per_mtok(fast_reader.cpu_s, fast_reader.tokens),
        bytes_per_stream: growth as f64 / f64::from(streams),
        peak_concurrency: paced.peak_concurrency,
        mean_concurrency: paced.mean_concurrency,
        server: told,
    })
}

fn open_loop(program: &Path, rate: f64, requests: u32) -> Result<OpenLoop, CheckError> {
    let server = process::server(program, 1_000, 1_000)?;
    let load = Load { server: server.address, streams: 1, requests, tokens: OPEN_TOKENS };
    let measure = measured(program, load, Some(rate), false)?;
    Ok(OpenLoop {
        rate,
        requests: measure.requests,
        send_delay_us: measure.send_delay_us,
        client_cores: measure.cpu_s / measure.wall_s,
    })
}

/// Limits in microseconds: median and 99th percentile of the error of an arrival, and 99th percentile of
/// the width of arrival intervals.
const LARGEST_ERROR_P50_US: f64 = 100.0;
const LARGEST_ERROR_P99_US: f64 = 500.0;
const LARGEST_WIDTH_P99_US: f64 = 500.0;

/// A level is trusted if neither this level nor an earlier one exceeds a limit or has a wrong peak number of requests
/// in flight.
fn verdict(levels: &[Level]) -> Verdict {
    let mut verdict = Verdict::default();
    for level in levels {
        let breaches = breaches(level);
        if breaches.is_empty() && verdict.reasons.is_empty() {
            verdict.streams = Some(level.streams);
            let most = verdict.tokens_per_s.unwrap_or(0.0).max(level.paced_tokens_per_s);
            verdict.tokens_per_s = Some(most);
        }
        let place = |breach: String| format!("{} streams: {breach}", level.streams);
        verdict.reasons.extend(breaches.into_iter().map(place));
    }
    verdict
}

fn breaches(level: &Level) -> Vec<String> {
    let error = level.arrival_error_us.kernel;
    let mut breaches = Vec::new();
    for (what, value, limit) in [
        ("the median error of arrival times", error.p50, LARGEST_ERROR_P50_US),
        ("the 99th percentile of the error of arrival times", error.p99, LARGEST_ERROR_P99_US),
        (
            "the 99th percentile of the width of arrival intervals",
            level.arrival_width_us.p99,
            LARGEST_WIDTH_P99_US,
        ),
    ] {
        if value > limit {
            breaches.push(format!("{what} is {value:.0} us; the limit is {limit} us"));
        }
    }
    if level.peak_concurrency != level.server.peak_streams {
        breaches.push(format!(
            "the client reports a peak of {}, but the server counted {}",
            with_unit(&level.peak_concurrency.to_string(), "requests in flight"),
            level.server.peak_streams
        ));
    }
    breaches
}
