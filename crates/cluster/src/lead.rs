//! Rank 0: it lets the other ranks join, gives them orders, answers their messages and receives their records.

mod rank_states;
mod serve;
mod welcome;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{sync::Arc, time::Duration};

use inferometer_net::{Nanos, monotonic_now, spawn};

use crate::message::{Challenge, Hello, Welcome};
use crate::{Introduction, JoinError, Meeting, Order, PassReport, link::Link, token::nonce};

pub use rank_states::Sink;
pub(crate) use rank_states::{RankStates, Shared};
#[cfg(test)]
pub(crate) use serve::reply;

/// The longest time that a thread waits before it checks the shared state again.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The longest time that rank 0 waits for the other ranks at the end of the run.
const GOODBYE: Duration = Duration::from_secs(5);
/// How long each step may take when rank 0 connects to its own address.
const SELF_CHECK: Duration = Duration::from_secs(2);

/// The result of one rank in a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct RankReport {
    /// The number of the rank.
    pub rank: u32,
    /// The name of the rank's machine.
    pub host: String,
    /// The rank's report; the error states why the rank was lost.
    pub report: Result<PassReport, RankLost>,
}

/// Why a rank is lost, as the end of a sentence that begins with the rank.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RankLost {
    /// It closed its connection before the run began.
    #[error("closed its connection")]
    Closed,
    /// Its connection broke, or it sent nothing for too long.
    #[error("is lost: it {0}")]
    Unreachable(String),
    /// It stopped with an error.
    #[error("cannot continue: {0}")]
    Failed(String),
    /// Its requests are not those of rank 0.
    #[error(
        "would send different requests than rank 0: on the two machines, a data set or a tokenizer of the same name \
            has different content, or the server counted different numbers of tokens"
    )]
    OtherRequests,
    /// It has not ended its pass.
    #[error("is not done")]
    NotDone,
}

/// Rank 0 of a run, after the other ranks have joined.
pub struct Lead {
    shared: Arc<Shared>,
    ranks: u32,
    /// True when no process may join any more.
    closed: Arc<AtomicBool>,
    listening_at: SocketAddr,
}

impl Lead {
    /// Waits until all ranks have joined. `notice` receives messages for the user. Setting `interrupted` cancels the
    /// waiting; after the ranks have joined, it ends their passes. `salt` is sent to the other ranks.
    ///
    /// # Errors
    /// - Ranks are missing after the meeting's time limit.
    /// - The introductions of the ranks do not match.
    /// - Another rank 0 listens at the address of the meeting.
    /// - This process cannot listen, or the system refuses a thread or random numbers.
    /// - The waiting was interrupted.
    pub fn gather(
        meeting: &Meeting,
        me: Introduction,
        salt: &str,
        notice: impl Fn(&str) + Send + Sync + 'static,
        interrupted: Arc<AtomicBool>,
    ) -> Result<Self, JoinError> {
        let (listener, is_sure) = listen(meeting)?;
        let listening_at = listener.local_addr().map_err(|error| failed(&error))?;
        let ranks = me.ranks;
        let instance = nonce()?;
        let context = welcome::JoinContext {
            token: meeting.token.clone(),
            me: me.clone(),
            salt: salt.to_owned(),
            instance: instance.clone(),
            notice: Box::new(notice),
        };
        let shared = Arc::new(Shared::new(RankStates::of(ranks), interrupted));
        let closed = Arc::new(AtomicBool::new(false));
        let accepting = (Arc::clone(&shared), Arc::clone(&closed), Arc::new(context));
        let context = Arc::clone(&accepting.2);
        spawn(move || welcome::accept(&listener, &accepting.0, &accepting.1, &accepting.2))
            .map_err(|error| failed(&error))?;
        let lead = Self { shared, ranks, closed, listening_at };
        if !is_sure {
            check_place(meeting, &me, &instance, &context)?;
        }
        let until = monotonic_now() + meeting.join_timeout;
        let mut states = lead.shared.lock();
        loop {
            if let Some(error) = &states.refusal {
                return Err(error.clone());
            }
            if lead.shared.is_interrupted() {
                return Err(JoinError::Interrupted);
            }
            let missing = states.missing();
            if missing.is_empty() {
                break;
            }
            if monotonic_now() >= until {
                let of = ranks - 1;
                let names = some_of(&missing);
                let waited = meeting.join_timeout.as_secs_f64();
                let at = meeting.place();
                return Err(JoinError::Failed(format!(
                    "{} of {of} other ranks did not join at {at} within {waited} s (--join-timeout): {names}",
                    missing.len(),
                )));
            }
            states = lead.shared.wait(states, LOOK_EVERY);
        }
        drop(states);
        Ok(lead)
    }

    /// The number of ranks, including rank 0.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// The machine names of the other ranks, from rank 1 on.
    pub fn hosts(&self) -> Vec<String> {
        self.shared.lock().ranks.iter().map(|rank| rank.host.clone()).collect()
    }

    /// Sets a function that is called once, when the first rank is lost. The function is usually called on another
    /// thread. If a rank is lost already, the function is called immediately, on this thread.
    pub fn when_lost(&self, alarm: impl FnOnce() + Send + 'static) {
        let mut states = self.shared.lock();
        match states.trouble() {
            Some(_) => alarm(),
            None => states.alarm = Some(Box::new(alarm)),
        }
    }

    /// Gives an order to all other ranks. `sinks` has one sink for each of them; it is empty if the order produces no
    /// records. Each sink receives the records of its rank. It is dropped after the last record, or if the rank is
    /// lost.
    pub fn order(&self, order: Order, sinks: Vec<Sink>) {
        self.shared.lock().give(order, sinks);
        self.shared.changed();
    }

