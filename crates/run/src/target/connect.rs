//! Connects to a server and identifies the server. With `--wait`, waits for a server that is not ready yet. Starts no
//! server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::{sync::mpsc::channel, time::Duration};

use inferometer_model::Url;
use inferometer_net::http::client::{Client, ClientError, ServerAccess};
use inferometer_net::monotonic_now;
use inferometer_report::progress::Notice;
use inferometer_servers::probe::{ServerInfo, probe, probe_if_ready};

use super::servers::Start;
use crate::{RunError, TargetError};

/// The timeout of the requests that identify a server.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// The first pause before the next attempt. Each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How often a pause checks whether the run must stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often a message tells the user that the run still waits.
const REPORT_EVERY: Duration = Duration::from_secs(15);

/// A server that was identified.
pub(crate) struct Reached {
    pub(crate) server: Client,
    pub(crate) found: ServerInfo,
}

/// How to connect to a server, and what the server must state.
#[derive(Clone, Copy)]
pub(crate) struct ConnectOptions<'a> {
    pub(crate) url: &'a Url,
    pub(crate) headers: &'a [(String, String)],
    pub(crate) access: &'a ServerAccess,
    /// Whether the server must list a model, because the plan names no model.
    pub(crate) lists_a_model: bool,
    /// Whether the plan names the dialect and the model. The server then need not state them.
    pub(crate) is_named: bool,
    /// Whether the plan starts the server.
    pub(crate) is_launched: bool,
}

/// The result of one attempt.
enum Attempt {
    Ready(Box<Reached>),
    /// The server may be ready later.
    NotYet(TargetError),
    Failed(TargetError),
}

/// Connects to a server and identifies it, in one attempt.
///
/// # Errors
/// When the server cannot be reached, or is not ready to serve. If the plan names the dialect and the model, a server
/// that seems to be loading is not an error.
pub(crate) fn connect(wanted: ConnectOptions<'_>) -> Result<Reached, RunError> {
    match attempt(wanted, false) {
        Attempt::Ready(reached) => Ok(*reached),
        Attempt::NotYet(why) | Attempt::Failed(why) => Err(why.into()),
    }
}

/// Connects to a server and identifies it. If the server is not ready, tries again until the time `wait` has passed.
///
/// # Errors
/// When the time limit is reached; the error contains the reason of the last attempt. If waiting cannot help, the error
/// is returned immediately. Also when `start.stop` is set during a pause.
pub(crate) fn wait_for(
    wanted: ConnectOptions<'_>,
    wait: Duration,
    start: Start<'_>,
) -> Result<Reached, RunError> {
    let began = monotonic_now();
    let (mut told_at, mut next_pause) = (None, FIRST_PAUSE);
    loop {
        let why = match attempt(wanted, true) {
            Attempt::Ready(reached) => return Ok(*reached),
            Attempt::Failed(why) => return Err(why.into()),
            Attempt::NotYet(why) => why,
        };
        let now = monotonic_now();
        let waited = now.since(began);
        if waited >= wait {
            let (after_s, last) = (waited.as_secs_f64(), Box::new(why));
            return Err(TargetError::NeverReady { after_s, last }.into());
        }
        if told_at.is_none_or(|told| now.since(told) >= REPORT_EVERY) {
            told_at = Some(now);
            let (waited_s, wait_s) = (waited.as_secs(), wait.as_secs_f64());
            let why = why.to_string();
            start.events.say(&Notice::WaitingForServer { waited_s, wait_s, why });
        }
        pause(next_pause.min(wait.saturating_sub(waited)), start.stop);
        if start.stop.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted("the server was ready"));
        }
        next_pause = LONGEST_PAUSE.min(next_pause * 2);
    }
}

fn attempt(wanted: ConnectOptions<'_>, waits: bool) -> Attempt {
    let ConnectOptions { url, headers, access, lists_a_model, is_named, is_launched } = wanted;
    let ask = if waits { probe_if_ready } else { probe };
    let reached = Client::reach(url, headers.to_vec(), PROBE_TIMEOUT, access)
        .and_then(|server| ask(&server).map(|found| Reached { server, found }));
    let reached = match reached {
        Ok(reached) => reached,
        Err(error) if may_pass(&error) => return Attempt::NotYet(error.into()),
        Err(error) => return Attempt::Failed(error.into()),
    };
    let ServerInfo { loading, lists_models, models, dialect, .. } = &reached.found;
    // A gateway may serve models that it does not list. So if the plan names dialect and model, an attempt without
    // `--wait` ignores that the server seems to be loading.
    if let Some(loading) = loading.as_ref().filter(|_| waits || !is_named) {
        let advice = match (waits, is_launched) {
            (true, _) => String::new(),
            (false, false) => "; --wait 120s waits until it is ready".to_owned(),
            (false, true) => {
                format!("; ready_url = \"{}\" in [server] waits until it is ready", loading.path)
            }
        };
        let (url, what) = (url.to_string(), loading.in_words());
        return Attempt::NotYet(TargetError::Loading { url, what, advice });
    }
    let is_empty = *lists_models && models.is_empty() && dialect.is_some();
    if waits && is_empty && lists_a_model {
        return Attempt::NotYet(TargetError::NoModelYet(url.to_string()));
    }
    Attempt::Ready(Box::new(reached))
}

/// Whether this error may occur while a server is starting.
fn may_pass(error: &ClientError) -> bool {
    matches!(
        error,
        ClientError::Resolve { .. } | ClientError::Unreachable { .. } | ClientError::Broken { .. }
    )
}

/// Waits for the time `span`, or until `stop` is set.
fn pause(span: Duration, stop: &AtomicBool) {
    // Nothing is ever sent on this channel: only the time limit ends each wait.
    let (_open, nothing) = channel::<()>();
    let end = monotonic_now() + span;
    while monotonic_now() < end && !stop.load(Ordering::Relaxed) {
        let left = end.since(monotonic_now());
        let _ = nothing.recv_timeout(LOOK_EVERY.min(left));
    }
}
