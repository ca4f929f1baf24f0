//! Where the time to the first token goes: parts of its mean that add up to it.

use inferometer_model::{Timeline, record::ServerTime};
use serde::{Deserialize, Serialize};

use crate::observed::{ServerLatency, ServerMetrics};

/// By how much the number of values in the server's histograms may differ from that of the requests, as a share: more
/// means that they are of other requests, too.
const TOLERATED: f64 = 0.01;

/// The parts of the mean TTFT from the due time, in milliseconds, over completed streams with a first token. They add up to
/// it. A part of the server is the mean over its responses if they state it, otherwise that of its histogram.
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
    /// Until the model is loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_ms: Option<f64>,
    /// In the server's queue.
    pub queue_ms: Option<f64>,
    /// From the begin of the request in the batch to its first token.
    pub prefill_ms: Option<f64>,
    /// The rest of the server's own TTFT, such as the tokenizer.
    pub front_end_ms: Option<f64>,
    /// What is left: the network, the client, and all that the server does not state.
    pub rest_ms: f64,
}

/// The times of a server that are parts of TTFT, and its own TTFT.
const OF_SERVER: [ServerTime; 4] =
    [ServerTime::Load, ServerTime::Queue, ServerTime::Prefill, ServerTime::FirstToken];

/// Collects the client's part, and what the server's responses state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TtftFold {
    n: u64,
    ttft_ms: f64,
    client_ms: f64,
    sending_ms: f64,
    /// For each time of the server: its sum, and the number of requests that have it.
    stated: [(f64, f64); OF_SERVER.len()],
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
        for ((sum, n), time) in self.stated.iter_mut().zip(OF_SERVER) {
            if let Some(ms) = record.server_times.ms(time) {
                *sum += ms;
                *n += 1.0;
            }
        }
    }

    /// The parts; `None` if neither the responses nor the server's histograms of the same requests state its queue or
    /// its prefill.
    pub(crate) fn finish(self, server: Option<&ServerMetrics>) -> Option<TtftParts> {
        let n = self.n as f64;
        let is_of_all = |of: f64| self.n > 0 && (of - n).abs() <= TOLERATED * n;
        let seen = |of: fn(&ServerMetrics) -> Option<ServerLatency>| {
            server.and_then(of).filter(|of| is_of_all(of.n)).map(|of| of.mean)
        };
        let [load_ms, queue_ms, prefill_ms, of_server] =
            self.stated.map(|(sum, of)| is_of_all(of).then(|| sum / of));
        let queue_ms = queue_ms.or_else(|| seen(|server| server.queue_ms));
        let prefill_ms = prefill_ms.or_else(|| seen(|server| server.prefill_ms));
        let of_server = of_server.or_else(|| seen(|server| server.ttft_ms));
        if (queue_ms, prefill_ms) == (None, None) {
            return None;
        }
        let [ttft_ms, client_ms, sending_ms] =
            [self.ttft_ms, self.client_ms, self.sending_ms].map(|sum| sum / n);
        let known: f64 = [load_ms, queue_ms, prefill_ms].into_iter().flatten().sum();
        let rest_ms = ttft_ms - client_ms - sending_ms - of_server.unwrap_or(known);
        let front_end_ms = of_server.map(|ttft| ttft - known);
        let n = self.n;
        Some(TtftParts {
            n,
            ttft_ms,
            client_ms,
            sending_ms,
            load_ms,
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

    #[test]
    fn times_that_the_responses_state_replace_those_of_histograms_if_nearly_all_responses_state_them()
     {
        let server = ServerMetrics {
            queue_ms: Some(ServerLatency { mean: 5.0, p50_above: 0.0, p50_below: None, n: 2.0 }),
            ..ServerMetrics::default()
        };
        let parts = |stated: [&[(ServerTime, u32)]; 2]| {
            let mut fold = TtftFold::default();
            for times in stated {
                let mut record = steady(0.0, 50.0, 10.0, 3);
                for &(time, ms) in times {
                    record.server_times = record.server_times.with(time, Some(1_000 * ms));
                }
                fold.add(&Timeline::new(&record));
            }
            let parts = fold.finish(Some(&server)).expect("parts");
            let TtftParts { load_ms, queue_ms, prefill_ms, front_end_ms, rest_ms, .. } = parts;
            (load_ms, queue_ms, prefill_ms, front_end_ms, rest_ms)
        };
        use ServerTime::{FirstToken, Load, Prefill, Queue};
        assert_eq!(
            parts([&[(Prefill, 20)], &[(Prefill, 30)]]),
            (None, Some(5.0), Some(25.0), None, 20.0)
        );
        assert_eq!(parts([&[(Prefill, 20)], &[]]), (None, Some(5.0), None, None, 45.0));
        assert_eq!(
            parts([&[(Load, 1), (Queue, 0), (Prefill, 20)]; 2]),
            (Some(1.0), Some(0.0), Some(20.0), None, 29.0)
        );
        let all: &[_] = &[(Queue, 2), (Prefill, 20), (FirstToken, 30)];
        assert_eq!(parts([all; 2]), (None, Some(2.0), Some(20.0), Some(8.0), 20.0));
    }
}
