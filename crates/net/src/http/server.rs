//! The server as an actor: it accepts connections, parses requests, lets a [`Handler`] respond, and writes
//! the responses. The same code serves over sockets and over the virtual network.

use std::collections::BTreeSet;

use inferometer_model::Nanos;
use inferometer_wire::http::{HttpError, Request};

use crate::http::connection::Connection;
use crate::http::connections::Connections;
use crate::http::limits::Limits;
use crate::{Actor, ConnId, Net, ReadResult, Ready, Wake};

/// The maximum size of one read, in bytes. More bytes are read in the next turn.
const READ_BUFFER_BYTES: usize = 64 << 10;

/// Responds to requests.
pub trait Handler {
    /// The state of a response that the handler does not complete within [`Handler::request`], such as a
    /// stream.
    type Response;

    /// Limits for every client.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// Responds to a request. A response that continues later is put into [`Connection::response`]; the next
    /// request waits until this response is complete.
    fn request<N: Net>(
        &mut self,
        net: &mut N,
        connection: &mut Connection<Self::Response>,
        request: &Request,
    );

    /// Queues a response for a client that is refused. The status is 400, 413 or 431 if the request cannot be
    /// parsed, and 503 if too many connections are open. The connection is closed afterwards.
    fn refuse(&mut self, connection: &mut Connection<Self::Response>, status: u16, why: &str);

    /// Called when the connection ended while this response was in progress: the client disconnected, or the
    /// server closed the connection because of a limit.
    fn client_left(&mut self, _now: Nanos, _response: Self::Response) {}

    /// Continues the responses in progress. The result says when the next turn is due; [`Wake::Done`] ends
    /// the server.
    fn turn<N: Net>(&mut self, net: &mut N, connections: &mut Connections<Self::Response>) -> Wake;
}

/// Gives the waiting requests of a connection to the handler, until a response is in progress, the connection
/// is closing, or [`Limits::unsent_bytes`] is reached. A handler calls this function after it has completed a
/// response that was in progress.
pub fn answer_waiting<N: Net, H: Handler>(
    handler: &mut H,
    net: &mut N,
    connections: &mut Connections<H::Response>,
    id: ConnId,
) {
    let limits = connections.limits();
    let Some(connection) = connections.get_mut(id) else { return };
    while connection.takes_requests(&limits) && answer_one(handler, net, connection) {}
}

/// Gives the next waiting request of a connection to the handler, if the connection may answer now. Returns
/// whether a request was answered or refused.
fn answer_next<N: Net, H: Handler>(
    handler: &mut H,
    net: &mut N,
    connections: &mut Connections<H::Response>,
    id: ConnId,
) -> bool {
    let limits = connections.limits();
    let Some(connection) = connections.get_mut(id) else { return false };
    connection.takes_requests(&limits) && answer_one(handler, net, connection)
}

fn answer_one<N: Net, H: Handler>(
    handler: &mut H,
    net: &mut N,
    connection: &mut Connection<H::Response>,
) -> bool {
    match connection.next_request() {
        Ok(Some(request)) => {
            connection.begin(net.now(), &request);
            handler.request(net, connection, &request);
        }
        Ok(None) => return false,
        Err(error) => refuse(handler, connection, &error),
    }
    true
}

/// Responds to bytes that are not a valid request.
fn refuse<H: Handler>(
    handler: &mut H,
    connection: &mut Connection<H::Response>,
    error: &HttpError,
) {
    connection.keep_no_longer();
    if connection.response.is_some() {
        // The client would read a second response as a part of the first.
        return connection.close();
    }
    let status = match error {
        HttpError::HeadTooLong { .. } => 431,
        HttpError::BodyTooLong { .. } => 413,
        _ => 400,
    };
    handler.refuse(connection, status, &error.to_string());
}

/// Serves a handler on the addresses on which its network listens.
#[derive(Debug)]
pub struct Server<H: Handler> {
    handler: H,
    connections: Connections<H::Response>,
    buffer: Vec<u8>,
    /// Connections with requests that wait for a turn, ordered by the time of their last answer.
    backlog: BTreeSet<(Nanos, ConnId)>,
    /// Connections of the backlog that have more bytes to read.
    unread: BTreeSet<ConnId>,
}

impl<H: Handler> Server<H> {
    /// A server without connections.
    pub fn new(handler: H) -> Self {
        let connections = Connections::new(handler.limits());
        let buffer = vec![0; READ_BUFFER_BYTES];
        let (backlog, unread) = (BTreeSet::new(), BTreeSet::new());
        Self { handler, connections, buffer, backlog, unread }
    }

