//! The procedure: which candidates are measured in the next round.

use std::time::Duration;

use inferometer_model::Change;
use inferometer_plan::ab::AbFigure;

use super::reading::TuneReading;

/// The name of the server with its default arguments. It is the first of all candidates.
pub const DEFAULT: &str = "default";
/// The most candidates of the final, beside the default.
const FINALISTS: usize = 3;
/// The rounds of a stage, after which half of the candidates are left out.
const ROUNDS_OF_STAGE: u32 = 2;
/// The rounds of the final for which time is kept.
const KEPT_ROUNDS: f64 = 3.0;
/// A candidate that is not worse than the best one by more than this share reaches the final, and is measured if it is a
/// prediction that says so: predictions and few rounds err.
const MARGIN: f64 = 0.1;

/// What has become of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fate {
    /// It is measured in each round.
    Stays,
    /// It was not measured, for this reason.
    NotTried(String),
    /// It was left out after a stage, for this reason.
    LeftOut(String),
    /// It could not be measured, for this reason.
    Failed(String),
}

/// A set of arguments with its readings so far.
pub(super) struct Candidate {
    pub name: String,
    pub fate: Fate,
    /// The round and the reading of each run.
    pub readings: Vec<(u32, TuneReading)>,
    /// The times of its runs with the starts of the server, in seconds.
    seconds: Vec<f64>,
}

/// Candidates that are being compared.
pub struct Tune {
    /// The figure that decides.
    pub figure: AbFigure,
    /// The objectives, as the user wrote them.
    pub(super) objectives: Vec<String>,
    rounds: u32,
    budget: Option<Duration>,
    /// The default is the first.
    pub(super) candidates: Vec<Candidate>,
    /// The number of rounds so far, and of those in the current stage.
    round: u32,
    in_stage: u32,
    /// The first round of the final.
    pub(super) final_from: Option<u32>,
    /// Whether the runs are simulated: their rounds do not show the error of the model.
    pub is_simulated: bool,
    /// Whether the budget ended the rounds.
    pub(super) out_of_time: bool,
}

impl Tune {
    /// A comparison of the default with the candidates of these names. `rounds`: the rounds of the final.
    pub fn new(
        names: Vec<String>,
        figure: AbFigure,
        objectives: Vec<String>,
        (rounds, budget): (u32, Option<Duration>),
    ) -> Self {
        let candidate = |name| {
            let (readings, seconds) = (Vec::new(), Vec::new());
            Candidate { name, fate: Fate::Stays, readings, seconds }
        };
        let candidates = [DEFAULT.to_owned()].into_iter().chain(names).map(candidate).collect();
        let (round, in_stage, final_from, out_of_time) = (0, 0, None, false);
        Self {
            figure,
            objectives,
            rounds,
            budget,
            candidates,
            round,
            in_stage,
            final_from,
            is_simulated: false,
            out_of_time,
        }
    }

    /// Leaves out candidates with a much worse prediction than the best one. `predicted` has a reading for each candidate
    /// without the default; `None` if the model cannot tell. The better half of the predicted ones stays, and as many as
    /// the final has.
    pub fn leave_out_predicted(&mut self, predicted: &[Option<TuneReading>]) {
        let known = (1..).zip(predicted).filter_map(|(at, one)| Some((at, (*one)?)));
        let mut known: Vec<(usize, TuneReading)> = known.collect();
        let standing = |one: &TuneReading| (one.meets, self.gain(one.value));
        known.sort_by(|a, b| {
            standing(&b.1).partial_cmp(&standing(&a.1)).expect("invariant: finite")
        });
        let Some(&(first, best)) = known.first() else { return };
        let most_out = predicted.len().saturating_sub(FINALISTS).min(known.len() / 2);
        let margin = MARGIN.ln_1p();
        for &(at, one) in &known[known.len() - most_out..] {
            let change = self.behind(one.value, best.value);
            let why = match (best.meets, one.meets) {
                (true, false) => "predicted to miss the objectives".to_owned(),
                _ if self.gain(best.value) - self.gain(one.value) > margin => {
                    format!("predicted {change} than {}", self.candidates[first].name)
                }
                _ => continue,
            };
            self.candidates[at].fate = Fate::NotTried(why);
        }
    }

    /// The most runs that are left, if all servers start.
    pub fn most_runs(&self) -> usize {
        let (mut left, mut runs) = (self.staying().len(), 0);
        while left > 1 {
            runs += (left + 1) * ROUNDS_OF_STAGE as usize;
            left = after_stage(left);
            if left <= FINALISTS {
                break;
            }
        }
        runs + (left + 1) * self.rounds as usize
    }

    /// The candidates to measure in the next round; none if the comparison ends. `spent`: the time since it began.
    pub fn next(&mut self, spent: Duration) -> Vec<usize> {
        while self.final_from.is_none() && !self.continues_stage(spent) {}
        let members = self.members();
        let of_final = self.final_from.map_or(0, |from| self.round + 1 - from);
        let is_over = members.len() < 2 || of_final >= self.rounds;
        self.out_of_time = !is_over && self.round > 0 && !self.affords(spent, &members, 0.0);
        if is_over || self.out_of_time {
            return Vec::new();
        }
        self.round += 1;
        members
    }

