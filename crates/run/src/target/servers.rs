//! The server that a run starts itself: at most one at a time. The server stays running for the next run if the next
//! run needs the same server. It is started again if it died. The embedded engine of a plan without a server is not
//! started here.

use std::path::{Path, PathBuf};
use std::{cell::RefCell, collections::BTreeMap, sync::atomic::AtomicBool, time::Duration};

use inferometer_model::{Nanos, Url, target::Startup};
use inferometer_plan::LaunchPlan;
use inferometer_report::progress::Notice;
use inferometer_servers::launch::{LaunchError, LaunchedServer, ReadyWait, ServerFiles, Usage};

use crate::{Events, RunError, TargetError};

/// The command of the `inferometer` program that guards a server.
pub const SERVER_GUARD: &str = "server-guard";

/// How long to wait for a server to exit after its requests failed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// Whether requests of a pass failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failures {
    /// At least one request failed.
    Some,
    /// No request failed.
    None,
}

/// How a server ended.
pub struct Death {
    /// A message in one line, with the first error in the log.
    pub in_short: String,
    /// A message with the last lines of the log.
    pub last_lines: String,
}

/// The servers that a command starts, one after the other.
#[derive(Default)]
pub struct Servers {
    running: Option<Running>,
    /// The plans of all servers that were started so far. Their number distinguishes their files.
    started: Vec<LaunchPlan>,
}

struct Running {
    plan: LaunchPlan,
    server: LaunchedServer,
    /// Whether the start was told to the user.
    is_told: bool,
    /// The start, from its first answer until it belongs to a run.
    startup: Option<Startup>,
}

/// The inputs for starting a server, in addition to its plan.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    /// The folder for the server's files until they belong to a run.
    pub folder: &'a Path,
    /// Set when the user interrupts the run.
    pub stop: &'a AtomicBool,
    /// Receives messages about the progress.
    pub events: &'a Events,
    /// The `inferometer` program, which guards the server.
    pub program: Option<&'a Path>,
    /// Headers of every request: their secrets are removed from the server's log.
    pub headers: &'a [(String, String)],
}

impl Servers {
    /// Returns the address of a ready server for the plan. If the running server was started from the same plan,
    /// it is used. If not, the running server is ended and a new server is started.
    ///
    /// # Errors
    /// When the server cannot be started, or does not become ready.
    pub fn get(&mut self, plan: &LaunchPlan, start: Start<'_>) -> Result<Url, RunError> {
        if let Some(running) = &mut self.running {
            if running.plan == *plan && running.server.has_ended().is_none() {
                return Ok(running.server.url.clone());
            }
            self.end(start.events);
        }
        self.start(plan, plan, start)
    }

    /// Starts the server again if it has died, at the same address.
    ///
    /// # Errors
    /// When the server cannot be started, or does not become ready.
    pub fn revive(&mut self, start: Start<'_>) -> Result<(), RunError> {
        let dead = self.running.take_if(|running| running.server.has_ended().is_some());
        let Some(mut dead) = dead else { return Ok(()) };
        dead.server.end();
        let at = LaunchPlan { port: Some(dead.server.url.port), ..dead.plan.clone() };
        let folder = dead.server.files().log.parent().unwrap_or(start.folder).to_owned();
        drop(dead.server);
        start.events.say(&Notice::ServerStartedAgain);
        self.start(&dead.plan, &at, Start { folder: &folder, ..start })?;
        if let Some(running) = &mut self.running {
            // No first requests follow, so the time to the first token is unknown. The call ends the search for phases.
            running.server.startup(None);
            running.is_told = true;
        }
        Ok(())
    }

    fn start(
        &mut self,
        plan: &LaunchPlan,
        at: &LaunchPlan,
        Start { folder, stop, events, program, headers }: Start<'_>,
    ) -> Result<Url, RunError> {
        self.started.push(plan.clone());
        let name = format!("server-{}-{}", std::process::id(), self.started.len());
        let place = ServerFiles {
            log: folder.join(format!("{name}.log")),
            usage: folder.join(format!("{name}-usage.csv")),
        };
        let program = program.ok_or(TargetError::NoGuard)?;
        let failed = |error| match error {
            LaunchError::Interrupted => RunError::Interrupted("the server was ready"),
            error => RunError::Launch(error),
        };
        let guard = (program, SERVER_GUARD);
        let mut server = LaunchedServer::start(at, guard, &place, headers).map_err(failed)?;
        events.say(&Notice::ServerStarting { command: server.command.clone() });
        let said = RefCell::new(None);
        let report = |waited_s, last_line: Option<&str>| {
            // A line that has not changed is said once.
            let last_line = last_line.map(str::to_owned);
            let before = said.replace(last_line.clone());
            let last_line = last_line.filter(|_| before != *said.borrow());
            events.say(&Notice::ServerNotReady { waited_s, last_line });
        };
        let patience = ReadyWait { stop, report: &report };
        server.wait_until_ready(&patience).map_err(failed)?;
        let url = server.url.clone();
        self.running = Some(Running { plan: plan.clone(), server, is_told: false, startup: None });
        Ok(url)
    }

