//! Time limits for blocking calls without a time limit of their own: the resolution of a name, the connection
//! to a Unix socket, and writing many bytes to a receiver that reads slowly.

use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::{os::unix::net::UnixStream, path::Path, time::Duration};

use crate::{monotonic_now, sys, thread};

/// The time limit for the resolution of a name. If a resolver does not answer, the system asks it twice, and
/// waits 5 seconds each time.
const RESOLVE_LIMIT: Duration = Duration::from_secs(15);

/// Resolves a host name to its addresses. An IP address needs no resolver and no thread.
///
/// # Errors
/// When the name cannot be resolved, or not within 15 seconds.
pub fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let host = host.to_owned();
    let resolved = move || Ok((host.as_str(), port).to_socket_addrs()?.collect());
    call_within(RESOLVE_LIMIT, resolved, "the resolver does not answer")
}

/// Makes a call that cannot be interrupted, in another thread, and returns its result. If the call takes
/// longer than `within`, the result is an error with the text `what`. The thread then continues to wait, and
/// its result is lost.
fn call_within<T: Send + 'static>(
    within: Duration,
    call: impl FnOnce() -> io::Result<T> + Send + 'static,
    what: &str,
) -> io::Result<T> {
    let (sender, receiver) = channel();
    // The receiver is gone if the call took too long.
    thread::spawn(move || drop(sender.send(call())))?;
    receiver.recv_timeout(within).unwrap_or_else(|error| match error {
        RecvTimeoutError::Timeout => Err(io::Error::new(ErrorKind::TimedOut, what)),
        RecvTimeoutError::Disconnected => Err(io::Error::other("the call's thread has panicked")),
    })
}

/// Connects to a Unix socket. If the accept queue of the server is full, waits until it has room.
///
/// # Errors
/// When the server does not listen, or its accept queue has no room within the time limit.
pub fn connect_unix(path: &Path, within: Duration) -> io::Result<UnixStream> {
    let stream = sys::unix_socket()?;
    stream.set_nonblocking(false)?;
    // The kernel applies the write timeout also to the attempt to connect.
    stream.set_write_timeout(Some(within))?;
    loop {
        match sys::connect_unix(&stream, path) {
            Ok(()) => return Ok(stream),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let what = "the server did not accept the connection within the time limit";
                return Err(io::Error::new(ErrorKind::TimedOut, what));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Writes all bytes. The limit is checked after each write, so the call may exceed the limit by the write
/// timeout of the socket.
///
/// # Errors
/// When the connection breaks, or the receiver does not accept all bytes within the time limit.
pub fn write_all(to: &mut impl Write, mut bytes: &[u8], within: Duration) -> io::Result<()> {
    let start = monotonic_now();
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            // A signal interrupted the write, so the loop writes again.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if !bytes.is_empty() && monotonic_now().since(start) > within {
            let what =
                "the server reads too slowly: the request was not sent within the time limit";
            return Err(io::Error::new(ErrorKind::TimedOut, what));
        }
    }
    to.flush()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const LATE: Duration = Duration::from_secs(60);

    #[test]
    fn a_name_lookup_that_never_answers_times_out() {
        let (keeps, silent) = channel::<()>();
        let asked = move || silent.recv().map_err(io::Error::other);
        let error = call_within(SOON, asked, "silent").unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::TimedOut, "silent".to_owned()));
        drop(keeps);
        for (ip, address) in [("127.0.0.1", "127.0.0.1:7"), ("::1", "[::1]:7")] {
            assert_eq!(resolve(ip, 7).unwrap(), [address.parse().unwrap()]);
        }
        assert!(!resolve("localhost", 7).unwrap().is_empty());
        assert!(resolve("a\0b", 7).is_err());
    }

    #[test]
    fn connecting_to_a_unix_socket_with_a_full_accept_queue_times_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("full");
        let listener = UnixListener::bind(&path).unwrap();
        sys::set_backlog(&listener, 0).unwrap();
        let first = connect_unix(&path, LATE).unwrap();
        let error = connect_unix(&path, SOON).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        drop((first, listener));
    }

    /// A receiver that accepts one byte of each write.
    struct OneByOne(Vec<u8>);

    impl Write for OneByOne {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.extend_from_slice(&bytes[..1]);
            Ok(1)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn writing_to_a_peer_that_reads_too_slowly_times_out() {
        let mut all = OneByOne(Vec::new());
        write_all(&mut all, b"abc", LATE).unwrap();
        assert_eq!(all.0, b"abc");
        let error = write_all(&mut OneByOne(Vec::new()), b"abc", Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    }
}
