//! The process between us and a server: starts it, keeps its log, and ends it with all that
//! descends from it when our end of its standard input closes. Never outlives them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use inferometer_model::time::Nanos;
use inferometer_net::{
    EndSignal, adopt_orphans, end_process, monotonic_now, reap_any_child, wall_clock_ns,
};

use crate::event::{Ended, Event, Order, Usage};
use crate::log::Log;
use crate::tree::Tree;

/// How often the use of the machine is looked at: the look costs some milliseconds.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long to wait for the last words of a server that has ended, where a child of it holds the
/// log open. Long enough for a busy machine to read what is there.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How often processes that do not end are ended again.
const END_AGAIN: Duration = Duration::from_millis(100);
/// How often a line of the log is passed on at most.
const LINE_EVERY: Duration = Duration::from_secs(1);
/// Pieces of the log that may wait for the disk; beyond that the server waits.
const LOG_QUEUE: usize = 64;

/// What happens to a guard.
enum Happened {
    Wrote(Vec<u8>),
    LogEnded,
    /// The server's first process has ended.
    Exited(String),
    /// No descendant is left.
    AllGone,
    /// Whoever asked for the server does not want it any more, or is gone.
    End,
}

/// Guards a server, as the first line of standard input says, until nothing of it is left.
///
/// # Errors
/// When what it was told cannot be read, or the system refuses what a guard needs.
pub fn guard() -> io::Result<()> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let order: Order = serde_json::from_str(&line)?;
    adopt_orphans()?;
    let usage_file = File::create(&order.usage)?;
    let log = Log::new(File::create(&order.log)?, order.log_limit_bytes);
    let (sender, happened) = sync_channel(LOG_QUEUE);
    let on_signal = sender.clone();
    // Somebody who ends the guard means the server.
    ctrlc::set_handler(move || drop(on_signal.try_send(Happened::End)))
        .map_err(io::Error::other)?;
    let (reader, pid) = match start(&order) {
        Ok(started) => started,
        Err(error) => {
            tell(&Event::NotStarted(error.to_string()));
            return Ok(());
        }
    };
    tell(&Event::Started(pid));
    watch(pid, reader, &sender);
    let mut guard = Guard {
        pid,
        order,
        log,
        log_ended: false,
        all_gone: false,
        usage_file,
        peak_rss_bytes: 0,
        line_at: Nanos::ZERO,
        ready_line_seen: false,
        ending: Ending::NotYet,
    };
    guard.usage_line("unix_s,cpu_s,rss_bytes,processes");
    guard.play(&happened);
    guard.log.finish()
}

/// Starts the server in a group of its own, out of reach of the keyboard, with one pipe for all
/// that it writes, so that its order is kept.
fn start(order: &Order) -> io::Result<(PipeReader, u32)> {
    let (reader, writer) = io::pipe()?;
    let (program, arguments) = order.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(&order.environment)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0);
    if let Some(directory) = &order.directory {
        command.current_dir(directory);
    }
    let child = command.spawn()?;
    Ok((reader, child.id()))
}

/// Three threads that only wait: for the log, for our standard input, for children.
fn watch(pid: u32, mut reader: PipeReader, sender: &SyncSender<Happened>) {
    let log = sender.clone();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            if log.send(Happened::Wrote(buffer[..count].to_vec())).is_err() {
                return;
            }
        }
        let _ = log.send(Happened::LogEnded);
    });
    let input = sender.clone();
    std::thread::spawn(move || {
        let mut buffer = String::new();
        while io::stdin().read_line(&mut buffer).is_ok_and(|count| count > 0) {
            buffer.clear();
        }
        let _ = input.send(Happened::End);
    });
    let children = sender.clone();
    std::thread::spawn(move || {
        while let Ok(Some((ended, status))) = reap_any_child() {
            if ended == pid && children.send(Happened::Exited(status.to_string())).is_err() {
                return;
            }
        }
        let _ = children.send(Happened::AllGone);
    });
}

struct Guard {
    pid: u32,
    order: Order,
    log: Log,
    log_ended: bool,
    /// No descendant is left.
    all_gone: bool,
    usage_file: File,
    peak_rss_bytes: u64,
    /// When a line was passed on last.
    line_at: Nanos,
    ready_line_seen: bool,
    ending: Ending,
}

/// How far the end is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    NotYet,
    /// Its first process was told; the others when that has ended.
    Gently {
        until: Nanos,
        told_others: bool,
    },
    Firmly,
}

