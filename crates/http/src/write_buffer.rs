//! Bytes that are to be sent to one client. Nothing here waits: what the socket does not take stays in the
//! buffer.

use std::io;

use inferometer_model::time::Nanos;
use inferometer_net::{Close, ConnId, Net};

/// What is left to write on a connection, and how the connection ends afterwards.
#[derive(Debug)]
pub struct WriteBuffer {
    id: ConnId,
    unsent: Vec<u8>,
    held_until: Option<Nanos>,
    closing: Option<Close>,
}

/// State of a connection after a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flushed {
    /// It stays open; whether any bytes were written.
    Open { wrote: bool },
    /// Nothing is written before this instant.
    Held(Nanos),
    /// It broke, or it was closed after its last byte.
    Closed,
}

impl WriteBuffer {
    pub(crate) fn new(id: ConnId) -> Self {
        Self { id, unsent: Vec::new(), held_until: None, closing: None }
    }

    /// The number of bytes that the socket has not taken yet.
    pub fn len(&self) -> usize {
        self.unsent.len()
    }

    /// Whether the socket has taken everything.
    pub fn is_empty(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Appends bytes, to be written by the next flush.
    pub fn push(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
    }

    /// Writes at once, without a copy, if the buffer is empty; what the socket does not take is buffered.
    /// Returns whether the socket took everything.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn send(&mut self, net: &mut impl Net, bytes: &[u8]) -> io::Result<bool> {
        let taken = if self.unsent.is_empty() { net.write(self.id, bytes)? } else { 0 };
        self.unsent.extend_from_slice(&bytes[taken..]);
        Ok(taken == bytes.len())
    }

    /// Writes nothing before this instant.
    pub fn hold_until(&mut self, at: Nanos) {
        self.held_until = Some(at);
    }

    /// Ends the connection after the last byte. A second call replaces `how`.
    pub fn close_after(&mut self, how: Close) {
        self.closing = Some(how);
    }

    /// Whether the connection ends after the last byte.
    pub fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.unsent
    }

    pub(crate) fn flush(&mut self, net: &mut impl Net) -> Flushed {
        if let Some(until) = self.held_until.filter(|until| *until > net.now()) {
            return Flushed::Held(until);
        }
        self.held_until = None;
        let mut wrote = false;
        if !self.unsent.is_empty() {
            match net.write(self.id, &self.unsent) {
                Ok(written) => {
                    wrote = written > 0;
                    self.unsent.drain(..written);
                }
                Err(_) => {
                    net.close(self.id, Close::Reset);
                    return Flushed::Closed;
                }
            }
        }
        match self.closing {
            Some(how) if self.unsent.is_empty() => {
                net.close(self.id, how);
                Flushed::Closed
            }
            _ => Flushed::Open { wrote },
        }
    }
}
