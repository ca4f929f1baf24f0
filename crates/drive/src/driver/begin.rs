//! Begins the requests that are due, or drops them at the limit of requests in flight. It reads
//! nothing.

use std::time::Duration;

use inferometer_load::{Due, OverLimit};
use inferometer_model::outcome::{Outcome, Phase};
use inferometer_model::record::Record;
use inferometer_model::time::Nanos;
use inferometer_net::{Net, Wake};

use super::Driver;
use crate::connections::Purpose;
use crate::encode::{Encoded, Next, RequestInfo};
use crate::exchange::Exchange;
use crate::job::Recorder;

/// Most requests begun in one turn, so that arrivals are read in between.
const BEGIN_PER_TURN: usize = 32;
/// Time until a source that had no request ready, or a recorder that had no room, is asked again.
const RETRY: Duration = Duration::from_millis(1);

impl<R: Recorder> Driver<R> {
    /// Begins every request that is due, and says when the next one is.
    pub(super) fn begin_due<N: Net>(&mut self, net: &mut N) -> Wake {
        for _ in 0..BEGIN_PER_TURN {
            let full = self.job.max_in_flight.is_some_and(|most| self.in_flight >= most);
            if full && self.job.over_limit == OverLimit::Queue {
                return Wake::WhenReady;
            }
            let due = match self.job.load.next_due() {
                Due::At(offset) if !self.source_exhausted => self.start + offset.since(Nanos::ZERO),
                Due::AfterEnd if !self.source_exhausted => return Wake::WhenReady,
                _ if self.in_flight > 0 => return Wake::WhenReady,
                _ => return Wake::Done,
            };
            let now = net.now();
            if due > now {
                return Wake::At(due);
            }
            if self.recorder.is_behind() {
                // Memory is bounded. That it begins late shows in its record.
                self.waits.begin(now);
                return Wake::At(now + RETRY);
            }
            self.waits.end(now);
            match self.job.encoder.next(self.job.load.continues()) {
                Next::Request(encoded) if full => self.drop_request(due, &encoded),
                Next::Request(encoded) => self.begin(net, due, now, *encoded),
                // It waits for a request to end, or for a thread that makes requests.
                Next::Wait => return Wake::At(now + RETRY),
                Next::Exhausted => {
                    self.skip_rest(now, "the source of requests ran dry before it was due");
                    self.source_exhausted = true;
                }
                Next::Unsupported(why) => {
                    // The dialect supports no request of this source, so the rest is skipped.
                    self.skip_rest(now, &why);
                    self.source_exhausted = true;
                }
            }
        }
        Wake::At(net.now())
    }

    fn begin<N: Net>(&mut self, net: &mut N, due: Nanos, now: Nanos, encoded: Encoded) {
        self.job.load.take();
        self.in_flight += 1;
        self.live.begin();
        let mut record = self.planned_record(due, Some(&encoded.info));
        record.picked = Some(now);
        let mut exchange = Box::new(Exchange::new(record, encoded));
        exchange.counted_bytes = exchange.answer_bytes();
        self.memory.begin(exchange.counted_bytes, exchange.record.planned_output());
        if let Some((conn, used)) = self.connections.take_idle() {
            exchange.record.kept_connection = Some(used);
            self.carry(net, conn, exchange);
            return;
        }
        match net.connect(&self.job.address) {
            Ok(conn) => {
                self.arm(conn, &exchange);
                self.connections.put(conn, Purpose::OpeningFor(exchange));
            }
            Err(error) => {
                let outcome = Outcome::Connection { phase: Phase::Connect };
                self.finish(exchange.abandon(outcome, Some(error.to_string()), net.now()));
            }
        }
    }

    pub(super) fn planned_record(&mut self, due: Nanos, info: Option<&RequestInfo>) -> Record {
        let mut record = Record::planned(self.job.pass, self.next_index, due);
        record.streamed = self.job.encoder.is_streamed();
        self.next_index += 1;
        if let Some(info) = info {
            info.write_to(&mut record);
        }
        let offset = Nanos::ZERO + due.since(self.start);
        record.class = self.job.stages.class(offset, record.class.take());
        record
    }

    /// Drops a request that is due while as many are in flight as may be.
    fn drop_request(&mut self, due: Nanos, encoded: &Encoded) {
        self.job.load.take();
        let why = format!("{} were in flight when it was due, the most allowed", self.in_flight);
        let record = self.record_unsent(due, Outcome::Dropped, &why, Some(encoded.info.clone()));
        self.notify_end(encoded.conversation, &record, "");
    }
}
