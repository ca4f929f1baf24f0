//! The parts of a resolved plan.

mod drawn;
mod launch;
mod observe;
mod rows;
mod spread;
mod target;
mod timing;
mod trace;

pub use drawn::{DrawnPlan, Lengths, PrefixPlan};
pub use launch::LaunchPlan;
pub use observe::{MetricsAt, ObservePlan};
pub use rows::{RowsFormat, RowsPlan};
pub use spread::{Balance, SpreadPlan};
pub use target::TargetPlan;
pub use timing::{Repeat, Warmup};
pub use trace::{TraceFormat, TracePlan, TraceWindow};

/// Whether an option is off. An option that is off is not serialized, so that the plan has the same hash as
/// in versions without this option.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(crate) fn is_false(option: &bool) -> bool {
    !option
}
