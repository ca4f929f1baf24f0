//! How a pass loads the server, as data: the list of all loads. The file of a load has its description before
//! a pass ([`LoadPlan`]), and the model during a pass ([`LoadModel`]), unless the load uses the model of another
//! file.

use std::ops::Deref;

use derive_more::Display;
use serde::{Deserialize, Serialize};

use crate::load::arrival::Arrivals;
use crate::load::level::Level;
use crate::load::model::{LoadModel, LoadPlan};
use crate::load::recording::Recording;
use crate::stats::seed::{below, rng};
use crate::{Bound, CellPlan, Nanos, OverLimit};

mod at_once;
mod closed;
mod conversations;
mod mixed;
mod open;
mod replay;

pub use at_once::AtOnce;
pub use closed::Closed;
pub use conversations::Conversations;
pub use mixed::{ALONE, ClassArrivals};
pub use open::Open;

/// The [`PassPlan::prompt_label`] of recorded arrivals.
pub const RECORDED: &str = "recorded arrivals";

/// The load in the seed of all passes over classes of traffic.
const CLASSES: &str = "classes";

/// Defines [`PassPlan`] with a variant for each load model, and finds the description of a variant.
macro_rules! load_models {
    ($($(#[$doc:meta])* $name:ident($module:ident::$plan:ident),)*) => {
        $(pub use $module::$plan;)*

        /// How a pass loads the server.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Display)]
        #[display("{}", **self)]
        #[serde(rename_all = "snake_case", tag = "kind")]
        pub enum PassPlan {
            $($(#[$doc])* $name($plan),)*
        }

        impl Deref for PassPlan {
            type Target = dyn LoadPlan;

            /// The description of the load model of this pass.
            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$name(plan) => plan,)*
                }
            }
        }
    };
}

load_models! {
    /// One request at a time.
    OneByOne(closed::OneByOnePlan),
    /// All requests are due at the start of the pass.
    Saturated(at_once::SaturatedPlan),
    /// A given number of requests in flight, which may change over time.
    Closed(closed::ClosedPlan),
    /// Arrivals at a rate.
    Open(open::OpenPlan),
    /// Classes of traffic, each with arrivals at a rate of its own.
    Mixed(mixed::MixedPlan),
    /// Arrivals at recorded times.
    Replay(replay::ReplayPlan),
    /// Conversations: each later turn follows the end of an answer.
    Conversations(conversations::ConversationsPlan),
}

/// Creates the load model of a pass. Its random choices depend only on the seed.
pub fn load_model(pass: &PassPlan, seed: u64) -> Box<dyn LoadModel> {
    pass.start(seed)
}

impl PassPlan {
    /// One request at a time.
    pub const fn one_by_one(bound: Bound) -> Self {
        Self::OneByOne(OneByOnePlan { bound })
    }

    /// This number of requests, all due at the start of the pass.
    pub const fn saturated(requests: u32) -> Self {
        Self::Saturated(SaturatedPlan { requests })
    }

    /// A closed loop with this constant number of requests in flight.
    pub fn closed(concurrency: u32, bound: Bound) -> Self {
        Self::Closed(ClosedPlan { concurrency: concurrency.into(), bound })
    }

    /// An open loop at this constant rate in requests per second: Poisson arrivals that are not scaled,
    /// without a limit of requests in flight.
    pub fn open(rate_per_s: f64, bound: Bound) -> Self {
        Self::Open(OpenPlan {
            rate: rate_per_s.into(),
            arrivals: Arrivals::Poisson,
            scaled: false,
            bound,
            max_in_flight: None,
            over_limit: OverLimit::Queue,
        })
    }

    /// A label that distinguishes the prompts of this pass from those of the other passes of a plan. The
    /// label is the load, as it is shown to users. For recorded arrivals, the label does not contain the name
    /// of the file, because the same content in another file is the same workload. (A plan has recorded
    /// arrivals at most once.)
    pub fn prompt_label(&self) -> String {
        match self {
            PassPlan::Replay(_) => RECORDED.to_owned(),
            PassPlan::Conversations(ConversationsPlan { begin, .. })
                if matches!(**begin, PassPlan::Replay(_)) =>
            {
                format!("conversations, {RECORDED}")
            }
            other => other.to_string(),
        }
    }

    /// The seed of the random choices of this pass. It is computed from the seed of the plan, the cell, the
    /// load and the repeat (from 1). So the same pass makes the same random choices in every run with the same seed.
    /// Two passes of a run make different random choices, unless the arrivals are those of vLLM, or the passes are of the
    /// same classes of traffic: a class arrives at the same times alone and beside others.
    ///
    /// If the arrivals are those of vLLM, the first repeat has the seed of the plan. Then it has the gaps that vLLM
    /// draws with this seed, in each cell and at each rate. Trials of a search or a sweep, and pairs of blocks, are
    /// numbered like repeats.
    pub fn seed(&self, of_plan: u64, cell: CellPlan, repeat: u32) -> u64 {
        let begin = match self {
            PassPlan::Conversations(ConversationsPlan { begin, .. }) => begin,
            own => own,
        };
        let is_vllm =
            matches!(begin, PassPlan::Open(OpenPlan { arrivals: Arrivals::Vllm { .. }, .. }));
        if is_vllm && repeat <= 1 {
            return of_plan;
        }
        let load = match self {
            PassPlan::Mixed(_) => CLASSES.to_owned(),
            other => other.prompt_label(),
        };
        let (cell, repeat) = (cell.to_string(), repeat.to_string());
        below(&mut rng(of_plan, &["pass", &cell, &load, &repeat]), u64::MAX)
    }

    /// Limits the count of recorded arrivals to those that are due before the time bound. Does nothing for
    /// other loads, or without a time bound. The recording must have been read.
    pub fn limit_count_to_duration(&mut self) {
        if let PassPlan::Replay(ReplayPlan { recording, speed, bound, .. }) = self
            && let Some(limit) = bound.duration
        {
            let due = recording.due_before(Nanos::ZERO + limit, *speed);
            bound.requests = Some(bound.requests.map_or(due, |most| most.min(due)));
        }
    }

    /// The recording of the load, if it has one. It must be read before the pass.
    pub fn recording_mut(&mut self) -> Option<&mut Recording> {
        match self {
            PassPlan::Replay(ReplayPlan { recording, .. }) => Some(recording),
            PassPlan::Conversations(ConversationsPlan { begin, .. }) => begin.recording_mut(),
            _ => None,
        }
    }

    /// The conversations or jobs of the load, if it has any. Their calls must be written before the pass.
    pub fn jobs_mut(&mut self) -> Option<&mut ConversationsPlan> {
        match self {
            PassPlan::Conversations(plan) => Some(plan),
            _ => None,
        }
    }

    /// Sets the number of requests, unless only time or a recording limits them.
    fn set_count(&mut self, count: u32) {
        let requests = match self {
            Self::OneByOne(OneByOnePlan { bound })
            | Self::Closed(ClosedPlan { bound, .. })
            | Self::Open(OpenPlan { bound, .. }) => &mut bound.requests,
            Self::Saturated(SaturatedPlan { requests }) => return *requests = count,
            _ => return,
        };
        *requests = requests.map(|_| count);
    }

    /// The same arrivals, `factor` times as fast. The time bound is divided by `factor`. `None` unless the load
    /// is an open loop with a constant rate, or a replay.
    pub fn faster(&self, factor: f64) -> Option<Self> {
        let mut faster = self.clone();
        let bound = match &mut faster {
            PassPlan::Open(OpenPlan { rate: Level::Constant(rate), bound, .. }) => {
                *rate *= factor;
                bound
            }
            PassPlan::Replay(ReplayPlan { speed, bound, .. }) => {
                *speed *= factor;
                bound
            }
            _ => return None,
        };
        bound.duration = bound.duration.map(|duration| duration.div_f64(factor));
        Some(faster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::bound::{Bound, OverLimit};
    use crate::load::recording::Recording;
    use crate::load::script::{CountOf, Script};

    #[test]
    fn the_prompt_label_of_a_replay_does_not_depend_on_the_path_of_the_recording() {
        let replay = |file: &str| {
            PassPlan::Replay(ReplayPlan {
                recording: Recording::of_file(file),
                speed: 1.0,
                bound: Bound::none(),
                max_in_flight: None,
                over_limit: OverLimit::Queue,
            })
        };
        let talks = |file: &str| {
            PassPlan::Conversations(ConversationsPlan {
                script: Script::of(2),
                begin: Box::new(replay(file)),
                of: CountOf::Conversations,
            })
        };
        assert_eq!(replay("a/x").prompt_label(), replay("b/y").prompt_label());
        assert_eq!(talks("a/x").prompt_label(), talks("b/y").prompt_label());
        let others = [talks("a/x"), replay("a/x"), PassPlan::closed(2, Bound::requests(3))];
        let labels = others.map(|pass| pass.prompt_label());
        assert!(labels[0] != labels[1] && labels[1] != labels[2]);
        assert_eq!(labels[2], "closed loop, 2 in flight");
    }
}
