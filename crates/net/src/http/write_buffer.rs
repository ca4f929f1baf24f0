//! Bytes that are to be sent to one client. No function blocks: bytes that the socket does not accept stay in
//! the buffer.

use std::io;

use inferometer_model::Nanos;

use crate::{Close, ConnId, Net};

/// The unsent bytes of a connection, and how the connection ends after them.
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
    /// The connection stays open. `wrote` says whether any bytes were written.
    Open { wrote: bool },
    /// Nothing is written before this instant.
    Held(Nanos),
    /// The connection broke, or it was closed after its last byte.
    Closed,
}

impl WriteBuffer {
    pub(crate) fn new(id: ConnId) -> Self {
        Self { id, unsent: Vec::new(), held_until: None, closing: None }
    }

    /// The number of bytes that the socket has not accepted yet.
    pub fn len(&self) -> usize {
        self.unsent.len()
    }

    /// Whether the socket has accepted all bytes.
    pub fn is_empty(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Appends bytes, to be written by the next flush.
    pub fn push(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
    }

    /// Writes immediately, without a copy, if the buffer is empty. The buffer stores the bytes that the
    /// socket does not accept. Returns whether the socket accepted all bytes.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn send(&mut self, net: &mut impl Net, bytes: &[u8]) -> io::Result<bool> {
        let taken = if self.unsent.is_empty() { net.write(self.id, bytes)? } else { 0 };
        self.unsent.extend_from_slice(&bytes[taken..]);
        Ok(taken == bytes.len())
    }

    /// Makes flushes write nothing before this instant.
    pub fn hold_until(&mut self, at: Nanos) {
        self.held_until = Some(at);
    }

    /// Makes a flush end the connection after the last byte. A second call replaces `how`.
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
