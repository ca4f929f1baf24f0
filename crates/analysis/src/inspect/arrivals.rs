//! Compares the arrival rate of a pass with the requested rate, and the sending rate with the arrival rate. A rate that
//! changes within the pass is not judged.

use inferometer_model::{Finding, Nanos, OpenPlan, Outcome, PassPlan, Record, code};

/// If the arrival rate differs from the requested rate by a larger share, a finding reports it.
const RATE_TOLERANCE: f64 = 0.1;
/// If the sending rate is below the arrival rate by a larger share, a finding reports it.
const SENDING_TOLERANCE: f64 = 0.02;
/// The client is behind its schedule only if a larger share of the requests was sent late.
const LATE_SHARE: f64 = 0.01;
/// A request is late if it was sent more than this many seconds after it was due. On a busy machine, a single request
/// may be this late.
const LATE_S: f64 = 0.01;

/// The first and the last of a set of instants; absent if the set is empty.
#[derive(Clone, Copy, Debug, Default)]
struct Span(Option<(Nanos, Nanos)>);

impl Span {
    fn add(&mut self, at: Nanos) {
        let (first, last) = self.0.unwrap_or((at, at));
        self.0 = Some((first.min(at), last.max(at)));
    }

    /// The rate of `count` instants, per second. `None` if the first and the last instant are equal, or if there are
    /// fewer than two.
    fn rate(self, count: u64) -> Option<f64> {
        let (first, last) = self.0?;
        let span_s = last.seconds_after(first);
        (count > 1 && span_s > 0.0).then(|| (count - 1) as f64 / span_s)
    }
}

/// Collects the arrivals of a pass, and judges their rate.
#[derive(Clone, Debug, Default)]
pub(super) struct ArrivalRate {
    /// The requested rate in requests per second; absent if the load has no constant rate.
    asked_rate: Option<f64>,
    /// Whether the arrival times are scaled to the requested mean rate, so that chance does not change the rate.
    is_scaled: bool,
    /// Whether the user limits the number in flight or without a token, so that a request may wait for another one.
    pub(super) is_limited: bool,
    /// The number of requests that were not skipped.
    count: u64,
    /// The due times of the requests that were not skipped.
    due: Span,
    /// The number of requests that were sent.
    sent_count: u64,
    /// The times at which requests were sent.
    sent: Span,
    /// The due times of the requests that were sent. A request that could not be sent because there was no connection
    /// is not a delay of the client.
    sent_due: Span,
    /// The number of requests that were sent late.
    late_count: u64,
}

impl ArrivalRate {
    pub(super) fn of(pass: &PassPlan) -> Self {
        let asked_rate = match pass {
            PassPlan::Open(_) => pass.rate().filter(|rate| rate.is_finite()),
            _ => None,
        };
        let is_scaled = matches!(pass, PassPlan::Open(OpenPlan { scaled: true, .. }));
        Self { asked_rate, is_scaled, is_limited: pass.limit().0.is_some(), ..Self::default() }
    }

    pub(super) fn add(&mut self, record: &Record) {
        // The due time of a skipped request is the end of the pass, and does not come from the plan.
        if record.outcome == Outcome::Skipped {
            return;
        }
        self.count += 1;
        self.due.add(record.due);
        if let Some(sent) = record.send_start {
            self.sent_count += 1;
            self.sent.add(sent);
            self.sent_due.add(record.due);
            self.late_count += u64::from(sent.seconds_after(record.due) > LATE_S);
        }
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        let Some((asked, due)) = self.asked_rate.zip(self.due.rate(self.count)) else {
            return Vec::new();
        };
        let mut findings = Vec::new();
        if !self.is_scaled && (due / asked - 1.0).abs() > RATE_TOLERANCE {
            let message = format!(
                "{} requests were due at {due:.3} per second instead of the requested {asked}: \
                    arrival times are random, and the rate of a small number of requests can \
                    differ this much.",
                self.count
            );
            findings.push(Finding::of(code::ARRIVAL_RATE_DIFFERS, message));
        }
        findings.extend(self.behind());
        findings
    }

