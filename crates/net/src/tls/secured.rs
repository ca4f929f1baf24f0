//! An actor whose connections are secret: it sees a [`Net`] as any other, and what is on the wire
//! is TLS. A connection is open to it when the handshake is done.

use std::io::{self, Read, Write};
use std::net::SocketAddr;

use inferometer_model::time::Nanos;
use rustls::ClientConnection;

use super::TlsClient;
use crate::{Actor, Arrived, Close, ConnId, Net, ReadResult, Ready, Wake};

/// Room for what comes in one read.
const READ_BUFFER: usize = 64 << 10;
/// How much is encrypted at a time: a few records.
const WRITE_PART: usize = 64 << 10;

/// Plays an actor over TLS.
pub struct Secured<A> {
    actor: A,
    sessions: Sessions,
    ready: Vec<Ready>,
}

impl<A> Secured<A> {
    /// The actor over connections that speak TLS in this way.
    #[must_use]
    pub fn new(actor: A, client: TlsClient) -> Self {
        let sessions = Sessions {
            client,
            by_slot: Vec::new(),
            unread: Vec::new(),
            buffer: vec![0; READ_BUFFER],
        };
        Self { actor, sessions, ready: Vec::new() }
    }

    /// The actor.
    #[must_use]
    pub fn into_inner(self) -> A {
        self.actor
    }
}

impl<N: Net, A: for<'a> Actor<Secret<'a, N>>> Actor<N> for Secured<A> {
    fn turn(&mut self, net: &mut N, ready: &[Ready]) -> Wake {
        let told = &mut self.ready;
        told.extend(self.sessions.unread.drain(..).map(Ready::Readable));
        for event in ready {
            told.extend(self.sessions.handle(net, event));
        }
        let wake = self.actor.turn(&mut Secret { net, sessions: &mut self.sessions }, told);
        told.clear();
        match wake {
            Wake::Done => Wake::Done,
            wake if self.sessions.unread.is_empty() => wake,
            wake => wake.or_at(net.now()),
        }
    }
}

/// A [`Net`] over another, with TLS between.
pub struct Secret<'a, N> {
    net: &'a mut N,
    sessions: &'a mut Sessions,
}

/// The sessions of all connections.
struct Sessions {
    client: TlsClient,
    by_slot: Vec<Option<Session>>,
    /// Connections of which a read could not hand on all that had been decrypted.
    unread: Vec<ConnId>,
    buffer: Vec<u8>,
}

struct Session {
    conn: ConnId,
    tls: ClientConnection,
    /// The handshake is done and its end was told.
    open: bool,
    /// What was encrypted and not yet taken by the connection.
    unsent: Vec<u8>,
    /// How many bytes of the actor's next write lie encrypted in `unsent` already.
    ahead: usize,
    /// What was decrypted and not yet handed on, and the arrival of the last of it.
    plain: Vec<u8>,
    arrived: Option<Arrived>,
    /// The other side has said goodbye.
    ended: bool,
}

impl Session {
    /// Hands encrypted bytes to the connection; true when it took them all.
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

    /// Takes in what came over the connection.
    fn decrypt<N: Net>(&mut self, net: &mut N, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.tls.read_tls(&mut bytes)? == 0 {
                break;
            }
            let state = match self.tls.process_new_packets() {
                Ok(state) => state,
                Err(error) => {
                    // The other side is told why, if it listens.
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

    /// Hands on what was decrypted, as much as there is room for.
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

    /// What an event of the connections below is to the actor; nothing, where it only carries the
    /// handshake on.
    fn handle<N: Net>(&mut self, net: &mut N, event: &Ready) -> Option<Ready> {
        match *event {
            Ready::Connected(conn) => match self.begin(net, conn) {
                Ok(()) => None,
                Err(error) => Some(self.fail(net, conn, error)),
            },
            Ready::ConnectFailed(conn, ref error) => {
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
                // A broken connection is told by the actor's own next read or write.
                let flushed = session.flush(net).unwrap_or(true);
                (flushed && session.open).then_some(Ready::Writable(conn))
            }
            Ready::Accepted(conn) => Some(Ready::Accepted(conn)),
        }
    }

    fn begin<N: Net>(&mut self, net: &mut N, conn: ConnId) -> io::Result<()> {
        let tls = self.client.session().map_err(io::Error::other)?;
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

    /// Carries a handshake on; true when it is done.
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
            // What came behind the handshake is read by the actor, if it was anything.
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

impl<N: Net> Net for Secret<'_, N> {
    fn now(&self) -> Nanos {
        self.net.now()
    }

    fn listen(&mut self, at: SocketAddr) -> io::Result<SocketAddr> {
        self.net.listen(at)
    }

    fn connect(&mut self, to: SocketAddr) -> io::Result<ConnId> {
        self.net.connect(to)
    }

    fn read(&mut self, conn: ConnId, buffer: &mut [u8]) -> ReadResult {
        let Sessions { by_slot, unread, buffer: encrypted, .. } = &mut *self.sessions;
        let session = by_slot.get_mut(conn.slot()).and_then(Option::as_mut);
        let Some(session) = session.filter(|session| session.conn == conn) else {
            return ReadResult::Failed(io::ErrorKind::NotConnected.into());
        };
        // What an earlier read decrypted and could not hand on comes first. The connection is
        // looked at in a turn of its own then, for what is ready there is told once only.
        let left = !session.plain.is_empty();
        if !left && !session.ended {
            match self.net.read(conn, encrypted) {
                ReadResult::Data(arrived) => {
                    session.arrived = Some(arrived);
                    if let Err(error) = session.decrypt(self.net, &encrypted[..arrived.bytes]) {
                        return ReadResult::Failed(error);
                    }
                }
                // An end without TLS's goodbye is an end: what is inside tells whether anything
                // is missing.
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
        if let Some(mut session) = self.sessions.remove(conn)
            && how == Close::Gracefully
        {
            session.tls.send_close_notify();
            // Nobody waits for the goodbye to be taken.
            let _ = session.flush(self.net);
        }
        self.net.close(conn, how);
    }
}
