//! Turns what a person asks for into a plan of what is measured.
//!
//! A [`spec::Spec`] is a plan file with its flags; most values may be absent. Resolving it gives a
//! [`Plan`] with no value open, or every mistake at once. Nothing here does I/O.

pub mod ab;
pub mod precision;
pub mod search;
pub mod shell;
pub mod stop;
pub mod sweep;
pub mod template;

mod parts;
pub mod spec;

mod plan;
mod resolve;

pub use parts::{
    Balance, DrawnPlan, Grid, InFlight, LaunchPlan, Lengths, MetricsAt, ObservePlan, PrefixPlan,
    Repeat, RowsFormat, RowsPlan, ServingLimits, SpreadPlan, TargetPlan, Timeouts, TraceFormat,
    TracePlan, TraceWindow, Url, Warmup, WorkloadPlan, percent_decoded,
};
pub use plan::Plan;
