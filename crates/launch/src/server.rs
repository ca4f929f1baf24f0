//! A launched server as its user has it: waited for until it is ready, asked whether it lives,
//! ended. Never a process of its own: that is the guard's.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use inferometer_drive::probe::probe;
use inferometer_http::client::Client;
use inferometer_net::tls::Trust;
use inferometer_net::{free_port, monotonic_now};
use inferometer_plan::{LaunchPlan, Url};

use crate::error::LaunchError;
use crate::event::{Ended, Event, Order, Usage};
use crate::guard::listen;

/// How often a server that starts is asked whether it is ready.
const ASK_EVERY: Duration = Duration::from_millis(250);
/// How long each such question may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How often a user who waits is told of it.
const TELL_EVERY: Duration = Duration::from_secs(15);
/// Beyond its grace, how long a server may need to be ended firmly.
const FIRM_END: Duration = Duration::from_secs(20);

/// Where the files of a launched server go.
#[derive(Clone, Debug)]
pub struct Place {
    /// What it writes.
    pub log: PathBuf,
    /// What it uses of the machine, as CSV.
    pub usage: PathBuf,
}

/// What waiting listens to.
pub struct Patience<'a> {
    /// The user does not want to wait any more.
    pub stop: &'a AtomicBool,
    /// Tells the user how it goes.
    pub say: &'a dyn Fn(&str),
}

/// A server that this run started. It ends with this value, with all that it started, and with
/// this process, however that ends.
pub struct Launched {
    guard: Child,
    /// The server ends when this closes, which the system does even if we are killed.
    lifeline: Option<ChildStdin>,
    events: Receiver<Event>,
    plan: LaunchPlan,
    place: Place,
    ended: Option<Ended>,
    usage: Usage,
    line_seen: bool,
    last_line: Option<String>,
    /// Where it listens.
    pub url: Url,
    /// The command line that started it, with everything filled in.
    pub command: Vec<String>,
}

impl Launched {
    /// Starts a server. `program` with `arguments` is this program as a guard.
    ///
    /// # Errors
    /// When its port is taken, or it or its guard cannot be started.
    pub fn start(
        plan: &LaunchPlan,
        (program, argument): (&Path, &str),
        place: &Place,
    ) -> Result<Self, LaunchError> {
        let url = address(plan)?;
        let fill = |word: &String| {
            word.replace("{port}", &url.port.to_string())
                .replace("{host}", &plan.host)
                .replace("{inferometer}", &program.to_string_lossy())
        };
        let order = Order {
            command: plan.command.iter().map(fill).collect(),
            environment: plan.environment.iter().map(|(name, v)| (name.clone(), fill(v))).collect(),
            directory: plan.directory.clone(),
            ready_line: plan.ready_line.clone(),
            log: place.log.clone(),
            log_limit_bytes: plan.log_limit_bytes,
            usage: place.usage.clone(),
            grace: plan.grace,
        };
        let mut guard = spawn(program.as_os_str(), argument)?;
        let lifeline = guard.stdin.take().map(|mut input| {
            // A guard that is gone already says so by the end of what it tells.
            let told = serde_json::to_string(&order).expect("invariant: an order is plain data");
            let _ = writeln!(input, "{told}");
            input
        });
        let (sender, events) = channel();
        if let Some(output) = guard.stdout.take() {
            std::thread::spawn(move || {
                listen(output)
                    .take_while(|event| sender.send(event.clone()).is_ok())
                    .for_each(drop);
            });
        }
        Ok(Self {
            guard,
            lifeline,
            events,
            plan: plan.clone(),
            place: place.clone(),
            ended: None,
            usage: Usage::default(),
            line_seen: false,
            last_line: None,
            url,
            command: order.command,
        })
    }

