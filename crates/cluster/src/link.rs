//! Messages over a TCP connection: a length and a JSON text. Lengths are limited, and every operation has a timeout.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use inferometer_net::{Nanos, monotonic_now};
use serde::{Serialize, de::DeserializeOwned};

/// The longest message, in bytes, from a process that has not yet proven that it has the token.
const STRANGERS_BYTES: u32 = 64 << 10;
/// The longest message, in bytes, from a process that has proven that it has the token. In a message, a record needs
/// about 140 bytes for each token.
const RANKS_BYTES: u32 = 512 << 20;

/// One end of a connection.
pub(crate) struct Link {
    stream: TcpStream,
    most: u32,
}

impl Link {
    /// Uses a connection to a process that is not yet trusted.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        // Send small messages immediately.
        stream.set_nodelay(true)?;
        Ok(Self { stream, most: STRANGERS_BYTES })
    }

    /// Connects within the timeout.
    pub fn connect(to: SocketAddr, within: Duration) -> io::Result<Self> {
        Self::new(TcpStream::connect_timeout(&to, within)?)
    }

    /// Allows longer messages, because the other end has proven that it has the token.
    pub fn trust(&mut self) {
        self.most = RANKS_BYTES;
    }

    /// Sends a message within the timeout.
    pub fn send(&mut self, message: &impl Serialize, within: Duration) -> io::Result<()> {
        let mut frame = vec![0; 4];
        serde_json::to_writer(&mut frame, message)?;
        let length = u32::try_from(frame.len() - 4).ok().filter(|length| *length <= RANKS_BYTES);
        let length = length
            .ok_or_else(|| invalid(format!("cannot receive a message of {} bytes", frame.len())))?;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        let until = monotonic_now() + within;
        let mut left = frame.as_slice();
        while !left.is_empty() {
            self.stream.set_write_timeout(Some(rest_of(until)?))?;
            match self.stream.write(left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => left = &left[written..],
                Err(error) if is_again(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Receives the next message within the timeout.
    pub fn receive<T: DeserializeOwned>(&mut self, within: Duration) -> io::Result<T> {
        let until = monotonic_now() + within;
        let mut length = [0; 4];
        self.fill(&mut length, until)?;
        let length = u32::from_be_bytes(length);
        if length > self.most {
            return Err(invalid(format!(
                "sent a message of {length} bytes; the limit is {} bytes",
                self.most
            )));
        }
        // Allocate memory as the data arrives, because the stated length may be false.
        let mut text = Vec::new();
        while text.len() < length as usize {
            let begin = text.len();
            text.resize((begin + (1 << 20)).min(length as usize), 0);
            self.fill(&mut text[begin..], until)?;
        }
        serde_json::from_slice(&text)
            .map_err(|error| invalid(format!("sent an invalid message: {error}")))
    }

    fn fill(&mut self, mut room: &mut [u8], until: Nanos) -> io::Result<()> {
        while !room.is_empty() {
            self.stream.set_read_timeout(Some(rest_of(until)?))?;
            match self.stream.read(room) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => room = &mut room[read..],
                Err(error) if is_again(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The time until the instant `until`; an error if this instant has passed.
fn rest_of(until: Nanos) -> io::Result<Duration> {
    match until.since(monotonic_now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        rest => Ok(rest),
    }
}

fn is_again(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | WouldBlock | TimedOut)
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Describes in words how a connection failed.
pub(crate) fn in_words(error: &io::Error, within: Duration) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut => format!("did not communicate for {} s", within.as_secs_f64()),
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionAborted => "closed its connection".to_owned(),
        // The errors that this module creates already begin with a verb.
        io::ErrorKind::InvalidData => error.to_string(),
        _ => format!("cannot be reached: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_error_continues_a_sentence_that_begins_with_the_word_it() {
        let told = |error: io::Error| format!("it {}", in_words(&error, Duration::from_secs(60)));
        for (error, words) in [
            (io::ErrorKind::TimedOut.into(), "it did not communicate for 60 s"),
            (io::ErrorKind::BrokenPipe.into(), "it closed its connection"),
            (invalid("sent an invalid message: x".to_owned()), "it sent an invalid message: x"),
            (io::Error::other("no route to host"), "it cannot be reached: no route to host"),
        ] {
            assert_eq!(told(error), words);
        }
    }
}
