//! The options of conversations.

use clap::Args;
use serde::{Deserialize, Serialize};

use super::{Mistakes, values, values::Value};
use inferometer_model::load::CountOf;
use inferometer_model::load::conversation::{ConversationPlan, TurnsFrom};
use inferometer_model::load::distribution::{Distribution, DistributionError};

/// The keys of `--workload conversation`. Lengths, turns and think times are distributions, in the form
/// that [`Distribution::parse`] accepts.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConversationKeys {
    /// Number of conversations in each pass [default: 32] (conversation)
    #[arg(long, value_name = "N", help_heading = "Workload")]
    pub conversations: Option<u32>,
    /// Number of turns of each conversation, or the maximum number if a data set has its own turns:
    /// a number such as 4, uniform:LEAST..MOST such as uniform:2..8, or geometric:MEAN such as
    /// geometric:4 [default: 4, or the turns of the data set] (conversation)
    #[arg(long, value_name = "N|DISTRIBUTION", help_heading = "Workload")]
    pub turns: Option<Value>,
    /// Time from the end of an answer to the next turn: 2s, exponential:2s, uniform:1s..5s,
    /// lognormal:10s,5s [default: 1s] (conversation)
    #[arg(long, value_name = "TIME|DISTRIBUTION", help_heading = "Workload")]
    pub think_time: Option<Value>,
    /// Input tokens of the first turn [default: 512] (conversation)
    #[arg(long, value_name = "N|DISTRIBUTION", help_heading = "Workload")]
    pub first_turn_input: Option<Value>,
    /// Input tokens that each later turn adds [default: 64] (conversation)
    #[arg(long, value_name = "N|DISTRIBUTION", help_heading = "Workload")]
    pub turn_input: Option<Value>,
    /// Output tokens of each answer [default: 128, or the lengths in the data set] (conversation)
    #[arg(long, value_name = "N|DISTRIBUTION", help_heading = "Workload")]
    pub turn_output: Option<Value>,
    /// What --concurrency counts: conversations or requests. A conversation also counts while its
    /// next turn waits for the think time [default: conversations] (conversation)
    #[arg(long, value_name = "conversations|requests", help_heading = "Workload")]
    pub concurrency_of: Option<String>,
}

/// The default number of conversations in a pass.
const CONVERSATIONS: u32 = 32;
/// The defaults of a synthetic conversation: a question with its context, then short questions.
const TURNS: f64 = 4.0;
const THINK_S: f64 = 1.0;
const FIRST_INPUT: f64 = 512.0;
const INPUT: f64 = 64.0;
const OUTPUT: f64 = 128.0;

impl ConversationKeys {
    pub(crate) const NAMES: &[&str] = &[
        "conversations", "turns", "think_time", "first_turn_input", "turn_input", "turn_output",
        "concurrency_of",
    ];

    /// Resolves the conversations: from the file `dataset`, otherwise from seeded words.
    pub(crate) fn resolve(
        &self,
        dataset: Option<&str>,
        mistakes: &mut Mistakes,
    ) -> ConversationPlan {
        let turns = read("turns", self.turns.as_ref(), 1.0, lengths, mistakes);
        let output = read("turn_output", self.turn_output.as_ref(), 1.0, lengths, mistakes);
        let first_input =
            read("first_turn_input", self.first_turn_input.as_ref(), 1.0, lengths, mistakes);
        let input = read("turn_input", self.turn_input.as_ref(), 1.0, lengths, mistakes);
        let think = read("think_time", self.think_time.as_ref(), 0.0, times, mistakes);
        let or =
            |given: Option<Distribution>, value| given.unwrap_or(Distribution::constant(value));
        let turns = match dataset {
            Some(dataset) => {
                for (key, given) in [("first_turn_input", first_input), ("turn_input", input)] {
                    if given.is_some() {
                        mistakes.add(key, "is not used: turns of a data set have their own text");
                    }
                }
                TurnsFrom::Sharegpt { dataset: dataset.to_owned(), turns, output }
            }
            None => TurnsFrom::Random {
                turns: or(turns, TURNS),
                first_input: or(first_input, FIRST_INPUT),
                input: or(input, INPUT),
                output: or(output, OUTPUT),
            },
        };
        ConversationPlan {
            conversations: mistakes.count("conversations", self.conversations, CONVERSATIONS),
            think_time_s: or(think, THINK_S),
            turns,
        }
    }

    /// Resolves the unit of a concurrency: conversations or requests.
    pub(crate) fn count_of(&self, mistakes: &mut Mistakes) -> CountOf {
        match self.concurrency_of.as_deref() {
            None | Some("conversations") => CountOf::Conversations,
            Some("requests") => CountOf::Requests,
            Some(other) => {
                let problem = format!("`{other}` is not one of conversations, requests");
                mistakes.add("concurrency_of", problem);
                CountOf::Conversations
            }
        }
    }
}

/// Reads a distribution with `parse`. Adds a mistake if the text is invalid or the mean is below `least`.
fn read(
    key: &'static str,
    value: Option<&Value>,
    least: f64,
    parse: fn(&str) -> Result<Distribution, DistributionError>,
    mistakes: &mut Mistakes,
) -> Option<Distribution> {
    let text = value?.to_string();
    match parse(&text) {
        Ok(distribution) if distribution.mean() >= least => return Some(distribution),
        Ok(_) => mistakes.add(key, format!("`{text}` has a mean below {least}, the minimum")),
        Err(problem) => mistakes.add(key, format!("`{text}` {problem}")),
    }
    None
}

/// Numbers of tokens or of turns, which are whole numbers.
fn lengths(text: &str) -> Result<Distribution, DistributionError> {
    Distribution::parse_whole(text, tokens)
}

fn times(text: &str) -> Result<Distribution, DistributionError> {
    Distribution::parse(text, seconds)
}

fn tokens(text: &str) -> Result<f64, &'static str> {
    match text.trim().parse::<f64>() {
        Ok(number) if (0.0..=1e7).contains(&number) => Ok(number),
        _ => Err(
            "is not a number from 0 to 10000000; write 8, or a distribution such as uniform:2..8",
        ),
    }
}

fn seconds(text: &str) -> Result<f64, &'static str> {
    if ["0", "0s", "0ms"].contains(&text.trim()) {
        return Ok(0.0);
    }
    values::span(&Value::Text(text.to_owned())).map(|span| span.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_lengths_needs_a_whole_number_and_a_range_of_times_does_not() {
        let range = |range: &str| Some(Value::Text(format!("uniform:{range}")));
        let keys = ConversationKeys {
            turns: range("2.2..2.8"),
            turn_input: range("2.2..3.8"),
            think_time: range("2.2s..2.8s"),
            ..ConversationKeys::default()
        };
        let mut mistakes = Mistakes::default();
        keys.resolve(None, &mut mistakes);
        let told: Vec<String> = mistakes.0.iter().map(ToString::to_string).collect();
        let [told] = &told[..] else { panic!("{told:?}") };
        assert!(
            told.starts_with("turns (--turns): `uniform:2.2..2.8` contains no whole number; write"),
            "{told}"
        );
    }
}
