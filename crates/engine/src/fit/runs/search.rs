//! The search for the constants of several profiles at once, which share what their cards and versions share.

use std::cell::RefCell;
use std::collections::HashMap;

use inferometer_load::PassPlan;

use super::knobs::{KNOBS, Knob, Scope};
use super::play::{play_run, step_error};
use super::{MeasuredRun, MeasuredStep, RunFigures};
use crate::card::card;
use crate::error::EngineError;
use crate::fit::solve::{inverse_diagonal, least_squares_until};
use crate::profile::Profile;

/// The residuals of a run, by its number and the bits of its profile's constants.
type Played = HashMap<(usize, Vec<u64>), Vec<f64>>;

/// One unit of the search's axes in spreads of a constant: its numerical derivatives then span enough for
/// runs, whose figures jump where a request comes a step sooner.
const UNIT: f64 = 10.0;
/// Logarithmic errors that count as one: replicates of a run differ by 1 to 2 %, times to the first token
/// and their tails by more.
const SCATTER: [f64; 5] = [0.02, 0.015, 0.06, 0.45, 0.02];
/// Times to the first token of a full engine say little of it: they are those of a queue.
const QUEUED: f64 = 5.0;
/// The same of a step, of which many are in a median.
const STEP_SCATTER: f64 = 0.01;
/// Errors above so many scatters weigh less and less: a row may be off for a reason that no constant has.
const ROBUST: f64 = 3.0;
/// The search ends when a round lowers the sum of squares by less than this share: figures of runs jump.
const SETTLED: f64 = 0.01;
/// Requests at a rate after which the figures of a run hardly change.
const ENOUGH_REQUESTS: u32 = 1000;

/// Spreads of factors of a card whose operations were not measured are so many times those of other cards.
const UNMEASURED: f64 = 2.0;

/// A constant, what shares it, and how well the rows determine it.
#[derive(Clone, Debug, PartialEq)]
pub struct Determined {
    /// Its key.
    pub name: &'static str,
    /// Which card, version or `all` it is of.
    pub owner: String,
    /// Its value.
    pub value: f64,
    /// Its value before the fit.
    pub prior: f64,
    /// Its standard deviation after the fit as a share of that before: near 1, the rows say nothing.
    pub remaining: f64,
}

/// Profiles that were fitted to runs.
pub struct FittedRuns {
    /// In the order of the starts.
    pub profiles: Vec<Profile>,
    /// Every constant that a run depends on.
    pub constants: Vec<Determined>,
}

/// A constant of some profiles.
struct Shared<'a> {
    knob: &'static Knob,
    owner: &'a str,
    prior: f64,
    spread: f64,
    profiles: Vec<usize>,
}

/// Fits the profiles of runs: each run is of the start of its engine version and card. Constants begin at the
/// values of the starts, and stay near them where the rows do not say more.
///
/// # Errors
/// When a run is of no start, or the engine would refuse to start with its configuration.
pub fn fit_runs(
    starts: &[Profile],
    runs: &[MeasuredRun],
    steps: &[(usize, MeasuredStep)],
) -> Result<FittedRuns, EngineError> {
    let runs: Vec<MeasuredRun> = runs.iter().map(shortened).collect();
    let places: Vec<usize> = runs.iter().map(|run| place(starts, run)).collect::<Result<_, _>>()?;
    for (run, &place) in runs.iter().zip(&places) {
        play_run(&starts[place], run)?;
    }
    let used = |at: &usize| places.contains(at);
    let shared = shared(starts, &used);
    let with = |point: &[f64]| {
        let mut profiles = starts.to_vec();
        for (shared, x) in shared.iter().zip(point) {
            let value = shared.prior * (x * UNIT * shared.spread).exp();
            shared.profiles.iter().for_each(|&at| shared.knob.set(&mut profiles[at], value));
        }
        profiles
    };
    let played: RefCell<Played> = RefCell::default();
    let residuals = |point: &[f64]| {
        let profiles = with(point);
        let mut all: Vec<f64> = point.iter().map(|x| x * UNIT).collect();
        for (number, (run, &place)) in runs.iter().zip(&places).enumerate() {
            // A run is played again only where a constant of its own profile moved.
            let key = (number, bits(&profiles[place]));
            let known = played.borrow().get(&key).cloned();
            let found = match known {
                Some(known) => known,
                None => run_residuals(&profiles[place], run)?,
            };
            played.borrow_mut().insert(key, found.clone());
            all.extend(found);
        }
        for (run, step) in steps {
            let error = step_error(&profiles[places[*run]], &runs[*run].config, step).ok()?;
            all.push(robust(error / STEP_SCATTER));
        }
        all.iter().all(|residual| residual.is_finite()).then_some(all)
    };
    let origin = vec![0.0; shared.len()];
    let point = least_squares_until(SETTLED, &origin, residuals);
    let profiles = with(&point);
    let variances = inverse_diagonal(&point, residuals);
    let constants = shared.iter().zip(&variances).map(|(shared, variance)| Determined {
        name: shared.knob.name,
        owner: shared.owner.to_owned(),
        value: shared.profiles.first().map_or(1.0, |&at| shared.knob.get(&profiles[at])),
        prior: shared.prior,
        remaining: variance.sqrt() * UNIT,
    });
    Ok(FittedRuns { constants: constants.collect(), profiles })
}

