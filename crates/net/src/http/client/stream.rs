//! A blocking connection: TCP or a Unix socket, direct or through the tunnel of a proxy, with or without TLS.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::{os::unix::net::UnixStream, path::Path, time::Duration};

use super::Client;
use super::error::{ClientError, no_tls, reason};
use crate::{Address, http::proxy::tunnel_through, time_limit, tls::TlsStream};

/// An open connection.
pub(in crate::http) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream>),
    Unix(UnixStream),
}

impl Stream {
    /// Connects to a client's server. The tunnel and the TLS handshake are complete when this function
    /// returns.
    pub(in crate::http) fn connect(client: &Client) -> Result<Self, ClientError> {
        let unreachable = |source| {
            let url = client.url.to_string();
            match &client.proxy {
                None => ClientError::Unreachable { url, source },
                Some(proxy) => ClientError::Proxy {
                    url,
                    what: format!(
                        "cannot connect to the proxy {proxy} ({}): {source}; to use no proxy, give \
                            --proxy none, or add the server to NO_PROXY and leave out --proxy",
                        proxy.named_by
                    ),
                },
            }
        };
        let mut stream = match &client.address {
            Address::Unix(path) => {
                return unix(path, client).map(Self::Unix).map_err(unreachable);
            }
            Address::Internet(address) => tcp(*address, client).map_err(unreachable)?,
        };
        let Some(tls) = &client.tls else { return Ok(Self::Plain(stream)) };
        if let Some((proxy, authority)) = client.tunnel() {
            tunnel_through(&mut stream, proxy, &authority, client.timeout).map_err(|error| {
                // An error of the system does not name the proxy; an error of the tunnel does.
                let what = match error.raw_os_error() {
                    Some(_) => format!("the proxy {proxy}: {}", reason(&error)),
                    None => error.to_string(),
                };
                ClientError::Proxy { url: client.url.to_string(), what }
            })?;
        }
        let stream =
            tls.over(stream, client.timeout).map_err(|source| no_tls(&client.url, source))?;
        Ok(Self::Tls(Box::new(stream)))
    }

    /// Sets how long a read waits for bytes.
    pub(in crate::http) fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.set_read_timeout(Some(timeout)),
            Self::Tls(stream) => stream.socket().set_read_timeout(Some(timeout)),
            Self::Unix(stream) => stream.set_read_timeout(Some(timeout)),
        }
    }

    /// Whether the server has not closed the connection yet. For a Unix socket this is not known, so it counts as closed.
    pub(in crate::http) fn is_open(&self) -> bool {
        match self {
            Self::Plain(stream) => waiting(stream) == Some(0),
            Self::Tls(stream) => waiting(stream.socket()) == Some(0),
            Self::Unix(_) => false,
        }
    }
}

/// How many bytes can be looked at without waiting, at most 1; `None` if the connection is closed.
pub(in crate::http) fn waiting(stream: &TcpStream) -> Option<usize> {
    let looked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
    stream.set_nonblocking(false).ok()?;
    match looked {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Some(0),
        other => other.ok().filter(|count| *count > 0),
    }
}

fn tcp(address: SocketAddr, client: &Client) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, client.timeout)?;
    stream.set_read_timeout(Some(client.timeout))?;
    stream.set_write_timeout(Some(client.timeout))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn unix(path: &Path, client: &Client) -> io::Result<UnixStream> {
    let stream = time_limit::connect_unix(path, client.timeout)?;
    stream.set_read_timeout(Some(client.timeout))?;
    Ok(stream)
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
            Self::Unix(stream) => stream.flush(),
        }
    }
}
