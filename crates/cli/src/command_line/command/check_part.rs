//! The processes that `check` starts: server, bare reader and client. Users do not call this command.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, Subcommand};
use inferometer_check::{ClientLoad, Load, client, reader, server};
use inferometer_net::raise_open_files_limit;

use crate::command_line::exit::{Failure, print};
use crate::command_line::lifeline;

/// The part of the check.
#[derive(Args)]
pub struct PartArgs {
    #[command(subcommand)]
    part: CheckPart,
}

#[derive(Subcommand)]
enum CheckPart {
    /// The reference server.
    Server(ServerArgs),
    /// The bare reader.
    Reader(LoadArgs),
    /// The client.
    Client(ClientArgs),
}

#[derive(Args)]
struct ServerArgs {
    /// Time until the first token, in us
    #[arg(long)]
    first_us: u64,
    /// Time between two tokens, in us; 0 means no pause
    #[arg(long)]
    gap_us: u64,
}

/// The load.
#[derive(Args, Clone)]
struct LoadArgs {
    /// Address of the server
    #[arg(long)]
    server: SocketAddr,
    /// Number of streams at a time
    #[arg(long)]
    streams: u32,
    /// Total number of requests
    #[arg(long)]
    requests: u32,
    /// Output tokens of each request
    #[arg(long)]
    tokens: u32,
}

/// The load and the kind of measurement.
#[derive(Args, Clone)]
struct ClientArgs {
    #[command(flatten)]
    load: LoadArgs,
    /// Requests per second, instead of a closed loop
    #[arg(long)]
    rate: Option<f64>,
    /// Repeat the load and compare each event with the server's send times
    #[arg(long)]
    errors: bool,
}

impl LoadArgs {
    fn load(&self) -> Load {
        let Self { server, streams, requests, tokens } = *self;
        Load { server, streams, requests, tokens }
    }
}

/// Runs a part of the check.
///
/// # Errors
/// If the part fails.
pub fn part(arguments: PartArgs) -> Result<(), Failure> {
    raise_open_files_limit().map_err(Failure::run_failed)?;
    match arguments.part {
        CheckPart::Server(arguments) => {
            lifeline::end_with_stdin();
            let first = Duration::from_micros(arguments.first_us);
            let gap = Duration::from_micros(arguments.gap_us);
            server(first, gap, |at| print(&format!("listening on http://{at}\n")))
        }
        CheckPart::Reader(arguments) => {
            print(&serde_json::json!(reader(&arguments.load())?).to_string())
        }
        CheckPart::Client(ClientArgs { load, rate, errors }) => {
            let measured = client(&ClientLoad { load: load.load(), rate, errors })?;
            print(&serde_json::json!(measured).to_string())
        }
    }
}
