//! The embedded engine as a server. It runs in a separate process, so that client and server share no thread
//! and no allocator. If no program is given, it runs on a thread of this process.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::{
    ffi::OsString, net::SocketAddr, os::unix::process::CommandExt, path::Path, sync::Arc,
    thread::JoinHandle,
};

use inferometer_engine::serve::{Front, FrontConfig};
use inferometer_engine::{Engine, EngineConfig, Noise, profile::profile};
use inferometer_model::{Url, url::parse_url};
use inferometer_net::{
    Actor, EpollNet, Net, Ready, Wake, Waker, http::Server, thread::with_advice,
};

use crate::{EngineStartError, ProcessError, RunError, TargetError};

/// The embedded engine, listening on a port of this machine. Dropping this value ends the engine.
pub struct EmbeddedServer {
    /// The address on which the engine listens.
    pub url: Url,
    _process: Option<ServerProcess>,
    _thread: Option<EngineThread>,
}

impl EmbeddedServer {
    /// Starts the engine and waits until it listens. With `end_of_text_within`, an answer ends within this
    /// number of tokens, unless its request ignores end-of-text.
    ///
    /// # Errors
    /// When the engine cannot be started, or does not know the model or the profile.
    pub fn start(
        program: Option<&Path>,
        model: &str,
        profile: Option<&str>,
        speed: f64,
        end_of_text_within: Option<u32>,
        noise: Option<Noise>,
    ) -> Result<Self, RunError> {
        let Some(program) = program else {
            let thread = EngineThread::start(model, profile, speed, end_of_text_within, noise)?;
            let url =
                parse_url(&format!("http://{}", thread.address)).map_err(TargetError::from)?;
            return Ok(Self { url, _process: None, _thread: Some(thread) });
        };
        let speed = speed.to_string();
        let within = end_of_text_within.map(|tokens| tokens.to_string());
        let mut arguments = vec!["engine", "--listen", "127.0.0.1:0", "--until-stdin-closes"];
        arguments.extend(["--model", model, "--speed", &speed]);
        if let Some(profile) = profile {
            arguments.extend(["--profile", profile]);
        }
        if let Some(within) = &within {
            arguments.extend(["--end-of-text-within", within]);
        }
        let noise = noise.map(|noise| noise.to_string());
        if let Some(noise) = &noise {
            arguments.extend(["--noise", noise]);
        }
        let arguments: Vec<OsString> = arguments.into_iter().map(OsString::from).collect();
        let process = ServerProcess::spawn("embedded engine", program, &arguments)?;
        Ok(Self { url: process.url.clone(), _process: Some(process), _thread: None })
    }
}

/// A process of the `inferometer` program that runs a server. The server ends when this value is dropped, and also if
/// the process that holds this value is killed.
pub struct ServerProcess {
    child: Child,
    /// The server ends when this pipe closes. The operating system closes the pipe even if the process that holds it
    /// is killed.
    _stdin: Option<ChildStdin>,
    /// The address on which the server listens.
    pub url: Url,
}

impl ServerProcess {
    /// Starts the program as a server that ends when its standard input closes, and waits until the server
    /// states its address.
    ///
    /// # Errors
    /// When the server cannot be started, or ends immediately. The server writes its messages to standard error.
    pub fn spawn(what: &str, program: &Path, arguments: &[OsString]) -> Result<Self, RunError> {
        let failed = |why| TargetError::Process { what: what.to_owned(), why };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // In its own process group, the server does not receive Ctrl-C from the terminal. Only the process that
            // starts it handles Ctrl-C.
            .process_group(0);
        let mut child =
            command.spawn().map_err(|error| failed(ProcessError::Start(with_advice(error))))?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout)
                .read_line(&mut line)
                .map_err(|error| failed(ProcessError::Output(error)))?;
        }
        let stdin = child.stdin.take();
        let Some(address) = line.trim().strip_prefix("listening on ") else {
            let _ = child.wait();
            return Err(failed(ProcessError::Ended).into());
        };
        let url = parse_url(address).map_err(|why| failed(ProcessError::Address(why)))?;
        Ok(Self { child, _stdin: stdin, url })
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The server has no state to save, so it is killed immediately.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The engine on a thread of this process.
struct EngineThread {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl EngineThread {
    fn start(
        model: &str,
        profile_name: Option<&str>,
        speed: f64,
        end_of_text_within: Option<u32>,
        noise: Option<Noise>,
    ) -> Result<Self, RunError> {
        let mut config = EngineConfig::of_model(model).map_err(RunError::plan)?;
        config.noise = noise;
        if let Some(name) = profile_name {
            config.profile = profile(name).map_err(RunError::plan)?;
        }
        let name = config.model.name.clone();
        let front = FrontConfig { speed, end_of_text_within, ..FrontConfig::new(name) };
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, listens) = channel();
        let ending = Arc::clone(&stop);
        let thread = inferometer_net::thread::spawn(move || {
            let refused = sender.clone();
            if let Err(why) = serve(config, front, ending, &sender) {
                // After the engine has begun to listen, no thread receives this error.
                let _ = refused.send(Err(why));
            }
        })
        .map_err(RunError::Thread)?;
        let listening =
            listens.recv().expect("invariant: the thread always sends its address or an error");
        let (address, waker) = listening?;
        Ok(Self { address, stop, waker, thread: Some(thread) })
    }
}

impl Drop for EngineThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The engine's address and a waker of its event loop, or why it does not listen.
type Listening = Result<(SocketAddr, Waker), EngineStartError>;

fn serve(
    config: EngineConfig,
    front: FrontConfig,
    stop: Arc<AtomicBool>,
    listening: &Sender<Listening>,
) -> Result<(), EngineStartError> {
    let front = Front::new(Engine::new(config)?, front, inferometer_workload::embedded())?;
    let mut net = EpollNet::new()?;
    let at = SocketAddr::from(([127, 0, 0, 1], 0));
    let address = net.listen(at)?;
    // The thread that started this one waits for the address.
    let _ = listening.send(Ok((address, net.waker())));
    Ok(net.run(&mut Until { actor: Server::new(front), stop })?)
}

/// An actor that is done when a flag is set.
struct Until<A> {
    actor: A,
    stop: Arc<AtomicBool>,
}

impl<N: Net, A: Actor<N>> Actor<N> for Until<A> {
    fn turn(&mut self, net: &mut N, ready: &[Ready]) -> Wake {
        if self.stop.load(Ordering::Relaxed) {
            return Wake::Done;
        }
        self.actor.turn(net, ready)
    }
}
