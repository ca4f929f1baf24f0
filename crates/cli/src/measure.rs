//! Measures a plan.

use inferometer_plan::Plan;
use inferometer_run::{Context, Events, Finished, RunError, RunRequest, Servers, carry_out};

/// Measures a plan: starts or identifies its server, runs its passes, stores every record, and writes the report. A
/// server that the plan starts is stopped before this function returns.
///
/// # Errors
/// If the run cannot be carried out. Everything recorded until then is stored.
pub fn run(plan: &Plan, context: &Context, events: &Events) -> Result<Finished, RunError> {
    carry_out(RunRequest { plan, context, events }, &mut Servers::default())
}