    /// Waits until the server is ready: until the path of its plan answers with success, and the
    /// line of its plan was written, as far as the plan names them.
    ///
    /// # Errors
    /// When it cannot be started, ends, takes longer than it may, or the user interrupts. It is
    /// ended then, with all that it started.
    pub fn wait_until_ready(&mut self, patience: &Patience<'_>) -> Result<(), LaunchError> {
        let began = monotonic_now();
        let mut told_at = began;
        loop {
            match self.events.recv_timeout(ASK_EVERY) {
                Ok(Event::NotStarted(reason)) => {
                    let command = self.plan.command.first().cloned().unwrap_or_default();
                    return Err(LaunchError::NotStarted { command, reason });
                }
                Ok(event) => self.note(event),
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
                    log: self.place.log.clone(),
                });
            }
            if patience.stop.load(Ordering::Relaxed) {
                self.end();
                return Err(LaunchError::Interrupted);
            }
            let now = monotonic_now();
            let Some(missing) = self.missing() else { return Ok(()) };
            if now.since(began) >= self.plan.ready_timeout {
                return Err(self.never_ready(missing));
            }
            if now.since(told_at) >= TELL_EVERY {
                told_at = now;
                let line = self.last_line.as_deref().unwrap_or("nothing yet");
                let waited = now.since(began).as_secs();
                (patience.say)(&format!("  {waited} s; it says: {line}"));
            }
        }
    }

    /// What of the plan's readiness is not there yet.
    fn missing(&self) -> Option<String> {
        if let Some(line) = self.plan.ready_line.as_ref().filter(|_| !self.line_seen) {
            return Some(format!("no line of its log held `{line}`"));
        }
        let path = self.plan.ready_url.as_deref()?;
        let answer = Client::reach(&self.url, Vec::new(), ANSWER_WITHIN, &Trust::Known)
            .and_then(|server| server.get(path));
        match answer {
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
            log: self.place.log.clone(),
        }
    }

    fn note(&mut self, event: Event) {
        match event {
            Event::ReadyLine => self.line_seen = true,
            Event::Line(line) => self.last_line = Some(line),
            Event::Usage(usage) => self.usage = usage,
            Event::Ended(ended) => self.ended = Some(ended),
            Event::Started(_) | Event::NotStarted(_) => {}
        }
    }

    /// How the server ended, if it has. A guard that was killed counts as its end.
    pub fn has_ended(&mut self) -> Option<&Ended> {
        while let Ok(event) = self.events.try_recv() {
            self.note(event);
        }
        if self.ended.is_none() && self.guard.try_wait().is_ok_and(|status| status.is_some()) {
            let how = "its guard process was ended; look whether the server still runs".to_owned();
            self.ended = Some(Ended { how, ..Ended::default() });
        }
        self.ended.as_ref()
    }

    /// How the server ended, if it has or does so within this time: its connections break before
    /// its guard has heard its last words.
    pub fn ends_within(&mut self, span: Duration) -> Option<&Ended> {
        let until = monotonic_now() + span;
        while self.has_ended().is_none() {
            match self.events.recv_timeout(until.since(monotonic_now())) {
                Ok(event) => self.note(event),
                Err(_) => break,
            }
        }
        self.has_ended()
    }

    /// What it uses of the machine, as it was last seen.
    pub fn usage(&mut self) -> Usage {
        self.has_ended();
        self.usage
    }

    /// Where its files are.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Its files have other names now.
    pub fn moved_to(&mut self, place: Place) {
        self.place = place;
    }

    /// How the last words of a server are said in an error: how it ended and its last lines.
    #[must_use]
    pub fn last_words(ended: &Ended) -> String {
        format!("{}{}", ended.how, crate::error::words(ended))
    }

    /// Ends the server, gently and then firmly, and waits until nothing of it is left.
    pub fn end(&mut self) -> Option<Ended> {
        self.lifeline.take();
        let until = monotonic_now() + self.plan.grace + FIRM_END;
        loop {
            match self.events.recv_timeout(until.since(monotonic_now())) {
                Ok(event) => self.note(event),
                // The guard has ended: nothing of the server is left.
                Err(RecvTimeoutError::Disconnected) => {
                    let _ = self.guard.wait();
                    break;
                }
                // A process that the system itself cannot end; the guard goes on trying.
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        self.ended.clone()
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.end();
    }
}

fn spawn(program: &OsStr, argument: &str) -> Result<Child, LaunchError> {
    Command::new(program)
        .arg(argument)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // An interruption by the keyboard is ours to handle, not its.
        .process_group(0)
        .spawn()
        .map_err(|source| LaunchError::System {
            what: "its guard cannot be started".into(),
            source,
        })
}

/// Where the server will listen; nobody else may.
fn address(plan: &LaunchPlan) -> Result<Url, LaunchError> {
    let host = plan.reached_at().to_owned();
    let port = match plan.port {
        Some(port) => port,
        None => free_port(&plan.host)
            .map_err(|source| LaunchError::NoPort { host: plan.host.clone(), source })?,
    };
    let url = Url::plain(host, port);
    let Ok(other) = Client::reach(&url, Vec::new(), ANSWER_WITHIN, &Trust::Known) else {
        return Ok(url);
    };
    let by = probe(&other).map_or_else(|_| "another program".to_owned(), |found| found.line());
    Err(LaunchError::PortTaken { address: url.authority(), by })
}
