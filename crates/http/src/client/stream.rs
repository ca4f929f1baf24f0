//! A blocking connection, plain or with TLS.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use inferometer_net::tls::TlsStream;

use super::Client;
use super::error::{ClientError, no_tls};

/// An open connection.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream>),
}

impl Stream {
    /// Connects to a client's server. The TLS handshake is done before it returns.
    pub(super) fn connect(client: &Client) -> Result<Self, ClientError> {
        let unreachable = |source| ClientError::Unreachable { url: client.url.to_string(), source };
        let stream =
            TcpStream::connect_timeout(&client.address, client.timeout).map_err(unreachable)?;
        stream.set_read_timeout(Some(client.timeout)).map_err(unreachable)?;
        stream.set_write_timeout(Some(client.timeout)).map_err(unreachable)?;
        stream.set_nodelay(true).map_err(unreachable)?;
        let Some(tls) = &client.tls else { return Ok(Self::Plain(stream)) };
        let stream =
            tls.over(stream, client.timeout).map_err(|source| no_tls(&client.url, source))?;
        Ok(Self::Tls(Box::new(stream)))
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
