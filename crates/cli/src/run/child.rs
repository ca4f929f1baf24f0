//! Servers of this program as processes of their own, so that client and server share no thread
//! and no allocator.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use inferometer_plan::Url;
use inferometer_plan::spec::parse_url;

use crate::exit::Failure;

/// A running server; ends with this value, and with this process however that ends.
pub struct ServerProcess {
    child: Child,
    /// The server ends when this closes, which the system does even if we are killed.
    _lifeline: Option<ChildStdin>,
    /// Where it listens.
    pub url: Url,
}

impl ServerProcess {
    /// Starts the embedded engine and waits until it listens. Its answers end of themselves within
    /// so many tokens, where that is given and end-of-text is not ignored.
    ///
    /// # Errors
    /// When it cannot be started or refuses its model; its own words are on standard error.
    pub fn engine(
        model: &str,
        profile: Option<&str>,
        speed: f64,
        end_of_text_within: Option<u32>,
    ) -> Result<Self, Failure> {
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
        let arguments: Vec<OsString> = arguments.into_iter().map(OsString::from).collect();
        Self::spawn("embedded engine", &arguments)
    }

    /// Starts this program as a server that ends with its standard input, and waits until it
    /// says where it listens.
    ///
    /// # Errors
    /// When it cannot be started or ends at once; its own words are on standard error.
    pub fn spawn(what: &str, arguments: &[OsString]) -> Result<Self, Failure> {
        let failed = |told: String| Failure::not_carried_out(format!("{what}: {told}"));
        let program = std::env::current_exe()
            .map_err(|error| failed(format!("this program cannot find itself: {error}")))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // An interruption by the keyboard is ours to handle, not its.
            .process_group(0);
        let mut child =
            command.spawn().map_err(|error| failed(format!("cannot be started: {error}")))?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout)
                .read_line(&mut line)
                .map_err(|error| failed(format!("says nothing: {error}")))?;
        }
        let lifeline = child.stdin.take();
        let Some(address) = line.trim().strip_prefix("listening on ") else {
            let _ = child.wait();
            return Err(failed("did not start; its own message is above".to_owned()));
        };
        let url = parse_url(address).map_err(failed)?;
        Ok(Self { child, _lifeline: lifeline, url })
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It holds nothing that a gentler end would save.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
