//! What the passes of a run looked like, for its report; what cannot be read is told.

use std::path::Path;

use inferometer_plan::Plan;
use inferometer_report::trace::Traces;
use inferometer_web::traces;
pub use inferometer_web::traces::Tracer;

use crate::exit::{Failure, tell};

/// The traces of a run whose log is at `path`; of a log that was cut off, those up to there.
///
/// # Errors
/// When it cannot be read.
pub fn of_log(path: &Path, plan: &Plan) -> Result<Traces, Failure> {
    traces::of_log(path, plan).map_err(Failure::not_carried_out)
}

/// The same at the end of a run, whose log may be what could not be written: its figures are kept,
/// and what is missing is told.
pub fn of_log_as_far_as_it_goes(path: &Path, plan: &Plan) -> Traces {
    traces::of_log(path, plan).unwrap_or_else(|error| {
        tell(&format!("warning: the charts of single requests are left out: {error}"));
        Traces::default()
    })
}
