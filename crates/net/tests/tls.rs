//! TLS over in-memory pipes: an actor that is written without TLS, against a server that uses TLS. One test uses real
//! sockets.
#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use inferometer_net::tls::{Secured, TlsClient, Trust};
use inferometer_net::virtual_net::{self, VirtualNet};
use inferometer_net::{Actor, Close, ConnId, Nanos, Net, ReadResult, Ready, Wake};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

const AUTHORITY: &[u8] = include_bytes!("../fixtures/tls/authority.pem");
const CERTIFICATE: &[u8] = include_bytes!("../fixtures/tls/server.pem");
const KEY: &[u8] = include_bytes!("../fixtures/tls/server.key");
/// A self-signed certificate that is marked as an authority, as `openssl req -x509` creates it.
const SELF_SIGNED: &[u8] = include_bytes!("../fixtures/tls/self-signed.pem");
const SELF_SIGNED_KEY: &[u8] = include_bytes!("../fixtures/tls/self-signed.key");
const ADDRESS: &str = "127.0.0.1:443";
/// When the client begins. The server already listens at this time.
const START: Nanos = Nanos(1_000_000);
const LATER: Duration = Duration::from_millis(5);

/// Receives all expected bytes, sends them back a while later, and ends the TLS session.
struct Echo {
    /// The certificate that the server presents, and the key of that certificate.
    shows: (&'static [u8], &'static [u8]),
    listening: bool,
    conn: Option<(ConnId, ServerConnection)>,
    expected: usize,
    came: Vec<u8>,
    answer_at: Option<Nanos>,
    unsent: Vec<u8>,
}

impl Echo {
    fn new(expected: usize) -> Self {
        let came = Vec::with_capacity(expected);
        Self {
            shows: (CERTIFICATE, KEY),
            listening: false,
            conn: None,
            expected,
            came,
            answer_at: None,
            unsent: Vec::new(),
        }
    }

    fn session(&self) -> ServerConnection {
        let certificates =
            CertificateDer::pem_slice_iter(self.shows.0).collect::<Result<_, _>>().unwrap();
        let key = PrivateKeyDer::from_pem_slice(self.shows.1).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .unwrap();
        let mut session = ServerConnection::new(Arc::new(config)).unwrap();
        session.set_buffer_limit(None);
        session
    }

    /// Decrypts received bytes. Returns false if this fails, for example because the client has sent an
    /// alert.
    fn take(&mut self, mut bytes: &[u8]) -> bool {
        let (_, tls) = self.conn.as_mut().unwrap();
        while !bytes.is_empty() && tls.read_tls(&mut bytes).unwrap() > 0 {
            let Ok(state) = tls.process_new_packets() else { return false };
            let before = self.came.len();
            self.came.resize(before + state.plaintext_bytes_to_read(), 0);
            tls.reader().read_exact(&mut self.came[before..]).unwrap();
        }
        true
    }
}

impl Actor<VirtualNet> for Echo {
    fn turn(&mut self, net: &mut VirtualNet, ready: &[Ready]) -> Wake {
        if !self.listening {
            self.listening = true;
            net.listen(ADDRESS.parse().unwrap()).unwrap();
        }
        for event in ready {
            if let Ready::Accepted(conn) = event {
                self.conn = Some((*conn, self.session()));
            }
        }
        let Some(conn) = self.conn.as_ref().map(|conn| conn.0) else { return Wake::WhenReady };
        let mut buffer = vec![0; 100_000];
        while let ReadResult::Data(arrived) = net.read(conn, &mut buffer) {
            if !self.take(&buffer[..arrived.bytes]) {
                return Wake::WhenReady;
            }
        }
        let now = net.now();
        if self.came.len() == self.expected {
            self.came.push(0);
            self.answer_at = Some(now + LATER);
        }
        let (_, tls) = self.conn.as_mut().unwrap();
        if self.answer_at.take_if(|at| *at <= now).is_some() {
            tls.writer().write_all(&self.came[..self.expected]).unwrap();
            tls.send_close_notify();
        }
        while tls.wants_write() {
            tls.write_tls(&mut self.unsent).unwrap();
        }
        if !self.unsent.is_empty() {
            let written = net.write(conn, &self.unsent).unwrap();
            self.unsent.drain(..written);
        }
        self.answer_at.map_or(Wake::WhenReady, Wake::At)
    }
}

/// Sends some bytes, and reads until the end of the stream.
#[derive(Default)]
struct Client {
    bytes: Vec<u8>,
    written: usize,
    room: usize,
    came: Vec<u8>,
    arrivals: Vec<Nanos>,
    open: Option<ConnId>,
    began: bool,
    failed: Option<String>,
}

impl Client {
    /// Reads once. Returns true when the stream has ended or is broken.
    fn read<N: Net>(&mut self, net: &mut N, conn: ConnId) -> bool {
        let mut buffer = vec![0; self.room];
        match net.read(conn, &mut buffer) {
            ReadResult::Data(arrived) => {
                self.came.extend(&buffer[..arrived.bytes]);
                self.arrivals.push(arrived.user);
                return false;
            }
            ReadResult::Empty => return false,
            ReadResult::Closed => net.close(conn, Close::Gracefully),
            ReadResult::Failed(error) => self.failed = Some(error.to_string()),
        }
        true
    }
}

