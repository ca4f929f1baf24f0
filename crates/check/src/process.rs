//! Starts the parts of a check as separate processes.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use inferometer_run::ServerProcess;
use serde::de::DeserializeOwned;

use crate::error::CheckError;

/// A reference server in its own process, which ends when the value is dropped.
pub struct Server {
    _process: ServerProcess,
    /// The address on which it listens.
    pub address: SocketAddr,
}

/// Starts a reference server. It sends the first token of a stream `first_us` microseconds after the request, and each
/// further token `gap_us` microseconds after the previous token. If `gap_us` is 0, it sends as fast as it can.
///
/// # Errors
/// If the server cannot be started.
pub fn server(program: &Path, first_us: u64, gap_us: u64) -> Result<Server, CheckError> {
    let (first, gap) = (first_us.to_string(), gap_us.to_string());
    let arguments = ["check-part", "server", "--first-us", &first, "--gap-us", &gap];
    let arguments = arguments.map(OsString::from);
    let process = ServerProcess::spawn("reference server", program, &arguments);
    let process = process.map_err(CheckError::new)?;
    let address = process.url.authority().parse();
    let address = address.map_err(|error| {
        CheckError::new(format!("reference server: its address is invalid: {error}"))
    })?;
    Ok(Server { _process: process, address })
}

/// Runs a part of the check until it ends, and returns its output, parsed from JSON.
///
/// # Errors
/// If the part cannot be started or fails, or if its output is invalid. The part writes its own message to
/// standard error.
pub fn run<T: DeserializeOwned>(
    program: &Path,
    name: &str,
    arguments: &[String],
) -> Result<T, CheckError> {
    let failed = |what: String| CheckError::new(format!("check, {name}: {what}"));
    let output = Command::new(program)
        .args(["check-part", name])
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(format!("cannot be started: {error}")))?;
    if !output.status.success() {
        return Err(failed("failed; its own message is above".to_owned()));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| failed(format!("its output is not valid JSON: {error}")))
}
