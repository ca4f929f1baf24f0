//! Computes the answer from the rounds of the final.

use inferometer_model::stats::{spread, student_above};

use super::answer::{FEWEST_ROUNDS, TuneAnswer, TuneStatus, TunedCandidate};
use super::procedure::{Candidate, Fate, Tune};
use super::sentence::sentence;

/// The probability that any pair of finalists is told apart by chance.
const ALARMS: f64 = 0.05;
/// Differences up to this share are ties, however certain they are.
const RELEVANT: f64 = 0.01;
/// A ratio with its interval.
#[derive(Clone, Copy)]
struct Ratio {
    ratio: f64,
    ci: Option<[f64; 2]>,
}

impl Tune {
    /// The answer from the rounds so far.
    pub fn answer(&self) -> TuneAnswer {
        let finalists = self.order(self.finalists());
        let rounds = finalists.first().map_or(0, |first| self.met(*first, self.from())[1]);
        let best = finalists.first().copied().filter(|_| rounds >= FEWEST_ROUNDS);
        let ties = best.into_iter().flat_map(|best| {
            let others = finalists[1..].iter().copied();
            others.filter(move |&other| self.is_tie(best, other))
        });
        let ties: Vec<usize> = ties.collect();
        let is_better =
            best.is_some_and(|best| best > 0 && finalists.contains(&0) && !ties.contains(&0));
        let status = |at: usize, one: &Candidate| match &one.fate {
            Fate::Failed(why) => (TuneStatus::Failed, Some(why.clone())),
            Fate::LeftOut(why) => (TuneStatus::LeftOut, Some(why.clone())),
            Fate::NotTried(why) => (TuneStatus::NotTried, Some(why.clone())),
            Fate::Stays if best == Some(at) => (TuneStatus::Best, None),
            Fate::Stays if best.is_none() => (TuneStatus::Undecided, None),
            Fate::Stays if ties.contains(&at) => (TuneStatus::Tie, None),
            Fate::Stays => (TuneStatus::Worse, None),
        };
        let candidate = |(at, one): (usize, &Candidate)| {
            let is_in_final = finalists.contains(&at);
            let from = if is_in_final { self.from() } else { 0 };
            let (status, why) = status(at, one);
            // After the default has failed, there is nothing to compare with.
            let is_compared = at > 0 && self.candidates[0].fate == Fate::Stays;
            let ratio = self.ratio(at, 0, from).filter(|_| is_compared);
            TunedCandidate {
                name: one.name.clone(),
                status,
                why,
                value: Some(self.mean(at, from).exp()).filter(|value| *value > 0.0),
                ratio: ratio.map(|it| it.ratio),
                ratio_ci: ratio.and_then(|it| it.ci).filter(|_| is_in_final && !self.is_simulated),
                met: self.met(at, from),
            }
        };
        let name = |at: &usize| self.candidates[*at].name.clone();
        let mut answer = TuneAnswer {
            sentence: String::new(),
            figure: self.figure.name(),
            higher_is_better: self.figure.higher_is_better(),
            objectives: self.objectives.clone(),
            rounds,
            best: best.as_ref().map(name),
            is_better,
            ties: ties.iter().map(name).collect(),
            candidates: self.candidates.iter().enumerate().map(candidate).collect(),
        };
        answer.sentence = sentence(&answer, self.out_of_time, self.is_simulated);
        answer
    }

    fn from(&self) -> u32 {
        self.final_from.unwrap_or(u32::MAX)
    }

    /// The default and the candidates of the final, as far as they were measured in it. None without two of them.
    fn finalists(&self) -> Vec<usize> {
        let is_in = |at: &usize| {
            self.candidates[*at].fate == Fate::Stays && self.met(*at, self.from())[1] > 0
        };
        let all: Vec<usize> = (0..self.candidates.len()).filter(is_in).collect();
        if all.len() < 2 { Vec::new() } else { all }
    }

    /// Whether another finalist is a tie of the best one: the interval of their ratio contains 1 or no difference of 1 % or
    /// more, or only the best one meets the objectives in most rounds, but not in all, or the other one in some.
    fn is_tie(&self, best: usize, other: usize) -> bool {
        let from = self.from();
        let [of_best, of_other] = [best, other].map(|at| self.met(at, from));
        // Equal candidates differ in all rounds with a probability of at most 2 / 4^rounds; in some, chance may decide.
        let is_told_apart = of_best[0] == of_best[1] && of_other[0] == 0;
        let are_alike = self.meets_mostly(best, from) == self.meets_mostly(other, from);
        let ci = self.ratio(best, other, from).and_then(|it| it.ci);
        let is_alike = |[low, high]: [f64; 2]| {
            (low <= 1.0 && high >= 1.0) || (low > 1.0 - RELEVANT && high < 1.0 + RELEVANT)
        };
        !is_told_apart && (!are_alike || ci.is_none_or(is_alike))
    }

    /// The ratio of two candidates over the rounds of both, from this round on.
    fn ratio(&self, one: usize, other: usize, from: u32) -> Option<Ratio> {
        let others = &self.candidates[other].readings;
        let own = self.candidates[one].readings.iter().filter(|(round, _)| *round >= from);
        let logs = own.filter_map(|(round, reading)| {
            let (_, beside) = others.iter().find(|(other, _)| other == round)?;
            Some((reading.value / beside.value).ln())
        });
        let logs: Vec<f64> = logs.collect();
        let spread = spread(&logs)?;
        let finalists = self.finalists().len();
        let pairs = (finalists * finalists.saturating_sub(1) / 2).max(1) as f64;
        let half = (logs.len() >= FEWEST_ROUNDS).then(|| {
            let squares = logs.iter().map(|one| (one - spread.mean).powi(2)).sum::<f64>();
            let n = logs.len() as f64;
            let error = (squares / (n - 1.0) / n).sqrt();
            student_above(ALARMS / pairs / 2.0, n - 1.0) * error
        });
        let ci = half.map(|half| [spread.mean - half, spread.mean + half].map(f64::exp));
        Some(Ratio { ratio: spread.mean.exp(), ci })
    }
}
