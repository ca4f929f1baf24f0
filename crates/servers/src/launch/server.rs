//! A launched server, from the point of view of the launching process. This module starts a guard for the
//! server, waits until the server is ready, checks whether it still runs, and ends it. The server is a child of
//! the guard, never of this process.

use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::{ffi::OsStr, io::Write, os::unix::process::CommandExt, time::Duration};

use inferometer_model::{Nanos, Url, target::Startup};
use inferometer_net::http::client::{Client, ServerAccess};
use inferometer_net::{free_port, monotonic_now, thread};
use inferometer_plan::{LaunchPlan, shell};

use crate::launch::event::{Event, GuardConfig, ServerExit, Usage};
use crate::launch::{error::LaunchError, guard::listen, marks::StartMarks, phases::Phases};
use crate::probe::probe;

/// The longest time between two checks whether a starting server is ready, without the duration of a check.
const CHECK_EVERY: Duration = Duration::from_millis(250);
/// The timeout of each check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);
/// How often the user sees a message while waiting.
const REPORT_EVERY: Duration = Duration::from_secs(15);
/// How long to wait for the end of a killed server, in addition to the grace period.
const KILL_TIMEOUT: Duration = Duration::from_secs(20);

/// The files of a launched server.
#[derive(Clone, Debug)]
pub struct ServerFiles {
    /// The log: standard output and standard error of the server.
    pub log: PathBuf,
    /// The resource use of the server, as CSV.
    pub usage: PathBuf,
}

/// How a user sees the progress of the wait for a server, and interrupts this wait.
pub struct ReadyWait<'a> {
    /// Set when the user interrupts the wait.
    pub stop: &'a AtomicBool,
    /// Called from time to time, with the time waited so far in seconds and the last line of the server's log.
    pub report: &'a dyn Fn(u64, Option<&str>),
}

/// A server that this process has started. The server and all its descendants end when this value is dropped,
/// and when this process ends, even if this process is killed.
pub struct LaunchedServer {
    guard: Child,
    /// The server ends when this pipe closes. The kernel closes it even if this process is killed.
    lifeline: Option<ChildStdin>,
    events: Receiver<Event>,
    plan: LaunchPlan,
    files: ServerFiles,
    ended: Option<ServerExit>,
    usage: Usage,
    marks: StartMarks,
    line_seen: bool,
    last_line: Option<String>,
    /// The address at which the server listens.
    pub url: Url,
    /// The command line of the server, with all placeholders replaced, and with `***` for each secret.
    pub command: Vec<String>,
}

impl LaunchedServer {
    /// Starts a server. `program` is the path of Inferometer. Called with `argument`, it must run as a guard.
    /// Secrets in `headers` are removed from the server's log.
    ///
    /// # Errors
    /// When no port is free, when the server's port is in use, or when the guard cannot be started. If the server
    /// itself cannot be started, [`Self::wait_until_ready`] reports this.
    pub fn start(
        plan: &LaunchPlan,
        (program, argument): (&Path, &str),
        files: &ServerFiles,
        headers: &[(String, String)],
    ) -> Result<Self, LaunchError> {
        let url = address(plan)?;
        let (port, program_name) = (url.port.to_string(), program.to_string_lossy());
        let places = [("{port}", &*port), ("{host}", &plan.host), ("{inferometer}", &program_name)];
        let fill = |word: &String| {
            places.iter().fold(word.clone(), |word, (place, value)| word.replace(place, value))
        };
        let fill_line = |line: &String| {
            places
                .iter()
                .fold(line.clone(), |line, (place, value)| shell::insert(&line, place, value))
        };
        let filled = |command: &Vec<String>| -> Vec<String> {
            let words = command.iter().enumerate().map(|(at, word)| {
                if shell::is_line(command, at) { fill_line(word) } else { fill(word) }
            });
            words.collect()
        };
        let (command, environment) = match &plan.with_secrets {
            None => (&plan.command, &plan.environment),
            Some(words) => (&words.command, &words.environment),
        };
        let config = GuardConfig {
            command: filled(command),
            environment: environment.iter().map(|(name, v)| (name.clone(), fill(v))).collect(),
            directory: plan.directory.clone(),
            ready_line: plan.ready_line.clone(),
            log: files.log.clone(),
            log_limit_bytes: plan.log_limit_bytes,
            usage: files.usage.clone(),
            grace: plan.grace,
            headers: headers.to_vec(),
        };
        let mut guard = spawn(program.as_os_str(), argument)?;
        let lifeline = guard.stdin.take().map(|mut input| {
            // If the guard has already ended, the end of its output shows this, so an error here is ignored.
            let line = serde_json::to_string(&config)
                .expect("invariant: the configuration can always be written as JSON");
            let _ = writeln!(input, "{line}");
            input
        });
        let (sender, events) = channel();
        let output = guard.stdout.take();
        let server = Self {
            guard,
            lifeline,
            events,
            plan: plan.clone(),
            files: files.clone(),
            ended: None,
            usage: Usage::default(),
            marks: StartMarks::default(),
            line_seen: false,
            last_line: None,
            url,
            command: filled(&plan.command),
        };
        if let Some(output) = output {
            let pass_on = move || {
                listen(output)
                    .take_while(|event| sender.send(event.clone()).is_ok())
                    .for_each(drop);
            };
            // If this thread cannot be started, `server` is dropped, which ends the server.
            thread::spawn(pass_on).map_err(|source| LaunchError::System {
                what: "its output cannot be read".to_owned(),
                source,
            })?;
        }
        Ok(server)
    }

