//! Ends requests, with any outcome, and gives their records to the recorder.

use std::sync::atomic::Ordering::Relaxed;

use inferometer_model::{Detail, Nanos, Outcome, RequestFigures, Timeline};
use inferometer_net::{Close, ConnId, Net, Wake};

use super::Driver;
use crate::exchange::{Exchange, Finished};
use crate::{Recorder, connections::Purpose};

impl<R: Recorder> Driver<R> {
    /// Ends the exchange on a connection and records it.
    pub(super) fn end_exchange<N: Net>(
        &mut self,
        net: &mut N,
        conn: ConnId,
        end: impl FnOnce(Exchange, Nanos) -> Finished,
    ) {
        let Some(Purpose::Carrying(exchange) | Purpose::OpeningFor(exchange)) =
            self.connections.remove(conn)
        else {
            return;
        };
        let finished = end(*exchange, net.now());
        if finished.reusable && self.reuses_connections() {
            self.connections.put(conn, Purpose::Idle { used: true });
        } else {
            let is_left = matches!(finished.record.outcome, Outcome::Abandoned { .. });
            let resets = is_left && self.leavers.is_some_and(|leavers| leavers.abandon.by_reset);
            net.close(conn, if resets { Close::Reset } else { Close::Gracefully });
        }
        self.finish(finished);
    }

    pub(super) fn finish(&mut self, finished: Finished) {
        let Finished { record, of, has_token, answer, reasoning, counted_bytes, .. } = finished;
        self.common.memory.end(counted_bytes, record.planned_output());
        self.in_flight -= 1;
        self.live.end(record.outcome);
        self.load_ended(of, &record);
        // The record is read before the lock that all loops share. Only a watcher needs its figures here.
        let figures = self.next_look.map(|_| RequestFigures::of(&Timeline::new(&record)));
        let mut state = self.common.lock();
        if !has_token {
            state.limit.answers();
        }
        state.end(self.which, of, (record, figures), (answer, reasoning));
    }

    /// Ends the pass early: cancels the requests in flight of this loop, makes the other loops do the same,
    /// and skips the requests that were not begun. Only the reasons of the first call are used.
    pub(super) fn abort<N: Net>(
        &mut self,
        net: &mut N,
        cancelled: Option<Detail>,
        skipped: Detail,
    ) -> Wake {
        let mut state = self.common.lock();
        if !self.common.ends_early.swap(true, Relaxed) {
            state.end_early(self.which, cancelled, skipped);
        }
        let cancelled = state.cancelled.clone();
        drop(state);
        for conn in self.connections.ids() {
            self.end_exchange(net, conn, |exchange, now| {
                exchange.abandon(Outcome::Cancelled, cancelled.clone(), now)
            });
        }
        self.end(net)
    }
}
