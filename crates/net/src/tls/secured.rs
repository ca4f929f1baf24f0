//! TLS between an actor and its connections: the actor sees an ordinary [`Net`], and the bytes on the wire
//! are TLS. For the actor, a connection is open when the handshake is done.

use std::io::{self, Read, Write};
use std::{collections::BTreeMap, net::SocketAddr};

use inferometer_model::Nanos;
use rustls::ClientConnection;

use super::TlsClient;
use crate::{Actor, Address, Arrived, Close, ConnId, Net, ReadResult, Ready, Wake};

/// The maximum size of one read from a socket, in bytes.
const READ_BUFFER: usize = 64 << 10;
/// How many bytes are encrypted at a time: a few TLS records.
const WRITE_PART: usize = 64 << 10;

/// Runs an actor over TLS: the actor's connections are encrypted, and the actor does not notice.
pub struct Secured<A> {
    actor: A,
    sessions: Sessions,
    ready: Vec<Ready>,
}

impl<A> Secured<A> {
    /// Wraps the actor, with TLS on all of its connections. `client` says which certificates are trusted.
    pub fn new(actor: A, client: TlsClient) -> Self {
        let sessions = Sessions {
            client,
            others: Vec::new(),
            of_others: BTreeMap::new(),
            by_slot: Vec::new(),
            unread: Vec::new(),
            buffer: vec![0; READ_BUFFER],
        };
        Self { actor, sessions, ready: Vec::new() }
    }

    /// Uses other settings for connections to these addresses, because these servers have certificates with
    /// other names.
    #[must_use]
    pub fn with_others(mut self, others: Vec<(Address, TlsClient)>) -> Self {
        self.sessions.others = others;
        self
    }

    /// Returns the actor.
    pub fn into_inner(self) -> A {
        self.actor
    }
}

impl<N: Net, A: for<'a> Actor<EncryptedNet<'a, N>>> Actor<N> for Secured<A> {
    fn turn(&mut self, net: &mut N, ready: &[Ready]) -> Wake {
        let ready_above = &mut self.ready;
        ready_above.extend(self.sessions.unread.drain(..).map(Ready::Readable));
        for event in ready {
            ready_above.extend(self.sessions.handle(net, event));
        }
        let wake =
            self.actor.turn(&mut EncryptedNet { net, sessions: &mut self.sessions }, ready_above);
        ready_above.clear();
        match wake {
            Wake::Done => Wake::Done,
            wake if self.sessions.unread.is_empty() => wake,
            wake => wake.or_at(net.now()),
        }
    }
}

/// The [`Net`] that the actor sees: it encrypts the actor's writes and decrypts the data of the [`Net`] below
/// it.
pub struct EncryptedNet<'a, N> {
    net: &'a mut N,
    sessions: &'a mut Sessions,
}

/// The sessions of all connections.
struct Sessions {
    client: TlsClient,
    /// The settings for other servers, with their addresses.
    others: Vec<(Address, TlsClient)>,
    /// The connections to other servers that are being opened. The value is the index of the server in
    /// `others`.
    of_others: BTreeMap<ConnId, usize>,
    by_slot: Vec<Option<Session>>,
    /// Connections that are reported as readable in the next turn, because the actor may not have read all
    /// decrypted bytes or the end of the stream.
    unread: Vec<ConnId>,
    buffer: Vec<u8>,
}

struct Session {
    conn: ConnId,
    tls: ClientConnection,
    /// Whether the handshake is done. If so, the event [`Ready::Connected`] was reported to the actor.
    open: bool,
    /// Encrypted bytes that the socket has not accepted yet.
    unsent: Vec<u8>,
    /// How many bytes of the actor's next write are already encrypted, in `unsent`.
    ahead: usize,
    /// Decrypted bytes that the actor has not read yet. They have the times of `arrived`.
    plain: Vec<u8>,
    arrived: Option<Arrived>,
    /// Whether the other side has sent TLS's close_notify.
    ended: bool,
}

