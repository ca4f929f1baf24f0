//! What the end-to-end tests share: the binary, an engine that misbehaves on demand, a folder.
//! Never a deadline that a slow machine can miss: what is waited for comes, or the test hangs for
//! minutes and then fails.

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::tiny_server::Asked;

/// The binary under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_inferometer");

/// An embedded engine on a port of its own; ends with this value.
pub struct Engine {
    child: Child,
    /// `http://127.0.0.1:PORT`
    pub url: String,
}

impl Engine {
    /// Starts one, a hundred times faster than real time.
    pub fn start(flags: &[&str]) -> Self {
        Self::start_at("100", flags)
    }

    /// Starts one at a speed of its own. At speed 1 an answer of 8,000 tokens takes minutes: for
    /// tests in which no answer may be over before something else happens.
    pub fn start_at(speed: &str, flags: &[&str]) -> Self {
        Self::start_on("127.0.0.1:0", speed, flags)
    }

    /// The same at an address.
    pub fn start_on(listen: &str, speed: &str, flags: &[&str]) -> Self {
        let mut child = Command::new(BINARY)
            .args(["engine", "--listen", listen, "--speed", speed, "--until-stdin-closes"])
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the engine starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("stdout is a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("the engine says where it listens");
        let url = line.trim().strip_prefix("listening on ").expect("an address").to_owned();
        Self { child, url }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command of the binary that goes on beside its test. It is killed with this value, so that a
/// test that fails leaves none behind.
pub struct Running(Option<Child>);

impl Running {
    /// Starts it in a folder; what it prints is kept for [`Running::finish`].
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_with(folder, arguments, &[])
    }

    /// The same with environment variables.
    pub fn start_with(folder: &Path, arguments: &[&str], set: &[(&str, &str)]) -> Self {
        let child = command(folder)
            .args(arguments)
            .envs(set.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        Self(Some(child))
    }

    fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("it was not finished")
    }

    /// Its process.
    pub fn id(&mut self) -> u32 {
        self.child().id()
    }

    /// The lines of its standard error, as they come. To be read to their end.
    pub fn errors(&mut self) -> Lines<BufReader<ChildStderr>> {
        BufReader::new(self.child().stderr.take().expect("nobody reads it yet")).lines()
    }

    /// Sends it a signal, such as `-INT`.
    pub fn signal(&mut self, name: &str) {
        let sent = Command::new("kill").args([name, &self.id().to_string()]).status();
        assert!(sent.expect("kill runs").success(), "{name}");
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Output {
        self.0.take().expect("it was not finished").wait_with_output().expect("it ends")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A run that is scraped while it goes on.
pub struct Scraped {
    /// The run.
    pub run: Running,
    /// `127.0.0.1:PORT`
    pub address: String,
    /// What it says on standard error after the address.
    pub errors: Lines<BufReader<ChildStderr>>,
}

impl Scraped {
    /// Starts one with these arguments of `run`.
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        let listen = ["run", "--metrics-listen", "0"];
        let mut run = Running::start(folder, &[&listen, arguments].concat());
        let mut errors = run.errors();
        let address = errors.by_ref().map_while(Result::ok).find_map(|line| {
            line.strip_prefix("metrics: http://")?.split('/').next().map(str::to_owned)
        });
        Self { run, address: address.expect("an address"), errors }
    }

    /// What it says of itself now.
    pub fn metrics(&self) -> String {
        get(&self.address, "/metrics").expect("it listens while the run goes on")
    }

    /// Waits until a sample is at least so large; gives all that was said then.
    pub fn wait_for(&self, sample: &str, at_least: f64) -> String {
        let mut text = String::new();
        wait_until(sample, || {
            text = self.metrics();
            value(&text, sample) >= at_least
        });
        text
    }

    /// Interrupts it, as its user does; gives what it said on standard error, and its end.
    pub fn interrupt(mut self) -> (Vec<String>, Output) {
        self.run.signal("-INT");
        let said = self.errors.map_while(Result::ok).collect();
        (said, self.run.finish())
    }
}

/// The value of a sample in an answer in Prometheus's text format.
pub fn value(text: &str, sample: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{sample} in {text}"))
}

/// The answer to a request; none where nobody listens.
pub fn get(address: &str, target: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    let request = format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// An address where nobody listens, and nobody else can while this value lives: the client's own
/// end of a connection.
pub struct Nobody {
    _listener: TcpListener,
    _client: TcpStream,
    /// `http://127.0.0.1:PORT`
    pub url: String,
}

impl Nobody {
    /// Takes the address.
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("it is bound"));
        let client = client.expect("the listener takes it");
        let url = format!("http://{}", client.local_addr().expect("it is bound"));
        Self { _listener: listener, _client: client, url }
    }
}

/// How long a test waits for what must come before it calls it absent: far more than the slowest
/// machine needs.
const HANGS_AFTER: Duration = Duration::from_secs(600);

/// Looks again and again whether something of another process has come. The pauses leave the
/// processor to that process; their length decides nothing.
pub fn wait_until(what: &str, mut has_come: impl FnMut() -> bool) {
    let began = Instant::now();
    while !has_come() {
        assert!(began.elapsed() < HANGS_AFTER, "{what}: did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Spans to try one after the other where a server is given a limited time to do something: on an
/// idle machine the first is enough, and on the busiest the last.
pub const PATIENCE_S: [u32; 3] = [1, 15, 240];

/// The binary in a folder of its own, without keys, proxies and settings of whoever runs the tests.
pub fn command(folder: &Path) -> Command {
    let mut command = Command::new(BINARY);
    command.current_dir(folder).env("XDG_CONFIG_HOME", folder);
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        let is_ours = name_text.starts_with("INFEROMETER_") || name_text.starts_with("OPENAI_");
        if is_ours || name_text.to_lowercase().ends_with("_proxy") {
            command.env_remove(&name);
        }
    }
    command
}

/// A command of the binary in a folder of its own.
pub fn inferometer(folder: &Path, arguments: &[&str]) -> Output {
    command(folder).args(arguments).output().expect("the binary runs")
}

/// A small measurement of a server: one cell, six requests at once.
pub fn measure(url: &str, more: &[&str]) -> (Output, Option<Value>) {
    measure_cell(url, ("24", "12"), more)
}

/// The same for a cell of one's own.
pub fn measure_cell(url: &str, cell: (&str, &str), more: &[&str]) -> (Output, Option<Value>) {
    let folder = folder();
    let arguments = [&small_run_of(url, cell), more].concat();
    let output = inferometer(folder.path(), &arguments);
    let summary = serde_json::from_slice(&output.stdout).ok();
    (output, summary)
}

/// The arguments of a small measurement of a server.
pub fn small_run(url: &str) -> Vec<&str> {
    small_run_of(url, ("24", "12"))
}

fn small_run_of<'a>(url: &'a str, cell: (&'a str, &'a str)) -> Vec<&'a str> {
    let mut arguments = vec!["run", "--target", url, "--input-lengths", cell.0];
    arguments.extend(["--output-lengths", cell.1, "--passes", "saturated", "--requests", "6"]);
    arguments.extend(["--warmup", "0", "--json"]);
    arguments
}

/// A folder that is gone after the test.
pub fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// What a command said on standard error.
pub fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The bytes of the only run log of a folder so far; 0 while there is none. What a run keeps beside
/// its log while it goes on is none.
pub fn log_bytes(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder.join("inferometer.runs")).into_iter().flatten().flatten();
    let log = files.map(|file| file.path()).find(|path| path.extension() == Some("log".as_ref()));
    log.and_then(|log| log.metadata().ok()).map_or(0, |log| log.len())
}

/// Whether a request asks for text, and is no question for tokens or facts.
pub fn is_generation(asked: &Asked) -> bool {
    asked.head.starts_with("POST") && !asked.path().contains("tokenize")
}
