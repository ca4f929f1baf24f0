//! Rank 0: lets the others join, gives them orders, answers what they ask, and takes their records.

mod board;
mod serve;
mod welcome;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use inferometer_net::thread::spawn;
use inferometer_net::{Nanos, monotonic_now};

use crate::link::Link;
use crate::meeting::{JoinError, Meeting};
use crate::message::{Challenge, Hello, Introduction, Order, PassReport, Welcome};
use crate::token::nonce;

pub use board::Sink;
pub(crate) use board::{Board, Shared};
#[cfg(test)]
pub(crate) use serve::reply;

/// How often what waits for others looks whether it is interrupted.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long members are waited for when the run is over.
const GOODBYE: Duration = Duration::from_secs(5);
/// How long rank 0 tries whether it is where it should be.
const SELF_CHECK: Duration = Duration::from_secs(2);

/// What became of a rank in a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct RankReport {
    /// Which rank.
    pub rank: u32,
    /// Its machine.
    pub host: String,
    /// What it reports, or how it was lost.
    pub report: Result<PassReport, String>,
}

/// Rank 0 of a run whose other ranks have joined.
pub struct Lead {
    shared: Arc<Shared>,
    ranks: u32,
    /// Set when nobody may join any more.
    closed: Arc<AtomicBool>,
    listening_at: SocketAddr,
}

