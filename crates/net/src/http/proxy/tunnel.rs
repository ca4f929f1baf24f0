//! Tunnels of a proxy (`CONNECT`): the request, the answer, and an adapter that opens a tunnel on each of an
//! actor's connections. For the actor, a connection is open when its tunnel is open.

use std::io::{self, Read, Write};
use std::time::Duration;

use inferometer_wire::http::request_head;

use super::Proxy;
use crate::{Actor, Close, ConnId, Net, ReadResult, Ready, Wake, monotonic_now};

/// The size limit of a proxy's answer, in bytes.
const MAX_ANSWER: usize = 16 << 10;

/// The request for a tunnel to a server. `authority` is `host:port`.
fn request(proxy: &Proxy, authority: &str) -> Vec<u8> {
    let headers: Vec<_> = proxy.header().into_iter().collect();
    request_head("CONNECT", authority, authority, &headers, None)
}

/// Whether the answer is complete and opens the tunnel; false if the answer is incomplete.
///
/// # Errors
/// When the answer refuses the tunnel, is not HTTP, or has bytes after the head.
fn is_granted(answer: &[u8], proxy: &Proxy, authority: &str) -> io::Result<bool> {
    let refused = |what: &str| Err(io::Error::new(io::ErrorKind::ConnectionRefused, what));
    let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else {
        return match answer.len() < MAX_ANSWER {
            true => Ok(false),
            false => refused(&format!("the answer of the proxy {proxy} to CONNECT is not HTTP")),
        };
    };
    let line = answer.get(..12).filter(|line| line.starts_with(b"HTTP/1."));
    let status = line.and_then(|line| std::str::from_utf8(&line[9..]).ok()?.parse::<u16>().ok());
    match status {
        Some(200..300) if answer.len() == end + 4 => Ok(true),
        Some(200..300) => {
            refused(&format!("the proxy {proxy} sent data before the tunnel was used"))
        }
        Some(status) => refused(&format!(
            "the proxy {proxy} answered {status} to CONNECT {authority}{}",
            advice(status, proxy)
        )),
        None => refused(&format!("the answer of the proxy {proxy} to CONNECT is not HTTP")),
    }
}

/// Advice for the user, after a proxy has refused with this status.
pub(crate) fn advice(status: u16, proxy: &Proxy) -> String {
    match (status, proxy.header().is_some()) {
        (407, false) => {
            "; it requires a user name and a password: give them in HTTP_PROXY or HTTPS_PROXY as \
                http://USER:PASSWORD@HOST:PORT, and leave out --proxy"
                .to_owned()
        }
        (407, true) => {
            format!("; it rejects the user name and password in {}", proxy.named_by)
        }
        _ => "; to use no proxy, give --proxy none, or add the server to NO_PROXY and leave out \
            --proxy"
            .to_owned(),
    }
}