impl Session {
    /// Writes encrypted bytes to the connection. Returns whether the connection accepted all of them.
    fn flush<N: Net>(&mut self, net: &mut N) -> io::Result<bool> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.unsent)?;
        }
        if self.unsent.is_empty() {
            return Ok(true);
        }
        let written = net.write(self.conn, &self.unsent)?;
        self.unsent.drain(..written);
        Ok(self.unsent.is_empty())
    }

    /// Decrypts bytes that were read from the connection.
    fn decrypt<N: Net>(&mut self, net: &mut N, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.tls.read_tls(&mut bytes)? == 0 {
                break;
            }
            let state = match self.tls.process_new_packets() {
                Ok(state) => state,
                Err(error) => {
                    // Sends an alert with the reason, if the other side still reads.
                    let _ = self.flush(net);
                    return Err(io::Error::new(io::ErrorKind::InvalidData, error));
                }
            };
            let before = self.plain.len();
            self.plain.resize(before + state.plaintext_bytes_to_read(), 0);
            self.tls.reader().read_exact(&mut self.plain[before..])?;
            self.ended |= state.peer_has_closed();
        }
        self.flush(net).map(drop)
    }

    /// Copies decrypted bytes into the actor's buffer, as many as fit.
    fn hand_on(&mut self, buffer: &mut [u8]) -> ReadResult {
        let bytes = self.plain.len().min(buffer.len());
        match self.arrived {
            Some(arrived) if bytes > 0 => {
                buffer[..bytes].copy_from_slice(&self.plain[..bytes]);
                self.plain.drain(..bytes);
                ReadResult::Data(Arrived { bytes, ..arrived })
            }
            _ if self.ended => ReadResult::Closed,
            _ => ReadResult::Empty,
        }
    }
}

impl Sessions {
    fn find(&mut self, conn: ConnId) -> Option<&mut Session> {
        self.by_slot.get_mut(conn.slot())?.as_mut().filter(|session| session.conn == conn)
    }

    fn remove(&mut self, conn: ConnId) -> Option<Session> {
        self.find(conn)?;
        self.by_slot[conn.slot()].take()
    }

    /// The event that the actor sees for an event of the socket; `None` if that event only continues a
    /// handshake.
    fn handle<N: Net>(&mut self, net: &mut N, event: &Ready) -> Option<Ready> {
        match *event {
            Ready::Connected(conn) => match self.begin(net, conn) {
                Ok(()) => None,
                Err(error) => Some(self.fail(net, conn, error)),
            },
            Ready::ConnectFailed(conn, ref error) => {
                self.of_others.remove(&conn);
                Some(Ready::ConnectFailed(conn, io::Error::new(error.kind(), error.to_string())))
            }
            Ready::Readable(conn) if self.find(conn).is_some_and(|session| !session.open) => {
                match self.shake_hands(net, conn) {
                    Ok(true) => Some(Ready::Connected(conn)),
                    Ok(false) => None,
                    Err(error) => Some(self.fail(net, conn, error)),
                }
            }
            Ready::Readable(conn) => Some(Ready::Readable(conn)),
            Ready::Writable(conn) => {
                let session = self.find(conn)?;
                // If the connection is broken, the actor's next read or write reports this.
                let flushed = session.flush(net).unwrap_or(true);
                (flushed && session.open).then_some(Ready::Writable(conn))
            }
            Ready::Accepted(conn) => Some(Ready::Accepted(conn)),
        }
    }

    fn begin<N: Net>(&mut self, net: &mut N, conn: ConnId) -> io::Result<()> {
        let other = self.of_others.remove(&conn).map(|at| &self.others[at].1);
        let tls = other.unwrap_or(&self.client).session().map_err(io::Error::other)?;
        let mut session = Session {
            conn,
            tls,
            open: false,
            unsent: Vec::new(),
            ahead: 0,
            plain: Vec::new(),
            arrived: None,
            ended: false,
        };
        session.flush(net)?;
        if self.by_slot.len() <= conn.slot() {
            self.by_slot.resize_with(conn.slot() + 1, || None);
        }
        self.by_slot[conn.slot()] = Some(session);
        Ok(())
    }

