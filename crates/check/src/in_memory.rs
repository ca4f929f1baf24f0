//! A run against the reference server over a network in memory, in virtual time. It executes nearly the same
//! instructions each time, so that `bench/instructions.py` can count them.

use std::time::Duration;

use inferometer_net::http::Server;
use inferometer_run::{
    Events, Finished, PlanError, RunError, RunRequest, carry_out_in_memory, resolve,
};
use serde_json::Value;

use crate::truth::{Pace, TruthServer};

const PACE: Pace = Pace { first: Duration::from_millis(100), gap: Duration::from_millis(20) };

/// Carries out the plan with these keys.
///
/// # Errors
/// If the keys are no plan, or the run fails.
pub fn in_memory(plan: Value) -> Result<Finished, RunError> {
    let spec = serde_json::from_value(plan).map_err(PlanError::new)?;
    let (plan, context) = resolve(&spec, &|_| None)?;
    let events = Events::none();
    let request = RunRequest { plan: &plan, context: &context, events: &events };
    carry_out_in_memory(request, 1, "reference", Server::new(TruthServer::new(PACE)))
}
