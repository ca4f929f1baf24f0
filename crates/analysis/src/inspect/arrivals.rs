//! The rate at which requests came against the one that was asked for. Never a course of a rate:
//! only a rate that is one number is judged.

use inferometer_load::PassPlan;
use inferometer_model::finding::{Finding, code};
use inferometer_model::outcome::Outcome;
use inferometer_model::record::Record;
use inferometer_model::time::Nanos;

/// Arrivals that differ by a larger share from the rate asked for are told.
const TOLD: f64 = 0.1;
/// Sending that is slower than the arrivals by a larger share is a warning.
const BEHIND: f64 = 0.02;
/// Only where more than this share of the requests went out late is the client behind.
const LATE_SHARE: f64 = 0.01;
/// Later than this is late: as much as a client on a busy machine may lose at any one request.
const LATE_S: f64 = 0.01;

/// The first and the last of some instants.
#[derive(Clone, Copy, Debug, Default)]
struct Span(Option<(Nanos, Nanos)>);

impl Span {
    fn add(&mut self, at: Nanos) {
        let (first, last) = self.0.unwrap_or((at, at));
        self.0 = Some((first.min(at), last.max(at)));
    }

    /// Of so many instants, how many there are per second; absent where all are the same.
    fn rate(self, count: u64) -> Option<f64> {
        let (first, last) = self.0?;
        let span_s = last.seconds_after(first);
        (count > 1 && span_s > 0.0).then(|| (count - 1) as f64 / span_s)
    }
}

/// Arrivals of a pass at a constant rate.
#[derive(Clone, Debug, Default)]
pub(super) struct ArrivalRate {
    /// Requests per second asked for, where that is one number.
    asked: Option<f64>,
    /// Whether requests may wait for others by the user's wish.
    limited: bool,
    count: u64,
    due: Span,
    sent_count: u64,
    sent: Span,
    /// When those that were sent were due: one that nobody took is not the client's delay.
    sent_due: Span,
    late: u64,
}

impl ArrivalRate {
    pub(super) fn of(pass: &PassPlan) -> Self {
        let asked = match pass {
            PassPlan::Open { .. } => pass.load().rate().filter(|rate| rate.is_finite()),
            _ => None,
        };
        Self { asked, limited: pass.limit().0.is_some(), ..Self::default() }
    }

    pub(super) fn add(&mut self, record: &Record) {
        // What was never begun was due when the pass ended, and not when the plan says.
        if record.outcome == Outcome::Skipped {
            return;
        }
        self.count += 1;
        self.due.add(record.due);
        if let Some(sent) = record.send_start {
            self.sent_count += 1;
            self.sent.add(sent);
            self.sent_due.add(record.due);
            self.late += u64::from(sent.seconds_after(record.due) > LATE_S);
        }
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        let Some((asked, due)) = self.asked.zip(self.due.rate(self.count)) else {
            return Vec::new();
        };
        let mut findings = Vec::new();
        if (due / asked - 1.0).abs() > TOLD {
            let message = format!(
                "{} requests were due at {due:.3} per second where {asked} were asked for: so few \
                 arrivals are drawn that their rate is not the one asked for.",
                self.count
            );
            findings.push(Finding::of(code::ARRIVAL_RATE_DIFFERS, message));
        }
        findings.extend(self.behind());
        findings
    }

    /// The client that did not keep its own schedule.
    fn behind(&self) -> Option<Finding> {
        let [due, sent] = [self.sent_due, self.sent].map(|span| span.rate(self.sent_count));
        let (due, sent) = due.zip(sent)?;
        let is_late = self.late as f64 > LATE_SHARE * self.sent_count as f64;
        if self.limited || !is_late || sent >= due * (1.0 - BEHIND) {
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
    use inferometer_load::Bound;
    use inferometer_model::fixture::steady;

    /// Requests due each `due_ms` and sent each `sent_ms`, at 10 per second asked for.
    fn found(due_ms: u64, sent_ms: u64) -> Vec<String> {
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
    fn a_rate_that_was_not_drawn_and_one_that_was_not_kept_are_told() {
        assert_eq!(found(100, 100), Vec::<String>::new());
        assert_eq!(found(100, 101), Vec::<String>::new());
        assert_eq!(found(120, 120), ["arrival_rate_differs"]);
        assert_eq!(found(85, 85), ["arrival_rate_differs"]);
        assert_eq!(found(100, 110), ["sent_below_the_rate"]);
    }

    #[test]
    fn requests_that_an_interruption_left_unsent_say_nothing_of_the_rate() {
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

    /// Requests at an even rate, each sent when it was due but for those that `sent` says
    /// otherwise of, in microseconds.
    fn sent(rate: u64, sent: impl Fn(u64, u64) -> Option<u64>) -> Vec<String> {
        let mut arrivals = ArrivalRate::of(&PassPlan::open(rate as f64, Bound::requests(100)));
        for number in 0..100 {
            let mut record = steady(0.0, 40.0, 10.0, 2);
            let due_us = number * 1_000_000 / rate;
            record.due = Nanos(due_us * 1_000);
            record.send_start = sent(number, due_us).map(|us| Nanos(us * 1_000));
            arrivals.add(&record);
        }
        arrivals.findings().into_iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn a_client_is_not_behind_for_requests_that_nobody_took_or_one_that_was_late() {
        assert_eq!(sent(10, |number, due| (number % 20 != 3).then_some(due)), [""; 0]);
        assert_eq!(sent(1_000, |number, due| Some(due + 3_000 * (number / 99))), [""; 0]);
        assert_eq!(sent(1_000, |number, due| Some(due + 30_000 * (number / 99))), [""; 0]);
        assert_eq!(sent(1_000, |_, due| Some(due * 3 / 2)), ["sent_below_the_rate"]);
    }

    #[test]
    fn loads_without_a_rate_of_their_own_are_not_judged() {
        let mut rate = ArrivalRate::of(&PassPlan::Saturated { requests: 2 });
        rate.add(&steady(0.0, 40.0, 10.0, 2));
        rate.add(&steady(500.0, 40.0, 10.0, 2));
        assert!(rate.findings().is_empty());
    }
}
