//! Ends requests, whatever their outcome, and records them; also those that were never begun.

use inferometer_load::Ended;
use inferometer_model::outcome::Outcome;
use inferometer_model::record::{EARLIER_TURN_FAILED, Record, detail};
use inferometer_model::time::Nanos;
use inferometer_net::{Close, ConnId, Net, Wake};

use super::Driver;
use crate::connections::Purpose;
use crate::encode::RequestInfo;
use crate::exchange::{Exchange, Finished};
use crate::job::Recorder;

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
        if finished.reusable && self.job.reuse_connections {
            self.connections.put(conn, Purpose::Idle { used: true });
        } else {
            net.close(conn, Close::Gracefully);
        }
        self.finish(finished);
    }

    pub(super) fn finish(&mut self, finished: Finished) {
        let Finished { record, conversation, answer, reasoning, counted_bytes, .. } = finished;
        self.memory.end(counted_bytes, record.planned_output());
        self.in_flight -= 1;
        self.live.end(record.outcome.is_complete());
        if let Some(watch) = &mut self.watch {
            watch.ended(&record);
        }
        self.notify_end(conversation, &record, answer.as_deref().unwrap_or_default());
        // Reasoning is output too.
        let text = answer.map(|answer| reasoning.unwrap_or_default() + &answer);
        self.recorder.record(record, text);
    }

    /// Notifies the load model and the source that a request ended. Requests that would have followed
    /// it and will not are recorded as skipped.
    pub(super) fn notify_end(&mut self, conversation: u32, record: &Record, answer: &str) {
        let at = record.ended_or_due();
        let complete = record.outcome.is_complete();
        let offset = Nanos::ZERO + at.since(self.start);
        self.job.load.ended(offset, Ended { conversation, complete });
        let skipped = self.job.encoder.ended(conversation, record, answer);
        let why = || format!("{EARLIER_TURN_FAILED}: {}", record.outcome);
        for info in skipped {
            self.record_unsent(at, Outcome::Skipped, &why(), Some(info));
        }
    }

    /// Cancels requests in flight and skips those not begun.
    pub(super) fn abort<N: Net>(
        &mut self,
        net: &mut N,
        cancelled: Option<&str>,
        skipped: &str,
    ) -> Wake {
        for conn in self.connections.ids() {
            self.end_exchange(net, conn, |exchange, now| {
                exchange.abandon(Outcome::Cancelled, cancelled.map(str::to_owned), now)
            });
        }
        self.skip_rest(net.now(), skipped);
        self.end(net)
    }

    pub(super) fn skip_rest(&mut self, now: Nanos, why: &str) {
        // There may be millions of them: those that follow each other and are alike are recorded together.
        let mut alike: Option<(Option<RequestInfo>, Record, u32)> = None;
        while self.job.planned.is_some_and(|planned| self.next_index < planned) {
            let info = self.job.encoder.unsent();
            self.live.never_begin();
            match &mut alike {
                Some((same, _, count)) if *same == info => {
                    *count += 1;
                    self.next_index += 1;
                }
                _ => {
                    let mut record = self.planned_record(now, info.as_ref());
                    record.outcome = Outcome::Skipped;
                    record.detail = Some(detail(why));
                    self.record_alike(alike.replace((info, record, 1)));
                }
            }
        }
        self.record_alike(alike);
    }

    fn record_alike(&mut self, alike: Option<(Option<RequestInfo>, Record, u32)>) {
        let Some((_, record, count)) = alike else { return };
        if self.in_flight == 0 {
            self.recorder.wait_for_room();
        }
        self.recorder.record_never_begun(record, count);
    }

    /// Records a request that is never begun.
    pub(super) fn record_unsent(
        &mut self,
        due: Nanos,
        outcome: Outcome,
        why: &str,
        info: Option<RequestInfo>,
    ) -> Record {
        let mut record = self.planned_record(due, info.as_ref());
        record.outcome = outcome;
        record.detail = Some(detail(why));
        if let Some(watch) = &mut self.watch {
            watch.ended(&record);
        }
        self.live.never_begin();
        self.recorder.record(record.clone(), None);
        record
    }
}
