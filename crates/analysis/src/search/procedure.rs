//! Which load is tried next, with how many requests, and when the answer is known.

mod size;

use super::edge::{Curve, Edge, Observed, edge};
use super::evidence::{Claim, Evidence};
use super::known::{FEWEST, Load};
use super::overwhelmed::{Overwhelmed, misses_to_claim};
use super::settings::{NextTrial, Outcome, Settings};
use super::trial::Trial;
use inferometer_plan::search::Criterion;
use inferometer_stats::normal_quantile_above;

/// A trial may ask for at most this part of the requests that are left.
const AFFORDABLE: u64 = 2;
/// A bracket is halved by cheap trials until its ends are this close, as a logarithm.
const BRACKET: f64 = 0.25;
/// How far apart the ends of the first interval may be, as a logarithm.
const WIDEST: f64 = std::f64::consts::LN_2;
/// Loads are rounded, so that a little less than the precision is aimed at.
const ROUNDING: f64 = 0.97;
/// The ratio to what is allowed that a load without a steady state has at least.
const HOPELESS: f64 = 100.0;

/// A search in progress: asks for trials, takes them in.
#[derive(Clone, Debug)]
pub struct Search {
    settings: Settings,
    /// In ascending order.
    loads: Vec<Load>,
    requests: u64,
    trials: u32,
}

impl Search {
    /// A search that has tried nothing.
    pub fn new(settings: Settings) -> Self {
        Self { settings, loads: Vec::new(), requests: 0, trials: 0 }
    }

    /// What is known, in ascending order of loads.
    pub fn loads(&self) -> &[Load] {
        &self.loads
    }

    /// What it is for.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Requests of all trials so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Trials so far.
    pub fn trials(&self) -> u32 {
        self.trials
    }

    /// Standard errors of a claim on each side.
    pub fn claim_z(&self) -> f64 {
        normal_quantile_above(self.settings.claim_level())
    }

    /// Takes in a trial. One that was cut off before any claim was certain is none.
    pub fn tell(&mut self, trial: Trial) {
        let overwhelmed = overwhelmed(&self.settings, &trial);
        if trial.cut_off > 0 && overwhelmed.is_none() {
            return;
        }
        let z = self.claim_z();
        self.requests += trial.requests;
        self.trials += 1;
        let at = self.loads.partition_point(|known| known.load < trial.load);
        if self.loads.get(at).is_none_or(|known| known.load != trial.load) {
            self.loads.insert(
                at,
                Load {
                    load: trial.load,
                    trials: 0,
                    requests: 0,
                    overwhelmed: None,
                    is_hopeless: false,
                    lacks_a_trial: false,
                    lacks_gaps: false,
                    latency_s: 0.0,
                    saturation: None,
                    evidence: Evidence { measured: Vec::new() },
                    looks_beyond: false,
                    judged: vec![Vec::new(); trial.judged.len()],
                },
            );
        }
        let load = &mut self.loads[at];
        load.trials += 1;
        load.requests += trial.requests;
        load.was_overwhelmed(overwhelmed, trial.planned);
        load.looks_beyond = trial.missed.iter().any(|missed| 2 * missed >= trial.planned);
        load.latency_s = trial.latency_s;
        load.lacks_gaps |= trial.lacks_gaps;
        load.saturation = trial.saturation;
        for (all, new) in load.judged.iter_mut().zip(trial.judged) {
            all.extend(new);
        }
        load.evidence = Evidence::of(&self.settings.criteria, &load.judged, z);
    }

    /// The ends of the interval as they can be claimed: the highest load that meets the objectives
    /// and the lowest that does not. Where claims contradict each other, the interval that holds
    /// all of the contradiction.
    pub fn interval(&self) -> (Option<f64>, Option<f64>) {
        let of = |claim: Claim| {
            self.loads.iter().filter(move |load| load.claim() == claim).map(|load| load.load)
        };
        let lowest_not_met = of(Claim::NotMet).next();
        let highest_met = of(Claim::Met).next_back();
        let below = |load: &f64| lowest_not_met.is_none_or(|limit| *load < limit);
        let above = |load: &f64| highest_met.is_none_or(|limit| *load > limit);
        (of(Claim::Met).rfind(below), of(Claim::NotMet).find(above))
    }