    /// Waits until the server is ready. A server is ready when its ready URL answers with a status from 200 to 299 and
    /// its log contains the ready line. A condition that the plan does not state is not checked.
    ///
    /// # Errors
    /// When the server cannot be started, ends, or exceeds the timeout, or when the user interrupts the wait.
    /// The server is then ended with all its descendants. [`LaunchError::GuardLost`] when the guard has ended;
    /// the server may then still be running.
    pub fn wait_until_ready(&mut self, wait: &ReadyWait<'_>) -> Result<(), LaunchError> {
        let began = monotonic_now();
        let mut reported_at = began;
        loop {
            match self.events.recv_timeout(CHECK_EVERY) {
                Ok(Event::NotStarted(reason)) => {
                    let command = self.plan.command.first().cloned().unwrap_or_default();
                    return Err(LaunchError::NotStarted { command, reason });
                }
                Ok(event) => self.apply(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) if self.ended.is_none() => {
                    return Err(LaunchError::GuardLost);
                }
                Err(RecvTimeoutError::Disconnected) => {}
            }
            if let Some(ended) = self.ended.clone() {
                self.end();
                return Err(LaunchError::EndedEarly {
                    ended: Box::new(ended),
                    log: self.files.log.clone(),
                });
            }
            if wait.stop.load(Ordering::Relaxed) {
                self.end();
                return Err(LaunchError::Interrupted);
            }
            let now = monotonic_now();
            let Some(missing) = self.missing() else { return Ok(()) };
            if now.since(began) >= self.plan.ready_timeout {
                return Err(self.never_ready(missing));
            }
            if now.since(reported_at) >= REPORT_EVERY {
                reported_at = now;
                (wait.report)(now.since(began).as_secs(), self.last_line.as_deref());
            }
        }
    }

    /// The plan's first condition of readiness that is not met; `None` if the server is ready.
    fn missing(&mut self) -> Option<String> {
        let began = monotonic_now();
        let missing = self.first_missing(began);
        self.marks.ready.add(began, monotonic_now(), missing.is_none());
        missing
    }

    fn first_missing(&mut self, began: Nanos) -> Option<String> {
        if let Some(line) = self.plan.ready_line.as_ref().filter(|_| !self.line_seen) {
            return Some(format!("no line of its log contains `{line}`"));
        }
        let path = self.plan.ready_url.as_deref()?;
        let server = Client::reach(&self.url, Vec::new(), CHECK_TIMEOUT, &ServerAccess::default());
        self.marks.port.add(began, monotonic_now(), server.is_ok());
        match server.and_then(|server| server.get(path)) {
            Ok(answer) if (200..300).contains(&answer.status) => None,
            Ok(answer) => Some(format!("{}{path} answers {}", self.url, answer.status)),
            Err(error) => Some(error.to_string()),
        }
    }

    fn never_ready(&mut self, missing: String) -> LaunchError {
        self.end();
        LaunchError::NeverReady {
            after_s: self.plan.ready_timeout.as_secs(),
            missing,
            ended: Box::new(self.ended.take().unwrap_or_default()),
            log: self.files.log.clone(),
        }
    }

    fn apply(&mut self, event: Event) {
        match event {
            Event::ReadyLine => self.line_seen = true,
            Event::Line(line) => self.last_line = Some(line),
            Event::Usage(usage) => self.usage = usage,
            Event::Ended(ended) => self.ended = Some(ended),
            Event::Started(at) => self.marks.began = Some(at),
            Event::PhaseLine(at, line) => self.marks.add_line(at, line),
            Event::NotStarted(_) => {}
        }
    }

    /// How the server ended; `None` if it still runs. Also returns a result if the guard has ended.
    pub fn has_ended(&mut self) -> Option<&ServerExit> {
        while let Ok(event) = self.events.try_recv() {
            self.apply(event);
        }
        if self.ended.is_none() && self.guard.try_wait().is_ok_and(|status| status.is_some()) {
            let how =
                "its guard process was ended; check whether the server is still running".to_owned();
            self.ended = Some(ServerExit { how, ..ServerExit::default() });
        }
        self.ended.as_ref()
    }

