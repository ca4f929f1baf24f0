//! Chooses which of several equal servers gets the next request. This module sends nothing.

use inferometer_net::Address;
use inferometer_plan::Balance;

/// The servers under test, and which of them gets the next request.
#[derive(Clone, Debug)]
pub struct Servers {
    all: Vec<Address>,
    balance: Balance,
    in_flight: Vec<u32>,
    /// The index of the server whose turn is next.
    next: usize,
    /// The index of the server that gets the next connection opened ahead of requests.
    next_ahead: usize,
}

impl From<Address> for Servers {
    fn from(only: Address) -> Self {
        Self::new(vec![only], Balance::default(), 0)
    }
}

impl Servers {
    /// Creates the list of servers. The server with the index `first` (modulo the number of servers) has the first
    /// turn. So ranks can begin with different servers.
    ///
    /// # Panics
    /// If `all` is empty.
    pub fn new(all: Vec<Address>, balance: Balance, first: u32) -> Self {
        assert!(!all.is_empty(), "invariant: the list has at least one server");
        let first = first as usize % all.len();
        Self { in_flight: vec![0; all.len()], all, balance, next: first, next_ahead: first }
    }

    /// The number of servers.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// The address at which a server listens.
    pub(crate) fn address(&self, server: usize) -> &Address {
        &self.all[server]
    }

    /// The number of a server for the records of its requests; `None` if there is only one server.
    pub(crate) fn recorded(&self, server: usize) -> Option<u32> {
        (self.all.len() > 1).then_some(server as u32)
    }

    /// Chooses the server of the next request and counts the request as in flight there.
    pub(crate) fn choose(&mut self, session: Option<u64>) -> usize {
        let count = self.all.len();
        let in_turn = (self.next..count).chain(0..self.next);
        let server = match (self.balance, session) {
            (Balance::Session, Some(session)) => (session % count as u64) as usize,
            (Balance::LeastInFlight, _) => {
                // If several servers have the fewest requests in flight, the first of them in turn order gets the
                // request.
                in_turn.min_by_key(|server| self.in_flight[*server]).unwrap_or(self.next)
            }
            (Balance::RoundRobin | Balance::Session, _) => self.next,
        };
        if self.balance != Balance::Session || session.is_none() {
            self.next = (server + 1) % count;
        }
        self.in_flight[server] += 1;
        server
    }

    /// Records that a request to a server has ended. `None` means the only server.
    pub(crate) fn ended(&mut self, server: Option<u32>) {
        let server = server.unwrap_or(0) as usize;
        self.in_flight[server] = self.in_flight[server].saturating_sub(1);
    }

    /// The server that gets the next connection opened ahead of requests.
    pub(crate) fn next_ahead(&mut self) -> usize {
        let server = self.next_ahead;
        self.next_ahead = (server + 1) % self.all.len();
        server
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    fn three(balance: Balance, first: u32) -> Servers {
        let address = |port| Address::from(SocketAddr::from(([127, 0, 0, 1], port)));
        Servers::new((1..4).map(address).collect(), balance, first)
    }

    #[test]
    fn round_robin_uses_each_server_in_turn_and_ranks_start_at_different_servers() {
        for (first, expected) in [(0, [0, 1, 2, 0, 1]), (4, [1, 2, 0, 1, 2])] {
            let mut servers = three(Balance::RoundRobin, first);
            assert_eq!([0; 5].map(|_| servers.choose(Some(7))), expected);
        }
    }

    #[test]
    fn least_in_flight_chooses_the_server_with_the_fewest_requests_in_flight() {
        let mut servers = three(Balance::LeastInFlight, 0);
        assert_eq!([0; 4].map(|_| servers.choose(None)), [0, 1, 2, 0]);
        servers.ended(Some(2));
        assert_eq!([0; 2].map(|_| servers.choose(None)), [2, 1]);
        (0..2).for_each(|_| servers.ended(Some(1)));
        assert_eq!([0; 3].map(|_| servers.choose(None)), [1, 2, 1]);
    }

    #[test]
    fn a_session_stays_at_its_server_and_requests_without_session_are_sent_round_robin() {
        let mut servers = three(Balance::Session, 0);
        let sessions = [Some(4), None, Some(4), None, Some(5), Some(1)];
        assert_eq!(sessions.map(|session| servers.choose(session)), [1, 0, 1, 1, 2, 1]);
    }
}
