//! What the end-to-end tests share: the binary, an engine that misbehaves on demand, a folder.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

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
        let mut child = Command::new(BINARY)
            .args(["engine", "--listen", "127.0.0.1:0", "--speed", "100", "--until-stdin-closes"])
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

/// A command of the binary in a folder of its own, without any key from the environment.
pub fn inferometer(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(BINARY)
        .current_dir(folder)
        .env_remove("OPENAI_API_KEY")
        .args(arguments)
        .output()
        .expect("the binary runs")
}

/// A small measurement of a server: one cell, six requests at once.
pub fn measure(url: &str, more: &[&str]) -> (Output, Option<Value>) {
    measure_cell(url, ("24", "12"), more)
}

/// The same for a cell of one's own.
pub fn measure_cell(url: &str, cell: (&str, &str), more: &[&str]) -> (Output, Option<Value>) {
    let folder = folder();
    let mut arguments = vec!["run", "--target", url, "--input-lengths", cell.0];
    arguments.extend(["--output-lengths", cell.1, "--passes", "saturated", "--requests", "6"]);
    arguments.extend(["--warmup", "0", "--json"]);
    arguments.extend(more);
    let output = inferometer(folder.path(), &arguments);
    let summary = serde_json::from_slice(&output.stdout).ok();
    (output, summary)
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
