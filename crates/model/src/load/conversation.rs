//! Plans of conversations: the number of turns, the think time before each turn, and the lengths of the
//! turns. The same options and the same seed always give the same plans. This module makes no text:
//! other modules make the prompts, and the server makes the answers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{load::distribution::Distribution, stats::seed::rng};

/// The options that determine the conversations of a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversationPlan {
    /// The number of conversations of a pass.
    pub conversations: u32,
    /// The think time, in seconds, from the end of an answer to the next turn.
    pub think_time_s: Distribution,
    /// The source of the turns.
    pub turns: TurnsFrom,
}

/// The source of the turns of conversations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "from")]
pub enum TurnsFrom {
    /// Prompts of seeded random words.
    Random {
        /// The number of turns of a conversation.
        turns: Distribution,
        /// Input tokens of the first turn.
        first_input: Distribution,
        /// Input tokens that each later turn adds to the conversation.
        input: Distribution,
        /// Output tokens of each answer.
        output: Distribution,
    },
    /// The human turns of the conversations in a ShareGPT file.
    Sharegpt {
        /// The path of the JSON file, or the name of a fetched data set.
        dataset: String,
        /// The maximum number of turns of a conversation; `None`: all turns in the file.
        turns: Option<Distribution>,
        /// Output tokens of each answer; `None`: the number of tokens of the answer in the file.
        output: Option<Distribution>,
    },
}

/// The plan of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnPlan {
    /// The think time from the end of the previous answer, at most one day; zero for the first turn.
    pub think: Duration,
    /// Input tokens that the turn adds to the conversation; `None` if the data set determines them.
    pub input: Option<u32>,
    /// Output tokens of the answer; `None` if the data set determines them.
    pub output: Option<u32>,
}

impl ConversationPlan {
    /// Returns the turns of the conversation with this number. `available` is the number of its turns in
    /// the data set, which is the maximum; `None` without a data set.
    pub fn turns_of(&self, seed: u64, number: u32, available: Option<u32>) -> Vec<TurnPlan> {
        let number = number.to_string();
        let stream = |purpose: &str| rng(seed, &["conversation", purpose, &number]);
        let (mut think, mut input, mut output) =
            (stream("think"), stream("input"), stream("output"));
        let most = available.unwrap_or(u32::MAX);
        let turns = match &self.turns {
            TurnsFrom::Random { turns, .. } | TurnsFrom::Sharegpt { turns: Some(turns), .. } => {
                turns.whole(&mut stream("turns"), 1).min(most)
            }
            TurnsFrom::Sharegpt { turns: None, .. } => most,
        };
        let turn = |turn: u32| {
            let pause = self.think_time_s.draw(&mut think);
            let (of_input, of_output) = match &self.turns {
                TurnsFrom::Random { first_input, output, .. } if turn == 0 => {
                    (Some(first_input), Some(output))
                }
                TurnsFrom::Random { input, output, .. } => (Some(input), Some(output)),
                TurnsFrom::Sharegpt { output, .. } => (None, output.as_ref()),
            };
            TurnPlan {
                think: if turn == 0 { Duration::ZERO } else { whole_ns(pause) },
                input: of_input.map(|length| length.whole(&mut input, 1)),
                output: of_output.map(|length| length.whole(&mut output, 1)),
            }
        };
        (0..turns).map(turn).collect()
    }
}

/// Converts seconds to a duration in whole nanoseconds, at most one day.
fn whole_ns(seconds: f64) -> Duration {
    Duration::from_nanos((seconds.min(86_400.0) * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::distribution::Distribution::{Exponential, Geometric, Uniform};

    fn plan() -> ConversationPlan {
        ConversationPlan {
            conversations: 1,
            think_time_s: Exponential { mean: 2.0 },
            turns: TurnsFrom::Random {
                turns: Geometric { mean: 4.0 },
                first_input: Distribution::constant(100.0),
                input: Uniform { least: 10.0, most: 30.0 },
                output: Distribution::constant(50.0),
            },
        }
    }

    #[test]
    fn turns_think_times_and_lengths_have_the_requested_means() {
        let talks: Vec<_> = (0..20_000).map(|number| plan().turns_of(1, number, None)).collect();
        let turns = talks.iter().map(Vec::len).sum::<usize>() as f64;
        assert!((turns / 2e4 - 4.0).abs() < 0.1, "{turns}");
        let later: Vec<_> = talks.iter().flat_map(|talk| &talk[1..]).collect();
        let mean = |of: fn(&TurnPlan) -> f64| {
            later.iter().map(|turn| of(turn)).sum::<f64>() / later.len() as f64
        };
        assert!((mean(|turn| turn.think.as_secs_f64()) - 2.0).abs() < 0.05);
        assert!((mean(|turn| f64::from(turn.input.unwrap())) - 20.0).abs() < 0.1);
        let first = TurnPlan { think: Duration::ZERO, input: Some(100), output: Some(50) };
        assert!(talks.iter().all(|talk| talk[0] == first));
    }

    #[test]
    fn a_conversation_depends_only_on_seed_and_number_and_a_turn_limit_only_truncates_it() {
        assert_eq!(plan().turns_of(1, 7, None), plan().turns_of(1, 7, None));
        assert_ne!(plan().turns_of(1, 7, None), plan().turns_of(2, 7, None));
        let long = (0..).find(|&number| plan().turns_of(1, number, None).len() > 3).unwrap();
        let cut = plan().turns_of(1, long, Some(2));
        assert_eq!(cut, plan().turns_of(1, long, None)[..2]);
    }
}
