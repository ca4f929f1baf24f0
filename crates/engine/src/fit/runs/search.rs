//! Fits the constants of several profiles together. Profiles of the same card or engine version share constants.

use std::{cell::RefCell, collections::HashMap};

use inferometer_model::{OpenPlan, PassPlan};

use super::fitted_constants::{FITTED_CONSTANTS, FittedConstant, Scope};
use super::play::{has_known_arrivals, simulate_run, step_error};
use super::{MeasuredRun, MeasuredStep, RunFigures};
use crate::fit::solve::{inverse_diagonal, least_squares_until};
use crate::{EngineError, Profile};

/// A cache of the residuals of runs. The key is the index of the run and the bits of its profile's constants.
type Played = HashMap<(usize, Vec<u64>), Vec<f64>>;

/// The size of one unit on an axis of the search, in spreads of the constant. It is large, so that numerical
/// derivatives cover a wide enough range: the figures of a run jump if a request takes part one step earlier.
const UNIT: f64 = 10.0;
/// The logarithmic error that counts as a residual of 1, for each figure in the order of [`RunFigures::NAMES`].
/// Replicates of a run differ by 1 to 2 %. The median and the 99th percentile of TTFT differ by more.
pub(super) const SCATTER: [f64; 5] = [0.02, 0.015, 0.06, 0.45, 0.02];
/// The factor on the scatter of TTFT if requests wait for each other in the engine's queue or behind a limit of the
/// client, because TTFT then says little about the engine.
const QUEUED: f64 = 5.0;
/// Like [`QUEUED`], for requests that wait only behind a limit of the client, if the times of the arrivals are known.
pub(super) const LIMITED: f64 = 1.5;
/// The logarithmic error of a step's duration that counts as a residual of 1. It is small, because the measured
/// duration is a median of many steps.
const STEP_SCATTER: f64 = 0.01;
/// The error, in units of its scatter, above which the weight of the error decreases. A row may be wrong for a reason
/// that no constant can describe.
const ROBUST: f64 = 3.0;
/// The search ends when a round lowers the sum of squares by less than this share. A smaller share is useless, because
/// the figures of runs jump.
const SETTLED: f64 = 0.01;
/// The number of requests of an open load after which the figures of a run hardly change.
const ENOUGH_REQUESTS: u32 = 1000;

/// The factor on the spreads of a card's constants if the card's operations were not measured.
const UNMEASURED: f64 = 2.0;

/// A fitted constant, and how well the rows determine it.
#[derive(Clone, Debug, PartialEq)]
pub struct Determined {
    /// The key of the constant.
    pub name: &'static str,
    /// Which profiles share the constant: the name of their card, their engine version, or `all`.
    pub owner: String,
    /// The value after the fit.
    pub value: f64,
    /// The value before the fit.
    pub prior: f64,
    /// The standard deviation after the fit, divided by the standard deviation before the fit. If it is near 1, the
    /// rows do not determine the constant.
    pub remaining: f64,
}

/// Profiles that were fitted to runs.
pub struct FittedRuns {
    /// The profiles, in the order of `starts` in [`fit_runs`].
    pub profiles: Vec<Profile>,
    /// The constants of all profiles that have runs.
    pub constants: Vec<Determined>,
}

/// A constant that the profiles with the indices `profiles` share.
struct Shared<'a> {
    constant: &'static FittedConstant,
    owner: &'a str,
    prior: f64,
    spread: f64,
    profiles: Vec<usize>,
}

/// Fits profiles to runs and to durations of steps. A run belongs to the profile in `starts` with its engine version
/// and card. Each element of `steps` starts with the index of its run in `runs`. Constants stay near their values in
/// `starts` unless the rows determine them.
///
/// # Errors
/// If `starts` has no profile with the engine version and card of a run, or if the engine cannot start with the
/// configuration of a run.
pub fn fit_runs(
    starts: &[Profile],
    runs: &[MeasuredRun],
    steps: &[(usize, MeasuredStep)],
) -> Result<FittedRuns, EngineError> {
    fit_runs_near(starts, runs, steps, 1.0)
}

