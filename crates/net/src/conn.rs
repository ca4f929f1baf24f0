//! The event loop's state of a connection. It makes no system call.

use std::io;
use std::net::TcpStream;

use inferometer_model::time::Nanos;

use crate::ConnId;

/// A place for a connection.
pub(crate) struct Slot {
    pub generation: u32,
    pub conn: Option<Conn>,
}

/// An open or opening connection.
pub(crate) struct Conn {
    pub stream: TcpStream,
    pub state: State,
    /// Whether it did not take all of a write, and has not been reported as writable since.
    pub watching_writes: bool,
    /// Whether it was written to and not read since.
    pub wrote: bool,
    /// When its last read was called, if that read took all there was.
    pub drained_at: Option<Nanos>,
    /// Whether it was reported as readable and not read since.
    pub reported: bool,
    /// Whether its stream has ended, behind what can still be read.
    pub ended: bool,
    /// The last instant at which it was known to be empty.
    pub empty_before: Nanos,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Connecting,
    Open,
}

/// The connection of an id, if it is still open. Apart from the net, so that its other fields
/// stay free to use.
pub(crate) fn find(slots: &mut [Slot], id: ConnId) -> Option<&mut Conn> {
    let slot = slots.get_mut(id.slot())?;
    if slot.generation == id.generation { slot.conn.as_mut() } else { None }
}

/// The number under which the kernel reports a connection.
pub(crate) fn token(id: ConnId) -> u64 {
    u64::from(id.slot) | (u64::from(id.generation & 0x7fff_ffff) << 32)
}

/// The error of a call on a closed connection.
pub(crate) fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the connection is closed")
}
