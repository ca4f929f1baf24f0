//! The header of a run: the data that is stored before the run begins, and never changes afterwards.

use inferometer_model::{Environment, Target};
use inferometer_net::{Nanos, wall_clock_ns};
use inferometer_plan::Plan;
use inferometer_store::RunHeader;

/// The origin of a run's instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeOrigin {
    /// The instants are those of a monotonic clock, which now shows this value.
    Clock(Nanos),
    /// The instants begin at 0 and belong to no clock, as in a prediction.
    Zero,
}

/// The header of a run that begins now.
pub fn of_run(
    plan: &Plan,
    target: Target,
    environment: Environment,
    origin: TimeOrigin,
) -> RunHeader {
    let wall_ns = wall_clock_ns();
    let started_unix_ns = i64::try_from(wall_ns).unwrap_or(i64::MAX);
    let (origin_unix_ns, predicted) = match origin {
        TimeOrigin::Clock(now) => {
            (started_unix_ns - i64::try_from(now.0).unwrap_or(i64::MAX), false)
        }
        TimeOrigin::Zero => (started_unix_ns, true),
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

/// The suffix of a run's name. It is computed from the microsecond and the process id, so two runs of the same second
/// rarely have the same suffix.
pub fn suffix(wall_ns: u64) -> u16 {
    (wall_ns / 1_000) as u16 ^ (std::process::id() as u16).rotate_left(7)
}
