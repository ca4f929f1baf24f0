//! Ends a pass early if requests arrive faster than they end, or if too many fail. Trials of searches and sweeps have
//! other rules. Requests may be added in any order. The instants of the decisions depend only on the requests, so a
//! simulated pass ends at the same point as a pass on a server.

use std::time::Duration;

use inferometer_model::metrics::Fate;
use inferometer_model::stats::VALUES_KEPT;
use inferometer_model::{Nanos, PassPlan, RequestFigures, StopReason};
use inferometer_plan::stop::StopPlan;

use crate::growth::{Growth, growth};
use crate::stay::Stay;

/// Growth is first checked when this many requests have been sent, and again each time their number has grown by half.
const FIRST_LOOK: usize = 128;

fn next_look(look: usize) -> usize {
    look + look / 2
}

/// The confidence of each check. It is higher than [`CONFIDENCE`], because a pass has several checks.
const LOOK_CONFIDENCE: f64 = 0.99;
/// The confidence of the finding on a whole pass, which is computed once.
const CONFIDENCE: f64 = 0.95;
/// The longest time that this program may need to read the end of a request.
const READ_MARGIN: Duration = Duration::from_millis(100);
/// If the planned number of requests is unknown, the share of failures is computed over at least this many requests.
const FEWEST_JUDGED: u64 = 100;

/// Whether the requests of a pass arrive at a constant rate.
fn is_at_a_rate(pass: &PassPlan) -> bool {
    matches!(pass, PassPlan::Open(_)) && pass.constant_load().is_some_and(f64::is_finite)
}

/// The times of a request from which growth is computed.
#[derive(Clone, Copy, Debug)]
struct Begun {
    index: u32,
    due: Nanos,
    sent: Nanos,
    first: Option<Nanos>,
    ended: Nanos,
    complete: bool,
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// The index of the request in its pass.
    pub index: u32,
    /// When the request was due.
    pub due: Nanos,
    /// When the request was sent.
    pub sent: Nanos,
    /// When the first token arrived; `None` if none has arrived.
    pub first: Option<Nanos>,
}

/// Computes the growth of the number in flight over a whole pass at a constant rate. A pass with too many requests to
/// store has no result.
#[derive(Clone, Debug)]
pub struct GrowthFold {
    begun: Vec<Stay>,
    is_full: bool,
}

impl GrowthFold {
    /// Starts without requests; `None` for a pass without a constant rate.
    pub fn of(pass: &PassPlan) -> Option<Self> {
        is_at_a_rate(pass).then(|| Self { begun: Vec::new(), is_full: false })
    }

    /// Adds a request that was sent. `first` is the arrival of its first token, `ended` its end; `None` if unknown.
    pub fn add(&mut self, due: Nanos, first: Option<Nanos>, ended: Option<Nanos>, complete: bool) {
        self.is_full |= self.begun.len() >= VALUES_KEPT;
        if !self.is_full {
            self.begun.push(Stay::new(due, first, ended.unwrap_or(Nanos::MAX), complete));
        }
    }

    /// The growth of the number in flight until the last request was due; `None` if it cannot be estimated.
    pub fn finish(mut self) -> Option<Growth> {
        self.begun.sort_by_key(|stay| stay.due);
        let last = self.begun.last().filter(|_| !self.is_full)?.due;
        growth(&self.begun, last, CONFIDENCE)
    }
}

/// Watches a pass in progress, and decides whether it ends early.
#[derive(Clone, Debug)]
pub struct StopWatch {
    rule: StopPlan,
    planned: Option<u64>,
    begun: Vec<Begun>,
    ended: u64,
    failed: u64,
    /// Requests whose clients left: it is unknown whether they would have failed.
    left: u64,
    next_look: usize,
}

impl StopWatch {
    /// Starts to watch a pass; `None` if no rule can end it early.
    pub fn of(rule: StopPlan, pass: &PassPlan) -> Option<Self> {
        let rule = StopPlan { when_saturated: rule.when_saturated && is_at_a_rate(pass), ..rule };
        (!rule.is_never()).then(|| Self {
            rule,
            planned: pass.requests().map(u64::from),
            begun: Vec::new(),
            ended: 0,
            failed: 0,
            left: 0,
            next_look: FIRST_LOOK,
        })
    }

    /// Adds a request that ended. A request that was never sent is ignored.
    pub fn ended(&mut self, figures: &RequestFigures) {
        if figures.fate == Fate::NeverSent {
            return;
        }
        self.ended += 1;
        self.failed += u64::from(!figures.complete);
        self.left += u64::from(figures.is_left);
        // Saturation would have been detected within so many requests, so further requests are not stored.
        if self.rule.when_saturated && self.begun.len() < VALUES_KEPT {
            self.begun.extend(figures.sent.map(|sent| Begun {
                index: figures.index,
                due: figures.due,
                sent,
                first: figures.first,
                ended: figures.ended.unwrap_or(figures.due),
                complete: figures.complete,
            }));
        }
    }

    /// Why the pass should end now; `None` if the pass should continue. `in_flight` has each request that has begun but
    /// not ended.
    pub fn stops(
        &mut self,
        now: Nanos,
        in_flight: impl Iterator<Item = Open>,
    ) -> Option<StopReason> {
        if self.has_failed() {
            return Some(StopReason::ErrorRate);
        }
        if !self.rule.when_saturated || self.next_look > VALUES_KEPT {
            return None;
        }
        let open = in_flight.map(|Open { index, due, sent, first }| Begun {
            index,
            due,
            sent,
            first,
            ended: Nanos::MAX,
            complete: false,
        });
        let open: Vec<Begun> = open.collect();
        while self.begun.len() + open.len() >= self.next_look {
            let mut all = [self.begun.as_slice(), open.as_slice()].concat();
            let first = first_due(&mut all, self.next_look);
            if now < known_at(first) {
                return None;
            }
            if shows_saturation(first) {
                return Some(StopReason::Saturated);
            }
            self.next_look = next_look(self.next_look);
        }
        None
    }

