//! The guard process. It starts a server and writes the server's log. When the guard's standard input closes,
//! the guard ends the server with all descendants. The guard itself ends when no descendant is left.

use std::io::{self, BufRead, BufReader, PipeReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::{ffi::OsString, fs::File, os::unix::process::CommandExt, time::Duration};

use inferometer_model::{Nanos, Secrets, secrets};
use inferometer_net::{
    EndSignal, adopt_orphans, end_process, monotonic_now, reap_any_child, spawn, wall_clock_ns,
};

use crate::launch::event::{Event, GuardConfig, ServerExit, Usage};
use crate::{launch::log::Log, launch::phases::Phases, launch::tree::Tree};

/// How often resource use is sampled. A sample takes some milliseconds.
const SAMPLE_EVERY: Duration = Duration::from_secs(2);
/// How long to wait for the rest of the log of a server that has ended. A child of the server may keep the log open for
/// longer. This time is enough, even on a busy machine, to read the output that is already in the pipe.
const LOG_TIMEOUT: Duration = Duration::from_secs(2);
/// How often remaining processes are signalled again.
const SIGNAL_EVERY: Duration = Duration::from_millis(100);
/// The shortest time between two lines of the log that are sent to the launching process.
const LINE_EVERY: Duration = Duration::from_secs(1);
/// How many pieces of the log may wait to be written to the disk. If this limit is reached, the server's output blocks.
const LOG_QUEUE: usize = 64;

/// The events that the guard waits for.
enum GuardEvent {
    /// The server wrote this to its log. It was read at this instant.
    Output(Nanos, Vec<u8>),
    LogEnded,
    /// The phases of the start are complete.
    Measured,
    /// The server's first process has ended.
    Exited(String),
    /// No descendant is left.
    AllGone,
    /// The launching process has closed the guard's input or ended, or the guard received a signal.
    End,
}

/// Runs this process as the guard of a server, until no process of the server is left. The first line of
/// standard input describes the server.
///
/// # Errors
/// When the first line cannot be parsed, when a file cannot be written, or when the operating system refuses
/// a call.
pub fn guard() -> io::Result<()> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let config: GuardConfig = serde_json::from_str(&line)?;
    adopt_orphans()?;
    let usage_file = File::create(&config.usage)?;
    let secrets = secrets(&config, std::env::vars_os());
    let log = Log::new(File::create(&config.log)?, config.log_limit_bytes, secrets);
    let (sender, events) = sync_channel(LOG_QUEUE);
    let on_signal = sender.clone();
    // A signal to the guard ends the server.
    ctrlc::set_handler(move || end_on_signal(&on_signal)).map_err(no_handler)?;
    let began = monotonic_now();
    let (reader, pid) = match start(&config) {
        Ok(started) => started,
        Err(error) => {
            send(&Event::NotStarted(error.to_string()));
            return Ok(());
        }
    };
    if let Err(error) = watch(pid, reader, &sender) {
        // Without these threads, the guard could not end the server later.
        end_at_once();
        send(&Event::NotStarted(error.to_string()));
        return Ok(());
    }
    send(&Event::Started(began));
    let mut guard = Guard {
        pid,
        config,
        log,
        log_ended: false,
        all_gone: false,
        usage_file,
        peak_rss_bytes: 0,
        line_at: Nanos::ZERO,
        phases: Some(Phases::known()),
        ready_line_seen: false,
        ending: Ending::NotYet,
    };
    guard.usage_line("unix_s,cpu_s,rss_bytes,processes");
    guard.run(&events);
    guard.log.finish()
}

/// The secrets to remove from the log: those in the header fields of requests, in the environment, which the server
/// inherits, and in its command.
fn secrets(
    config: &GuardConfig,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Secrets {
    let words = config.command.iter().chain(config.environment.values()).map(String::as_str);
    let own = config.environment.iter().map(|(name, value)| (name.into(), value.into()));
    let variables = secrets::of_environment(environment.chain(own));
    let of_words = secrets::secrets_in_words(words);
    Secrets::of_headers(&[config.headers.clone(), variables, of_words].concat())
}

/// Starts the server in its own process group, which does not receive Ctrl-C. Standard output and standard
/// error use one pipe, so that their order is preserved.
fn start(config: &GuardConfig) -> io::Result<(PipeReader, u32)> {
    let (reader, writer) = io::pipe()?;
    let (program, arguments) = config.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(&config.environment)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0);
    if let Some(directory) = &config.directory {
        command.current_dir(directory);
    }
    let child = command.spawn()?;
    Ok((reader, child.id()))
}