/// Like [`fit_runs`], with `share` times the spreads of the constants before the fit. With a smaller share, constants
/// stay nearer to their values in `starts`.
///
/// # Errors
/// See [`fit_runs`].
pub(super) fn fit_runs_near(
    starts: &[Profile],
    runs: &[MeasuredRun],
    steps: &[(usize, MeasuredStep)],
    share: f64,
) -> Result<FittedRuns, EngineError> {
    let runs: Vec<MeasuredRun> = runs.iter().map(shortened).collect();
    let places: Vec<usize> = runs.iter().map(|run| place(starts, run)).collect::<Result<_, _>>()?;
    for (run, &place) in runs.iter().zip(&places) {
        simulate_run(&starts[place], run)?;
    }
    let used = |at: &usize| places.contains(at);
    let mut shared = shared(starts, &used);
    shared.iter_mut().for_each(|constant| constant.spread *= share);
    let with = |point: &[f64]| {
        let mut profiles = starts.to_vec();
        for (shared, x) in shared.iter().zip(point) {
            let value = shared.prior * (x * UNIT * shared.spread).exp();
            shared.profiles.iter().for_each(|&at| shared.constant.set(&mut profiles[at], value));
        }
        profiles
    };
    let played: RefCell<Played> = RefCell::default();
    let residuals = |point: &[f64]| {
        let profiles = with(point);
        let mut all: Vec<f64> = point.iter().map(|x| x * UNIT).collect();
        for (number, (run, &place)) in runs.iter().zip(&places).enumerate() {
            // A run is simulated again only if a constant of its own profile changed.
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
        name: shared.constant.name,
        owner: shared.owner.to_owned(),
        value: shared.profiles.first().map_or(1.0, |&at| shared.constant.get(&profiles[at])),
        prior: shared.prior,
        remaining: variance.sqrt() * UNIT,
    });
    Ok(FittedRuns { constants: constants.collect(), profiles })
}

/// Shortens a long run of an open load to [`ENOUGH_REQUESTS`] requests, which hardly changes its figures. A run is not
/// shortened if requests wait for each other. A run with scaled gaps is not shortened either, because the scale factor
/// depends on all gaps.
fn shortened(run: &MeasuredRun) -> MeasuredRun {
    let mut run = run.clone();
    if run.is_queued() {
        return run;
    }
    if let PassPlan::Open(OpenPlan { bound, scaled: false, .. }) = &mut run.pass {
        bound.requests = bound.requests.map(|requests| requests.min(ENOUGH_REQUESTS));
    }
    run
}

/// Returns the index of the profile in `starts` that a run belongs to.
fn place(starts: &[Profile], run: &MeasuredRun) -> Result<usize, EngineError> {
    let own = &run.config.profile;
    let is_own =
        |start: &Profile| start.card == own.card && start.engine_version == own.engine_version;
    starts.iter().position(is_own).ok_or_else(|| {
        let expected =
            format!("there is no profile of {} on {} to start from", run.engine, own.card);
        EngineError::invalid("--profile", &own.name, expected)
    })
}

/// Returns the factor on a constant's spread: [`UNMEASURED`] for the constants of a card whose operations were not
/// measured, otherwise 1.
fn widened(constant: &FittedConstant, start: &Profile) -> f64 {
    let is_measured = start.card().is_ok_and(|card| card.operations.is_some());
    if constant.scope == Scope::Card && !is_measured { UNMEASURED } else { 1.0 }
}

/// Returns the constants of all profiles that have runs, each once.
fn shared<'a>(starts: &'a [Profile], used: &dyn Fn(&usize) -> bool) -> Vec<Shared<'a>> {
    let mut all: Vec<Shared<'a>> = Vec::new();
    for constant in &FITTED_CONSTANTS {
        for (at, start) in starts.iter().enumerate().filter(|(at, _)| used(at)) {
            let owner = constant.owner(start);
            let known =
                |it: &&mut Shared<'_>| it.constant.name == constant.name && it.owner == owner;
            match all.iter_mut().find(known) {
                Some(known) => known.profiles.push(at),
                None => {
                    let prior = constant.get(start);
                    let spread = constant.spread * widened(constant, start);
                    all.push(Shared { constant, owner, prior, spread, profiles: vec![at] });
                }
            }
        }
    }
    // Profiles without runs also get the constants that they share with profiles that have runs.
    for shared in &mut all {
        for (at, start) in starts.iter().enumerate() {
            if shared.constant.owner(start) == shared.owner && !shared.profiles.contains(&at) {
                shared.profiles.push(at);
            }
        }
    }
    all
}

fn bits(profile: &Profile) -> Vec<u64> {
    FITTED_CONSTANTS.iter().map(|constant| constant.get(profile).to_bits()).collect()
}

/// Returns the robust errors of a run, in units of their scatter; `None` if the engine cannot start with its
/// configuration.
fn run_residuals(profile: &Profile, run: &MeasuredRun) -> Option<Vec<f64>> {
    let found = simulate_run(profile, run).ok()?;
    let (found, measured) = (found.values(), run.measured.values());
    let queued = match (run.exceeds_max_num_seqs(), run.pass.is_limited()) {
        (false, false) => 1.0,
        (false, true) if has_known_arrivals(&run.pass) => LIMITED,
        _ => QUEUED,
    };
    let error = |at: usize| {
        let factor = if RunFigures::NAMES[at].starts_with("ttft") { queued } else { 1.0 };
        Some(robust((found[at]? / measured[at]?).ln() / (SCATTER[at] * factor)))
    };
    Some((0..SCATTER.len()).filter_map(error).collect())
}

/// The pseudo-Huber residual: close to `error` for small errors, and like its square root for large errors.
pub(super) fn robust(error: f64) -> f64 {
    let within = (error / ROBUST).powi(2);
    error.signum() * ROBUST * (2.0 * ((1.0 + within).sqrt() - 1.0)).sqrt()
}
