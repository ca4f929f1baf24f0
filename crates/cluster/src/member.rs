//! A rank from 1 on: it joins rank 0, executes the orders of rank 0, compares the clocks and sends its records.

mod rank0_thread;
mod state;

use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use inferometer_net::{Nanos, monotonic_now, spawn};

use crate::link::{Link, in_words};
use crate::message::{Challenge, Hello, PROTOCOL, Welcome};
use crate::{Introduction, JoinError, Meeting, Order, PassReport, token::nonce};

#[cfg(test)]
pub(crate) use rank0_thread::Rank0Connection;
pub(crate) use rank0_thread::communicate;
pub(crate) use state::MemberState;

pub use state::{NoMoreRecords, Outgoing, Rank0Lost};

/// The pause before the next attempt to join rank 0.
const RETRY: Duration = Duration::from_millis(200);
/// The longest duration of each step of an attempt to join: connect, and send or receive one message.
const TRY: Duration = Duration::from_secs(10);
/// The longest time that a thread waits before it checks the shared state again.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A rank from 1 on, after it has joined.
pub struct Member {
    shared: Arc<MemberState>,
    /// The salt of the run's prompts, from rank 0. The salt makes these prompts different from those of other runs.
    pub salt: String,
}

/// Why an attempt to join failed.
enum Refusal {
    /// A later attempt may succeed; for example, rank 0 may not have started yet.
    Later(String),
    /// Every later attempt would fail too.
    Never(JoinError),
}

impl Member {
    /// Joins rank 0, and waits if rank 0 has not started yet. Setting `interrupted` cancels the waiting.
    ///
    /// # Errors
    /// - Rank 0 is not found within the meeting's time limit.
    /// - Rank 0 refuses this process.
    /// - The waiting was interrupted.
    /// - The system refuses a thread or random numbers.
    pub fn join(
        meeting: &Meeting,
        me: &Introduction,
        interrupted: &AtomicBool,
    ) -> Result<Self, JoinError> {
        let until = monotonic_now() + meeting.join_timeout;
        let shared = Arc::new(MemberState::default());
        loop {
            let left = until.since(monotonic_now());
            let why = match try_to_join(meeting, me, left.clamp(RETRY, TRY)) {
                Ok((link, salt)) => {
                    let at = Arc::clone(&shared);
                    let ranks = me.ranks;
                    spawn(move || communicate(link, &at, ranks))
                        .map_err(|error| JoinError::Failed(format!("{}: {error}", me.name())))?;
                    return Ok(Self { shared, salt });
                }
                Err(Refusal::Never(error)) => return Err(error),
                Err(Refusal::Later(why)) => why,
            };
            if interrupted.load(Ordering::Relaxed) {
                return Err(JoinError::Interrupted);
            }
            if monotonic_now() >= until {
                return Err(JoinError::Failed(format!(
                    "{}: rank 0 was not found at {} within {} s (--join-timeout): {why}",
                    me.name(),
                    meeting.place(),
                    meeting.join_timeout.as_secs_f64()
                )));
            }
            shared.pause(RETRY);
        }
    }

    /// Waits for the next order of rank 0 and returns it. The call reports that the previous order is done.
    ///
    /// # Errors
    /// If rank 0 is lost.
    pub fn next_order(&self) -> Result<Order, Rank0Lost> {
        self.shared.next_order()
    }

    /// Sets a function that is called once if the pass must end early. The function is called on another thread. If
    /// the pass must already end now, the function is called immediately, on this thread.
    pub fn when_stopped(&self, alarm: impl FnOnce() + Send + 'static) {
        self.shared.when_stopped(Box::new(alarm));
    }

    /// Begins a pass. From now on, each message to rank 0 is followed by the records that `records` has by then.
    /// `is_scheduled` states whether the plan determines when requests are due.
    pub fn begin_pass(&self, records: Outgoing, is_scheduled: bool) {
        self.shared.begin_pass(records, is_scheduled);
    }

    /// The instant at which the pass starts, by this rank's clock; None until rank 0 has announced it. The first call
    /// reports to rank 0 that this rank is prepared. `workload_hash` is the hash of all requests of the run so far.
    pub fn start(&self, workload_hash: &str) -> Option<Nanos> {
        self.shared.start(workload_hash)
    }

    /// Waits until all records of the pass have been sent, and sends the report of the pass.
    ///
    /// # Errors
    /// If rank 0 is lost.
    pub fn end_pass(&self, report: PassReport) -> Result<(), Rank0Lost> {
        self.shared.end_pass(report)
    }

    /// Reports to rank 0 that this rank cannot continue.
    pub fn fail(&self, why: String) {
        self.shared.fail(why);
    }
}

fn try_to_join(
    meeting: &Meeting,
    me: &Introduction,
    within: Duration,
) -> Result<(Link, String), Refusal> {
    let later = |error: io::Error| Refusal::Later(in_words(&error, within));
    let never = |why: String| Refusal::Never(JoinError::Mistake(why));
    let addresses = meeting.addresses().map_err(|error| Refusal::Later(error.to_string()))?;
    let mut link = connect(&addresses, within).map_err(later)?;
    let challenge: Challenge = link.receive(within).map_err(later)?;
    let at = meeting.place();
    if challenge.protocol != PROTOCOL {
        return Err(never(format!(
            "{}: rank 0 at {at} has another version of inferometer: all ranks need the same version",
            me.name()
        )));
    }
    let failed = |error: crate::token::TokenError| Refusal::Never(error.into());
    let instance = nonce().map_err(failed)?;
    let hello = Hello::of(me, &meeting.token, &challenge, &instance).map_err(failed)?;
    link.send(&hello, within).map_err(later)?;
    match link.receive(within).map_err(later)? {
        Welcome::Joined { proof, salt } => {
            let nonces = [hello.nonce.as_str(), &challenge.nonce];
            if !meeting.token.is_proven(&proof, "lead", nonces, &salt) {
                return Err(never(format!(
                    "{}: the process at {at} does not have the token of this run; give all ranks \
                        the same --token-file, or none",
                    me.name()
                )));
            }
            link.trust();
            Ok((link, salt))
        }
        Welcome::Itself => Err(never(format!("{}: rank 0 connected to itself", me.name()))),
        Welcome::Refused { why, mistake: true } => Err(never(why)),
        Welcome::Refused { why, mistake: false } => {
            Err(Refusal::Never(JoinError::Failed(format!(
                "{} was refused at {at}: {why}; give all ranks the same --token-file, or none",
                me.name()
            ))))
        }
    }
}

fn connect(addresses: &[SocketAddr], within: Duration) -> io::Result<Link> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match Link::connect(*address, within) {
            Ok(link) => return Ok(link),
            Err(error) => last = error,
        }
    }
    Err(last)
}
