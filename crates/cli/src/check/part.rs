//! The processes that `check` starts: the server, the bare reader, the client. Not for people.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, Subcommand};
use inferometer_http::Server;
use inferometer_net::{EpollNet, Net, process_cpu_time, raise_open_files_limit};
use inferometer_stats::percentile;
use inferometer_truth::{BareReader, Pace, TruthServer};

use super::client;
use super::document::{ReaderMeasure, Ttft};
use crate::exit::{Failure, print};
use crate::lifeline;

/// Which one.
#[derive(Args)]
pub struct PartArgs {
    #[command(subcommand)]
    part: Part,
}

#[derive(Subcommand)]
enum Part {
    /// The server of known truth.
    Server(ServerArgs),
    /// The bare reader.
    Reader(LoadArgs),
    /// The client.
    Client(ClientArgs),
}

#[derive(Args)]
struct ServerArgs {
    /// Until the first token
    #[arg(long)]
    first_us: u64,
    /// Between tokens; 0: as fast as it can
    #[arg(long)]
    gap_us: u64,
}

/// What is asked for.
#[derive(Args, Clone)]
pub struct LoadArgs {
    /// Where the server listens
    #[arg(long)]
    pub server: SocketAddr,
    /// Streams at a time
    #[arg(long)]
    pub streams: u32,
    /// Requests in all
    #[arg(long)]
    pub requests: u32,
    /// Tokens of each
    #[arg(long)]
    pub tokens: u32,
}

/// What the client is to do.
#[derive(Args, Clone)]
pub struct ClientArgs {
    #[command(flatten)]
    pub load: LoadArgs,
    /// Requests per second, instead of a closed loop
    #[arg(long)]
    pub rate: Option<f64>,
    /// Play it once more and hold every event against the truth
    #[arg(long)]
    pub errors: bool,
}

/// Plays a part.
///
/// # Errors
/// When it cannot.
pub fn part(arguments: PartArgs) -> Result<(), Failure> {
    raise_open_files_limit().map_err(Failure::not_carried_out)?;
    match arguments.part {
        Part::Server(arguments) => server(&arguments),
        Part::Reader(arguments) => {
            let measure = reader(&arguments)?;
            print(&serde_json::json!(measure).to_string())
        }
        Part::Client(arguments) => {
            let measure = client::measure(&arguments)?;
            print(&serde_json::json!(measure).to_string())
        }
    }
}

fn sockets(error: std::io::Error) -> Failure {
    Failure::not_carried_out(format!("sockets: {error}"))
}

fn server(arguments: &ServerArgs) -> Result<(), Failure> {
    lifeline::end_with_stdin();
    let pace = Pace {
        first: Duration::from_micros(arguments.first_us),
        gap: Duration::from_micros(arguments.gap_us),
    };
    // Only what it sends matters: it needs no stamps of what it receives.
    let mut net = EpollNet::new().map_err(sockets)?.with_user_stamps();
    let at = net.listen(SocketAddr::from(([127, 0, 0, 1], 0))).map_err(sockets)?;
    print(&format!("listening on http://{at}\n"))?;
    net.play(&mut Server::new(TruthServer::new(pace))).map_err(sockets)
}

fn reader(arguments: &LoadArgs) -> Result<ReaderMeasure, Failure> {
    let LoadArgs { server, streams, requests, tokens } = *arguments;
    let mut net = EpollNet::new().map_err(sockets)?.with_user_stamps();
    let mut reader = BareReader::new(server, streams, requests, tokens);
    let (began, cpu_before) = (net.now(), process_cpu_time());
    net.play(&mut reader).map_err(sockets)?;
    let (tokens, mut ttft_ms) = reader.read().map_err(Failure::not_carried_out)?;
    let cpu_s = (process_cpu_time() - cpu_before).as_secs_f64();
    let wall_s = net.now().since(began).as_secs_f64();
    ttft_ms.sort_unstable_by(f64::total_cmp);
    let mean = ttft_ms.iter().sum::<f64>() / ttft_ms.len() as f64;
    let ttft = Ttft { mean, p99: percentile(&ttft_ms, 0.99) };
    Ok(ReaderMeasure { tokens, wall_s, cpu_s, ttft })
}
