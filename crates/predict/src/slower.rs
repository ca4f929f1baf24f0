//! Simulates a pass again on an engine that is slower or faster. Near the capacity, a small error of the engine's speed
//! changes waiting times and throughput by large factors, so their ranges are computed in this way.

use inferometer_engine::fit::runs::{RunFigures, play_slower};
use inferometer_engine::{EngineConfig, EngineRequest};
use inferometer_load::PassPlan;

/// The maximum number of requests, and of hashes of their blocks, that are kept for another simulation.
const MOST_REQUESTS: usize = 20_000;
const MOST_HASHES: usize = 4 << 20;

/// The first requests of a pass.
#[derive(Default)]
pub(crate) struct FirstRequests {
    requests: Vec<EngineRequest>,
    hashes: usize,
    is_full: bool,
}

impl FirstRequests {
    /// Adds the next request, unless there are enough.
    pub fn add(&mut self, request: &EngineRequest) {
        self.hashes += request.block_hashes.len();
        self.is_full |= self.requests.len() == MOST_REQUESTS || self.hashes > MOST_HASHES;
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
    /// A pass with its first requests. It is simulated again without noise.
    pub fn new(config: &EngineConfig, pass: &PassPlan, first: FirstRequests) -> Self {
        let config = EngineConfig { noise: None, ..config.clone() };
        Self { config, pass: pass.clone(), requests: first.requests }
    }

    /// Its figures on an engine on which everything takes `factor` times as long; `None` if arrivals depend on the
    /// engine.
    pub fn slower(&self, factor: f64) -> Option<RunFigures> {
        let requests = |_| self.requests.iter().cloned();
        play_slower(&self.config, &self.pass, factor, requests).ok()?
    }
}
