//! Begins the requests that are due. At the limit of requests in flight, drops them or lets them wait. This
//! module reads no responses.

use std::time::Duration;

use inferometer_model::load::{Due, EndedRequest};
use inferometer_model::{Detail, Nanos, Outcome, Phase, Record, source::Said};
use inferometer_net::{Close, ConnId, Net, Wake};

use super::{Driver, common::TakeResult};
use crate::{Recorder, connections::Purpose, encode::Encoded, exchange::Exchange};

/// The maximum number of requests begun in one turn. It is limited so that arrived data is read soon.
const BEGIN_PER_TURN: usize = 32;
/// How long to wait before trying again, if the encoder had no request ready or the recorder had no room.
const RETRY: Duration = Duration::from_millis(1);

impl<R: Recorder> Driver<R> {
    /// Begins the requests that are due, up to the limit of one turn. The result says when the loop needs the
    /// next turn.
    pub(super) fn begin_due<N: Net>(&mut self, net: &mut N) -> Wake {
        for _ in 0..BEGIN_PER_TURN {
            let due = match self.load.next_due() {
                Due::At(offset) if !self.begins_no_more => self.start + offset.since(Nanos::ZERO),
                Due::AfterEnd if !self.begins_no_more => return Wake::WhenReady,
                _ if self.in_flight > 0 => return Wake::WhenReady,
                _ => return Wake::Done,
            };
            let now = net.now();
            if due > now {
                return Wake::At(due);
            }
            let continues = self.load.continues();
            let taken = self.common.lock().take(self.which, due, now, continues);
            match taken {
                TakeResult::Begun(encoded, record) => self.begin(net, record, *encoded),
                TakeResult::Dropped(of, record) => {
                    self.load.take();
                    self.load_ended(of, &record);
                    self.common.lock().notify(of, &record, Said::default());
                }
                TakeResult::Later => return Wake::At(now + RETRY),
                TakeResult::Full => return Wake::WhenReady,
                TakeResult::Over => self.begins_no_more = true,
            }
        }
        Wake::At(net.now())
    }

    fn begin<N: Net>(&mut self, net: &mut N, record: Record, encoded: Encoded) {
        self.load.take();
        self.in_flight += 1;
        self.live.begin();
        self.may_encode = true;
        let server = record.server.unwrap_or(0) as usize;
        let mut exchange = Box::new(Exchange::new(record, encoded));
        let index = exchange.record.index;
        let leavers = self.leavers.filter(|leavers| leavers.includes(index));
        exchange.leaves = leavers.map(|leavers| leavers.abandon.after);
        exchange.counted_bytes = exchange.answer_bytes();
        self.common.memory.begin(exchange.counted_bytes, exchange.record.planned_output());
        if let Some((conn, used)) = self.take_idle(net, server) {
            exchange.record.kept_connection = Some(used);
            self.carry(net, conn, exchange);
            return;
        }
        match net.connect(self.servers.address(server)) {
            Ok(conn) => {
                self.connections.opened(conn, server);
                self.arm(conn, &exchange);
                self.connections.put(conn, Purpose::OpeningFor(exchange));
            }
            Err(error) => {
                let outcome = Outcome::Connection { phase: Phase::Connect };
                self.finish(exchange.abandon(
                    outcome,
                    Some(Detail::said(&error.to_string())),
                    net.now(),
                ));
            }
        }
    }

    /// Takes an idle connection with a server. If connections are not reused any more, closes the idle connections that
    /// a request has used: the server may close them too, and then the next request would be lost.
    fn take_idle<N: Net>(&mut self, net: &mut N, server: usize) -> Option<(ConnId, bool)> {
        while let Some((conn, used)) = self.connections.take_idle(server) {
            if !used || self.reuses_connections() {
                return Some((conn, used));
            }
            net.close(conn, Close::Gracefully);
        }
        None
    }

    /// Notifies the load model that a request ended, or was dropped.
    pub(super) fn load_ended(&mut self, (conversation, call): (u32, u32), record: &Record) {
        let offset = Nanos::ZERO + record.ended_or_due().since(self.start);
        let conversation = match self.own_conversations {
            Some((share, part)) => part.count_of(share.index_of(conversation)),
            None => conversation,
        };
        let complete = record.outcome.is_complete();
        self.load.ended(offset, EndedRequest { conversation, call, complete });
    }
}
