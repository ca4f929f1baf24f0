//! A plan measured.

use inferometer_plan::Plan;
use inferometer_run::{Context, Events, Finished, RunError, RunRequest, Servers, carry_out};

/// Measures a plan: starts or identifies its server, runs its passes, stores every record, and
/// writes the report. A server that the plan starts is ended before this returns.
///
/// # Errors
/// When the run cannot be carried out; whatever was recorded until then is stored.
pub fn run(plan: &Plan, context: &Context, events: &Events) -> Result<Finished, RunError> {
    carry_out(RunRequest { plan, context, events }, &mut Servers::default())
}
