//! Rank 0's view of the other ranks. The main thread and one thread for each connection share it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inferometer_model::Nanos;

use super::{RankLost, RankReport};
use crate::{JoinError, Order, PassReport, SentRecord, message::Progress, pace};

/// Receives the records of a rank. It is dropped after the last record, or if the rank is lost.
pub type Sink = Box<dyn FnMut(Vec<SentRecord>) + Send>;

/// The state of one of the ranks from 1 on.
#[derive(Default)]
pub struct Rank {
    pub host: String,
    pub joined: bool,
    /// Whether the rank works on the current order.
    works: bool,
    /// The hash of the rank's requests, once the rank is prepared for the pass of the current order.
    prepared: Option<String>,
    /// The longest round trip that the rank reported when it was last prepared, in nanoseconds.
    round_trip_ns: u64,
    /// Set when the rank has completed the current order. Contains the report if the order was a pass.
    done: Option<Option<Box<PassReport>>>,
    lost: Option<RankLost>,
    sink: Option<Sink>,
}

/// The state of all ranks from 1 on, and the orders.
pub struct RankStates {
    /// The state of each rank, from rank 1 on.
    pub ranks: Vec<Rank>,
    /// All orders so far, numbered from 1. The last one is the current order.
    orders: Vec<Order>,
    /// The instant at which the pass of the current order starts; None if it is not known yet.
    pub start: Option<Nanos>,
    /// Whether any rank is lost. This flag is stored because each reply needs it, and there may be thousands of
    /// ranks.
    is_any_lost: bool,
    /// Why the run cannot begin; None if nothing prevents it.
    pub refusal: Option<JoinError>,
    pub alarm: Option<Box<dyn FnOnce() + Send>>,
}

impl RankStates {
    pub fn of(ranks: u32) -> Self {
        let ranks = (1..ranks).map(|_| Rank::default()).collect();
        let (orders, start, is_any_lost) = (Vec::new(), None, false);
        Self { ranks, orders, start, is_any_lost, refusal: None, alarm: None }
    }

    /// The ranks that have not joined.
    pub fn missing(&self) -> Vec<u32> {
        (1..).zip(&self.ranks).filter(|(_, rank)| !rank.joined).map(|(number, _)| number).collect()
    }

    pub fn give(&mut self, order: Order, sinks: Vec<Sink>) {
        self.orders.push(order);
        self.start = None;
        let mut sinks = sinks.into_iter();
        for rank in &mut self.ranks {
            (rank.works, rank.prepared, rank.done) = (false, None, None);
            rank.sink = sinks.next().filter(|_| rank.lost.is_none());
        }
    }

    /// Whether all ranks are prepared. None if a rank is lost, because the pass would be incomplete; but `Some(false)`
    /// if a rank before the lost one is not prepared yet. A rank that is prepared with different requests counts as
    /// lost from then on.
    pub fn are_prepared(&mut self, workload_hash: &str) -> Option<bool> {
        for number in 1..=self.ranks.len() as u32 {
            let rank = self.rank(number);
            if rank.lost.is_some() {
                return None;
            }
            match &rank.prepared {
                None => return Some(false),
                Some(hash) if hash == workload_hash => {}
                Some(_) => {
                    self.lose(number, RankLost::OtherRequests);
                    return None;
                }
            }
        }
        Some(true)
    }

    /// Sets the start of the pass and returns it. All ranks must be prepared.
    pub fn announce(&mut self, now: Nanos) -> Nanos {
        let longest = self.ranks.iter().map(|rank| rank.round_trip_ns).max().unwrap_or(0);
        let ranks = self.ranks.len() as u32 + 1;
        *self.start.insert(now + pace::announced(ranks, Duration::from_nanos(longest)))
    }

    /// Whether the current pass must end now.
    pub fn stops(&self) -> bool {
        self.is_any_lost || matches!(self.orders.last(), Some(Order::End { failed: Some(_) }))
    }

    /// The number of the current order; 0 before the first order.
    pub fn order(&self) -> u64 {
        self.orders.len() as u64
    }

    /// The order that follows the order with this number; None if there is none yet.
    pub fn after(&self, order: u64) -> Option<&Order> {
        self.orders.get(usize::try_from(order).ok()?)
    }

    /// Whether the current order ends the run.
    pub fn ends(&self) -> bool {
        matches!(self.orders.last(), Some(Order::End { .. }))
    }

    /// Whether each rank that is not lost works on the current order or has completed it.
    pub fn is_at_work(&self) -> bool {
        let works = |rank: &Rank| rank.works || rank.prepared.is_some() || rank.done.is_some();
        self.ranks.iter().all(|rank| works(rank) || rank.lost.is_some())
    }

    pub fn is_done(&self) -> bool {
        self.ranks.iter().all(|rank| rank.done.is_some() || rank.lost.is_some())
    }