    /// Loads that were claimed to meet the objectives though a lower one does not: the server
    /// changed, or does not get slower with load.
    pub fn contradicts(&self) -> bool {
        let first_bad = self.loads.iter().position(|load| load.claim() == Claim::NotMet);
        let last_good = self.loads.iter().rposition(|load| load.claim() == Claim::Met);
        matches!((first_bad, last_good), (Some(bad), Some(good)) if good > bad)
    }

    /// The best guess of the highest load that meets the objectives, without a confidence.
    pub fn guess(&self) -> Option<f64> {
        match self.edge()? {
            Edge::Between { guess, .. } => Some(guess),
            Edge::Above | Edge::Below => None,
        }
    }

    /// How it stands.
    pub fn outcome(&self) -> Outcome {
        let (low, high) = self.interval();
        let settings = &self.settings;
        match (low, high) {
            (Some(low), Some(high)) if self.is_narrow(low, high) => Outcome::Found,
            (None, Some(high)) if high <= settings.lowest => Outcome::NotMetAtLowest,
            (Some(low), None) if settings.highest.is_some_and(|highest| low >= highest) => {
                Outcome::MetAtHighest
            }
            _ if self.not_measurable().is_some() => Outcome::NotMeasurable,
            _ if self.requests >= settings.max_requests => Outcome::RequestsSpent,
            _ if self.trials >= settings.max_trials => Outcome::TrialsSpent,
            _ => Outcome::Unfinished,
        }
    }

    /// The load at which an objective cannot be judged, because tokens came in bundles, and nothing else
    /// claims anything of it: what lies beyond cannot be told either.
    fn not_measurable(&self) -> Option<&Load> {
        self.loads.iter().find(|load| load.lacks_gaps && load.claim() == Claim::Open)
    }

    fn is_narrow(&self, low: f64, high: f64) -> bool {
        // A little more than asked for, for the ends are products of factors.
        high <= low * (1.0 + self.settings.precision) * (1.0 + 1e-9)
            || (self.settings.whole && high <= low + 1.0)
    }

    /// The next trial; none when the search is over.
    pub fn next(&self) -> Option<NextTrial> {
        if self.outcome() != Outcome::Unfinished {
            return None;
        }
        let (load, counted) = self.target();
        let left = self.settings.max_requests - self.requests;
        let aside = self.aside(load);
        let (load, wanted) = match self.edge() {
            _ if self.to_make_sure(load).is_some() => {
                (load, self.to_make_sure(load).unwrap_or(left))
            }
            _ if self.looks_beyond(load) => (load, 2 * (self.few() + self.crowd(load))),
            // None of it would count: what is left goes where some of it does.
            Some(Edge::Between { holds, .. }) if aside + FEWEST > left => {
                (self.highest_that_counts(holds, left).unwrap_or(load), left)
            }
            Some(Edge::Between { .. }) => (load, counted + aside),
            // Where the latency allows no trial that is long enough, a short one shows at least
            // whether the load is far beyond the edge.
            _ if aside > left / AFFORDABLE => (load, self.few()),
            _ => (load, counted + aside),
        };
        Some(NextTrial { load, requests: wanted.min(left) })
    }

    /// The next load, and how many requests of it are to count.
    fn target(&self) -> (f64, u64) {
        let few = self.few();
        if let Some(blank) = self.loads.iter().find(|load| self.is_tried_again(load)) {
            return (blank.load, few);
        }
        match (self.edge(), self.loads.first(), self.loads.last()) {
            (Some(Edge::Above), _, Some(top)) => match self.settings.highest {
                Some(highest) if top.load >= highest => self.more_at(top),
                highest => {
                    let up = self.rounded(top.load * self.stride(), f64::ceil);
                    (highest.map_or(up, |highest| up.min(highest)), few)
                }
            },
            (Some(Edge::Below), Some(bottom), _) => {
                if bottom.load <= self.settings.lowest {
                    return self.more_at(bottom);
                }
                let down = self.rounded(bottom.load / self.stride(), f64::floor);
                (down.max(self.settings.lowest), few)
            }
            (Some(Edge::Between { holds, fails, guess }), ..) => self.between(holds, fails, guess),
            _ => (self.settings.start, few),
        }
    }

