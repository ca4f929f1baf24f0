//! Checks regularly whether a pass must end early: because the result of a trial is certain, or because of
//! the plan's stop rules. The decisions are made by [`inferometer_analysis::search::Watcher`] and
//! [`inferometer_analysis::stop::StopWatch`].

use std::{collections::BTreeMap, time::Duration};

use inferometer_analysis::search::Watcher as TrialWatcher;
use inferometer_analysis::stop::{Open, StopWatch};
use inferometer_model::{Detail, Nanos, RequestFigures};

/// Time between two checks.
pub(crate) const CHECK_PERIOD: Duration = Duration::from_millis(50);
/// In a trial, a request in flight counts as late only if it exceeds a limit by this time: its response may have
/// arrived in time without being read yet.
const READ_MARGIN: Duration = Duration::from_millis(100);

/// Decides when a pass ends early.
#[derive(Clone, Debug)]
pub enum Watcher {
    /// Ends the trial of a search when its claim is certain.
    Trial(TrialWatcher),
    /// Ends the pass by the stop rules of the plan.
    Stop(StopWatch),
}

/// A watcher, and the requests in flight that event loops have reported.
pub(crate) struct Watch {
    watcher: Watcher,
    /// For each event loop: the requests in flight at its last check, by their indices. Requests that have
    /// ended since are removed.
    in_flight: Vec<BTreeMap<u32, InFlight>>,
    /// For each event loop: the time of its last check; [`Nanos::MAX`] after the loop has ended.
    looked: Vec<Nanos>,
}

/// The state of a request in flight, as its event loop reported it.
#[derive(Clone, Copy)]
pub(crate) struct InFlight {
    pub index: u32,
    pub due: Nanos,
    pub send_start: Option<Nanos>,
    /// The arrival of its first token, if it has arrived.
    pub first: Option<Nanos>,
    /// The time of this state.
    pub seen: Nanos,
}

impl Watch {
    /// A watch without requests.
    pub fn new(watcher: Watcher) -> Self {
        Self { watcher, in_flight: vec![BTreeMap::new()], looked: vec![Nanos::ZERO] }
    }

    /// Sets the number of event loops.
    pub fn of_loops(&mut self, loops: usize) {
        self.in_flight.resize_with(loops, BTreeMap::new);
        self.looked.resize(loops, Nanos::ZERO);
    }

    /// Records that an event loop has ended.
    pub fn loop_ends(&mut self, which: usize) {
        self.looked[which] = Nanos::MAX;
    }

    /// Adds a request that ended or was never begun.
    pub fn ended(&mut self, figures: &RequestFigures) {
        for in_flight in &mut self.in_flight {
            in_flight.remove(&figures.index);
        }
        match &mut self.watcher {
            Watcher::Trial(watcher) => watcher.ended(figures),
            Watcher::Stop(watch) => watch.ended(figures),
        }
    }

    /// The reason to end the pass now, or `None`. `in_flight` has the present requests in flight of the event
    /// loop `which`.
    pub fn why_to_end(
        &mut self,
        now: Nanos,
        which: usize,
        in_flight: impl Iterator<Item = InFlight>,
    ) -> Option<Detail> {
        self.in_flight[which] = in_flight.map(|one| (one.index, one)).collect();
        self.looked[which] = now;
        if self.looked.iter().any(|looked| *looked + READ_MARGIN < now) {
            // Requests that another loop has begun since its last check are not known here.
            return None;
        }
        let in_flight = self.in_flight.iter().flat_map(BTreeMap::values);
        match &mut self.watcher {
            Watcher::Trial(watcher) => watcher
                .is_certain(in_flight.map(|one| {
                    // Data that has arrived since another loop's last check is not known here.
                    let read = one.seen - READ_MARGIN;
                    RequestFigures::in_flight(one.index, one.due, one.send_start, one.first, read)
                }))
                .then_some(Detail::ResultCertain),
            Watcher::Stop(watch) => {
                let begun = |one: &InFlight| {
                    let InFlight { index, due, first, .. } = *one;
                    Some(Open { index, due, sent: one.send_start?, first })
                };
                watch.stops(now, in_flight.filter_map(begun)).map(Detail::Stopped)
            }
        }
    }
}
