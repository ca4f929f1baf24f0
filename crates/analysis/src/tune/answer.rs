//! The answer: which arguments are best, by how much, and which are ties.

use serde::{Deserialize, Serialize};

/// The fewest rounds for an interval.
pub(super) const FEWEST_ROUNDS: usize = 3;

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneAnswer {
    /// The answer in words.
    pub sentence: String,
    /// The figure that decides.
    pub figure: String,
    /// Whether a higher value is better.
    pub higher_is_better: bool,
    /// The objectives, as the user wrote them. A candidate that misses one in half of its rounds or more stands after all
    /// that do not.
    pub objectives: Vec<String>,
    /// The number of rounds of the final.
    pub rounds: usize,
    /// The best of the finalists; absent if there are no two of them, or fewer than three rounds of the final.
    pub best: Option<String>,
    /// Whether the best one is better than the default beyond chance, by the figure that decides or because only it meets
    /// the objectives.
    pub is_better: bool,
    /// The finalists that the rounds do not tell apart from the best one: by the figure that decides (or only by less than
    /// 1 %), and by the objectives, unless only the best one meets them, and in all rounds.
    pub ties: Vec<String>,
    /// All candidates, the default first.
    pub candidates: Vec<TunedCandidate>,
}

impl TuneAnswer {
    /// The best of the finalists; `None` without an answer.
    pub fn best(&self) -> Option<&TunedCandidate> {
        self.candidates.iter().find(|one| one.status == TuneStatus::Best)
    }
}

/// A set of arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunedCandidate {
    /// Its arguments; `default` for the arguments of the plan.
    pub name: String,
    /// What has become of it.
    pub status: TuneStatus,
    /// Why it was left out, or why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The geometric mean of the figure over the rounds that count: of the final, or all if it is not in the final.
    pub value: Option<f64>,
    /// The value divided by that of the default in the same rounds.
    pub ratio: Option<f64>,
    /// The interval of `ratio`. The intervals of all pairs of finalists hold together with a probability of 95 %. Absent
    /// without a final of three rounds.
    pub ratio_ci: Option<[f64; 2]>,
    /// In how many of these rounds it met the objectives, and their number.
    pub met: [usize; 2],
}

/// What has become of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TuneStatus {
    /// The best of the finalists.
    Best,
    /// Not told apart from the best.
    Tie,
    /// A finalist that is worse than the best.
    Worse,
    /// The comparison ended before it was decided.
    Undecided,
    /// Left out after a stage.
    LeftOut,
    /// Not measured, because of its prediction.
    NotTried,
    /// Its server did not start, or its requests failed.
    Failed,
}
