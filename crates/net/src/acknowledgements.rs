//! When received data is acknowledged.
//!
//! A server without `TCP_NODELAY` (Nagle's algorithm) does not send a small segment while an earlier one is
//! unacknowledged, so received data is acknowledged at once: else tokens would arrive in bundles, up to 40 ms late.
//! An acknowledgement for each token is a third of the client's CPU time. So the first connections of a run, before
//! anything is measured, delay their acknowledgements as the kernel does by default. A server that sends two small
//! segments after the last one of ours does not wait, and its later connections delay them too.

use std::sync::{Arc, Mutex, PoisonError};

use crate::Address;
use crate::socket::{Segments, Socket};

/// A read of more bytes may hold a full segment, which Nagle's algorithm never delays.
const SMALL_BYTES: usize = 500;

/// The servers that do not wait for acknowledgements, as far as it is known. Clones share this knowledge.
#[derive(Clone, Default)]
pub(crate) struct Servers(Arc<Mutex<Vec<Address>>>);

impl Servers {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Address>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a server is known not to wait for acknowledgements.
    pub fn do_not_wait(&self, server: &Address) -> bool {
        self.lock().contains(server)
    }

    /// How a new connection to a server is acknowledged. `tries`: whether it may find out what the server does.
    pub fn acknowledgements(&self, server: &Address, tries: bool) -> Acknowledgements {
        match (self.do_not_wait(server), tries) {
            (true, _) => Acknowledgements::Delayed,
            (false, true) => Acknowledgements::Trial { server: server.clone(), since: None },
            (false, false) => Acknowledgements::AtOnce,
        }
    }
}

/// How a connection is acknowledged.
pub(crate) enum Acknowledgements {
    /// As soon as data is read.
    AtOnce,
    /// When the kernel likes.
    Delayed,
    /// When the kernel likes, to see whether the server waits. `since`: the segments when this side last sent one.
    Trial { server: Address, since: Option<Segments> },
}

impl Acknowledgements {
    /// Before a read, which may send an acknowledgement. A trial ends when connections do not try any more.
    pub fn before_read(&mut self, socket: &Socket, servers: &Servers, tries: bool) {
        let Self::Trial { server, since } = self else { return };
        let Some(now) = socket.segments().filter(|_| tries) else {
            socket.acknowledge(true);
            *self = Self::AtOnce;
            return;
        };
        match since {
            Some(since) if since.sent == now.sent => {
                if now.received.wrapping_sub(since.received) >= 2 {
                    servers.lock().push(server.clone());
                    *self = Self::Delayed;
                }
            }
            _ => {
                socket.acknowledge(false);
                *since = Some(now);
            }
        }
    }

    /// After a read of so many bytes. `wrote`: this side wrote since the read before, which makes the kernel forget
    /// what it was told.
    pub fn after_read(&mut self, socket: &Socket, wrote: bool, bytes: usize) {
        match self {
            Self::AtOnce if wrote => socket.acknowledge(true),
            Self::Delayed if wrote => socket.acknowledge(false),
            Self::Trial { since, .. } if wrote || bytes > SMALL_BYTES => *since = None,
            _ => {}
        }
    }
}