    /// Inside the bracket: halve it on a log scale while it is wide, then make sure of both sides,
    /// from far outside inwards: an interval is known early, and narrows while requests last.
    fn between(&self, holds: f64, fails: f64, guess: f64) -> (f64, u64) {
        let width = (fails / holds).ln();
        if width > BRACKET && !(self.settings.whole && fails - holds <= 1.0) {
            let middle = self.rounded((holds * fails).sqrt(), f64::round);
            let inside = if self.settings.whole { 1.0 } else { 0.0 };
            return (middle.clamp(holds + inside, fails - inside), self.few());
        }
        let is_unsure = |known: &&Load| known.to_make_sure().is_some() && known.load > guess;
        if self.interval().1.is_none()
            && let Some(lowest) = self.loads.iter().find(is_unsure)
        {
            return (lowest.load, 0);
        }
        let reach = self.reach();
        let at = self.unsure_side(holds, fails, guess, reach);
        let counted = self.counted_at(at);
        // By steps: what is expected may be wrong. No step is large beside what was spent before.
        let most = (4 * counted).max(10 * self.few()).max(self.requests / 4);
        let least = self.few().max(counted / 4).max(self.share()).min(most);
        (at, self.missing(at, guess).clamp(least, most))
    }

    /// How far apart the ends of the interval are to be next, as a logarithm: much less than they are.
    fn reach(&self) -> f64 {
        let wanted = (1.0 + self.settings.precision).ln() * ROUNDING;
        match self.interval() {
            (Some(low), Some(high)) => ((high / low).ln() / 2.5).clamp(wanted, WIDEST),
            _ => WIDEST.max(wanted),
        }
    }

    /// The load to be sure of next: one below the guess that is to meet the objectives, or one above
    /// it that is not to, as far from the guess as the reach lets them be apart.
    fn unsure_side(&self, holds: f64, fails: f64, guess: f64, reach: f64) -> f64 {
        let (low, high) = self.interval();
        let away = |load: f64| (load / guess).ln();
        // A claimed end is of use if the other one, at its farthest, still lies beyond the guess.
        let low = low.filter(|&low| away(low) + reach >= reach / 4.0);
        let high = high.filter(|&high| away(high) - reach <= -reach / 4.0);
        // From the farthest place to the nearest one that can still be told from the edge.
        let below = (high.map_or(-0.75 * reach, |high| away(high) - reach), -0.25 * reach);
        let above = (0.25 * reach, low.map_or(0.75 * reach, |low| away(low) + reach));
        let place = |(nearest, farthest): (f64, f64), claimed: bool| {
            if claimed { farthest } else { (nearest + farthest) / 2.0 }
        };
        let at = |beyond: f64| guess * beyond.exp();
        let wanted_below = at(place((below.1, below.0), high.is_some()));
        let wanted_above = at(place(above, low.is_some()));
        let below = self.known_within(at(below.0), at(below.1), wanted_below, f64::floor);
        let above = self.known_within(at(above.0), at(above.1), wanted_above, f64::ceil);
        let (below, above) = if self.settings.whole {
            (below.min(holds.max(1.0)), above.max(fails))
        } else {
            (below, above)
        };
        let is_claimed = |at: f64, claim: Claim| {
            self.loads.iter().any(|load| load.load == at && load.claim() == claim)
        };
        match (is_claimed(below, Claim::Met), is_claimed(above, Claim::NotMet)) {
            // What lies between two sides that are sure is not.
            (true, true) => self.rounded((below * above).sqrt(), f64::round),
            (true, false) => above,
            (false, true) => below,
            _ if low.is_some() && high.is_none() => above,
            _ if high.is_some() && low.is_none() => below,
            // What is likely to be known first narrows the interval first.
            _ if self.missing(above, guess) <= self.missing(below, guess) => above,
            _ => below,
        }
    }