    /// Adds a run of the current round: what it says, or why it failed. `seconds`: its time, with the start of the server;
    /// `None` if an earlier attempt measured it.
    pub fn add(
        &mut self,
        candidate: usize,
        reading: Result<TuneReading, String>,
        seconds: Option<f64>,
    ) {
        let round = self.round;
        let one = &mut self.candidates[candidate];
        one.seconds.extend(seconds);
        match reading {
            Ok(reading) => one.readings.push((round, reading)),
            Err(why) => one.fate = Fate::Failed(why),
        }
    }

    /// Whether the next round belongs to the current stage or to the final. If not, this ends the stage.
    fn continues_stage(&mut self, spent: Duration) -> bool {
        let staying = self.staying();
        let is_short = self.round > 0 && !self.affords(spent, &self.members(), KEPT_ROUNDS);
        if staying.len() <= 1 {
            self.final_from = Some(self.round + 1);
        } else if self.in_stage < ROUNDS_OF_STAGE && !is_short {
            self.in_stage += 1;
        } else {
            self.in_stage = 0;
            self.end_stage(staying, is_short);
            return false;
        }
        true
    }

    /// Leaves out the worse half after a stage. Before the final, also what is far behind.
    fn end_stage(&mut self, staying: Vec<usize>, is_short: bool) {
        let stay = if is_short { FINALISTS } else { after_stage(staying.len()) };
        let order = self.order(staying);
        let best = order[0];
        let best_meets = self.meets_mostly(best, 0);
        // Without the default, the best one needs another one to be compared with.
        let kept = if self.candidates[0].fate == Fate::Stays { 1 } else { 2 };
        for (rank, &at) in order.iter().enumerate().skip(kept) {
            let [own, of_best] = [at, best].map(|at| self.mean(at, 0).exp());
            let is_missing = best_meets && !self.meets_mostly(at, 0);
            let is_far = self.gain(of_best) - self.gain(own) > MARGIN.ln_1p();
            if rank >= stay || (stay <= FINALISTS && (is_missing || is_far)) {
                let what = match is_missing {
                    true => "it missed the objectives".to_owned(),
                    false => {
                        format!("{} than {}", self.behind(own, of_best), self.candidates[best].name)
                    }
                };
                self.candidates[at].fate =
                    Fate::LeftOut(format!("after round {}: {what}", self.round));
            }
        }
        if stay <= FINALISTS {
            self.final_from = Some(self.round + 1);
        }
    }

    /// What is still measured: the default, unless it failed, and candidates.
    fn members(&self) -> Vec<usize> {
        let is_default_in = self.candidates[0].fate == Fate::Stays;
        is_default_in.then_some(0).into_iter().chain(self.staying()).collect()
    }

    /// The candidates that are still measured, without the default.
    fn staying(&self) -> Vec<usize> {
        (1..self.candidates.len()).filter(|&at| self.candidates[at].fate == Fate::Stays).collect()
    }

    /// Whether a round of these members, and then `kept` rounds of the final, end within the budget.
    fn affords(&self, spent: Duration, members: &[usize], kept: f64) -> bool {
        let Some(budget) = self.budget else { return true };
        let cost = |at: &usize| mean(&self.candidates[*at].seconds).unwrap_or(0.0);
        let all: f64 = members.iter().map(cost).sum();
        let finalists = members.len().min(FINALISTS + 1);
        let of_final = all * finalists as f64 / members.len().max(1) as f64;
        spent.as_secs_f64() + all + kept * of_final <= budget.as_secs_f64()
    }

    /// The candidates in order, the best first: those that meet the objectives in most rounds come first.
    pub(super) fn order(&self, mut candidates: Vec<usize>) -> Vec<usize> {
        let from = self.final_from.unwrap_or(0);
        let standing =
            |at: usize| (self.meets_mostly(at, from), self.gain(self.mean(at, from).exp()));
        candidates.sort_by(|&a, &b| {
            standing(b).partial_cmp(&standing(a)).expect("invariant: readings are above 0")
        });
        candidates
    }

    /// In how many rounds a candidate met the objectives, and in how many it was measured, from this round on.
    pub(super) fn met(&self, at: usize, from: u32) -> [usize; 2] {
        let own = || self.candidates[at].readings.iter().filter(|(round, _)| *round >= from);
        [own().filter(|(_, one)| one.meets).count(), own().count()]
    }

    /// Whether a candidate met the objectives in most rounds, from this round on.
    pub(super) fn meets_mostly(&self, at: usize, from: u32) -> bool {
        let [met, of] = self.met(at, from);
        2 * met > of
    }

    /// The mean of the logarithm of a candidate's figure, from this round on; minus infinity without a reading.
    pub(super) fn mean(&self, at: usize, from: u32) -> f64 {
        let own = self.candidates[at].readings.iter().filter(|(round, _)| *round >= from);
        mean(&own.map(|(_, one)| one.value.ln()).collect::<Vec<_>>()).unwrap_or(f64::NEG_INFINITY)
    }

    /// A value as a number that is higher for a better value.
    fn gain(&self, value: f64) -> f64 {
        if self.figure.higher_is_better() { value.ln() } else { -value.ln() }
    }

    /// How much worse a value is than another one, such as `requests_per_s 31.0 % lower`.
    fn behind(&self, value: f64, than: f64) -> String {
        format!("{} {}", self.figure.name(), Change(value / than).words())
    }
}

/// How many candidates a stage leaves: the better half, but all if there are only as many as the final may have.
fn after_stage(candidates: usize) -> usize {
    if candidates <= FINALISTS { candidates } else { candidates.div_ceil(2) }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