impl Guard {
    fn play(&mut self, happened: &Receiver<Happened>) {
        let mut exited = false;
        let mut look_at = monotonic_now() + LOOK_EVERY;
        loop {
            match happened.recv_timeout(self.patience(look_at)) {
                Ok(Happened::Wrote(bytes)) => self.wrote(&bytes),
                Ok(Happened::LogEnded) => self.log_ended = true,
                Ok(Happened::Exited(how)) => {
                    exited = true;
                    self.hear_last_words(happened);
                    self.tell_end(how);
                    self.begin_to_end();
                }
                Ok(Happened::End) => self.begin_to_end(),
                Ok(Happened::AllGone) => self.all_gone = true,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.all_gone {
                return;
            }
            let now = monotonic_now();
            if now >= look_at {
                self.look();
                look_at = now + LOOK_EVERY;
            }
            self.go_on_ending(now, exited);
        }
    }

    fn patience(&self, look_at: Nanos) -> Duration {
        let until_look = look_at.since(monotonic_now());
        if self.ending == Ending::NotYet { until_look } else { until_look.min(END_AGAIN) }
    }

    fn wrote(&mut self, bytes: &[u8]) {
        let mut last = None;
        let ready = self.order.ready_line.as_deref().filter(|_| !self.ready_line_seen);
        let mut is_ready = false;
        let kept = self.log.push(bytes, |line| {
            is_ready |= ready.is_some_and(|wanted| line.contains(wanted));
            last = Some(line.to_owned());
        });
        if let Err(error) = kept {
            tell(&Event::Line(format!("(the log cannot be written: {error})")));
        }
        if is_ready {
            self.ready_line_seen = true;
            tell(&Event::ReadyLine);
        }
        let now = monotonic_now();
        if let Some(line) = last.filter(|_| now.since(self.line_at) >= LINE_EVERY) {
            self.line_at = now;
            tell(&Event::Line(line));
        }
    }

    /// What the server wrote before it ended may still be on its way.
    fn hear_last_words(&mut self, happened: &Receiver<Happened>) {
        let until = monotonic_now() + LAST_WORDS;
        while !self.log_ended {
            match happened.recv_timeout(until.since(monotonic_now())) {
                Ok(Happened::Wrote(bytes)) => self.wrote(&bytes),
                Ok(Happened::LogEnded) => self.log_ended = true,
                Ok(Happened::AllGone) => self.all_gone = true,
                // The end follows in any case.
                Ok(Happened::End | Happened::Exited(_)) => {}
                Err(_) => return,
            }
        }
    }

    fn tell_end(&mut self, how: String) {
        tell(&Event::Ended(Ended {
            how,
            first_errors: self.log.first_errors(),
            last_lines: self.log.last_lines(),
            log_left_out_bytes: self.log.left_out(),
        }));
    }

    fn look(&mut self) {
        let usage = Tree::of(std::process::id()).usage();
        self.peak_rss_bytes = self.peak_rss_bytes.max(usage.rss_bytes);
        let usage = Usage { peak_rss_bytes: self.peak_rss_bytes, ..usage };
        let unix_s = wall_clock_ns() as f64 * 1e-9;
        let Usage { cpu_s, rss_bytes, processes, .. } = usage;
        self.usage_line(&format!("{unix_s:.3},{cpu_s:.2},{rss_bytes},{processes}"));
        tell(&Event::Usage(usage));
    }

    /// The series is for people; the totals are told in any case.
    fn usage_line(&mut self, line: &str) {
        let _ = writeln!(self.usage_file, "{line}");
    }

    fn begin_to_end(&mut self) {
        if self.ending != Ending::NotYet {
            return;
        }
        self.look();
        let until = monotonic_now() + self.order.grace;
        self.ending = Ending::Gently { until, told_others: false };
        let _ = end_process(self.pid, EndSignal::Gently);
    }

    /// First the server alone, which knows best how to end its own; when it has ended, what it
    /// left behind; after the grace whatever is there, again and again, for it may start others.
    fn go_on_ending(&mut self, now: Nanos, exited: bool) {
        match self.ending {
            Ending::NotYet => {}
            Ending::Gently { until, .. } if now >= until => self.ending = Ending::Firmly,
            Ending::Gently { until, told_others: false } if exited => {
                self.ending = Ending::Gently { until, told_others: true };
                tell_all(EndSignal::Gently);
            }
            Ending::Gently { .. } => {}
            Ending::Firmly => tell_all(EndSignal::Firmly),
        }
    }
}

/// Sends a signal to every descendant. One that has ended meanwhile is no error.
fn tell_all(signal: EndSignal) {
    for pid in Tree::of(std::process::id()).pids() {
        let _ = end_process(pid, signal);
    }
}

/// Tells whoever asked for the server. If they are gone, our input says so.
fn tell(event: &Event) {
    let mut out = io::stdout().lock();
    let line = serde_json::to_string(event).expect("invariant: an event is plain data");
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Reads what a guard tells.
pub(crate) fn listen(from: impl Read) -> impl Iterator<Item = Event> {
    BufReader::new(from)
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| serde_json::from_str(&line).ok())
}
