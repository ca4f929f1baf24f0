//! Starts the parts of a check as separate processes.

use std::process::{Command, Stdio};
use std::{ffi::OsString, net::SocketAddr, path::Path};

use inferometer_run::ServerProcess;
use serde::de::DeserializeOwned;

use crate::{CheckError, Part};

/// A reference server in its own process, which ends when the value is dropped.
pub struct Server {
    _process: ServerProcess,
    /// The address on which it listens.
    pub address: SocketAddr,
}

/// The arguments of a process that does a part.
fn arguments(part: Part) -> [String; 2] {
    ["check-part".to_owned(), serde_json::json!(part).to_string()]
}

/// Starts a reference server: see [`Part::Server`].
///
/// # Errors
/// If the server cannot be started.
pub fn server(program: &Path, first_us: u64, gap_us: u64) -> Result<Server, CheckError> {
    let arguments = arguments(Part::Server { first_us, gap_us }).map(OsString::from);
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
pub fn run<T: DeserializeOwned>(program: &Path, name: &str, part: Part) -> Result<T, CheckError> {
    let failed = |what: String| CheckError::new(format!("check, {name}: {what}"));
    let output = Command::new(program)
        .args(arguments(part))
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
