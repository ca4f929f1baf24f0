//! TLS as a client: which certificates are trusted, and for which host name.

use std::io::{self, Read, Write};
use std::{net::TcpStream, sync::Arc, time::Duration};

use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::{error::TlsError, identity::Identity, pem::authorities, verify::Verifier};

use inferometer_model::Nanos;

use crate::monotonic_now;

/// Which certificate authorities are trusted to identify a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// The authorities that Mozilla trusts.
    #[default]
    Known,
    /// The authorities that Mozilla trusts, and the certificates of this PEM text. Each certificate of the text
    /// is accepted as an authority, and as the server's own certificate.
    Also(Vec<u8>),
    /// Any certificate is accepted: an attacker between client and server can read and change the data.
    AnyCertificate,
}

/// The settings for TLS connections to one server.
#[derive(Clone, Debug)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsClient {
    /// Creates settings for TLS 1.2 or 1.3 with HTTP/1.1 inside, to the server with this name or address.
    /// `identity` is presented to a server that requests a certificate.
    ///
    /// # Errors
    /// When the name, the additional authorities or the identity cannot be used.
    pub fn new(host: &str, trust: &Trust, identity: Option<&Identity>) -> Result<Self, TlsError> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| TlsError::Name { host: host.to_owned() })?;
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let builder = match trust {
            Trust::Known => builder.with_root_certificates(RootCertStore {
                roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
            }),
            Trust::Also(pem) => {
                let (roots, given) = authorities(pem)?;
                let verifier = Verifier::of(roots, given, provider)
                    .map_err(|error| TlsError::Authorities { what: error.to_string() })?;
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
            Trust::AnyCertificate => {
                let verifier = Arc::new(Verifier::unchecked(provider));
                builder.dangerous().with_custom_certificate_verifier(verifier)
            }
        };
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => identity.shown_by(builder)?,
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), name })
    }

    /// A session that has sent nothing yet.
    pub(super) fn session(&self) -> Result<ClientConnection, rustls::Error> {
        let mut session = ClientConnection::new(Arc::clone(&self.config), self.name.clone())?;
        session.set_buffer_limit(None);
        Ok(session)
    }

    /// Runs TLS over a blocking socket, and completes the handshake. So a caller can distinguish an untrusted
    /// server from a server that does not answer. `within` limits the duration of the whole handshake, also
    /// if the server sends its part in many small pieces. The limit is checked before each read, and each
    /// read has the timeout of the socket.
    ///
    /// # Errors
    /// When the connection breaks, the time limit has passed, or the server is not trusted.
    pub fn over(&self, socket: TcpStream, within: Duration) -> io::Result<TlsStream> {
        let mut session = self.session().map_err(io::Error::other)?;
        let mut socket = Within { socket, until: monotonic_now() + within };
        while session.is_handshaking() {
            match session.complete_io(&mut socket) {
                // A signal interrupted the wait, so the loop waits again.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => drop(done?),
            }
        }
        Ok(TlsStream(StreamOwned::new(session, socket.socket)))
    }
}

/// A socket whose reads fail after the instant `until`.
struct Within {
    socket: TcpStream,
    until: Nanos,
}

impl Read for Within {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if monotonic_now() > self.until {
            let what = "the TLS handshake did not complete within the time limit";
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        }
        self.socket.read(buffer)
    }
}

impl Write for Within {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// A blocking socket with TLS over it.
pub struct TlsStream(StreamOwned<ClientConnection, TcpStream>);

impl TlsStream {
    /// The socket below.
    pub(crate) fn socket(&self) -> &TcpStream {
        &self.0.sock
    }
}

impl Read for TlsStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer) {
            // Many servers close the connection without the close_notify of TLS. The protocol above TLS shows
            // whether data is missing.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            result => result,
        }
    }
}

impl Write for TlsStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
