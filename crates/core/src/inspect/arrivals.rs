//! The rate at which requests came against the one that was asked for. Never a course of a rate:
//! only a rate that is one number is judged.

use crate::finding::{Finding, Severity};
use crate::plan::PassPlan;
use crate::record::Record;
use crate::time::Nanos;

/// Arrivals that differ by a larger share from the rate asked for are told.
const TOLD: f64 = 0.1;
/// Sending that is slower than the arrivals by a larger share is a warning.
const BEHIND: f64 = 0.02;

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
        self.count += 1;
        self.due.add(record.due);
        if let Some(sent) = record.send_start {
            self.sent_count += 1;
            self.sent.add(sent);
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
            findings.push(
                Finding::new("arrival_rate_differs", Severity::Note, message)
                    .advise("Ask for more requests, or for even arrivals with --burstiness inf."),
            );
        }
        let sent = self.sent.rate(self.sent_count).filter(|_| !self.limited);
        if let Some(sent) = sent.filter(|sent| *sent < due * (1.0 - BEHIND)) {
            let message = format!(
                "Requests were due at {due:.3} per second and sent at {sent:.3}: the client fell \
                 behind its own schedule."
            );
            findings.push(
                Finding::new("sent_below_the_rate", Severity::Warning, message)
                    .advise("Ask for a lower rate, or give the client more processor time."),
            );
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::steady;
    use crate::plan::Bound;

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
    fn loads_without_a_rate_of_their_own_are_not_judged() {
        let mut rate = ArrivalRate::of(&PassPlan::Saturated { requests: 2 });
        rate.add(&steady(0.0, 40.0, 10.0, 2));
        rate.add(&steady(500.0, 40.0, 10.0, 2));
        assert!(rate.findings().is_empty());
    }
}