/// Opens a tunnel through a proxy on a blocking socket, within a time limit.
///
/// # Errors
/// When the connection breaks, the time limit has passed, or the proxy refuses.
pub(crate) fn tunnel_through(
    socket: &mut (impl Read + Write),
    proxy: &Proxy,
    authority: &str,
    within: Duration,
) -> io::Result<()> {
    let until = monotonic_now() + within;
    socket.write_all(&request(proxy, authority))?;
    let (mut answer, mut buffer) = (Vec::new(), [0; MAX_ANSWER]);
    while !is_granted(&answer, proxy, authority)? {
        if monotonic_now() > until {
            let what = format!("the proxy {proxy} did not answer CONNECT within the time limit");
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        }
        match socket.read(&mut buffer) {
            Ok(0) => return Err(closed(proxy)),
            Ok(count) => answer.extend_from_slice(&buffer[..count]),
            // A signal interrupted the read, so the loop reads again.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn of_proxy(proxy: &Proxy, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the proxy {proxy}: {error}"))
}

fn closed(proxy: &Proxy) -> io::Error {
    let what = format!("the proxy {proxy} closed the connection without an answer to CONNECT");
    io::Error::new(io::ErrorKind::UnexpectedEof, what)
}

/// Opens a tunnel through a proxy on each of an actor's connections: the actor connects to the proxy's
/// address and does not notice the tunnel.
pub struct Tunnelled<A> {
    actor: A,
    proxy: Proxy,
    authority: String,
    request: Vec<u8>,
    /// Tunnels that are not open yet, by slot.
    opening: Vec<Option<Opening>>,
    buffer: Vec<u8>,
    ready: Vec<Ready>,
}

/// A tunnel that is not open yet.
struct Opening {
    conn: ConnId,
    written: usize,
    answer: Vec<u8>,
}

impl<A> Tunnelled<A> {
    /// Wraps the actor, with a tunnel to `authority` on all of its connections. `authority` is `host:port`.
    pub fn new(actor: A, proxy: &Proxy, authority: &str) -> Self {
        Self {
            actor,
            proxy: proxy.clone(),
            authority: authority.to_owned(),
            request: request(proxy, authority),
            opening: Vec::new(),
            buffer: vec![0; MAX_ANSWER],
            ready: Vec::new(),
        }
    }

    /// Returns the actor.
    pub fn into_inner(self) -> A {
        self.actor
    }

    /// The event that the actor sees; `None` if the event only continues to open a tunnel.
    fn handle<N: Net>(&mut self, net: &mut N, event: &Ready) -> Option<Ready> {
        let conn = match *event {
            Ready::Connected(conn) => {
                if self.opening.len() <= conn.slot() {
                    self.opening.resize_with(conn.slot() + 1, || None);
                }
                self.opening[conn.slot()] = Some(Opening { conn, written: 0, answer: Vec::new() });
                conn
            }
            Ready::ConnectFailed(conn, ref error) => {
                return Some(Ready::ConnectFailed(conn, of_proxy(&self.proxy, error)));
            }
            Ready::Accepted(conn) => return Some(Ready::Accepted(conn)),
            Ready::Readable(conn) if !self.is_opening(conn) => return Some(Ready::Readable(conn)),
            Ready::Writable(conn) if !self.is_opening(conn) => return Some(Ready::Writable(conn)),
            Ready::Readable(conn) | Ready::Writable(conn) => conn,
        };
        match self.go_on(net, conn, matches!(event, Ready::Readable(_))) {
            Ok(false) => None,
            Ok(true) => {
                self.opening[conn.slot()] = None;
                Some(Ready::Connected(conn))
            }
            Err(error) => {
                self.opening[conn.slot()] = None;
                net.close(conn, Close::Gracefully);
                Some(Ready::ConnectFailed(conn, error))
            }
        }
    }

    fn is_opening(&self, conn: ConnId) -> bool {
        let opening = self.opening.get(conn.slot()).and_then(Option::as_ref);
        opening.is_some_and(|opening| opening.conn == conn)
    }

    /// Writes the rest of the request, and reads a part of the answer if `reads` is true. Returns whether the
    /// tunnel is open.
    fn go_on<N: Net>(&mut self, net: &mut N, conn: ConnId, reads: bool) -> io::Result<bool> {
        let Some(opening) = self.opening.get_mut(conn.slot()).and_then(Option::as_mut) else {
            return Ok(false);
        };
        if opening.written < self.request.len() {
            let written = net.write(conn, &self.request[opening.written..]);
            opening.written += written.map_err(|error| of_proxy(&self.proxy, &error))?;
        }
        if !reads {
            return Ok(false);
        }
        match net.read(conn, &mut self.buffer) {
            ReadResult::Data(arrived) => {
                opening.answer.extend_from_slice(&self.buffer[..arrived.bytes]);
                is_granted(&opening.answer, &self.proxy, &self.authority)
            }
            ReadResult::Empty => Ok(false),
            ReadResult::Closed => Err(closed(&self.proxy)),
            ReadResult::Failed(error) => Err(of_proxy(&self.proxy, &error)),
        }
    }
}

impl<N: Net, A: Actor<N>> Actor<N> for Tunnelled<A> {
    fn turn(&mut self, net: &mut N, ready: &[Ready]) -> Wake {
        let mut ready_above = std::mem::take(&mut self.ready);
        ready_above.extend(ready.iter().filter_map(|event| self.handle(net, event)));
        let wake = self.actor.turn(net, &ready_above);
        ready_above.clear();
        self.ready = ready_above;
        wake
    }
}
