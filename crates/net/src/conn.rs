//! The connection table of the event loop. It makes no system call.

use std::io;

use inferometer_model::Nanos;

use crate::{ConnId, socket::Socket};

/// An entry of the connection table. The generation distinguishes the connections that used this entry one
/// after the other.
struct Slot {
    generation: u32,
    conn: Option<Conn>,
}

/// An open or opening connection.
pub(crate) struct Conn {
    pub socket: Socket,
    pub state: State,
    /// Whether a write was only partly accepted, and `Ready::Writable` has not been reported since.
    pub watching_writes: bool,
    /// Whether something was written after the last read that returned data.
    pub wrote: bool,
    /// A reading of the clock before the last read, if that read emptied the socket. `None` if the socket may
    /// contain older data.
    pub drained_at: Option<Nanos>,
    /// Whether the connection was reported as readable and has not been read since.
    pub reported: bool,
    /// Whether the other side has ended the stream. Earlier bytes may still be unread.
    pub ended: bool,
    /// The last instant at which the socket is known to have been empty.
    pub empty_before: Nanos,
}

impl Conn {
    /// A connection from which nothing has been read.
    pub fn new(socket: Socket, state: State, now: Nanos) -> Self {
        Self {
            socket,
            state,
            watching_writes: false,
            wrote: false,
            drained_at: Some(now),
            reported: false,
            ended: false,
            empty_before: now,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// A Unix socket that could not connect because the accept queue of its server was full. The loop tries
    /// again later; until then, epoll does not watch the socket.
    Queued,
    Connecting,
    Open,
}

/// The connections of an event loop.
#[derive(Default)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Slots {
    /// The connection with this id, if it is still open.
    pub fn find(&mut self, id: ConnId) -> Option<&mut Conn> {
        let slot = self.slots.get_mut(id.slot())?;
        if slot.generation == id.generation { slot.conn.as_mut() } else { None }
    }

    /// Adds a connection.
    pub fn put(&mut self, conn: Conn) -> ConnId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, conn: None });
            (self.slots.len() - 1) as u32
        });
        let place = &mut self.slots[slot as usize];
        place.generation += 1;
        place.conn = Some(conn);
        ConnId { slot, generation: place.generation }
    }

    /// Removes a connection and returns it, if it is still open.
    pub fn take(&mut self, id: ConnId) -> Option<Conn> {
        let place = self.slots.get_mut(id.slot())?;
        if place.generation != id.generation {
            return None;
        }
        let conn = place.conn.take()?;
        self.free.push(id.slot);
        Some(conn)
    }
}

/// The number that identifies a connection in the events of epoll.
pub(crate) fn token(id: ConnId) -> u64 {
    u64::from(id.slot) | (u64::from(id.generation & 0x7fff_ffff) << 32)
}

/// The error of a call on a closed connection.
pub(crate) fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the connection is closed")
}
