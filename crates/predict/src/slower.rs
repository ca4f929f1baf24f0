//! Simulates a pass again on an engine that is slower or faster. If the load is close to the capacity of the engine,
//! a small error of the predicted speed changes waiting times and throughput by large factors. So the ranges of these
//! figures come from simulations with several speeds.

use inferometer_engine::fit::runs::{RunFigures, simulate_slower};
use inferometer_engine::{EngineConfig, EngineRequest, ranges::MOST_SIMULATED_AGAIN};
use inferometer_model::load::{Recording, ReplayPlan};
use inferometer_model::{Bound, Nanos, PassPlan};

/// The maximum total number of block hashes of the requests that are simulated again. This maximum limits the memory
/// that they need.
const MOST_HASHES: usize = 4 << 20;

/// The first requests of a pass. They are stored only if the pass can be simulated again: the profile has `[steps]`,
/// and the arrivals do not depend on the engine.
pub(crate) struct FirstRequests {
    requests: Vec<EngineRequest>,
    hashes: usize,
    is_full: bool,
}

impl FirstRequests {
    /// An empty list for the requests of a pass on an engine.
    pub fn of(config: &EngineConfig, pass: &PassPlan) -> Self {
        let has_ranges = config.profile.steps.is_some();
        let is_open = matches!(pass, PassPlan::Open(_) | PassPlan::Replay(_));
        Self { requests: Vec::new(), hashes: 0, is_full: !(has_ranges && is_open) }
    }

    /// Adds the next request, unless `MOST_SIMULATED_AGAIN` or `MOST_HASHES` would be exceeded.
    pub fn add(&mut self, request: &EngineRequest) {
        self.hashes += request.block_hashes.len();
        self.is_full |= self.requests.len() == MOST_SIMULATED_AGAIN || self.hashes > MOST_HASHES;
        if !self.is_full {
            self.requests.push(request.clone());
        }
    }
}

/// A simulated pass that can be simulated again.
pub(crate) struct Repeatable {
    config: EngineConfig,
    pass: PassPlan,
    requests: Vec<EngineRequest>,
}

impl Repeatable {
    /// Creates a pass from its first requests and the due times of all its requests. The pass is simulated again
    /// without noise. Returns `None` if no requests were stored.
    pub fn new(
        config: &EngineConfig,
        pass: &PassPlan,
        first: FirstRequests,
        dues: impl Iterator<Item = Nanos>,
    ) -> Option<Self> {
        let mut requests = first.requests;
        let dues: Vec<Nanos> = dues.take(requests.len()).collect();
        let start = dues.first()?.0;
        requests.truncate(dues.len());
        let mut recording = Recording::of_file("the pass");
        recording.write(dues.iter().map(|due| Nanos(due.0.saturating_sub(start))));
        let (max_in_flight, over_limit) = pass.limit();
        let bound = Bound::requests(u32::try_from(requests.len()).ok().filter(|count| *count > 0)?);
        let pass = PassPlan::Replay(ReplayPlan {
            recording,
            speed: 1.0,
            bound,
            max_in_flight,
            over_limit,
        });
        Some(Self { config: EngineConfig { noise: None, ..config.clone() }, pass, requests })
    }

    /// Returns the figures of the pass on an engine that needs `factor` times as long for everything; `None` if the
    /// pass cannot be simulated.
    pub fn slower(&self, factor: f64) -> Option<RunFigures> {
        // The argument, the block size of the engine, is not needed: the block hashes of the requests were already
        // computed for this block size.
        let requests = |_| self.requests.iter().cloned();
        simulate_slower(&self.config, &self.pass, factor, requests).ok()?
    }
}
