//! Shared parts of the end-to-end tests: the binary, an engine with faults on request, a folder. No test has a deadline
//! that a slow machine can miss: if an expected event does not occur, the test waits for minutes and then fails.

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::tiny_server::Request;

/// The binary under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_inferometer");

/// A pattern for names of runs, and the text that replaces them in snapshots.
pub const NAME_OF_RUN: (&str, &str) = (r"\b20\d{6}-\d{6}-[0-9a-f]{4}\b", "RUN");

/// An embedded engine on a free port; it ends when this value is dropped.
pub struct Engine {
    child: Child,
    /// `http://127.0.0.1:PORT`
    pub url: String,
}

impl Engine {
    /// Starts an engine that is a hundred times faster than the simulated hardware.
    pub fn start(flags: &[&str]) -> Self {
        Self::start_at("100", flags)
    }

    /// Starts an engine at another speed. At speed 1, an answer of 8,000 tokens takes minutes. Tests use this if no
    /// answer may end before another event.
    pub fn start_at(speed: &str, flags: &[&str]) -> Self {
        Self::start_on("127.0.0.1:0", speed, flags)
    }

    /// Like [`Engine::start_at`], at a given address.
    pub fn start_on(listen: &str, speed: &str, flags: &[&str]) -> Self {
        let mut child = Command::new(BINARY)
            .args(["engine", "--listen", listen, "--speed", speed, "--until-stdin-closes"])
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the engine starts");
        let url = url_of(&mut child);
        Self { child, url }
    }
}

/// Reads the first line that a process prints, and returns the URL in it, at which the process listens.
fn url_of(child: &mut Child) -> String {
    let mut line = String::new();
    let stdout = child.stdout.take().expect("stdout is a pipe");
    BufReader::new(stdout).read_line(&mut line).expect("a first line of output");
    line.trim().strip_prefix("listening on ").expect("an address").to_owned()
}

/// A dashboard on a free port; it ends when this value is dropped.
pub struct Dashboard {
    child: Child,
    /// `127.0.0.1:PORT`
    pub address: String,
}

