//! Ends requests that have exceeded a timeout of the plan, or whose clients leave.

use inferometer_net::{ConnId, Net};

use super::Driver;
use crate::{Recorder, connections::Purpose, exchange::Exchange};

impl<R: Recorder> Driver<R> {
    pub(super) fn arm(&mut self, conn: ConnId, exchange: &Exchange) {
        if let Some((at, _)) = exchange.deadline(&self.timeouts) {
            self.timers.arm(conn, at);
        }
    }

    /// Ends the requests whose timeout has expired, or whose clients leave now.
    pub(super) fn expire<N: Net>(&mut self, net: &mut N) {
        let now = net.now();
        while let Some(conn) = self.timers.due(now) {
            let deadline = match self.connections.get(conn) {
                Some(Purpose::Carrying(exchange) | Purpose::OpeningFor(exchange)) => {
                    exchange.deadline(&self.timeouts)
                }
                _ => None,
            };
            match deadline {
                None => {}
                Some((at, _)) if at > now => self.timers.arm(conn, at),
                Some((_, outcome)) => self
                    .end_exchange(net, conn, |exchange, now| exchange.abandon(outcome, None, now)),
            }
        }
    }
}