    /// Waits until the server ends, at most for the time `span`. Returns how the server ended; `None` if it still runs.
    /// Use this method instead of [`Self::has_ended`] after a connection broke, because the guard may still be reading
    /// the end of the log.
    pub fn ends_within(&mut self, span: Duration) -> Option<&ServerExit> {
        let until = monotonic_now() + span;
        while self.has_ended().is_none() {
            match self.events.recv_timeout(until.since(monotonic_now())) {
                Ok(event) => self.apply(event),
                Err(_) => break,
            }
        }
        self.has_ended()
    }

    /// How the server became ready; `None` before it is. `answer`: when the first request that was answered was sent,
    /// and when its first token arrived. The guard then stops searching the log for phases.
    pub fn startup(&mut self, answer: Option<[Nanos; 2]>) -> Option<Startup> {
        self.has_ended();
        if let Some(input) = &mut self.lifeline {
            // If the guard has ended, `has_ended` reports this.
            let _ = writeln!(input, "measured");
        }
        self.marks.startup(&Phases::known(), answer)
    }

    /// The server's resource use, as last reported.
    pub fn usage(&mut self) -> Usage {
        self.has_ended();
        self.usage
    }

    /// The files of the server.
    pub fn files(&self) -> &ServerFiles {
        &self.files
    }

    /// Sets the paths of the files after the files were moved.
    pub fn set_files(&mut self, files: ServerFiles) {
        self.files = files;
    }

    /// An error message that states how a server ended, with the last lines of its log.
    pub fn end_message(ended: &ServerExit) -> String {
        format!("{}{}", ended.how, crate::launch::error::log_excerpt(ended))
    }

    /// A message of one line that states how a server ended, with its first error or its last line.
    pub fn end_in_short(ended: &ServerExit) -> String {
        format!("{}; {}", ended.how, crate::launch::error::log_in_short(ended))
    }

    /// Ends the server, by SIGTERM and then SIGKILL, and waits until no process of the server is left, at most
    /// for the grace period and 20 s more. Returns how the server ended; `None` if this is not known.
    pub fn end(&mut self) -> Option<ServerExit> {
        self.lifeline.take();
        let until = monotonic_now() + self.plan.grace + KILL_TIMEOUT;
        loop {
            match self.events.recv_timeout(until.since(monotonic_now())) {
                Ok(event) => self.apply(event),
                // The guard ends after the last process of the server.
                Err(RecvTimeoutError::Disconnected) => {
                    let _ = self.guard.wait();
                    break;
                }
                // The kernel cannot end a process. The guard continues to try.
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        self.ended.clone()
    }
}

impl Drop for LaunchedServer {
    fn drop(&mut self) {
        self.end();
    }
}

fn spawn(program: &OsStr, argument: &str) -> Result<Child, LaunchError> {
    Command::new(program)
        .arg(argument)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // Ctrl-C at the terminal must reach this process only, not the guard.
        .process_group(0)
        .spawn()
        .map_err(|source| LaunchError::System {
            what: "its guard cannot be started".into(),
            source,
        })
}

/// The port that the command itself contains (`--port 8000`); `None` if the command has no port or the
/// placeholder `{port}`.
fn port_of_command(command: &[String]) -> Option<u16> {
    let words: Vec<&str> = command.iter().flat_map(|word| word.split_whitespace()).collect();
    if words.iter().any(|word| word.contains("{port}")) {
        return None;
    }
    let behind = words.windows(2).filter(|pair| pair[0] == "--port");
    let joined = words.iter().filter_map(|word| word.strip_prefix("--port="));
    behind.map(|pair| pair[1]).chain(joined).find_map(|port| port.parse().ok())
}

/// The address at which the server will listen. If another program listens there, this is an error.
fn address(plan: &LaunchPlan) -> Result<Url, LaunchError> {
    let host = plan.reached_at().to_owned();
    let named = plan.port.or_else(|| port_of_command(&plan.command));
    let port = match named {
        Some(port) => port,
        None => free_port(&plan.host)
            .map_err(|source| LaunchError::NoPort { host: plan.host.clone(), source })?,
    };
    let url = Url::plain(host, port);
    let Ok(other) = Client::reach(&url, Vec::new(), CHECK_TIMEOUT, &ServerAccess::default()) else {
        return Ok(url);
    };
    let by = probe(&other).map_or_else(|_| "another program".to_owned(), |found| found.line());
    Err(LaunchError::PortTaken { address: url.authority(), by })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_from_the_server_command() {
        let port = |words: &[&str]| {
            port_of_command(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(port(&["serve", "--port", "8000"]), Some(8000));
        assert_eq!(port(&["sh", "-c", "exec serve --port=8001 --host h"]), Some(8001));
        assert_eq!(port(&["serve", "--port", "{port}"]), None);
        assert_eq!(port(&["serve", "--port", "many"]), None);
        assert_eq!(port(&["serve"]), None);
    }
}
