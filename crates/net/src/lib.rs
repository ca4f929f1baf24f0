//! One trait for time and sockets, with two implementations: real sockets over epoll, and a virtual network
//! with a virtual clock. The module [`tls`] encrypts the connections of both.
//!
//! Code that communicates implements [`Actor`]. In each turn, an actor receives the events that are ready and
//! acts on them; the result of the turn says when the next turn is due. [`EpollNet`] runs an actor over real
//! sockets and the monotonic clock. [`virtual_net::run`] runs several actors that are connected by in-memory
//! pipes. Virtual time passes only when no actor has anything left to do, so every instant of a test is
//! exact.
//!
//! Nothing here depends on records or metrics. [`http`] has HTTP/1.1 for everything except the load generator.

pub mod http;

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
pub mod time_limit;
pub mod tls;
pub mod virtual_net;
mod waker;

use std::{io, net::SocketAddr};

pub use address::Address;
pub use epoll::EpollNet;
pub use free_port::free_port;
pub use inferometer_model::time::Nanos;
pub use loop_stats::{LoopStats, STALL};
pub use stamp::{StampStats, monotonic_now, wall_clock_ns};
pub use sys::{
    EndSignal, ProcUnits, adopt_orphans, end_process, fail_writes_beyond_file_limit, open_files,
    proc_units, process_cpu_time, process_memory, raise_open_files_limit, reap_any_child,
    thread_cpu_time,
};
pub use thread::{spawn, spawn_scoped};
pub use waker::Waker;

/// The id of a connection. An id is never used again for another connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId {
    slot: u32,
    generation: u32,
}

impl ConnId {
    /// The connection's index in a table: a small number that no other open connection has.
    pub fn slot(self) -> usize {
        self.slot as usize
    }
}

/// An event on a connection.
#[derive(Debug)]
pub enum Ready {
    /// A connection that [`Net::connect`] began is open.
    Connected(ConnId),
    /// A connection that [`Net::connect`] began could not be opened. It is closed already.
    ConnectFailed(ConnId, io::Error),
    /// A client connected to a listening address.
    Accepted(ConnId),
    /// There is something to read, or the other side has closed the connection.
    Readable(ConnId),
    /// A connection accepts bytes again, after a write that it accepted only in part.
    Writable(ConnId),
}

/// The result of a read.
#[derive(Debug)]
pub enum ReadResult {
    /// Bytes were read.
    Data(Arrived),
    /// There is nothing to read now.
    Empty,
    /// The other side has closed the connection; no more bytes follow.
    Closed,
    /// The connection is broken.
    Failed(io::Error),
}

/// The size of a read, and the times of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The number of bytes.
    pub bytes: usize,
    /// The kernel's receive timestamp of the last segment of these bytes; `None` if there is no usable
    /// timestamp.
    pub kernel: Option<Nanos>,
    /// When the read returned these bytes.
    pub user: Nanos,
    /// The last instant before the arrival of these bytes at which the socket is known to have been empty. The
    /// [`Net`] of real sockets assumes that a wake-up takes at most 100 us.
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

/// Sockets and a clock. No call blocks.
pub trait Net {
    /// The present time, on a monotonic axis.
    fn now(&self) -> Nanos;

    /// Listens on an address; each client is reported as [`Ready::Accepted`]. Returns the address with the
    /// port that was chosen, if port 0 was requested.
    ///
    /// # Errors
    /// When the system refuses to listen on the address.
    fn listen(&mut self, at: SocketAddr) -> io::Result<SocketAddr>;

    /// Begins to connect; [`Ready::Connected`] or [`Ready::ConnectFailed`] follows.
    ///
    /// # Errors
    /// When the attempt fails immediately: for example, there is no route or no free file descriptor.
    fn connect(&mut self, to: &Address) -> io::Result<ConnId>;

    /// Reads the bytes that have arrived, up to the buffer's size.
    fn read(&mut self, conn: ConnId, buffer: &mut [u8]) -> ReadResult;

    /// Writes as many bytes as the connection accepts, and returns their number. If it does not accept all,
    /// [`Ready::Writable`] follows.
    ///
    /// # Errors
    /// When the connection is broken.
    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> io::Result<usize>;

    /// Closes a connection. No event of this connection is reported afterwards.
    fn close(&mut self, conn: ConnId, how: Close);
}

/// When an actor needs its next turn. It may get an earlier turn, also without an event, unless it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// At this instant at the latest.
    At(Nanos),
    /// When something is ready.
    WhenReady,
    /// Never again: the actor is done.
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
    /// Handles the events in `ready`, and the work that is due. The result says when the actor needs its next
    /// turn.
    fn turn(&mut self, net: &mut N, ready: &[Ready]) -> Wake;
}
