//! All open connections of a server, by slot. This module reads nothing and answers no requests.

use std::collections::BTreeSet;

use inferometer_model::Nanos;

use crate::http::connection::Connection;
use crate::http::limits::Limits;
use crate::http::write_buffer::Flushed;
use crate::{Close, ConnId, Net, Wake};

/// The connections of a server whose handler writes responses of type `R`.
#[derive(Debug)]
pub struct Connections<R> {
    by_slot: Vec<Option<Box<Connection<R>>>>,
    open: usize,
    limits: Limits,
    /// Connections that must not write yet, each with the instant from which it may write.
    held: BTreeSet<(Nanos, ConnId)>,
}

impl<R> Connections<R> {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { by_slot: Vec::new(), open: 0, limits, held: BTreeSet::new() }
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// The connection with this id, if it is open.
    pub fn get_mut(&mut self, id: ConnId) -> Option<&mut Connection<R>> {
        let connection = self.by_slot.get_mut(id.slot())?.as_deref_mut()?;
        (connection.id() == id).then_some(connection)
    }

    /// Every open connection, by slot.
    pub fn iter(&self) -> impl Iterator<Item = &Connection<R>> {
        self.by_slot.iter().filter_map(Option::as_deref)
    }

    pub(crate) fn open(&mut self, id: ConnId, now: Nanos) -> &mut Connection<R> {
        if self.by_slot.len() <= id.slot() {
            self.by_slot.resize_with(id.slot() + 1, || None);
        }
        self.open += 1;
        self.by_slot[id.slot()].insert(Box::new(Connection::new(id, now, &self.limits)))
    }

    fn remove(&mut self, id: ConnId) -> Option<Connection<R>> {
        let place = self.by_slot.get_mut(id.slot())?;
        let removed = place.take_if(|connection| connection.id() == id)?;
        self.open -= 1;
        Some(*removed)
    }

    /// Closes a connection. Returns its response in progress, if there is one.
    pub fn close(&mut self, net: &mut impl Net, id: ConnId) -> Option<R> {
        let connection = self.remove(id)?;
        net.close(id, Close::Gracefully);
        connection.response
    }

    /// Writes as many bytes as the socket accepts. If the connection ended, returns its response in progress.
    pub fn flush(&mut self, net: &mut impl Net, id: ConnId) -> Option<R> {
        let connection = self.get_mut(id)?;
        match connection.output.flush(net) {
            Flushed::Open { wrote } => {
                if wrote {
                    connection.wrote(net.now());
                }
                None
            }
            Flushed::Held(until) => {
                self.held.insert((until, id));
                None
            }
            Flushed::Closed => self.remove(id)?.response,
        }
    }

    /// Returns a connection whose output was held until `now` or earlier, and forgets that it was held.
    /// `None` if there is none.
    pub(crate) fn release(&mut self, now: Nanos) -> Option<ConnId> {
        let &(until, id) = self.held.first()?;
        (until <= now).then(|| {
            self.held.pop_first();
            id
        })
    }

    /// Whether the limit of open connections is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.open >= self.limits.connections
    }

    /// Closes the connection that has been idle for the longest time, if one is idle.
    pub(crate) fn close_longest_idle(&mut self, net: &mut impl Net) {
        let idle = self.iter().filter(|connection| connection.is_idle());
        if let Some(id) = idle.min_by_key(|one| one.active_at()).map(Connection::id) {
            self.close(net, id);
        }
    }

    /// Closes the connection whose client has read nothing for the longest time, if this time has reached
    /// [`Limits::stalled_after`]. Returns its response in progress.
    pub(crate) fn close_longest_stalled(&mut self, net: &mut impl Net) -> Option<R> {
        let (now, limits) = (net.now(), self.limits);
        let stalled = self.iter().filter(|connection| connection.is_stalled(now, &limits));
        let id = stalled.min_by_key(|one| one.active_at()).map(Connection::id)?;
        self.close(net, id)
    }

    /// Closes the connections whose [`Timeouts`](crate::http::Timeouts) have expired.
    pub(crate) fn close_silent(&mut self, net: &mut impl Net) {
        if self.limits.timeouts.is_none() {
            return;
        }
        let now = net.now();
        let is_late =
            |one: &&Connection<R>| one.closes_at(&self.limits).is_some_and(|at| at <= now);
        let late: Vec<ConnId> = self.iter().filter(is_late).map(Connection::id).collect();
        for id in late {
            self.close(net, id);
        }
    }

    /// The time of the next turn: `wake`, or earlier if a held connection may write or a timeout expires
    /// before.
    pub(crate) fn wake(&self, wake: Wake) -> Wake {
        let wake = self.held.first().map_or(wake, |(until, _)| wake.or_at(*until));
        if self.limits.timeouts.is_none() {
            return wake;
        }
        self.iter().filter_map(|one| one.closes_at(&self.limits)).fold(wake, Wake::or_at)
    }
}
