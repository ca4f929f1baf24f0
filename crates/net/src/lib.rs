//! Time and sockets behind one trait: real ones over epoll, and a virtual network with a virtual clock.
//!
//! Code that communicates is an [`Actor`]: its turn receives what is ready, acts, and returns when it wants
//! the next turn. [`EpollNet`] runs an actor over real sockets and the monotonic clock. [`virtual_net::play`]
//! runs several actors that are connected by in-memory pipes. Its time passes only when no actor has anything
//! left to do, so every instant of a test is exact.
//!
//! Nothing here depends on HTTP, requests or metrics.

mod address;
mod conn;
mod emptiness;
mod epoll;
pub mod file;
mod free_port;
mod loop_stats;
mod run_delay;
mod socket;
mod stamp;
mod sys;
pub mod thread;
pub mod tls;
pub mod virtual_net;
mod waker;

use std::io;
use std::net::SocketAddr;

pub use address::Address;
pub use epoll::EpollNet;
pub use free_port::free_port;
pub use inferometer_model::time::Nanos;
pub use loop_stats::{LoopStats, STALL};
pub use stamp::{StampStats, monotonic_now, wall_clock_ns};
pub use sys::{
    EndSignal, ProcUnits, adopt_orphans, end_process, fail_writes_beyond_file_limit, proc_units,
    process_cpu_time, raise_open_files_limit, reap_any_child, thread_cpu_time,
};
pub use waker::Waker;

/// The id of a connection. It is never used again for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId {
    slot: u32,
    generation: u32,
}

impl ConnId {
    /// A small number, unique among the connections open at one time: an index for tables.
    pub fn slot(self) -> usize {
        self.slot as usize
    }
}

/// An event on a connection.
#[derive(Debug)]
pub enum Ready {
    /// A connection that was requested is open.
    Connected(ConnId),
    /// A connection that was requested could not be opened; it is closed already.
    ConnectFailed(ConnId, io::Error),
    /// A client connected to a listening address.
    Accepted(ConnId),
    /// There is something to read, or the other side has closed.
    Readable(ConnId),
    /// A connection accepts bytes again, after a write that it accepted only in part.
    Writable(ConnId),
}

/// The result of a read.
#[derive(Debug)]
pub enum ReadResult {
    /// Some bytes.
    Data(Arrived),
    /// Nothing now.
    Empty,
    /// The other side has closed; there will be nothing more.
    Closed,
    /// The connection is broken.
    Failed(io::Error),
}

/// Bytes that arrived, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// How many bytes.
    pub bytes: usize,
    /// When the kernel received the last segment of them, if it stamps receives.
    pub kernel: Option<Nanos>,
    /// When the read returned them.
    pub user: Nanos,
    /// The last earlier instant at which the socket is known to have been empty.
    pub empty_before: Nanos,
}

/// How to end a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// The other side sees the end of the stream.
    Gracefully,
    /// The other side sees a reset.
    Reset,
}

/// Sockets and a clock. All calls return at once.
pub trait Net {
    /// The time, on a monotonic axis.
    fn now(&self) -> Nanos;

    /// Listens on an address; clients come as [`Ready::Accepted`]. Returns the address with the
    /// port that was chosen, if port 0 was requested.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    fn listen(&mut self, at: SocketAddr) -> io::Result<SocketAddr>;

    /// Begins to connect; [`Ready::Connected`] or [`Ready::ConnectFailed`] follows.
    ///
    /// # Errors
    /// When the attempt fails at once: no route, no more file descriptors.
    fn connect(&mut self, to: &Address) -> io::Result<ConnId>;

    /// Reads what is there, up to the buffer's size.
    fn read(&mut self, conn: ConnId, buffer: &mut [u8]) -> ReadResult;

    /// Writes as much as the connection takes; if less than all, [`Ready::Writable`] follows.
    ///
    /// # Errors
    /// When the connection is broken.
    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> io::Result<usize>;

    /// Closes a connection. Nothing about it is reported afterwards.
    fn close(&mut self, conn: ConnId, how: Close);
}

/// When an actor wants its next turn. An event gives it a turn in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// At this instant at the latest.
    At(Nanos),
    /// Only when something is ready.
    WhenReady,
    /// Never again: it is done.
    Done,
}

impl Wake {
    /// The earlier of `self` and `at`. `WhenReady` and `Done` become `At(at)`.
    #[must_use]
    pub fn or_at(self, at: Nanos) -> Self {
        match self {
            Self::At(other) => Self::At(other.min(at)),
            Self::WhenReady | Self::Done => Self::At(at),
        }
    }
}

/// A program that communicates over a [`Net`].
pub trait Actor<N: Net> {
    /// Handles what is ready and what is due. Returns when it wants the next turn.
    fn turn(&mut self, net: &mut N, ready: &[Ready]) -> Wake;
}
