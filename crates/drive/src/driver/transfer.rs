//! Sends requests and reads responses. No other work is done between a read and its time stamp.

use std::sync::atomic::Ordering::Relaxed;

use inferometer_model::{Detail, Outcome};
use inferometer_net::{Close, ConnId, Net, ReadResult};
use inferometer_wire::exchange::Progress;

use super::Driver;
use crate::{ANSWERS_BYTES, Recorder, connections::Purpose, exchange::Exchange};

/// The detail of a request on a reused connection that the server had closed.
const CLOSED_AFTER_ANSWER: &str =
    "the server closed the connection after an earlier answer, without announcing it";

impl<R: Recorder> Driver<R> {
    /// Sends a request over an open connection.
    pub(super) fn carry<N: Net>(&mut self, net: &mut N, conn: ConnId, mut exchange: Box<Exchange>) {
        exchange.record.send_start = Some(net.now());
        self.arm(conn, &exchange);
        self.connections.put(conn, Purpose::Carrying(exchange));
        self.send(net, conn);
    }

    pub(super) fn send<N: Net>(&mut self, net: &mut N, conn: ConnId) {
        let Some(exchange) = self.connections.carried(conn) else { return };
        loop {
            let offered = exchange.unsent().len();
            match net.write(conn, exchange.unsent()) {
                Ok(written) => {
                    exchange.wrote(written, net.now());
                    // After a write that is only partly accepted, the network says when it accepts more.
                    if written < offered || exchange.unsent().is_empty() {
                        return;
                    }
                }
                // The server may have responded before it stopped reading, so the response is still read.
                Err(_) => return self.receive(net, conn),
            }
        }
    }

    /// Reads from a connection, once.
    pub(super) fn receive<N: Net>(&mut self, net: &mut N, conn: ConnId) {
        let result = net.read(conn, &mut self.buffer);
        let Some(exchange) = self.connections.carried(conn) else {
            // No request uses the connection. If data arrived on it, or if it was closed, it cannot be used any more.
            if !matches!(result, ReadResult::Empty) {
                self.connections.remove(conn);
                net.close(conn, Close::Gracefully);
            }
            return;
        };
        match result {
            ReadResult::Data(arrived) => {
                let had_token = exchange.has_token();
                let fed = exchange.feed(&arrived, &self.buffer[..arrived.bytes]);
                if fed.tokens > 0 {
                    self.live.chunks(fed.tokens);
                    if !had_token && self.limits_prefill {
                        let mut state = self.common.lock();
                        state.limit.answers();
                        state.wake_next(self.which);
                    }
                    // The first token arms the timer again. For later tokens, the timer is already armed, so
                    // this call costs almost nothing.
                    if let Some(limit) = self.timeouts.between_events {
                        self.timers.arm(conn, arrived.user + limit);
                    }
                }
                let (mut grew, mut too_large) = (false, None);
                if fed.may_have_grown {
                    let holds = exchange.answer_bytes();
                    let before = std::mem::replace(&mut exchange.counted_bytes, holds);
                    grew = holds != before;
                    self.common.memory.change(before, holds);
                    too_large = exchange.too_large();
                }
                if fed.progress == Progress::Ended {
                    self.end_exchange(net, conn, |exchange, _| exchange.finish());
                } else if exchange.has_enough() {
                    let outcome = exchange.abandoned();
                    self.end_exchange(net, conn, |exchange, now| {
                        exchange.abandon(outcome, None, now)
                    });
                } else if let Some(why) = too_large {
                    self.end_exchange(net, conn, |exchange, now| exchange.abandon_large(&why, now));
                }
                if grew && self.common.memory.is_over() {
                    self.give_up_largest(net);
                }
            }
            ReadResult::Empty => {}
            ReadResult::Closed | ReadResult::Failed(_)
                if exchange.record.kept_connection == Some(true) && !exchange.answered() =>
            {
                // The server had announced to keep the connection open. The request is lost, and its record states this
                // reason. From now on, each connection is closed after its request.
                self.common.reuses_connections.store(false, Relaxed);
                self.end_exchange(net, conn, |exchange, now| {
                    let outcome = Outcome::Connection { phase: exchange.phase() };
                    exchange.abandon(outcome, Some(Detail::said(CLOSED_AFTER_ANSWER)), now)
                });
            }
            ReadResult::Closed => self.end_exchange(net, conn, |exchange, now| {
                if exchange.answered() {
                    exchange.finish_closed(now)
                } else {
                    let outcome = Outcome::Connection { phase: exchange.phase() };
                    let why = Detail::said("the server closed the connection without an answer");
                    exchange.abandon(outcome, Some(why), now)
                }
            }),
            ReadResult::Failed(error) => self.end_exchange(net, conn, |exchange, now| {
                let outcome = Outcome::Connection { phase: exchange.phase() };
                exchange.abandon(outcome, Some(Detail::said(&error.to_string())), now)
            }),
        }
    }

    /// Ends one request of this loop, because all answers in flight together use too much memory. Among the requests of
    /// this loop, it is the one whose answer exceeds its planned memory the most; if none exceeds it, no request is
    /// ended. An answer of another loop may exceed its planned memory more: a loop cannot end the requests of others.
    fn give_up_largest<N: Net>(&mut self, net: &mut N) {
        let Some((conn, surplus)) = self.connections.largest(Exchange::surplus_bytes) else {
            return;
        };
        if surplus == 0 {
            return;
        }
        let why = format!(
            "the answers in flight took more than {} MiB of memory in addition to the plan's need, \
                and this answer took more than planned",
            ANSWERS_BYTES >> 20
        );
        self.end_exchange(net, conn, |exchange, now| exchange.abandon_large(&why, now));
    }
}