    /// The handler.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    fn accept(&mut self, net: &mut impl Net, id: ConnId) {
        if self.connections.is_full() {
            self.connections.close_longest_idle(net);
        }
        if self.connections.is_full()
            && let Some(response) = self.connections.close_longest_stalled(net)
        {
            self.handler.client_left(net.now(), response);
        }
        let is_full = self.connections.is_full();
        let connection = self.connections.open(id, net.now());
        if is_full {
            let why = "too many connections are open; close some or wait";
            self.handler.refuse(connection, 503, why);
            self.flush(net, id);
            self.close(net, id);
        }
    }

    fn read<N: Net>(&mut self, net: &mut N, id: ConnId) {
        let limits = self.connections.limits();
        let Some(connection) = self.connections.get_mut(id) else { return };
        if self.backlog.iter().any(|(_, waiting)| *waiting == id) {
            // The new bytes are read after the earlier requests of this connection have been answered.
            self.unread.insert(id);
            return;
        }
        let bytes = match net.read(id, &mut self.buffer) {
            ReadResult::Data(arrived) if connection.may_send(&limits) => arrived.bytes,
            ReadResult::Empty => return,
            ReadResult::Data(_) | ReadResult::Closed | ReadResult::Failed(_) => {
                return self.close(net, id);
            }
        };
        if let Err(error) = connection.receive(&self.buffer[..bytes]) {
            refuse(&mut self.handler, connection, &error);
        }
        self.answer(net, id);
    }

    /// Writes unsent bytes. Then answers the requests that waited because these bytes had not been sent.
    fn write<N: Net>(&mut self, net: &mut N, id: ConnId) {
        self.flush(net, id);
        if self.connections.get_mut(id).is_some_and(|connection| connection.has_waiting()) {
            self.answer(net, id);
        }
    }

    /// Answers the requests of a connection, or makes them wait for their turn.
    fn answer<N: Net>(&mut self, net: &mut N, id: ConnId) {
        if self.connections.limits().answers_per_turn < usize::MAX {
            self.wait_for_turn(id);
        } else {
            answer_waiting(&mut self.handler, net, &mut self.connections, id);
        }
        self.flush(net, id);
    }

    fn wait_for_turn(&mut self, id: ConnId) {
        let limits = self.connections.limits();
        let Some(connection) = self.connections.get_mut(id) else { return };
        if connection.wants_answer(&limits) {
            self.backlog.insert((connection.served_at(), id));
        }
    }

    /// Answers some of the waiting requests, one of each connection at a time.
    fn answer_some<N: Net>(&mut self, net: &mut N) {
        for _ in 0..self.connections.limits().answers_per_turn.min(self.backlog.len()) {
            let Some((_, id)) = self.backlog.pop_first() else { return };
            let answered = answer_next(&mut self.handler, net, &mut self.connections, id);
            self.flush(net, id);
            if answered {
                self.wait_for_turn(id);
            }
            let waits = self.backlog.iter().any(|(_, waiting)| *waiting == id);
            if !waits && self.unread.remove(&id) {
                self.read(net, id);
            }
        }
    }

    fn flush(&mut self, net: &mut impl Net, id: ConnId) {
        if let Some(response) = self.connections.flush(net, id) {
            self.handler.client_left(net.now(), response);
        }
    }

    fn close(&mut self, net: &mut impl Net, id: ConnId) {
        if let Some(response) = self.connections.close(net, id) {
            self.handler.client_left(net.now(), response);
        }
    }
}

impl<N: Net, H: Handler> Actor<N> for Server<H> {
    fn turn(&mut self, net: &mut N, ready: &[Ready]) -> Wake {
        for event in ready {
            match *event {
                Ready::Accepted(id) => self.accept(net, id),
                Ready::Readable(id) => self.read(net, id),
                Ready::Writable(id) => self.write(net, id),
                // A server never connects.
                Ready::Connected(_) | Ready::ConnectFailed(..) => {}
            }
        }
        self.answer_some(net);
        let wake = self.handler.turn(net, &mut self.connections);
        while let Some(id) = self.connections.release(net.now()) {
            self.flush(net, id);
        }
        if wake == Wake::Done {
            return Wake::Done;
        }
        self.connections.close_silent(net);
        if self.backlog.is_empty() { self.connections.wake(wake) } else { Wake::At(net.now()) }
    }
}
