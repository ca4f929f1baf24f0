//! The connections of a pass: which are being opened, which are idle, and which request uses each connection.

use inferometer_net::ConnId;

use crate::exchange::Exchange;

/// The present use of a connection.
pub(crate) enum Purpose {
    /// Being opened before a request needs it.
    Opening,
    /// Being opened for this request.
    OpeningFor(Box<Exchange>),
    /// Open and idle.
    Idle {
        /// Whether a request has used the connection before.
        used: bool,
    },
    /// Used by this request.
    Carrying(Box<Exchange>),
}

/// All connections of a pass on one event loop, by slot.
#[derive(Default)]
pub(crate) struct Connections {
    by_slot: Vec<Option<(ConnId, Purpose)>>,
    /// For each slot: the server of its connection, or of the last connection that had this slot.
    server_of: Vec<usize>,
    of_server: Vec<OfServer>,
    opening_ahead: usize,
}

/// The connections with one server.
#[derive(Default)]
struct OfServer {
    /// Idle connections; the one that became idle last is at the end. Some of them may have been closed in
    /// the meantime.
    idle: Vec<ConnId>,
    idle_count: usize,
    opening_ahead: usize,
}

impl Connections {
    /// The number of connections that are being opened before a request needs them.
    pub fn opening_ahead(&self) -> usize {
        self.opening_ahead
    }

    /// The number of connections with a server that are idle, or are being opened before a request needs
    /// them.
    pub fn ready_at(&self, server: usize) -> usize {
        self.of_server.get(server).map_or(0, |of| of.idle_count + of.opening_ahead)
    }

    /// Registers a new connection with a server. [`Self::put`] must follow.
    pub fn opened(&mut self, conn: ConnId, server: usize) {
        if self.server_of.len() <= conn.slot() {
            self.server_of.resize(conn.slot() + 1, 0);
        }
        if self.of_server.len() <= server {
            self.of_server.resize_with(server + 1, OfServer::default);
        }
        self.server_of[conn.slot()] = server;
    }

    fn of_server(&mut self, conn: ConnId) -> &mut OfServer {
        &mut self.of_server[self.server_of[conn.slot()]]
    }

    /// Removes and returns the connection with a server that became idle last, and whether a request has used
    /// this connection before.
    pub fn take_idle(&mut self, server: usize) -> Option<(ConnId, bool)> {
        while let Some(conn) = self.of_server.get_mut(server)?.idle.pop() {
            if let Some(&Purpose::Idle { used }) = self.get(conn) {
                self.remove(conn);
                return Some((conn, used));
            }
        }
        None
    }

    /// Stores the use of a connection.
    pub fn put(&mut self, conn: ConnId, purpose: Purpose) {
        match purpose {
            Purpose::Opening => {
                self.opening_ahead += 1;
                self.of_server(conn).opening_ahead += 1;
            }
            Purpose::Idle { .. } => {
                let of = self.of_server(conn);
                of.idle_count += 1;
                of.idle.push(conn);
            }
            Purpose::OpeningFor(_) | Purpose::Carrying(_) => {}
        }
        if self.by_slot.len() <= conn.slot() {
            self.by_slot.resize_with(conn.slot() + 1, || None);
        }
        self.by_slot[conn.slot()] = Some((conn, purpose));
    }

    /// The use of a connection; `None` for an unknown connection.
    pub fn get(&self, conn: ConnId) -> Option<&Purpose> {
        self.by_slot.get(conn.slot())?.as_ref().filter(|(id, _)| *id == conn).map(|(_, u)| u)
    }

    /// The request that uses an open connection; `None` if there is no such request.
    pub fn carried(&mut self, conn: ConnId) -> Option<&mut Exchange> {
        match self.by_slot.get_mut(conn.slot())?.as_mut() {
            Some((id, Purpose::Carrying(exchange))) if *id == conn => Some(exchange),
            _ => None,
        }
    }

    /// The requests in flight, including requests whose connection is being opened.
    pub fn exchanges(&self) -> impl Iterator<Item = &Exchange> {
        self.by_slot.iter().flatten().filter_map(|(_, purpose)| match purpose {
            Purpose::OpeningFor(exchange) | Purpose::Carrying(exchange) => Some(&**exchange),
            Purpose::Opening | Purpose::Idle { .. } => None,
        })
    }

    /// The connection whose request has the largest `size`, and that size.
    pub fn largest(&self, size: impl Fn(&Exchange) -> usize) -> Option<(ConnId, usize)> {
        let sizes = self.by_slot.iter().flatten().filter_map(|(id, purpose)| match purpose {
            Purpose::Carrying(exchange) => Some((*id, size(exchange))),
            _ => None,
        });
        sizes.max_by_key(|&(_, size)| size)
    }

    /// Removes a connection, and returns its use.
    pub fn remove(&mut self, conn: ConnId) -> Option<Purpose> {
        let place = self.by_slot.get_mut(conn.slot())?;
        let (_, purpose) = place.take_if(|(id, _)| *id == conn)?;
        match purpose {
            Purpose::Opening => {
                self.opening_ahead -= 1;
                self.of_server(conn).opening_ahead -= 1;
            }
            Purpose::Idle { .. } => self.of_server(conn).idle_count -= 1,
            Purpose::OpeningFor(_) | Purpose::Carrying(_) => {}
        }
        Some(purpose)
    }

    /// The ids of all connections.
    pub fn ids(&self) -> Vec<ConnId> {
        self.by_slot.iter().flatten().map(|(id, _)| *id).collect()
    }
}
