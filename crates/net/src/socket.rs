//! A stream socket of this process: TCP or Unix. A Unix socket has no acknowledgements, and the kernel gives
//! it no time stamps.

use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::{net::TcpStream, os::unix::net::UnixStream, path::Path, sync::Arc};

use crate::{Address, sys};

/// A stream socket.
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// The result of beginning to connect.
pub(crate) enum Begun {
    /// The kernel continues to connect.
    Connecting(Socket),
    /// The accept queue of the Unix socket's server is full.
    NoRoom(Socket, Arc<Path>),
}

impl Socket {
    /// Begins to connect, without waiting.
    pub fn begin(to: &Address) -> io::Result<Begun> {
        match to {
            Address::Internet(address) => {
                sys::begin_connect(*address).map(|stream| Begun::Connecting(Self::Tcp(stream)))
            }
            Address::Unix(path) => {
                let stream = sys::unix_socket()?;
                match sys::connect_unix(&stream, path) {
                    Ok(()) => Ok(Begun::Connecting(Self::Unix(stream))),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        Ok(Begun::NoRoom(Self::Unix(stream), Arc::clone(path)))
                    }
                    Err(error) => Err(error),
                }
            }
        }
    }

    /// Tries again to connect after [`Begun::NoRoom`].
    pub fn begin_queued(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Tcp(_) => Ok(()),
            Self::Unix(stream) => sys::connect_unix(stream, path),
        }
    }

    /// Makes the kernel send small writes without delay.
    pub fn send_at_once(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_nodelay(true),
            Self::Unix(_) => Ok(()),
        }
    }

    /// The error that ended an attempt to connect, if there was an error.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        match self {
            Self::Tcp(stream) => stream.take_error(),
            Self::Unix(stream) => stream.take_error(),
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    /// Makes the kernel acknowledge received data now.
    pub fn acknowledge_at_once(&self) {
        if let Self::Tcp(stream) = self {
            sys::acknowledge_at_once(stream);
        }
    }

    /// Makes the connection end with a reset when it is closed. This function does nothing for a Unix socket,
    /// which has no such option: the other side sees a reset only if this side has unread data.
    pub fn reset_on_close(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => sys::reset_on_close(stream),
            Self::Unix(_) => Ok(()),
        }
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Tcp(stream) => stream.as_raw_fd(),
            Self::Unix(stream) => stream.as_raw_fd(),
        }
    }
}

#[cfg(test)]
mod tests;