    /// Continues a handshake. Returns whether the handshake is done.
    fn shake_hands<N: Net>(&mut self, net: &mut N, conn: ConnId) -> io::Result<bool> {
        let Self { by_slot, buffer, unread, .. } = self;
        let Some(session) = by_slot.get_mut(conn.slot()).and_then(Option::as_mut) else {
            return Ok(false);
        };
        match net.read(conn, buffer) {
            ReadResult::Data(arrived) => {
                session.decrypt(net, &buffer[..arrived.bytes])?;
                session.arrived = Some(arrived);
            }
            ReadResult::Empty => {}
            ReadResult::Closed => {
                let what = "the server closed the connection during the TLS handshake";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
            }
            ReadResult::Failed(error) => return Err(error),
        }
        session.open = !session.tls.is_handshaking();
        if session.open {
            // Bytes may have followed the handshake, so the actor has to read.
            unread.push(conn);
        }
        Ok(session.open)
    }

    fn fail<N: Net>(&mut self, net: &mut N, conn: ConnId, error: io::Error) -> Ready {
        self.remove(conn);
        net.close(conn, Close::Gracefully);
        Ready::ConnectFailed(conn, error)
    }
}

impl<N: Net> Net for EncryptedNet<'_, N> {
    fn now(&self) -> Nanos {
        self.net.now()
    }

    fn listen(&mut self, at: SocketAddr) -> io::Result<SocketAddr> {
        self.net.listen(at)
    }

    fn connect(&mut self, to: &Address) -> io::Result<ConnId> {
        let conn = self.net.connect(to)?;
        let sessions = &mut *self.sessions;
        if let Some(at) = sessions.others.iter().position(|(address, _)| address == to) {
            sessions.of_others.insert(conn, at);
        }
        Ok(conn)
    }

    fn read(&mut self, conn: ConnId, buffer: &mut [u8]) -> ReadResult {
        let Sessions { by_slot, unread, buffer: encrypted, .. } = &mut *self.sessions;
        let session = by_slot.get_mut(conn.slot()).and_then(Option::as_mut);
        let Some(session) = session.filter(|session| session.conn == conn) else {
            return ReadResult::Failed(io::ErrorKind::NotConnected.into());
        };
        // Bytes that an earlier read decrypted are returned first. The socket is then read in another turn:
        // `unread` reports the connection again, because the net below reports its readiness only once.
        let left = !session.plain.is_empty();
        if !left && !session.ended {
            match self.net.read(conn, encrypted) {
                ReadResult::Data(arrived) => {
                    session.arrived = Some(arrived);
                    if let Err(error) = session.decrypt(self.net, &encrypted[..arrived.bytes]) {
                        return ReadResult::Failed(error);
                    }
                }
                // An end without close_notify counts as the end of the stream: the protocol above TLS shows
                // whether data is missing.
                other => return other,
            }
        }
        let result = session.hand_on(buffer);
        let more = left || !session.plain.is_empty() || session.ended;
        if more && matches!(result, ReadResult::Data(_)) {
            unread.push(conn);
        }
        result
    }

    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> io::Result<usize> {
        let session = self.sessions.find(conn).ok_or(io::ErrorKind::NotConnected)?;
        if !session.flush(self.net)? {
            return Ok(0);
        }
        let mut written = std::mem::take(&mut session.ahead);
        while written < bytes.len() {
            let part = &bytes[written..bytes.len().min(written + WRITE_PART)];
            session.tls.writer().write_all(part)?;
            if !session.flush(self.net)? {
                session.ahead = part.len();
                break;
            }
            written += part.len();
        }
        Ok(written)
    }

    fn close(&mut self, conn: ConnId, how: Close) {
        self.sessions.of_others.remove(&conn);
        if let Some(mut session) = self.sessions.remove(conn)
            && how == Close::Gracefully
        {
            session.tls.send_close_notify();
            // The close_notify is sent only if the socket accepts it immediately.
            let _ = session.flush(self.net);
        }
        self.net.close(conn, how);
    }
}
