//! The list of all load models. A new one needs its file, a variant of [`PassPlan`], and a line here.

use std::fmt;

use crate::kind::PassKind;
use crate::model::{LoadModel, LoadPlan};
use crate::pass::PassPlan;
use crate::{at_once, closed, conversations, open, replay};

/// The description of the load model of a pass.
fn plan(pass: &PassPlan) -> Box<dyn LoadPlan + '_> {
    match *pass {
        PassPlan::OneByOne { bound } => Box::new(closed::OneByOnePlan { bound }),
        PassPlan::Saturated { requests } => Box::new(at_once::AtOncePlan { requests }),
        PassPlan::Closed { ref concurrency, bound } => {
            Box::new(closed::ClosedPlan { concurrency, bound })
        }
        PassPlan::Open { ref rate, arrivals, bound, scaled, .. } => {
            Box::new(open::OpenPlan { rate, arrivals, bound, scaled })
        }
        PassPlan::Replay { ref recording, speed, bound, .. } => {
            Box::new(replay::ReplayPlan { recording, speed, bound })
        }
        PassPlan::Conversations { ref script, ref begin, of } => {
            Box::new(conversations::ConversationsPlan { script, begin, of })
        }
    }
}

/// Creates the load model of a pass. Its random choices depend only on the seed.
pub fn load_model(pass: &PassPlan, seed: u64) -> Box<dyn LoadModel> {
    pass.load().start(seed)
}

impl PassPlan {
    /// The description of its load model.
    pub fn load(&self) -> Box<dyn LoadPlan + '_> {
        plan(self)
    }

    /// The kind of the pass, as results name it.
    pub fn kind(&self) -> PassKind {
        self.load().kind()
    }

    /// The number of requests, if it is known before the pass.
    pub fn requests(&self) -> Option<u32> {
        self.load().requests()
    }
}

impl fmt::Display for PassPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::{Bound, OverLimit};
    use crate::recording::Recording;
    use crate::script::{CountOf, Script};

    #[test]
    fn the_place_of_a_recording_tells_no_prompts_apart() {
        let replay = |file: &str| PassPlan::Replay {
            recording: Recording::of_file(file),
            speed: 1.0,
            bound: Bound::none(),
            max_in_flight: None,
            over_limit: OverLimit::Queue,
        };
        let talks = |file: &str| PassPlan::Conversations {
            script: Script::of(2),
            begin: Box::new(replay(file)),
            of: CountOf::Conversations,
        };
        assert_eq!(replay("a/x").prompt_label(), replay("b/y").prompt_label());
        assert_eq!(talks("a/x").prompt_label(), talks("b/y").prompt_label());
        let others = [talks("a/x"), replay("a/x"), PassPlan::closed(2, Bound::requests(3))];
        let labels = others.map(|pass| pass.prompt_label());
        assert!(labels[0] != labels[1] && labels[1] != labels[2]);
        assert_eq!(labels[2], "closed loop, 2 in flight");
    }
}
