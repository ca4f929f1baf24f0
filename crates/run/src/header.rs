//! What is stored of a run before it begins. It never changes afterwards.

use inferometer_model::target::{Environment, Target};
use inferometer_net::{Nanos, wall_clock_ns};
use inferometer_plan::Plan;
use inferometer_store::RunHeader;

/// Where the instants of a run begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// They are those of a monotonic clock, which shows this now.
    Clock(Nanos),
    /// They begin at 0 and are on no clock: those of a prediction.
    Zero,
}

/// The header of a run that begins now.
pub fn of_run(plan: &Plan, target: Target, environment: Environment, origin: Origin) -> RunHeader {
    let wall_ns = wall_clock_ns();
    let started_unix_ns = i64::try_from(wall_ns).unwrap_or(i64::MAX);
    let (origin_unix_ns, predicted) = match origin {
        Origin::Clock(now) => (started_unix_ns - i64::try_from(now.0).unwrap_or(i64::MAX), false),
        Origin::Zero => (started_unix_ns, true),
    };
    RunHeader {
        started_unix_ns,
        suffix: suffix(wall_ns),
        origin_unix_ns,
        plan: plan.clone(),
        target,
        environment,
        predicted,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// The end of a run's name: two runs of one second differ in the nanosecond or in the process.
pub fn suffix(wall_ns: u64) -> u16 {
    (wall_ns / 1_000) as u16 ^ (std::process::id() as u16).rotate_left(7)
}
