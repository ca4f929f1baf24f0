//! `record`: passes requests on to a server, and writes them as a trace that `run --workload agents` plays.

use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc::RecvTimeoutError, mpsc::channel};
use std::{fs::File, net::SocketAddr, time::Duration};

use clap::Args;
use inferometer_model::url::{parse_url, shown_address};
use inferometer_net::http::{client::Client, relay::relay};
use inferometer_plan::spec::Spec;
use inferometer_run::server_access;

use crate::command_line::{Failure, interrupt, print, tell, variable};
use crate::recorded::{Recording, is_call};

/// The time limit for opening a connection to the server.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How often the command looks for an interruption.
const LOOK: Duration = Duration::from_millis(100);

/// The flags of `record`.
#[derive(Args)]
pub struct RecordArgs {
    /// Address of the server: where requests are passed on to
    #[arg(long, value_name = "URL")]
    target: String,
    /// Address on this machine for the clients; port 0 chooses a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8899")]
    listen: SocketAddr,
    /// New file for the trace: a row for each call, written when it ends
    #[arg(long, value_name = "FILE", default_value = "recorded.jsonl")]
    out: PathBuf,
    /// Write whole requests with their texts, in place of lengths and ids of blocks
    #[arg(long)]
    texts: bool,
    /// Ask streams for their token counts (`stream_options`) if the client does not; it then gets one
    /// more event
    #[arg(long)]
    ask_usage: bool,
    /// PEM file with additional certificate authorities to trust
    #[arg(long, value_name = "FILE")]
    ca_cert: Option<String>,
    /// HTTP proxy before the server, or `none` [default: HTTPS_PROXY and its like]
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,
}

/// Passes requests on until it is interrupted.
///
/// # Errors
/// If the server cannot be reached, the address or the file cannot be used, or no call was recorded.
pub fn record(arguments: &RecordArgs) -> Result<(), Failure> {
    let RecordArgs { listen, out, .. } = arguments;
    if !listen.ip().is_loopback() {
        return Err(Failure::usage(format!(
            "--listen {listen}: is no loopback address; clients send their keys there without \
                encryption, so give 127.0.0.1 and a port"
        )));
    }
    let url = parse_url(&arguments.target).map_err(|error| {
        Failure::usage(format!("--target {}: {error}", shown_address(&arguments.target)))
    })?;
    let spec = Spec {
        ca_cert: arguments.ca_cert.clone(),
        proxy: arguments.proxy.clone(),
        ..Spec::default()
    };
    let access = server_access(&spec, &variable)?;
    let server = Client::reach(&url, Vec::new(), TIMEOUT, &access).map_err(Failure::run_failed)?;
    let mut file = File::create_new(out).map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::AlreadyExists => "; give the name of a new file",
            _ => "",
        };
        Failure::usage(format!("--out: {} cannot be written: {error}{advice}", out.display()))
    })?;
    let (sender, seen) = channel();
    let at = relay(*listen, server, arguments.ask_usage, is_call, sender)
        .map_err(|error| Failure::usage(format!("--listen {error}")))?;
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    if let Err(error) = ctrlc::set_handler(move || asked.store(true, Ordering::Relaxed)) {
        interrupt::warn_that_signals_end(&error);
    }
    print(&format!(
        "listening on http://{at}, passing to {url}\nclients: OPENAI_BASE_URL=http://{at}/v1 or \
            ANTHROPIC_BASE_URL=http://{at}; end with Ctrl-C\n"
    ))?;
    let mut recording = Recording::new(arguments.texts);
    let mut take = |seen| match recording.add(seen) {
        Ok(Some(row)) => file.write_all(format!("{row}\n").as_bytes()).map_err(|error| {
            Failure::run_failed(format!("--out: {} cannot be written: {error}", out.display()))
        }),
        Ok(None) => Ok(()),
        Err(reason) => {
            tell(&format!("a call has no row: {reason}"));
            Ok(())
        }
    };
    while !stop.load(Ordering::Relaxed) {
        match seen.recv_timeout(LOOK) {
            Ok(seen) => take(seen)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    seen.try_iter().try_for_each(take)?;
    conclude(&recording, arguments)
}

/// Says what was recorded, and what to do with it.
fn conclude(recording: &Recording, arguments: &RecordArgs) -> Result<(), Failure> {
    let counts = recording.counts();
    if let Some(left_out) = recording.left_out() {
        tell(&format!("requests without a row: {left_out}"));
    }
    if counts.estimated > 0 {
        tell(&format!(
            "{} of {} calls have estimated lengths, because the server did not state them; \
                --ask-usage asks for them",
            counts.estimated, counts.rows
        ));
    }
    if counts.by_time > 0 {
        tell(&format!(
            "{} sessions are taken for those of sub-agents, because they began while the tools of one call ran",
            counts.by_time
        ));
    }
    let file = arguments.out.display();
    if counts.rows == 0 {
        return Err(Failure::run_failed(format!("no call was recorded; {file} is empty")));
    }
    print(&format!(
        "{} calls in {file}\nlook: inferometer trace {file}\nplay: inferometer run --workload agents \
            --dataset {file}\n",
        counts.rows
    ))
}