/// Starts three threads that only wait: one for the log, one for standard input, one for children.
///
/// # Errors
/// When the system refuses a thread.
fn watch(pid: u32, mut reader: PipeReader, sender: &SyncSender<GuardEvent>) -> io::Result<()> {
    let log = sender.clone();
    spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        loop {
            match reader.read(&mut buffer) {
                Ok(count @ 1..) => {
                    let at = monotonic_now();
                    if log.send(GuardEvent::Output(at, buffer[..count].to_vec())).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
            }
        }
        let _ = log.send(GuardEvent::LogEnded);
    })?;
    let input = sender.clone();
    spawn(move || {
        let mut buffer = String::new();
        while io::stdin().read_line(&mut buffer).is_ok_and(|count| count > 0) {
            buffer.clear();
            let _ = input.send(GuardEvent::Measured);
        }
        let _ = input.send(GuardEvent::End);
    })?;
    let children = sender.clone();
    spawn(move || {
        while let Ok(Some((ended, status))) = reap_any_child() {
            if ended == pid && children.send(GuardEvent::Exited(status.to_string())).is_err() {
                return;
            }
        }
        let _ = children.send(GuardEvent::AllGone);
    })?;
    Ok(())
}

struct Guard {
    pid: u32,
    config: GuardConfig,
    log: Log,
    log_ended: bool,
    /// Whether no descendant is left.
    all_gone: bool,
    usage_file: File,
    peak_rss_bytes: u64,
    /// When a line of the log was last sent to the launching process.
    line_at: Nanos,
    /// The phases that are searched for in the log; `None` when the start is over, so that passes are not disturbed.
    phases: Option<Phases>,
    ready_line_seen: bool,
    ending: Ending,
}

/// The steps of ending the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    NotYet,
    /// SIGTERM was sent to the first process. After this process has ended, SIGTERM is also sent to the other
    /// processes.
    Terminating {
        until: Nanos,
        sent_to_all: bool,
    },
    Killing,
}