    /// Waits until each other rank works on the last order, has completed it, or is lost. A rank that works on the last
    /// order has sent everything that belongs to earlier orders. The wait also ends if the run is interrupted.
    pub fn wait_for_work(&self) {
        let mut states = self.shared.lock();
        while !states.is_at_work() && !self.shared.is_interrupted() {
            states = self.shared.wait(states, LOOK_EVERY);
        }
    }

    /// The instant at which the pass starts; None until all ranks are prepared, and None if a rank is lost before.
    /// `workload_hash` is rank 0's hash. A rank with a different hash would send different requests, so it counts as
    /// lost.
    pub fn start(&self, workload_hash: &str) -> Option<Nanos> {
        let mut states = self.shared.lock();
        if states.start.is_none() && states.are_prepared(workload_hash)? {
            states.announce(monotonic_now());
        }
        let start = states.start;
        drop(states);
        start
    }

    /// Waits until each other rank has completed its pass or is lost, and returns the results of these ranks.
    pub fn reports(&self) -> Vec<RankReport> {
        let mut states = self.shared.lock();
        while !states.is_done() {
            states = self.shared.wait(states, LOOK_EVERY);
        }
        states.reports()
    }

    /// The lost rank with the lowest number, and the reason; None if no rank is lost. A rank that has failed counts as
    /// lost.
    pub fn trouble(&self) -> Option<String> {
        self.shared.lock().trouble()
    }

    /// Why each of the other ranks was lost, from rank 1 on; None for ranks that are not lost.
    pub fn lost(&self) -> Vec<Option<RankLost>> {
        self.shared.lock().lost()
    }

    /// Reports to the other ranks that the run is over; `failed` is the reason if the run failed. Waits at most 5
    /// seconds until the other ranks have received this report.
    pub fn end(&self, failed: Option<String>) {
        self.order(Order::End { failed }, Vec::new());
        let until = monotonic_now() + GOODBYE;
        let mut states = self.shared.lock();
        while !states.is_done() && monotonic_now() < until {
            states = self.shared.wait(states, LOOK_EVERY);
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        // The accepting thread checks `closed` only after a connection arrives, so connect to it.
        let mut at = self.listening_at;
        if at.ip().is_unspecified() {
            at.set_ip(match at.ip() {
                IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
            });
        }
        let _ = Link::connect(at, SELF_CHECK);
    }
}

fn failed(error: &std::io::Error) -> JoinError {
    JoinError::Failed(format!("rank 0 cannot listen: {error}"))
}

/// The numbers of at most 20 ranks, as text.
fn some_of(ranks: &[u32]) -> String {
    let names: Vec<String> = ranks.iter().take(20).map(ToString::to_string).collect();
    let more = if ranks.len() > 20 { ", ..." } else { "" };
    format!("{} {}{more}", if ranks.len() == 1 { "rank" } else { "ranks" }, names.join(", "))
}

/// Listens at the address of the meeting. If this is impossible, most often because this machine does not have that
/// address, listens at all addresses of this machine. Then the returned flag is false, because the other ranks may not
/// be able to connect.
fn listen(meeting: &Meeting) -> Result<(TcpListener, bool), JoinError> {
    let at = meeting.place();
    let addresses =
        meeting.addresses().map_err(|error| JoinError::Failed(format!("{at}: {error}")))?;
    for address in &addresses {
        match TcpListener::bind(address) {
            Ok(listener) => return Ok((listener, true)),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                return Err(JoinError::Mistake(format!(
                    "{at} is in use by another rank 0, another run or another program on this \
                        machine; give the ranks of this run another address with --rendezvous \
                        HOST:PORT"
                )));
            }
            Err(_) => {}
        }
    }
    let any: IpAddr = match addresses.first() {
        Some(SocketAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
        _ => Ipv4Addr::UNSPECIFIED.into(),
    };
    let listener = TcpListener::bind((any, meeting.port)).map_err(|error| {
        JoinError::Failed(format!(
            "rank 0 cannot listen at port {} of this machine: {error}; give another one with \
                --rendezvous HOST:PORT",
            meeting.port
        ))
    })?;
    Ok((listener, false))
}

/// Connects to the meeting's address, as the other ranks do, to check that this rank 0 listens there.
///
/// # Errors
/// If another rank 0 listens there.
fn check_place(
    meeting: &Meeting,
    me: &Introduction,
    instance: &str,
    context: &welcome::JoinContext,
) -> Result<(), JoinError> {
    let at = meeting.place();
    let found = (|| -> Result<Welcome, Box<dyn std::error::Error>> {
        let address = *meeting.addresses()?.first().ok_or("it has no address")?;
        let mut link = Link::connect(address, SELF_CHECK)?;
        let challenge: Challenge = link.receive(SELF_CHECK)?;
        link.send(&Hello::of(me, &meeting.token, &challenge, instance)?, SELF_CHECK)?;
        Ok(link.receive(SELF_CHECK)?)
    })();
    match found {
        Ok(Welcome::Refused { why, .. }) => {
            Err(JoinError::Mistake(format!("another rank 0 listens at {at}: {why}")))
        }
        Ok(Welcome::Itself) => Ok(()),
        Ok(Welcome::Joined { .. }) => Err(JoinError::Mistake(format!(
            "another rank 0 listens at {at}, but this process is rank 0 too; each \
                process needs a different rank"
        ))),
        // Some networks do not allow a machine to connect to itself at its outside address, so this is only a warning.
        Err(why) => {
            (context.notice)(&format!(
                "warning: rank 0 should be at {at}, but this machine does not have that address \
                    and cannot connect to itself there ({why}); if the other ranks do not find \
                    rank 0, give all ranks the address of this machine with --rendezvous HOST:PORT"
            ));
            Ok(())
        }
    }
}