    /// The load of a range of which most is known already, so that trials are pooled; else the
    /// wanted one.
    fn known_within(&self, from: f64, to: f64, wanted: f64, round: fn(f64) -> f64) -> f64 {
        let slack = 1.0 + 1e-9;
        let within = |load: &&Load| load.load * slack >= from && load.load <= to * slack;
        let is_of_use = |load: &&Load| !load.lacks_a_trial || load.to_make_sure().is_some();
        let known = self.loads.iter().filter(within).filter(is_of_use);
        let known = known.max_by_key(|load| load.counted());
        let load = known.map_or_else(|| self.rounded(wanted, round), |known| known.load);
        let highest = self.settings.highest.unwrap_or(f64::INFINITY);
        load.clamp(self.settings.lowest.min(highest), highest)
    }

    /// The factor to the next load outside of what was tried: it grows with each trial.
    fn stride(&self) -> f64 {
        let doublings = self.trials.saturating_sub(1).min(10);
        self.settings.stride.powf(f64::from(1_u32 << doublings)).min(2.0)
    }

    /// A load that people can say: a whole number, or one of few digits.
    fn rounded(&self, load: f64, round: fn(f64) -> f64) -> f64 {
        if self.settings.whole {
            return round(load).max(1.0);
        }
        let digits = if self.settings.precision < 0.02 { 4 } else { 3 };
        // As people write it, and not as a product of powers would give it.
        format!("{load:.digits$e}").parse().unwrap_or(load)
    }

    /// Where the objectives stop to hold; `None` before the first trial that shows anything.
    fn edge(&self) -> Option<Edge> {
        let observed: Vec<Observed> =
            self.loads.iter().filter_map(|load| self.observed(load)).collect();
        if observed.is_empty() {
            return None;
        }
        match edge(&observed) {
            Edge::Between { holds, fails, guess } => Some(Edge::Between {
                holds,
                fails,
                guess: self.fitted_edge(guess).unwrap_or(guess),
            }),
            other => Some(other),
        }
    }

    /// The lowest edge of any criterion, by the curves through all loads around a first guess,
    /// between the ends that were claimed.
    fn fitted_edge(&self, first_guess: f64) -> Option<f64> {
        let criteria = self.settings.criteria.iter().zip(self.curves(first_guess));
        let of = |(criterion, curve): (&Criterion, Option<Curve>)| {
            curve?.load_at(1.0 - criterion.needed()?)
        };
        let lowest = criteria.filter_map(of).min_by(f64::total_cmp)?;
        let (low, high) = self.interval();
        Some(lowest.max(low.unwrap_or(0.0)).min(high.unwrap_or(f64::INFINITY)))
    }

    /// What the trials at a load showed; `None` if the load is to be tried again first.
    fn observed(&self, load: &Load) -> Option<Observed> {
        let hopeless = load.is_beyond() || load.is_blank();
        if self.is_tried_again(load) {
            return None;
        }
        let ratios = self.settings.criteria.iter().zip(&load.evidence.measured).map(
            |(criterion, measured)| {
                let weight = measured.independent.max(1.0);
                let ratio = match criterion.needed() {
                    Some(needed) => (1.0 - measured.value) / (1.0 - needed).max(1e-9),
                    None => measured.value / measured.limit,
                };
                (if hopeless { ratio.max(HOPELESS) } else { ratio }, weight)
            },
        );
        Some(Observed { load: load.load, ratios: ratios.collect() })
    }
}

/// The criterion that so many requests of a trial missed that the load is far beyond the edge.
fn overwhelmed(settings: &Settings, trial: &Trial) -> Option<Overwhelmed> {
    let needed = misses_to_claim(&settings.criteria, trial.planned, settings.claim_level());
    let missed = trial.missed.iter().copied().zip(needed).enumerate();
    let of = |(criterion, (missed, needed)): (usize, (u64, Option<u64>))| {
        let (planned, cut_off) = (trial.planned, trial.cut_off);
        (missed >= needed?).then_some(Overwhelmed { criterion, missed, planned, cut_off })
    };
    missed.filter_map(of).next()
}
