//! Opens connections before requests need them, and encodes requests before the pass starts. This module
//! sends nothing.

use std::time::Duration;

use inferometer_net::{Net, Wake};

use super::{Driver, ENCODE_PER_TURN, Stage, common::Prepared};
use crate::{Recorder, connections::Purpose};

/// The maximum number of connections that one event loop opens at the same time before a pass starts. It is
/// limited so that the server's accept queue does not overflow.
const MAX_OPENING: usize = 64;
/// How long to wait before calling a gate again that has not decided the start yet.
const GATE_PERIOD: Duration = Duration::from_millis(1);

impl<R: Recorder> Driver<R> {
    pub(super) fn prepare<N: Net>(&mut self, net: &mut N) -> Wake {
        let Stage::Preparing { mut opened, until } = self.stage else { return Wake::WhenReady };
        let now = net.now();
        let until = until.or_else(|| self.timeouts.connect.map(|limit| now + limit));
        while opened < self.connections_ahead && self.connections.opening_ahead() < MAX_OPENING {
            let server = self.servers.next_ahead();
            // If one server refuses, the other servers may still accept connections.
            if !self.open_ahead(net, server) && self.servers.count() == 1 {
                break;
            }
            opened += 1;
        }
        let more_to_encode = self.common.lock().encoder.ahead(ENCODE_PER_TURN);
        let opening = self.connections.opening_ahead() > 0;
        let out_of_time = until.is_some_and(|until| now >= until);
        if more_to_encode || (opening && !out_of_time) {
            self.stage = Stage::Preparing { opened, until };
            return match (more_to_encode, until) {
                (true, _) => Wake::At(now),
                (false, Some(until)) => Wake::At(until),
                (false, None) => Wake::WhenReady,
            };
        }
        // If a connection could not be opened ahead, the request that needs it tries again. If this fails,
        // too, the record of the request shows the failure.
        let prepared = self.common.lock().prepared(self.which, net.now());
        self.stage = Stage::Preparing { opened, until };
        match prepared {
            Prepared::WaitsForLoops => return Wake::WhenReady,
            Prepared::WaitsForGate => return Wake::At(now + GATE_PERIOD),
            Prepared::Starts(start) => self.start = start,
        }
        self.stage = Stage::Running;
        self.run(net)
    }

    /// Opens connections while the pass runs, until enough are idle or being opened.
    pub(super) fn open_spare<N: Net>(&mut self, net: &mut N) {
        let room = self
            .most_in_flight
            .map_or(usize::MAX, |most| (most as usize).saturating_sub(self.in_flight as usize));
        let wanted = self.spare_connections.min(room).div_ceil(self.servers.count());
        for server in 0..self.servers.count() {
            while self.connections.ready_at(server) < wanted && self.open_ahead(net, server) {}
        }
    }

    /// Begins to open a connection with a server. Returns false if this fails immediately.
    pub(super) fn open_ahead<N: Net>(&mut self, net: &mut N, server: usize) -> bool {
        match net.connect(self.servers.address(server)) {
            Ok(conn) => {
                self.connections.opened(conn, server);
                self.connections.put(conn, Purpose::Opening);
                true
            }
            Err(_) => false,
        }
    }
}