    pub fn reports(&self) -> Vec<RankReport> {
        let report = |(number, rank): (u32, &Rank)| {
            let report = match (&rank.lost, &rank.done) {
                (None, Some(done)) => Ok(done.as_deref().cloned().unwrap_or_default()),
                (lost, _) => Err(lost.clone().unwrap_or(RankLost::NotDone)),
            };
            RankReport { rank: number, host: rank.host.clone(), report }
        };
        (1..).zip(&self.ranks).map(report).collect()
    }

    /// Why each rank was lost, from rank 1 on; None for ranks that are not lost.
    pub fn lost(&self) -> Vec<Option<RankLost>> {
        self.ranks.iter().map(|rank| rank.lost.clone()).collect()
    }

    pub fn trouble(&self) -> Option<String> {
        if !self.is_any_lost {
            return None;
        }
        let lost = |(number, rank): (u32, &Rank)| {
            rank.lost.as_ref().map(|why| format!("rank {number} ({}) {why}", rank.host))
        };
        (1..).zip(&self.ranks).find_map(lost)
    }

    /// Updates a rank's progress with the current order; progress with an earlier order is ignored. When the rank is
    /// done, returns its sink, so that the caller can drop it.
    pub fn hear(&mut self, number: u32, order: u64, progress: Progress) -> Option<Sink> {
        if order != self.order() {
            return None;
        }
        let rank = self.rank(number);
        match progress {
            Progress::Waiting => None,
            Progress::Busy => {
                rank.works = true;
                None
            }
            Progress::Prepared { workload_hash, round_trip_ns } => {
                rank.prepared = Some(workload_hash);
                rank.round_trip_ns = round_trip_ns;
                None
            }
            Progress::Done(report) => {
                rank.done = Some(report);
                rank.sink.take()
            }
        }
    }

    /// Removes and returns the sink of a rank, for records of this order. The caller must return the sink with
    /// `bring_back`.
    pub fn take_sink(&mut self, number: u32, order: u64) -> Option<Sink> {
        if order == self.order() { self.rank(number).sink.take() } else { None }
    }

    /// Stores a sink again that was taken for this order. Returns the sink if a new order was given meanwhile, or if
    /// the rank was lost. The caller must drop the returned sink while the state is not locked, because dropping may
    /// wait for other threads.
    #[must_use]
    pub fn bring_back(&mut self, number: u32, order: u64, sink: Sink) -> Option<Sink> {
        let is_current = order == self.order();
        let rank = self.rank(number);
        if is_current && rank.lost.is_none() { rank.sink.replace(sink) } else { Some(sink) }
    }

    /// Marks a rank as lost. The records that this rank has already sent stay in the run.
    pub fn lose(&mut self, number: u32, why: RankLost) {
        self.is_any_lost = true;
        let rank = self.rank(number);
        rank.sink = None;
        rank.lost.get_or_insert(why);
        if let Some(alarm) = self.alarm.take() {
            alarm();
        }
    }

    pub fn rank(&mut self, number: u32) -> &mut Rank {
        &mut self.ranks[number as usize - 1]
    }
}

/// The state of all ranks, which several threads read and write.
pub struct Shared {
    states: Mutex<RankStates>,
    changed: Condvar,
    interrupted: Arc<AtomicBool>,
}

impl Shared {
    pub fn new(states: RankStates, interrupted: Arc<AtomicBool>) -> Self {
        Self { states: Mutex::new(states), changed: Condvar::new(), interrupted }
    }

    pub fn lock(&self) -> MutexGuard<'_, RankStates> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn wait<'a>(
        &self,
        states: MutexGuard<'a, RankStates>,
        most: Duration,
    ) -> MutexGuard<'a, RankStates> {
        self.changed.wait_timeout(states, most).unwrap_or_else(PoisonError::into_inner).0
    }

    pub fn changed(&self) {
        self.changed.notify_all();
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sink() -> Sink {
        Box::new(|_| ())
    }

    /// A run of two ranks. The first order has been given, with a sink for the records of rank 1.
    fn with_first_order() -> RankStates {
        let mut states = RankStates::of(2);
        states.give(Order::End { failed: None }, vec![sink()]);
        states
    }

    #[test]
    fn records_of_an_earlier_order_do_not_take_the_sink_of_the_current_order() {
        let mut states = with_first_order();
        states.give(Order::End { failed: None }, vec![sink()]);
        assert!(states.take_sink(1, 1).is_none());
        assert!(states.take_sink(1, 2).is_some());
    }

    #[test]
    fn a_sink_is_not_stored_again_after_a_new_order_or_for_a_lost_rank() {
        let mut states = with_first_order();
        let taken = states.take_sink(1, 1).expect("the sink of the first order");
        assert!(states.bring_back(1, 1, taken).is_none());
        let taken = states.take_sink(1, 1).expect("the sink was stored again");
        states.give(Order::End { failed: None }, Vec::new());
        assert!(states.bring_back(1, 1, taken).is_some());
        assert!(states.take_sink(1, 2).is_none());
        states.lose(1, RankLost::Closed);
        assert!(states.bring_back(1, 2, sink()).is_some());
        assert!(states.take_sink(1, 2).is_none());
    }
}