impl Guard {
    fn run(&mut self, events: &Receiver<GuardEvent>) {
        let mut exited = false;
        let mut sample_at = monotonic_now() + SAMPLE_EVERY;
        loop {
            match events.recv_timeout(self.wait_time(sample_at)) {
                Ok(GuardEvent::Output(at, bytes)) => self.add_output(at, &bytes),
                Ok(GuardEvent::LogEnded) => self.log_ended = true,
                Ok(GuardEvent::Measured) => self.phases = None,
                Ok(GuardEvent::Exited(how)) => {
                    exited = true;
                    self.read_rest_of_log(events);
                    self.send_end(how);
                    self.start_ending();
                }
                Ok(GuardEvent::End) => self.start_ending(),
                Ok(GuardEvent::AllGone) => self.all_gone = true,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.all_gone {
                return;
            }
            let now = monotonic_now();
            if now >= sample_at {
                self.sample_usage();
                sample_at = now + SAMPLE_EVERY;
            }
            self.continue_ending(now, exited);
        }
    }

    fn wait_time(&self, sample_at: Nanos) -> Duration {
        let until_sample = sample_at.since(monotonic_now());
        if self.ending == Ending::NotYet { until_sample } else { until_sample.min(SIGNAL_EVERY) }
    }

    fn add_output(&mut self, at: Nanos, bytes: &[u8]) {
        let mut last = None;
        let mut of_phases = Vec::new();
        let ready = self.config.ready_line.as_deref().filter(|_| !self.ready_line_seen);
        let mut is_ready = false;
        let written = self.log.push(bytes, |line| {
            is_ready |= ready.is_some_and(|wanted| line.contains(wanted));
            last = Some(line.to_owned());
            if self.phases.as_ref().is_some_and(|phases| phases.are_in(line)) {
                of_phases.push(line.to_owned());
            }
        });
        for line in of_phases {
            send(&Event::PhaseLine(at, line));
        }
        if let Err(error) = written {
            send(&Event::Line(format!("(the log cannot be written: {error})")));
        }
        if is_ready {
            self.ready_line_seen = true;
            send(&Event::ReadyLine);
        }
        let now = monotonic_now();
        if let Some(line) = last.filter(|_| now.since(self.line_at) >= LINE_EVERY) {
            self.line_at = now;
            send(&Event::Line(line));
        }
    }

    /// Reads the output that the server wrote before its end and that may still be in the pipe.
    fn read_rest_of_log(&mut self, events: &Receiver<GuardEvent>) {
        let until = monotonic_now() + LOG_TIMEOUT;
        while !self.log_ended {
            match events.recv_timeout(until.since(monotonic_now())) {
                Ok(GuardEvent::Output(at, bytes)) => self.add_output(at, &bytes),
                Ok(GuardEvent::LogEnded) => self.log_ended = true,
                Ok(GuardEvent::AllGone) => self.all_gone = true,
                // The server has ended already.
                Ok(GuardEvent::End | GuardEvent::Exited(_) | GuardEvent::Measured) => {}
                Err(_) => return,
            }
        }
    }

    fn send_end(&mut self, how: String) {
        send(&Event::Ended(ServerExit {
            how,
            first_errors: self.log.first_errors(),
            last_lines: self.log.last_lines(),
            log_left_out_bytes: self.log.left_out(),
        }));
    }

    fn sample_usage(&mut self) {
        let usage = Tree::of(std::process::id()).usage();
        self.peak_rss_bytes = self.peak_rss_bytes.max(usage.rss_bytes);
        let usage = Usage { peak_rss_bytes: self.peak_rss_bytes, ..usage };
        let unix_s = wall_clock_ns() as f64 * 1e-9;
        let Usage { cpu_s, rss_bytes, processes, .. } = usage;
        self.usage_line(&format!("{unix_s:.3},{cpu_s:.2},{rss_bytes},{processes}"));
        send(&Event::Usage(usage));
    }

    /// Writes a line to the file of resource use, which is for users. The launching process receives the
    /// values as events.
    fn usage_line(&mut self, line: &str) {
        let _ = writeln!(self.usage_file, "{line}");
    }

    fn start_ending(&mut self) {
        if self.ending != Ending::NotYet {
            return;
        }
        self.sample_usage();
        let until = monotonic_now() + self.config.grace;
        self.ending = Ending::Terminating { until, sent_to_all: false };
        let _ = end_process(self.pid, EndSignal::Gently);
    }

    /// SIGTERM is first sent only to the server's first process, because this process can end its own
    /// children in order. When it has ended, SIGTERM is sent to all remaining processes. After the grace
    /// period, SIGKILL is sent repeatedly to all remaining processes, because they may start new ones.
    fn continue_ending(&mut self, now: Nanos, exited: bool) {
        match self.ending {
            Ending::NotYet => {}
            Ending::Terminating { until, .. } if now >= until => self.ending = Ending::Killing,
            Ending::Terminating { until, sent_to_all: false } if exited => {
                self.ending = Ending::Terminating { until, sent_to_all: true };
                signal_all(EndSignal::Gently);
            }
            Ending::Terminating { .. } => {}
            Ending::Killing => signal_all(EndSignal::Firmly),
        }
    }
}

/// Sends a signal to every descendant. A descendant that has ended in the meantime is not an error.
fn signal_all(signal: EndSignal) {
    for pid in Tree::of(std::process::id()).pids() {
        let _ = end_process(pid, signal);
    }
}

/// Ends the server. Waits if the queue of events is full, so that no signal is lost. The signal handler has its own
/// thread, so only this thread waits.
fn end_on_signal(events: &SyncSender<GuardEvent>) {
    // If the receiver is gone, the server has ended.
    let _ = events.send(GuardEvent::End);
}

/// Converts an error of the signal handler. The handler needs a separate thread, which the system may refuse.
fn no_handler(error: ctrlc::Error) -> io::Error {
    let cause = match error {
        ctrlc::Error::System(cause) => cause.to_string(),
        other => other.to_string(),
    };
    io::Error::other(format!(
        "the guard of the server cannot handle signals: {cause}; raise the limit of processes and threads \
         (`ulimit -u`, or that of the container)"
    ))
}

/// Kills all descendants, and waits until none is left.
fn end_at_once() {
    signal_all(EndSignal::Firmly);
    while let Ok(Some(_)) = reap_any_child() {
        signal_all(EndSignal::Firmly);
    }
}

/// Sends an event to the launching process. If that process has ended, the guard's input closes, so an error
/// here is ignored.
fn send(event: &Event) {
    let mut out = io::stdout().lock();
    let line =
        serde_json::to_string(event).expect("invariant: an event can always be written as JSON");
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Reads the events of a guard from its output.
pub(crate) fn listen(from: impl Read) -> impl Iterator<Item = Event> {
    BufReader::new(from)
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| serde_json::from_str(&line).ok())
}

#[cfg(test)]
mod tests;