    /// How the server ended; `None` if it still runs, or if there is none. After failed requests, waits up to 3 s for
    /// its end.
    pub fn died(&mut self, failures: Failures) -> Option<Death> {
        let server = &mut self.running.as_mut()?.server;
        let ended = match failures {
            Failures::Some => server.ends_within(EXIT_TIMEOUT),
            Failures::None => server.has_ended(),
        };
        ended.map(|ended| Death {
            in_short: LaunchedServer::end_in_short(ended),
            last_lines: LaunchedServer::end_message(ended),
        })
    }

    /// Links the files of the server into the folder of a run. These are hard links: if several runs use the server,
    /// later writes are visible in the folders of all these runs.
    ///
    /// # Errors
    /// When the files cannot be linked.
    pub fn keep_files_in(&mut self, folder: &Path) -> Result<(), RunError> {
        let Some(running) = &mut self.running else { return Ok(()) };
        let place = running.server.files().clone();
        let moved = |from: &Path, name: &str| -> Result<PathBuf, RunError> {
            let to = folder.join(name);
            link(from, &to).map(|()| to.clone()).map_err(RunError::unwritable(&to))
        };
        let place = ServerFiles {
            log: moved(&place.log, "server.log")?,
            usage: moved(&place.usage, "server-usage.csv")?,
        };
        running.server.set_files(place);
        Ok(())
    }

    /// Tells the user how the server became ready, once for each start. `answer`: when the first request that was
    /// answered was sent, and when its first token arrived.
    pub fn tell_startup(&mut self, answer: Option<[Nanos; 2]>, events: &Events) {
        let Some(running) = self.running.as_mut().filter(|running| !running.is_told) else {
            return;
        };
        let Some(startup) = running.server.startup(answer) else { return };
        let starts = self.started.iter().filter(|plan| **plan == running.plan).count();
        let startup = Startup { start: starts as u32, ..startup };
        events.say(&Notice::ServerReady { startup: startup.clone() });
        (running.is_told, running.startup) = (true, Some(startup));
    }

    /// How the server became ready, for the first run that it serves; `None` for its other runs.
    pub fn take_startup(&mut self) -> Option<Startup> {
        self.running.as_mut()?.startup.take()
    }

    /// The server's use of the machine, as last observed.
    pub fn usage(&mut self) -> Option<Usage> {
        Some(self.running.as_mut()?.server.usage())
    }

    /// Ends the server, if there is one.
    pub fn end(&mut self, events: &Events) {
        if let Some(mut running) = self.running.take() {
            events.say(&Notice::ServerEnding);
            running.server.end();
        }
    }
}

/// How the server was started, as facts of the target.
pub fn facts(plan: &LaunchPlan) -> BTreeMap<String, String> {
    let command = ("command".to_owned(), plan.command.join(" "));
    let settings = plan.settings.iter().map(|(name, value)| {
        let is_flag = name.chars().any(char::is_lowercase) && !name.starts_with('-');
        (if is_flag { format!("--{name}") } else { name.clone() }, value.clone())
    });
    std::iter::once(command).chain(settings).collect()
}

/// Links a file under another name. The first name is removed if it is temporary, because it then belongs to no run.
fn link(from: &Path, to: &Path) -> std::io::Result<()> {
    if from == to {
        return Ok(());
    }
    if to.exists() {
        std::fs::remove_file(to)?;
    }
    std::fs::hard_link(from, to)?;
    let is_temporary = from.file_name().is_some_and(|name| {
        name.to_string_lossy().starts_with(&format!("server-{}-", std::process::id()))
    });
    if is_temporary { std::fs::remove_file(from) } else { Ok(()) }
}