    fn has_failed(&self) -> bool {
        let of = self.planned.map(|planned| planned.saturating_sub(self.left));
        let of = of.unwrap_or((self.ended - self.left).max(FEWEST_JUDGED));
        self.rule.at_error_rate.is_some_and(|most| self.failed as f64 > most * of as f64)
    }

    /// When and why the pass ends early, if the ends of all requests are known, as in virtual time. `None` if the pass
    /// does not end early.
    pub fn stops_at(&self, requests: &[RequestFigures]) -> Option<(Nanos, StopReason)> {
        let mut watch = self.clone();
        let mut by_end: Vec<&RequestFigures> =
            requests.iter().filter(|one| one.ended.is_some()).collect();
        by_end.sort_by_key(|one| one.ended);
        let mut failed_at = None;
        for figures in by_end {
            watch.ended(figures);
            failed_at = failed_at.or(figures.ended.filter(|_| watch.has_failed()));
        }
        let failed = failed_at.map(|at| (at, StopReason::ErrorRate));
        let mut saturated = None;
        while self.rule.when_saturated && watch.begun.len() >= watch.next_look {
            let first = first_due(&mut watch.begun, watch.next_look);
            if shows_saturation(first) {
                saturated = Some((known_at(first), StopReason::Saturated));
                break;
            }
            watch.next_look = next_look(watch.next_look);
        }
        failed.into_iter().chain(saturated).min_by_key(|(at, _)| *at)
    }
}

/// The `count` requests with the earliest due times, in arbitrary order.
fn first_due(begun: &mut [Begun], count: usize) -> &mut [Begun] {
    if count < begun.len() {
        begun.select_nth_unstable_by_key(count, |one| (one.due, one.index));
    }
    &mut begun[..count]
}

/// The earliest instant at which these requests can be checked. All of them have been sent by then, and this program
/// has read all ends that came before the last of them was sent.
fn known_at(first: &[Begun]) -> Nanos {
    first.iter().map(|one| one.sent).max().unwrap_or(Nanos::ZERO) + READ_MARGIN
}

/// Whether these requests arrived faster than they ended, until the last of them was due.
fn shows_saturation(first: &mut [Begun]) -> bool {
    first.sort_unstable_by_key(|one| (one.due, one.index));
    let until = first.last().map_or(Nanos::ZERO, |one| one.due);
    let stay = |one: &Begun| Stay::new(one.due, one.first, one.ended, one.complete);
    let stays: Vec<Stay> = first.iter().map(stay).collect();
    growth(&stays, until, LOOK_CONFIDENCE).is_some_and(|growth| growth.is_shown())
}

#[cfg(test)]
mod tests {
    use inferometer_model::load::Bound;

    use super::*;

    /// 50 requests per second. Three of five are refused within a millisecond; the others take `seconds`.
    fn refusing(seconds: f64) -> Vec<RequestFigures> {
        let one = |index: u32| {
            let due = Nanos::ZERO + Duration::from_secs_f64(f64::from(index) / 50.0);
            let complete = index % 5 >= 3;
            let takes_s = if complete { seconds } else { 0.001 };
            let ended = Some(due + Duration::from_secs_f64(takes_s));
            RequestFigures { index, due, sent: Some(due), ended, complete, ..Default::default() }
        };
        (0..2_000).map(one).collect()
    }

    #[test]
    fn immediately_refused_requests_do_not_make_start_up_look_like_saturation() {
        let pass = PassPlan::open(50.0, Bound::requests(2_000));
        let rule = StopPlan { when_saturated: true, at_error_rate: None };
        let stops_at = |requests: &[RequestFigures]| {
            StopWatch::of(rule, &pass).and_then(|watch| watch.stops_at(requests))
        };
        let growth_of = |requests: &[RequestFigures]| {
            let mut fold = GrowthFold::of(&pass)?;
            requests.iter().for_each(|one| fold.add(one.due, one.first, one.ended, one.complete));
            fold.finish()
        };
        // Clients that leave are no failures, and no part of the requests that may fail.
        let rule_of_errors = StopPlan { when_saturated: false, at_error_rate: Some(0.5) };
        let ends = |share_left: u32| {
            let left = |one: &RequestFigures| {
                let is_left = one.complete && one.index % 4 < share_left;
                RequestFigures { is_left, complete: one.index % 5 >= 2, ..*one }
            };
            let requests: Vec<RequestFigures> = refusing(1.0).iter().map(left).collect();
            StopWatch::of(rule_of_errors, &pass).and_then(|watch| watch.stops_at(&requests))
        };
        assert!(ends(0).is_none() && ends(4).is_some(), "{:?} {:?}", ends(0), ends(4));
        let requests = refusing(20.0);
        assert_eq!((stops_at(&requests), growth_of(&requests)), (None, None));
        // If answers take one second, the start-up is long over, and the server keeps up.
        let growth = growth_of(&refusing(1.0)).expect("a growth");
        assert!(!growth.is_shown(), "{growth:?}");
        assert!((growth.failed_per_s - 30.0).abs() < 0.5, "{growth:?}");
        // If no request completes, it is unknown how long an answer takes.
        let none: Vec<RequestFigures> =
            requests.iter().map(|one| RequestFigures { complete: false, ..*one }).collect();
        assert_eq!((stops_at(&none), growth_of(&none)), (None, None));
    }
}