    /// The finding that the client sent more slowly than its own schedule; `None` if the client kept the schedule.
    fn behind(&self) -> Option<Finding> {
        let [due, sent] = [self.sent_due, self.sent].map(|span| span.rate(self.sent_count));
        let (due, sent) = due.zip(sent)?;
        let is_late = self.late_count as f64 > LATE_SHARE * self.sent_count as f64;
        if self.is_limited || !is_late || sent >= due * (1.0 - SENDING_TOLERANCE) {
            return None;
        }
        let message = format!(
            "Requests were due at {due:.3} per second and sent at {sent:.3}: the client fell \
             behind its own schedule."
        );
        Some(Finding::of(code::SENT_BELOW_THE_RATE, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::fixture::steady;
    use inferometer_model::load::Bound;

    /// The codes of the findings if a request is due every `due_ms` and sent every `sent_ms`. The requested rate is 10
    /// per second.
    fn codes_of_steady(due_ms: u64, sent_ms: u64) -> Vec<String> {
        let mut rate = ArrivalRate::of(&PassPlan::open(10.0, Bound::requests(50)));
        for number in 0..50 {
            let mut record = steady(0.0, 40.0, 10.0, 2);
            record.due = Nanos(number * due_ms * 1_000_000);
            record.send_start = Some(Nanos(number * sent_ms * 1_000_000));
            rate.add(&record);
        }
        rate.findings().into_iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn a_wrong_arrival_rate_and_a_client_behind_its_schedule_are_reported() {
        assert_eq!(codes_of_steady(100, 100), Vec::<String>::new());
        assert_eq!(codes_of_steady(100, 101), Vec::<String>::new());
        assert_eq!(codes_of_steady(120, 120), ["arrival_rate_differs"]);
        assert_eq!(codes_of_steady(85, 85), ["arrival_rate_differs"]);
        assert_eq!(codes_of_steady(100, 110), ["sent_below_the_rate"]);
    }

    #[test]
    fn requests_left_unsent_by_an_interruption_do_not_count_in_the_arrival_rate() {
        let mut rate = ArrivalRate::of(&PassPlan::open(10.0, Bound::requests(50)));
        for number in 0..50 {
            let mut record = steady(0.0, 40.0, 10.0, 2);
            record.due = Nanos(number.min(8) * 100_000_000);
            record.send_start = Some(record.due).filter(|_| number < 8);
            if number >= 8 {
                record.outcome = Outcome::Skipped;
            }
            rate.add(&record);
        }
        assert!(rate.findings().is_empty(), "{:?}", rate.findings());
    }

    /// The codes of the findings if requests are due at a constant rate. `sent_us` gets the number of a request and its
    /// due time. It returns the send time, or `None` if the request is not sent. Both times are in microseconds.
    fn codes_of_sent(rate: u64, sent_us: impl Fn(u64, u64) -> Option<u64>) -> Vec<String> {
        let mut arrivals = ArrivalRate::of(&PassPlan::open(rate as f64, Bound::requests(100)));
        for number in 0..100 {
            let mut record = steady(0.0, 40.0, 10.0, 2);
            let due_us = number * 1_000_000 / rate;
            record.due = Nanos(due_us * 1_000);
            record.send_start = sent_us(number, due_us).map(|us| Nanos(us * 1_000));
            arrivals.add(&record);
        }
        arrivals.findings().into_iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn unsent_requests_and_one_late_request_do_not_show_that_the_client_is_behind() {
        assert_eq!(codes_of_sent(10, |number, due| (number % 20 != 3).then_some(due)), [""; 0]);
        assert_eq!(codes_of_sent(1_000, |number, due| Some(due + 3_000 * (number / 99))), [""; 0]);
        assert_eq!(codes_of_sent(1_000, |number, due| Some(due + 30_000 * (number / 99))), [""; 0]);
        assert_eq!(codes_of_sent(1_000, |_, due| Some(due * 3 / 2)), ["sent_below_the_rate"]);
    }

    #[test]
    fn the_arrival_rate_is_not_checked_for_loads_without_a_planned_rate() {
        let mut rate = ArrivalRate::of(&PassPlan::saturated(2));
        rate.add(&steady(0.0, 40.0, 10.0, 2));
        rate.add(&steady(500.0, 40.0, 10.0, 2));
        assert!(rate.findings().is_empty());
    }
}
