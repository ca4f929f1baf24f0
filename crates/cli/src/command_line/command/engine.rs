//! `engine`: serves the embedded engine over HTTP, with some of vLLM's flags.

use std::net::SocketAddr;

use clap::Args;
use inferometer_engine::serve::{Fault, FrontConfig, serve};
use inferometer_engine::{Engine, EngineConfig, Noise, profile::profile};
use inferometer_net::wall_clock_ns;

use super::engine_flags::EngineFlags;
use crate::command_line::{Failure, lifeline, tell};

/// The flags of `engine`, followed by the flags of the simulated engine.
#[derive(Args)]
pub struct EngineArgs {
    /// Address to listen on; port 0 chooses a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8000")]
    listen: SocketAddr,
    /// Model by name, or the path of a config.json
    #[arg(long, value_name = "NAME", default_value = "chatglm3-6b")]
    model: String,
    /// Profile (fitted constants) of the embedded engine, by name or file [default: the profile of
    /// the model]
    #[arg(long, value_name = "NAME|FILE")]
    profile: Option<String>,
    /// Speed relative to real time: 2 is twice as fast
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    speed: f64,
    /// Random variation of step times [default: none]; one or more parts, separated by commas:
    ///   step=SD: each step varies separately by a factor; SD: standard deviation of its log
    ///   drift=SD:TIME: slow variation of all steps together; TIME: its correlation time
    ///   warmup=SHARE:TIME: steps are longer by SHARE at first; this decreases to 0 over TIME
    ///   burst=PROBABILITY:FACTOR: with this probability, a step takes FACTOR times as long
    ///   pause=TIME:EVERY: the engine stops for TIME, once per EVERY on average
    ///   seed=N: the seed [default: a new seed at each start; it is printed]
    #[arg(long, verbatim_doc_comment, value_name = "PART,...")]
    noise: Option<String>,
    /// Model name that requests must contain [default: the name of the model]
    #[arg(long, value_name = "NAME")]
    served_model_name: Option<String>,
    /// Fault to inject into answers; FAULT@N affects only the Nth request. May be given several times. Faults:
    ///   error-event: an error inside the stream, then its usual end; without streaming, status 500
    ///   cut: the connection is closed in the middle of the answer
    ///   reset: the connection is reset in the middle of the answer
    ///   stall: nothing is sent after the middle of the answer
    ///   status=N: an error status (400 to 599) instead of an answer
    ///   garbage: bytes that are not HTTP, instead of an answer
    ///   malformed: broken JSON in the middle of the answer
    ///   bundle=N: N tokens in each event
    ///   comments: an SSE comment before each event
    ///   halves: every second event has an empty text, and the next event has the text of both
    ///   close: the connection is closed after the complete answer, without the header `Connection: close`
    ///   slow-headers=MS: nothing is sent for the first MS milliseconds
    ///   linger=MS: the engine goes on with the request for MS milliseconds if its client leaves
    ///   spike=MS: in the middle of the answer, nothing is sent for MS milliseconds
    ///   refuse: the engine exits before the answer
    ///   die: the engine exits in the middle of the answer
    #[arg(long, verbatim_doc_comment, value_name = "FAULT")]
    fault: Vec<String>,
    /// Tokens that the chat template adds to each chat prompt
    #[arg(long, value_name = "N", default_value_t = 8)]
    chat_overhead_tokens: u32,
    /// For requests that do not set `ignore_eos`: end the output at a random length, from 1 to this
    /// many tokens
    #[arg(long, value_name = "N")]
    end_of_text_within: Option<u32>,
    /// Add a field `sent_ns` to each stream event: its send time, in ns of the monotonic clock
    #[arg(long)]
    send_instants: bool,
    /// Exit when standard input is closed
    #[arg(long)]
    until_stdin_closes: bool,
    #[command(flatten)]
    flags: EngineFlags,
}

/// Serves until the process is stopped.
pub fn engine(arguments: EngineArgs) -> Result<(), Failure> {
    let config = config(&arguments)?;
    let name = arguments.served_model_name.unwrap_or_else(|| config.model.name.clone());
    let faults = arguments
        .fault
        .iter()
        .map(|text| Fault::parse(text))
        .collect::<Result<_, _>>()
        .map_err(Failure::usage)?;
    let front = FrontConfig {
        faults,
        speed: arguments.speed,
        chat_overhead_tokens: arguments.chat_overhead_tokens,
        end_of_text_within: arguments.end_of_text_within,
        send_instants: arguments.send_instants,
        ..FrontConfig::new(name)
    };
    // If an engine cannot start with these flags, the flags are wrong.
    Engine::new(config.clone()).map_err(Failure::usage)?;
    if arguments.until_stdin_closes {
        lifeline::end_with_stdin();
    }
    serve(config, front, inferometer_workload::embedded(), arguments.listen)
        .map_err(Failure::run_failed)
}

fn config(arguments: &EngineArgs) -> Result<EngineConfig, Failure> {
    let mut config = EngineConfig::of_model(&arguments.model).map_err(Failure::usage)?;
    if let Some(name) = &arguments.profile {
        config.profile = profile(name).map_err(Failure::usage)?;
    }
    arguments.flags.apply(&mut config)?;
    if let Some(text) = &arguments.noise {
        let given = Noise::parse(text).map_err(Failure::usage)?;
        // Without a given seed, each start has different noise. The new seed is printed, so that the noise can be
        // repeated.
        let noise = given.or_seed(wall_clock_ns());
        if given.seed.is_none() {
            tell(&format!("--noise {noise}"));
        }
        config.noise = Some(noise);
    }
    Ok(config)
}