impl<N: Net> Actor<N> for Client {
    fn turn(&mut self, net: &mut N, ready: &[Ready]) -> Wake {
        if net.now() < START {
            return Wake::At(START);
        }
        if !self.began {
            self.began = true;
            net.connect(&ADDRESS.parse::<SocketAddr>().unwrap().into()).unwrap();
        }
        for event in ready {
            match event {
                Ready::Connected(conn) => self.open = Some(*conn),
                Ready::ConnectFailed(_, error) => {
                    self.failed = Some(error.to_string());
                    return Wake::Done;
                }
                Ready::Readable(conn) if self.read(net, *conn) => return Wake::Done,
                Ready::Readable(_) | Ready::Writable(_) | Ready::Accepted(_) => {}
            }
        }
        if let Some(conn) = self.open {
            self.written += net.write(conn, &self.bytes[self.written..]).unwrap();
        }
        Wake::WhenReady
    }
}

/// Sends `bytes` to the server, for which the client expects the name `host`. Reads into a buffer of `room`
/// bytes.
fn talk(bytes: Vec<u8>, room: usize, host: &str, trust: &Trust) -> Client {
    talk_to(Echo::new(bytes.len()), bytes, room, host, trust)
}

fn talk_to(mut echo: Echo, bytes: Vec<u8>, room: usize, host: &str, trust: &Trust) -> Client {
    let client = Client { bytes, room, ..Client::default() };
    let mut secured = Secured::new(client, TlsClient::new(host, trust, None).unwrap());
    let mut hosts = virtual_net::hosts(2).into_iter();
    let (client_net, server_net) = (hosts.next().unwrap(), hosts.next().unwrap());
    virtual_net::run(&mut [(&mut secured, client_net), (&mut echo, server_net)]);
    secured.into_inner()
}

#[test]
fn data_sent_over_tls_comes_back_unchanged_with_any_read_buffer_size() {
    let bytes: Vec<u8> = (0..300_000_u32).map(|at| (at % 251) as u8).collect();
    for room in [1_000, 300_000] {
        let client = talk(bytes.clone(), room, "localhost", &Trust::Also(AUTHORITY.to_vec()));
        assert_eq!(client.failed, None);
        assert!(client.came == bytes, "{} of {} bytes came back", client.came.len(), bytes.len());
        // All bytes of one socket read have the time of that read, also if the actor reads them in parts.
        let later = START + LATER;
        assert!(client.arrivals.iter().all(|&at| at == later), "{:?}", client.arrivals.first());
    }
}

#[test]
fn nothing_is_sent_to_a_server_with_an_untrusted_or_mismatched_certificate() {
    for (host, trust, why) in [
        ("localhost", Trust::Known, "UnknownIssuer"),
        ("example.org", Trust::Also(AUTHORITY.to_vec()), "not valid for name"),
    ] {
        let client = talk(b"secret".to_vec(), 1_000, host, &trust);
        let failed = client.failed.expect("a refusal");
        assert!(failed.contains(why), "{failed}");
        assert_eq!((client.written, client.came.len()), (0, 0));
    }
    let client = talk(b"secret".to_vec(), 1_000, "example.org", &Trust::AnyCertificate);
    assert_eq!((client.failed, client.came), (None, b"secret".to_vec()));
}

#[test]
fn a_self_signed_certificate_is_trusted_only_if_it_was_given() {
    let echo = || Echo { shows: (SELF_SIGNED, SELF_SIGNED_KEY), ..Echo::new(6) };
    let talk = |host: &str, trust: &Trust| talk_to(echo(), b"secret".to_vec(), 1_000, host, trust);
    let given = Trust::Also(SELF_SIGNED.to_vec());
    let client = talk("localhost", &given);
    assert_eq!((client.failed, client.came), (None, b"secret".to_vec()));
    // The host name must match as with any other certificate, and another given certificate does not help.
    for (host, trust) in [
        ("example.org", &given),
        ("localhost", &Trust::Also(AUTHORITY.to_vec())),
        ("localhost", &Trust::Known),
    ] {
        let client = talk(host, trust);
        assert!(client.failed.is_some(), "{host}, {trust:?}");
        assert_eq!((client.written, client.came.len()), (0, 0));
    }
}

#[test]
fn pem_data_without_a_certificate_is_refused() {
    let refused = |pem: &[u8]| TlsClient::new("a", &Trust::Also(pem.to_vec()), None).unwrap_err();
    assert!(refused(b"nothing").to_string().contains("contains no certificate"));
    assert!(refused(b"").to_string().contains("it is empty"));
    assert!(refused(KEY).to_string().contains("contains no certificate"));
    assert!(TlsClient::new("not a name", &Trust::Known, None).is_err());
}

#[test]
fn a_tls_handshake_with_a_server_that_never_answers_times_out() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let connect = || std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let tls = TlsClient::new("localhost", &Trust::AnyCertificate, None).unwrap();
    // The time limit of 0 has passed at the first read.
    let error = tls.over(connect(), Duration::ZERO).err().unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    assert!(error.to_string().contains("did not complete within the time limit"), "{error}");
    // The time limit of the handshake has not passed, but the read time-out of the socket expires.
    let socket = connect();
    socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let error = tls.over(socket, Duration::from_secs(3_600)).err().unwrap();
    let waited = [std::io::ErrorKind::WouldBlock, std::io::ErrorKind::TimedOut];
    assert!(waited.contains(&error.kind()), "{error}");
}