/// The beginning of a long run at a rate, whose figures are those of the whole unless requests queue.
fn shortened(run: &MeasuredRun) -> MeasuredRun {
    let mut run = run.clone();
    if run.is_queued() {
        return run;
    }
    if let PassPlan::Open { bound, .. } = &mut run.pass {
        bound.requests = bound.requests.map(|requests| requests.min(ENOUGH_REQUESTS));
    }
    run
}

/// The start that a run is of.
fn place(starts: &[Profile], run: &MeasuredRun) -> Result<usize, EngineError> {
    let own = &run.config.profile;
    let is_own =
        |start: &Profile| start.card == own.card && start.engine_version == own.engine_version;
    starts.iter().position(is_own).ok_or_else(|| {
        let expected = format!(
            "there is no profile of {} on {} to start \
            from",
            run.engine, own.card
        );
        EngineError::invalid("--profile", &own.name, expected)
    })
}

/// By how much wider a factor of a card is expected of which only the data sheet is known.
fn widened(knob: &Knob, start: &Profile) -> f64 {
    let is_measured =
        card(&start.card).is_ok_and(|card| card.is_some_and(|card| card.operations.is_some()));
    if knob.scope == Scope::Card && !is_measured { UNMEASURED } else { 1.0 }
}

/// The constants of the profiles that runs use, each once.
fn shared<'a>(starts: &'a [Profile], used: &dyn Fn(&usize) -> bool) -> Vec<Shared<'a>> {
    let mut all: Vec<Shared<'a>> = Vec::new();
    for knob in &KNOBS {
        for (at, start) in starts.iter().enumerate().filter(|(at, _)| used(at)) {
            let owner = knob.owner(start);
            let known = |it: &&mut Shared<'_>| it.knob.name == knob.name && it.owner == owner;
            match all.iter_mut().find(known) {
                Some(known) => known.profiles.push(at),
                None => {
                    let prior = knob.get(start);
                    let spread = knob.spread * widened(knob, start);
                    all.push(Shared { knob, owner, prior, spread, profiles: vec![at] });
                }
            }
        }
    }
    // A constant that nobody uses in this run goes with its owner all the same, as do the profiles of
    // the same owner that no run is of.
    for shared in &mut all {
        for (at, start) in starts.iter().enumerate() {
            if shared.knob.owner(start) == shared.owner && !shared.profiles.contains(&at) {
                shared.profiles.push(at);
            }
        }
    }
    all
}

fn bits(profile: &Profile) -> Vec<u64> {
    KNOBS.iter().map(|knob| knob.get(profile).to_bits()).collect()
}

/// Robust errors of a run in scatters; `None` where it does not run.
fn run_residuals(profile: &Profile, run: &MeasuredRun) -> Option<Vec<f64>> {
    let found = play_run(profile, run).ok()?;
    let (found, measured) = (found.values(), run.measured.values());
    let error = |at: usize| {
        let is_of_queue = RunFigures::NAMES[at].starts_with("ttft") && run.is_queued();
        let queued = if is_of_queue { QUEUED } else { 1.0 };
        Some(robust((found[at]? / measured[at]?).ln() / (SCATTER[at] * queued)))
    };
    Some((0..SCATTER.len()).filter_map(error).collect())
}

/// Grows like its square root far out (pseudo-Huber).
fn robust(error: f64) -> f64 {
    let within = (error / ROBUST).powi(2);
    error.signum() * ROBUST * (2.0 * ((1.0 + within).sqrt() - 1.0)).sqrt()
}
