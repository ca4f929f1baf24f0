//! Where the time to the first token goes: parts of its mean that add up to it.

use inferometer_model::Timeline;
use serde::{Deserialize, Serialize};

use crate::observed::ServerMetrics;

/// By how much the number of values in the server's histograms may differ from that of the requests, as a share: more
/// means that they are of other requests, too.
const TOLERATED: f64 = 0.01;

/// The parts of the mean TTFT from the due time, in milliseconds, over completed streams with a first token. They add up to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TtftParts {
    /// The number of requests.
    pub n: u64,
    /// The mean TTFT from the due time.
    pub ttft_ms: f64,
    /// From the due time to the first byte that is sent: the client's delay, and waiting for a connection.
    pub client_ms: f64,
    /// From the first byte to the last one that is given to the kernel.
    pub sending_ms: f64,
    /// In the server's queue, by its own histogram.
    pub queue_ms: Option<f64>,
    /// From the begin of the request in the batch to its first token, by the server's own histogram.
    pub prefill_ms: Option<f64>,
    /// The rest of the server's own TTFT, such as the tokenizer.
    pub front_end_ms: Option<f64>,
    /// What is left: the network, the client, and all that the server does not state.
    pub rest_ms: f64,
}

/// Collects the client's part.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TtftFold {
    n: u64,
    ttft_ms: f64,
    client_ms: f64,
    sending_ms: f64,
}

impl TtftFold {
    /// Adds a completed request.
    pub(crate) fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        let (Some(first), Some(send), Some(sent)) =
            (timeline.first_visible(), record.send_start, record.sent)
        else {
            return;
        };
        if !record.streamed {
            return;
        }
        let due = record.due;
        self.n += 1;
        self.ttft_ms += timeline.events[first].arrival.ms_after(due);
        self.client_ms += send.ms_after(due);
        self.sending_ms += sent.ms_after(send);
    }

    /// The parts; `None` if the server's histograms of the same requests state neither its queue nor its prefill.
    pub(crate) fn finish(self, server: Option<&ServerMetrics>) -> Option<TtftParts> {
        let (n, server) = (self.n as f64, server?);
        let own = |of: Option<crate::observed::ServerLatency>| {
            of.filter(|of| (of.n - n).abs() <= TOLERATED * n).map(|of| of.mean)
        };
        let [queue_ms, prefill_ms] = [own(server.queue_ms), own(server.prefill_ms)];
        if self.n == 0 || (queue_ms, prefill_ms) == (None, None) {
            return None;
        }
        let [ttft_ms, client_ms, sending_ms] =
            [self.ttft_ms, self.client_ms, self.sending_ms].map(|sum| sum / n);
        let known = queue_ms.unwrap_or(0.0) + prefill_ms.unwrap_or(0.0);
        let of_server = own(server.ttft_ms);
        let rest_ms = ttft_ms - client_ms - sending_ms - of_server.unwrap_or(known);
        let front_end_ms = of_server.map(|ttft| ttft - known);
        let n = self.n;
        Some(TtftParts {
            n,
            ttft_ms,
            client_ms,
            sending_ms,
            queue_ms,
            prefill_ms,
            front_end_ms,
            rest_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use inferometer_model::fixture::{ms, steady};

    use super::*;
    use crate::observed::ServerLatency;

    #[test]
    fn parts_add_up_to_the_mean_ttft_and_are_absent_if_the_server_counts_other_requests() {
        let mut fold = TtftFold::default();
        for (due, wait, sending, first) in [(0.0, 1.0, 2.0, 50.0), (100.0, 3.0, 4.0, 70.0)] {
            let mut record = steady(due + wait, first, 10.0, 3);
            (record.due, record.sent) = (ms(due), Some(ms(due + wait + sending)));
            fold.add(&Timeline::new(&record));
        }
        let latency = |mean, n| Some(ServerLatency { mean, p50_above: 0.0, p50_below: None, n });
        let says = |queue, prefill, ttft| ServerMetrics {
            queue_ms: queue,
            prefill_ms: prefill,
            ttft_ms: ttft,
            ..ServerMetrics::default()
        };
        let all = says(latency(5.0, 2.0), latency(40.0, 2.0), latency(48.0, 2.0));
        let parts = fold.finish(Some(&all)).expect("parts");
        // From the send to the first token: 50 and 70 ms; before it: 1 and 3 ms.
        assert_eq!(
            (parts.n, parts.ttft_ms, parts.client_ms, parts.sending_ms),
            (2, 62.0, 2.0, 3.0)
        );
        assert_eq!(
            (parts.queue_ms, parts.prefill_ms, parts.front_end_ms),
            (Some(5.0), Some(40.0), Some(3.0))
        );
        assert_eq!(parts.rest_ms, 62.0 - 2.0 - 3.0 - 48.0);
        let some =
            fold.finish(Some(&says(latency(5.0, 2.0), latency(40.0, 9.0), None))).expect("parts");
        assert_eq!((some.prefill_ms, some.front_end_ms, some.rest_ms), (None, None, 52.0));
        assert_eq!(fold.finish(Some(&says(latency(5.0, 9.0), None, latency(48.0, 2.0)))), None);
        assert_eq!(fold.finish(None), None);
    }
}
