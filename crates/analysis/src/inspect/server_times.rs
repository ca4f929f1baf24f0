//! Reports the times that the server states for its requests, together with the client's E2E. This module does not
//! decide which of the two is right, and reads no metrics of the server.

use inferometer_model::{Finding, Timeline, metrics::e2e, stats::Sample};

inferometer_model::codes! {
    SERVER_TIMES = "server_times", Note,
        "The server states its own times of requests, such as the time in its queue. They are shown \
            beside the client's E2E.";
}

/// If the time in the queue exceeds this share of E2E, the finding has advice.
const LARGE_SHARE: f64 = 0.1;

const ADVICE: &str = "The server processes fewer requests at the same time than it gets. Use a lower rate or fewer \
                      requests in flight, or raise the server's limit of a batch (TGI: --max-batch-total-tokens).";

/// The times of completed requests with a stated queue time, in milliseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct TimesOfServer {
    queue_ms: Sample,
    total_ms: Sample,
    e2e_ms: Sample,
}

impl TimesOfServer {
    pub(super) fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        let Some(queue_ms) = record.server_times.queue_ms else { return };
        self.queue_ms.push(queue_ms.into());
        self.total_ms.extend(record.server_times.total_ms.map(f64::from));
        self.e2e_ms.extend(e2e::from_sent(timeline));
    }

    pub(super) fn findings(mut self) -> Option<Finding> {
        let queue = self.queue_ms.distribution()?;
        let (n, median_ms, max_ms) = (queue.n, queue.p50, queue.max);
        let mut message = format!(
            "The server states the time in its queue for {n} completed {}: the median is {median_ms:.1} ms, the \
             largest {max_ms:.0} ms.",
            if n == 1 { "request" } else { "requests" }
        );
        if let Some(total) = self.total_ms.distribution() {
            message += &format!(" The median of its total time is {:.1} ms.", total.p50);
        }
        let mut is_large = false;
        if let Some(e2e) = self.e2e_ms.distribution().filter(|e2e| e2e.mean > 0.0) {
            let share = queue.mean / e2e.mean;
            is_large = share > LARGE_SHARE;
            let percent = 100.0 * share;
            message += &format!(
                " The client's median E2E is {:.1} ms; the queue takes {percent:.1} % of all E2E.",
                e2e.p50
            );
        }
        let finding = Finding::of(SERVER_TIMES, message);
        Some(if is_large { finding.advise(ADVICE) } else { finding })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::fixture::steady;
    use inferometer_model::record::{Record, ServerTimes};

    /// The finding on requests with these queue times and total times. The client's E2E is 200 ms.
    fn found(times: &[(Option<u32>, Option<u32>)]) -> Option<Finding> {
        let mut seen = TimesOfServer::default();
        for &(queue_ms, total_ms) in times {
            let server_times = ServerTimes { queue_ms, total_ms, ..ServerTimes::default() };
            let record = Record { streamed: false, server_times, ..steady(0.0, 200.0, 1.0, 1) };
            seen.add(&Timeline::new(&record));
        }
        seen.findings()
    }

    #[test]
    fn server_times_are_reported_without_advice_if_the_queue_time_is_short() {
        let times = [(Some(0), Some(180)), (Some(7), Some(190)), (Some(5), None), (None, Some(9))];
        let finding = found(&times).unwrap();
        assert_eq!(finding.code, "server_times");
        assert_eq!(
            finding.message,
            "The server states the time in its queue for 3 completed requests: the median is 5.0 ms, the largest 7 \
             ms. The median of its total time is 185.0 ms. The client's median E2E is 200.0 ms; the queue takes 2.0 % \
             of all E2E."
        );
        assert_eq!(finding.advice, None);
    }

    #[test]
    fn a_queue_time_above_a_tenth_of_e2e_gets_advice() {
        for (queue_ms, is_large) in [(20, false), (21, true)] {
            let finding = found(&[(Some(queue_ms), None)]).unwrap();
            assert!(finding.message.contains("for 1 completed request:"), "{}", finding.message);
            assert_eq!(finding.advice.is_some(), is_large, "{queue_ms}");
        }
    }

    #[test]
    fn a_server_that_states_no_queue_time_gets_no_finding() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[(None, Some(180))]), None);
    }
}
