//! Reports the times that the server states for its requests: its queue, loads of its model, and times that cannot be
//! true. It reads no metrics of the server.

use inferometer_model::record::ServerTime;
use inferometer_model::{Finding, Timeline, metrics::e2e, stats::Sample};

inferometer_model::codes! {
    SERVER_TIMES = "server_times", Note,
        "The server states its own times of requests, such as the time in its queue. They are shown \
            beside the client's E2E.";
    SERVER_TIMES_IMPOSSIBLE = "server_times_impossible", Warning,
        "The server states times of requests that are longer than the client waited for the same requests." =>
        "Do not use the server's times of this pass, nor the parts of TTFT that are made from them: its clock, its \
            unit or its answer is wrong.";
    COLD_START = "cold_start", Warning,
        "The server loaded its model while requests of the pass waited for it, so the pass measures the load, too." =>
        "Load the model before the pass (--warmup). Keep it loaded (Ollama: keep_alive), and send the same num_ctx \
            with all requests to the model, because another one loads it again.";
}

/// If the time in the queue exceeds this share of E2E, the finding has advice.
const LARGE_SHARE: f64 = 0.1;
/// The error of a stated time: half of the coarsest unit (1 ms), and clocks that do not run alike.
const ERROR_MS: f64 = 1.0;
const ERROR_SHARE: f64 = 0.001;
/// A load of a model that takes at least this time is a cold start. The check of a loaded model takes up to 0.7 s.
const COLD_MS: f64 = 1_000.0;

const ADVICE: &str = "The server processes fewer requests at the same time than it gets. Use a lower rate or fewer \
                      requests in flight, or raise the server's limit of a batch (TGI: --max-batch-total-tokens).";

/// The times of completed requests, in milliseconds: the client's E2E is of those with a stated queue time.
#[derive(Clone, Debug, Default)]
pub(super) struct TimesOfServer {
    queue_ms: Sample,
    total_ms: Sample,
    e2e_ms: Sample,
    load_ms: Sample,
    /// The number of requests with stated times.
    stated: u64,
    /// The number of those that cannot be true, and the largest excess with its stated time.
    impossible: u64,
    worst: (f64, f64),
}

impl TimesOfServer {
    pub(super) fn add(&mut self, timeline: &Timeline<'_>) {
        let (record, times) = (timeline.record, timeline.record.server_times);
        let Some(stated_ms) = times.in_all_ms() else { return };
        self.stated += 1;
        self.load_ms.extend(times.ms(ServerTime::Load));
        if let Some(sent) = record.send_start {
            let first = timeline.first_visible().filter(|_| record.streamed);
            let first = first.map(|at| timeline.events[at].arrival.ms_after(sent));
            let all = record.ended.map(|ended| ended.ms_after(sent));
            let pairs = [times.to_first_token_ms().zip(first), Some(stated_ms).zip(all)];
            let excess = |(stated, ours): (f64, f64)| {
                (stated - ours * (1.0 + ERROR_SHARE) - ERROR_MS, stated)
            };
            let worst = pairs.into_iter().flatten().map(excess).max_by(|a, b| a.0.total_cmp(&b.0));
            if let Some(worst) = worst.filter(|(excess, _)| *excess > 0.0) {
                self.impossible += 1;
                self.worst = if worst.0 > self.worst.0 { worst } else { self.worst };
            }
        }
        if let Some(queue_ms) = times.ms(ServerTime::Queue) {
            self.queue_ms.push(queue_ms);
            self.total_ms.extend(times.ms(ServerTime::Total));
            self.e2e_ms.extend(e2e::from_sent(timeline));
        }
    }

    pub(super) fn findings(mut self) -> Vec<Finding> {
        let impossible = (self.impossible > 0).then(|| {
            let Self { impossible, stated, worst: (excess, worst), .. } = self;
            let message = format!(
                "For {impossible} of {stated} completed requests, the server states a time that is longer than the \
                    client waited: at most {worst:.1} ms, which is {excess:.1} ms more than possible."
            );
            Finding::of(SERVER_TIMES_IMPOSSIBLE, message)
        });
        let cold = self.load_ms.distribution().filter(|load| load.max >= COLD_MS).map(|load| {
            let message = format!(
                "The server states that a request waited up to {:.1} s until its model was loaded; the median of {} \
                    requests is {:.3} s.",
                load.max / 1e3,
                load.n,
                load.p50 / 1e3
            );
            Finding::of(COLD_START, message)
        });
        [impossible, cold, self.queue()].into_iter().flatten().collect()
    }

    fn queue(&mut self) -> Option<Finding> {
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
    use ServerTime::{Decode, FirstToken, Load, Prefill, Queue, Total};
    use inferometer_model::fixture::steady;
    use inferometer_model::record::{Record, ServerTimes};

    /// The findings on requests with these times in milliseconds. The client's TTFT is 100 ms, its E2E 200 ms.
    fn found(requests: &[&[(ServerTime, u32)]]) -> Vec<Finding> {
        let mut seen = TimesOfServer::default();
        for stated in requests {
            let server_times = stated.iter().fold(ServerTimes::default(), |times, &(time, ms)| {
                times.with(time, Some(1_000 * ms))
            });
            seen.add(&Timeline::new(&Record { server_times, ..steady(0.0, 100.0, 100.0, 2) }));
        }
        seen.findings()
    }

    #[test]
    fn queue_times_are_reported_without_advice_if_they_are_short() {
        let findings = found(&[
            &[(Queue, 0), (Total, 180)],
            &[(Queue, 7), (Total, 190)],
            &[(Queue, 5)],
            &[(Total, 9)],
        ]);
        let [finding] = &findings[..] else { panic!("{findings:?}") };
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
            let finding = found(&[&[(Queue, queue_ms)]]).remove(0);
            assert!(finding.message.contains("for 1 completed request:"), "{}", finding.message);
            assert_eq!(finding.advice.is_some(), is_large, "{queue_ms}");
        }
    }

    #[test]
    fn only_times_that_are_longer_than_the_client_waited_are_impossible() {
        let cases: [(&[(ServerTime, u32)], bool); 7] = [
            (&[], false),
            (&[(FirstToken, 101), (Decode, 100)], false),
            (&[(FirstToken, 102)], true),
            (&[(Load, 60), (Prefill, 42)], true),
            (&[(Prefill, 40), (Decode, 160)], false),
            (&[(Prefill, 40), (Decode, 162)], true),
            (&[(Total, 202)], true),
        ];
        for (stated, is_impossible) in cases {
            let findings = found(&[stated]);
            let codes: Vec<&str> = findings.iter().map(|finding| finding.code.as_ref()).collect();
            let expected = if is_impossible { vec!["server_times_impossible"] } else { vec![] };
            assert_eq!(codes, expected, "{stated:?}");
        }
        let message = found(&[&[(Total, 90)], &[(Total, 250)]]).remove(0).message;
        assert!(message.contains("1 of 2") && message.contains("250.0 ms, which is 48.8 ms"));
    }

    #[test]
    fn a_load_of_a_second_is_a_cold_start() {
        let seen =
            |ms| found(&[&[(Load, ms), (Total, 9)]]).iter().any(|it| it.code == "cold_start");
        assert!(seen(1_000) && !seen(999));
    }
}