impl Dashboard {
    /// Starts the dashboard of the store in a folder.
    pub fn start(folder: &Path) -> Self {
        let mut child = Command::new(BINARY)
            .current_dir(folder)
            .args(["web", "--listen", "127.0.0.1:0", "--until-stdin-closes"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the dashboard starts");
        let url = url_of(&mut child);
        let address = url.strip_prefix("http://").and_then(|url| url.strip_suffix('/'));
        Self { address: address.expect("a link").to_owned(), child }
    }

    /// The response to a request for a page.
    pub fn get(&self, target: &str) -> String {
        get(&self.address, target).expect("the dashboard listens")
    }

    /// Closes the standard input of the dashboard, and returns the exit code.
    pub fn end(mut self) -> Option<i32> {
        drop(self.child.stdin.take());
        self.child.wait().expect("the dashboard ends").code()
    }

    /// Sends SIGINT to the dashboard, and returns the exit code.
    pub fn interrupt(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-INT", &id]).status().expect("kill");
        self.child.wait().expect("the dashboard ends").code()
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process of the binary that runs while its test continues. The process is killed when this value is dropped, so
/// that a failing test leaves no process behind.
pub struct Running(Option<Child>);

impl Running {
    /// Starts the process in a folder. [`Running::finish`] returns its output.
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_with(folder, arguments, &[])
    }

    /// Like [`Running::start`], with additional environment variables.
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
        self.0.as_mut().expect("`finish` was not called")
    }

    /// The process id.
    pub fn id(&mut self) -> u32 {
        self.child().id()
    }

    /// The lines of standard error, as they arrive. The caller must read all lines, so that the process does not block.
    pub fn errors(&mut self) -> Lines<BufReader<ChildStderr>> {
        BufReader::new(self.child().stderr.take().expect("the first call of `errors`")).lines()
    }

    /// Sends the process a signal, such as `-INT`.
    pub fn signal(&mut self, name: &str) {
        let sent = Command::new("kill").args([name, &self.id().to_string()]).status();
        assert!(sent.expect("kill runs").success(), "{name}");
    }

    /// Waits until the process ends, and returns its exit status and output.
    pub fn finish(mut self) -> Output {
        self.0.take().expect("`finish` was not called").wait_with_output().expect("an output")
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

/// A run whose metrics are scraped while it is in progress.
pub struct Scraped {
    /// The run.
    pub run: Running,
    /// `127.0.0.1:PORT`
    pub address: String,
    /// The lines of standard error after the line with the address.
    pub errors: Lines<BufReader<ChildStderr>>,
}

impl Scraped {
    /// Starts a run with these arguments and `--metrics-listen`.
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        let listen = ["run", "--metrics-listen", "0"];
        let mut run = Running::start(folder, &[&listen, arguments].concat());
        let mut errors = run.errors();
        let address = errors.by_ref().map_while(Result::ok).find_map(|line| {
            line.strip_prefix("metrics: http://")?.split('/').next().map(str::to_owned)
        });
        Self { run, address: address.expect("an address"), errors }
    }

    /// The current metrics of the run.
    pub fn metrics(&self) -> String {
        get(&self.address, "/metrics").expect("metrics, because the run is in progress")
    }

    /// Waits until a sample has at least this value; returns all metrics at that time.
    pub fn wait_for(&self, sample: &str, at_least: f64) -> String {
        let mut text = String::new();
        wait_until(sample, || {
            text = self.metrics();
            value(&text, sample) >= at_least
        });
        text
    }

    /// Interrupts the run with SIGINT. Returns the remaining lines of standard error, and the exit status with the
    /// output.
    pub fn interrupt(mut self) -> (Vec<String>, Output) {
        self.run.signal("-INT");
        let said = self.errors.map_while(Result::ok).collect();
        (said, self.run.finish())
    }
}

/// The value of a sample in Prometheus's text format.
pub fn value(text: &str, sample: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{sample} in {text}"))
}

/// The response to a GET request, with its head; None if no server listens, or if the connection fails.
pub fn get(address: &str, target: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    let request = format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// An address at which no process listens. While this value exists, no other process can listen at the address, because
/// the address belongs to the client side of an open connection.
pub struct Nobody {
    _listener: TcpListener,
    _client: TcpStream,
    /// `http://127.0.0.1:PORT`
    pub url: String,
}

impl Nobody {
    /// Reserves the address.
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("an address"));
        let client = client.expect("a connection");
        let url = format!("http://{}", client.local_addr().expect("an address"));
        Self { _listener: listener, _client: client, url }
    }
}

/// How long a test waits for an expected event before it fails: far longer than the slowest machine needs.
const HANGS_AFTER: Duration = Duration::from_secs(600);

/// Checks repeatedly whether an event of another process has occurred. The pauses leave the processor to that process;
/// their length has no effect on the result.
pub fn wait_until(what: &str, mut has_come: impl FnMut() -> bool) {
    let began = Instant::now();
    while !has_come() {
        assert!(began.elapsed() < HANGS_AFTER, "{what}: did not occur in time");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Timeouts in seconds for tests that limit the time of a server. A test tries them in order: the first is enough on an
/// idle machine, the last on a very busy machine.
pub const PATIENCE_S: [u32; 3] = [1, 15, 240];

/// A command that runs the binary in a folder, without the API keys, proxies and settings of the user who runs the
/// tests.
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

/// Runs the binary in a folder.
pub fn inferometer(folder: &Path, arguments: &[&str]) -> Output {
    command(folder).args(arguments).output().expect("the binary runs")
}

/// Measures a server with one cell and six requests, which are all sent at the start. Returns the output, and the
/// summary if one was printed.
pub fn measure(url: &str, more: &[&str]) -> (Output, Option<Value>) {
    measure_cell(url, ("24", "12"), more)
}

/// Like [`measure`], with the given input and output lengths.
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

/// As [`small_run`], with outputs of one token.
pub fn run_of_one_token(url: &str) -> Vec<&str> {
    small_run_of(url, ("24", "1"))
}

fn small_run_of<'a>(url: &'a str, cell: (&'a str, &'a str)) -> Vec<&'a str> {
    let mut arguments = vec!["run", "--target", url, "--input-lengths", cell.0];
    arguments.extend(["--output-lengths", cell.1, "--passes", "saturated", "--requests", "6"]);
    arguments.extend(["--warmup", "0", "--json"]);
    arguments
}

/// A temporary folder that is removed after the test.
pub fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A temporary folder with the store of an earlier version, which has the runs `conversation` and `faults`, and a link
/// `data` to the folder of all crates, whose fixtures commands can name.
pub fn with_stored_runs() -> TempDir {
    let folder = folder();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of the crates");
    let stored = crates.join("store/tests/fixtures");
    let inside = |name| folder.path().join(name);
    symlink(crates, inside("data")).expect("a link");
    std::fs::create_dir(inside("inferometer.runs")).expect("a folder");
    for log in std::fs::read_dir(stored.join("version-3.runs")).expect("logs").flatten() {
        let copy = inside("inferometer.runs").join(log.file_name());
        std::fs::copy(log.path(), copy).expect("a copy");
    }
    std::fs::copy(stored.join("version-3.db"), inside("inferometer.db")).expect("a copy");
    folder
}

/// The standard error of a command.
pub fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The current size in bytes of the only run log in a folder; 0 if there is none. Other files that a run in progress
/// has next to its log do not count.
pub fn log_bytes(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder.join("inferometer.runs")).into_iter().flatten().flatten();
    let log = files.map(|file| file.path()).find(|path| path.extension() == Some("log".as_ref()));
    log.and_then(|log| log.metadata().ok()).map_or(0, |log| log.len())
}

/// Whether a request is for generated text, and not for tokens or for facts about the server.
pub fn is_generation(asked: &Request) -> bool {
    asked.head.starts_with("POST") && !asked.path().contains("tokenize")
}

pub fn fits_its_schema(summary: &Value) {
    let schema = include_str!("../../../../schema/summary.schema.json");
    let schema = serde_json::from_str(schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(summary).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

/// Runs a command that writes its results into the folder `out` of a new folder. Returns the exit code, what was printed,
/// and the summary if there is one.
pub fn summary_of(line: &str) -> (Option<i32>, String, Value) {
    let folder = folder();
    let run = inferometer(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
    let summary = std::fs::read(folder.path().join("out/summary.json")).unwrap_or_default();
    let shown = String::from_utf8_lossy(&run.stdout).into_owned() + &told(&run);
    (run.status.code(), shown, serde_json::from_slice(&summary).unwrap_or_default())
}
