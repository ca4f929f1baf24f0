//! Before the pass starts: opens connections and encodes requests ahead. Nothing is sent.

use inferometer_net::{Net, Wake};

use super::{Driver, ENCODE_PER_TURN, Stage};
use crate::connections::Purpose;
use crate::job::Recorder;

/// Most connections being opened at the same time, so that the server's queue of them does not
/// overflow.
const MAX_OPENING: usize = 64;

impl<R: Recorder> Driver<R> {
    pub(super) fn prepare<N: Net>(&mut self, net: &mut N) -> Wake {
        let Stage::Preparing { mut opened, until } = self.stage else { return Wake::WhenReady };
        let now = net.now();
        let until = until.or_else(|| self.job.timeouts.connect.map(|limit| now + limit));
        while opened < self.job.connections_ahead
            && self.connections.opening_ahead() < MAX_OPENING
            && self.open_ahead(net)
        {
            opened += 1;
        }
        let more_to_encode = self.job.encoder.ahead(ENCODE_PER_TURN);
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
        // A connection that could not be opened ahead is tried again by the request that needs it,
        // and that request's record shows the failure.
        self.stage = Stage::Running;
        self.start = net.now();
        self.run(net)
    }

    /// Begins to open a connection; false when that fails at once.
    pub(super) fn open_ahead<N: Net>(&mut self, net: &mut N) -> bool {
        match net.connect(&self.job.address) {
            Ok(conn) => {
                self.connections.put(conn, Purpose::Opening);
                true
            }
            Err(_) => false,
        }
    }
}