impl Lead {
    /// Waits until all ranks have joined. `notice` hears what the user should know, `interrupted` is asked
    /// whether to give up, and `salt` is given to all.
    ///
    /// # Errors
    /// When ranks are missing after the time of the meeting, or what they say does not match.
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
        let guest = welcome::Guests {
            token: meeting.token.clone(),
            me: me.clone(),
            salt: salt.to_owned(),
            instance: instance.clone(),
            notice: Box::new(notice),
        };
        let shared = Arc::new(Shared::new(Board::of(ranks), interrupted));
        let closed = Arc::new(AtomicBool::new(false));
        let accepting = (Arc::clone(&shared), Arc::clone(&closed), Arc::new(guest));
        let guests = Arc::clone(&accepting.2);
        spawn(move || welcome::accept(&listener, &accepting.0, &accepting.1, &accepting.2))
            .map_err(|error| failed(&error))?;
        let lead = Self { shared, ranks, closed, listening_at };
        if !is_sure {
            check_place(meeting, &me, &instance, &guests)?;
        }
        let until = monotonic_now() + meeting.join_timeout;
        let mut board = lead.shared.lock();
        loop {
            if let Some(error) = &board.refusal {
                return Err(error.clone());
            }
            if lead.shared.is_interrupted() {
                return Err(JoinError::Interrupted);
            }
            let missing = board.missing();
            if missing.is_empty() {
                break;
            }
            if monotonic_now() >= until {
                let of = ranks - 1;
                let names = some_of(&missing);
                let waited = meeting.join_timeout.as_secs_f64();
                let at = meeting.place();
                return Err(JoinError::Failed(format!(
                    "{} of {of} ranks did not join at {at} within {waited} s (--join-timeout): {names}",
                    missing.len(),
                )));
            }
            board = lead.shared.wait(board, LOOK_EVERY);
        }
        drop(board);
        Ok(lead)
    }

    /// How many ranks there are, with this one.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// The machines of the other ranks, from rank 1 on.
    pub fn hosts(&self) -> Vec<String> {
        self.shared.lock().ranks.iter().map(|rank| rank.host.clone()).collect()
    }

    /// Called once, on another thread, when a rank is lost: the pass cannot be whole any more.
    pub fn when_lost(&self, alarm: impl FnOnce() + Send + 'static) {
        let mut board = self.shared.lock();
        match board.trouble() {
            Some(_) => alarm(),
            None => board.alarm = Some(Box::new(alarm)),
        }
    }

    /// Gives an order. The records of each rank come to its sink, which is dropped after the last one; there
    /// are as many as there are other ranks, or none where none will come.
    pub fn order(&self, order: Order, sinks: Vec<Sink>) {
        self.shared.lock().give(order, sinks);
        self.shared.changed();
    }

    /// Waits until each rank works on the last order: it has then sent all that it sends before.
    pub fn wait_for_work(&self) {
        let mut board = self.shared.lock();
        while !board.is_at_work() && !self.shared.is_interrupted() {
            board = self.shared.wait(board, LOOK_EVERY);
        }
    }

    /// When the pass starts, once all ranks are prepared. `workload_hash` is that of rank 0: a rank with
    /// another one would send other requests.
    pub fn start(&self, workload_hash: &str) -> Option<Nanos> {
        let mut board = self.shared.lock();
        if board.start.is_none() && board.are_prepared(workload_hash)? {
            board.announce(monotonic_now());
        }
        let start = board.start;
        drop(board);
        start
    }

    /// Waits until each rank has done its pass, or is lost.
    pub fn reports(&self) -> Vec<RankReport> {
        let mut board = self.shared.lock();
        while !board.is_done() {
            board = self.shared.wait(board, LOOK_EVERY);
        }
        board.reports()
    }

    /// Which rank is lost or failed, and how, if one is.
    pub fn trouble(&self) -> Option<String> {
        self.shared.lock().trouble()
    }

    /// How each of the other ranks was lost, from rank 1 on; nothing for those that are there.
    pub fn lost(&self) -> Vec<Option<String>> {
        self.shared.lock().lost()
    }

    /// Tells the others that the run is over, and whether it failed.
    pub fn end(&self, failed: Option<String>) {
        self.order(Order::End { failed }, Vec::new());
        let until = monotonic_now() + GOODBYE;
        let mut board = self.shared.lock();
        while !board.is_done() && monotonic_now() < until {
            board = self.shared.wait(board, LOOK_EVERY);
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        // The thread that accepts looks once more when somebody comes.
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

/// Names of ranks, not too many.
fn some_of(ranks: &[u32]) -> String {
    let names: Vec<String> = ranks.iter().take(20).map(ToString::to_string).collect();
    let more = if ranks.len() > 20 { ", ..." } else { "" };
    format!("{} {}{more}", if ranks.len() == 1 { "rank" } else { "ranks" }, names.join(", "))
}

/// A listener at the address of the meeting, where this machine has it; else at all addresses, and it is not
/// sure that the others come here.
fn listen(meeting: &Meeting) -> Result<(TcpListener, bool), JoinError> {
    let at = meeting.place();
    let addresses = meeting.addresses().map_err(|why| JoinError::Failed(format!("{at}: {why}")))?;
    for address in &addresses {
        match TcpListener::bind(address) {
            Ok(listener) => return Ok((listener, true)),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                return Err(JoinError::Mistake(format!(
                    "{at} is in use by another rank 0 or another run on this machine; give the \
                        ranks of this run another address with --rendezvous HOST:PORT"
                )));
            }
            Err(_) => {}
        }
    }
    let any: IpAddr = match addresses.first() {
        Some(SocketAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
        _ => Ipv4Addr::UNSPECIFIED.into(),
    };
    let listener = TcpListener::bind((any, meeting.port)).map_err(|error| failed(&error))?;
    Ok((listener, false))
}

/// Comes to the meeting as the others do, to see who is there.
///
/// # Errors
/// When another rank 0 is.
fn check_place(
    meeting: &Meeting,
    me: &Introduction,
    instance: &str,
    guests: &welcome::Guests,
) -> Result<(), JoinError> {
    let at = meeting.place();
    let found = (|| -> Result<Welcome, String> {
        let address = *meeting.addresses()?.first().ok_or("it has no address")?;
        let in_words = |error: std::io::Error| error.to_string();
        let mut link = Link::connect(address, SELF_CHECK).map_err(in_words)?;
        let challenge: Challenge = link.receive(SELF_CHECK).map_err(in_words)?;
        let hello = Hello::of(me, &meeting.token, &challenge, instance)
            .map_err(|error| error.to_string())?;
        link.send(&hello, SELF_CHECK).map_err(in_words)?;
        link.receive(SELF_CHECK).map_err(in_words)
    })();
    match found {
        Ok(Welcome::Refused { why, .. }) => {
            Err(JoinError::Mistake(format!("another rank 0 listens at {at}: {why}")))
        }
        Ok(Welcome::Itself) => Ok(()),
        Ok(Welcome::Joined { .. }) => Err(JoinError::Mistake(format!(
            "another rank 0 listens at {at}, but this process is rank 0 too"
        ))),
        // A network may not lead back to where one is.
        Err(why) => {
            (guests.notice)(&format!(
                "warning: rank 0 should be at {at}, but this machine does not have that address \
                    and cannot reach itself there ({why}): the other ranks may not find it"
            ));
            Ok(())
        }
    }
}
