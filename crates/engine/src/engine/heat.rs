//! The heat of the card. A card that computes prompts at full power lowers its clock, so a prompt soon after another one
//! takes longer. This file schedules nothing and reads no clock.

use std::time::Duration;

use inferometer_model::stats::portable::exp;

use crate::cost::{CostModel, StepShape};

/// The time after which a difference of heat has decreased to 1/e. It was measured with single steps of vLLM 0.23 on an
/// H100 SXM: a prompt of 1,000 tokens takes 3.7 ms longer directly after another one, and 0.8 ms longer 60 ms later.
const SETTLING: Duration = Duration::from_millis(40);

/// The state of the card: 0 after a long rest, near 1 if it computes without a break.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heat {
    level: f64,
    /// The time without computing since the level was determined, in nanoseconds.
    rest_ns: u64,
}

impl Heat {
    /// A time in which the card does not compute at full power.
    pub fn rest(&mut self, time: Duration) {
        self.rest_ns = self.rest_ns.saturating_add(time.as_nanos() as u64);
    }

    /// Counts a step that takes `time` on a cold card, and returns how long it takes. Only the heat from before the
    /// step makes it longer, because the speeds of single operations contain the heat of their own time.
    pub fn step(&mut self, cost: &CostModel, shape: StepShape, time: Duration) -> Duration {
        let computing_s = cost.computing_seconds(shape);
        if computing_s == 0.0 {
            self.rest(time);
            return time;
        }
        let settling_s = SETTLING.as_secs_f64();
        let before = self.level * exp(-(self.rest_ns as f64 * 1e-9) / settling_s);
        let kept = exp(-computing_s / settling_s);
        let longer_s = cost.throttle_share() * before * settling_s * (1.0 - kept);
        *self = Self { level: 1.0 - (1.0 - before) * kept, rest_ns: 0 };
        time + Duration::from_nanos((longer_s * 1e9).round() as u64)
    }
}
