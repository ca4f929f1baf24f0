//! Fits a user's profile to a few runs, and decides how far its constants may move. The fit that predicts left-out runs
//! best is taken. If no fit predicts them clearly better than the start, the start is kept.

use super::left_out::{ERROR_NAMES, RunError, replicates, run_errors};
use super::search::{FittedRuns, LIMITED, SCATTER, fit_runs_near, robust};
use super::{MeasuredRun, RunFigures};
use crate::{EngineError, Profile};

/// The shares of the usual spreads of constants that are tried, if there are few runs.
const SHARES: [f64; 3] = [1.0, 0.5, LEAST];
const LEAST: f64 = 0.25;
/// The maximum number of fits for the errors on left-out runs. If there are more sets of replicates than this, each fit
/// leaves out several sets.
const MOST_FITS: usize = 8;
/// A fit is taken if the squares of its errors on left-out runs sum up to less than this share of those of the start.
const BETTER: f64 = 0.7;

/// A profile that was fitted to a user's runs.
pub struct OwnFit {
    /// The profile and its constants. If the start was kept, it has no constants.
    pub fitted: FittedRuns,
    /// The share of the usual spreads of the constants within which the fit is; `None` if the start was kept.
    pub share: Option<f64>,
    /// The errors of each run in a fit without the run and its replicates. If the start was kept, its errors. Empty if
    /// all runs are replicates of each other.
    pub left_out: Vec<RunError>,
}

/// Fits a profile to runs of its engine version on its card.
///
/// # Errors
/// If the engine cannot start with the configuration of a run.
pub fn fit_own(start: &Profile, runs: &[MeasuredRun]) -> Result<OwnFit, EngineError> {
    let starts = std::slice::from_ref(start);
    let groups = replicates(runs);
    let fit = |share| fit_runs_near(starts, runs, &[], share);
    let of_start = run_errors(starts, runs)?;
    let (sum, count) = squares(&of_start);
    // A start that predicts few runs as well as repeated runs agree is not changed.
    let shares = match groups.len() {
        ..=MOST_FITS if sum <= count as f64 => &[],
        // No run can be left out to show how far constants may move.
        1 => return Ok(OwnFit { fitted: fit(LEAST)?, share: Some(LEAST), left_out: Vec::new() }),
        ..=MOST_FITS => &SHARES[..],
        _ => &SHARES[..1],
    };
    let limit = BETTER * sum;
    let mut best: Option<(f64, f64, Vec<RunError>)> = None;
    for &share in shares {
        let left_out = left_out(starts, runs, &groups, share)?;
        let (sum, _) = squares(&left_out);
        if sum < best.as_ref().map_or(limit, |(least, ..)| *least) {
            best = Some((sum, share, left_out));
        }
    }
    Ok(match best {
        Some((_, share, left_out)) => OwnFit { fitted: fit(share)?, share: Some(share), left_out },
        None => {
            let fitted = FittedRuns { profiles: starts.to_vec(), constants: Vec::new() };
            OwnFit { fitted, share: None, left_out: of_start }
        }
    })
}

/// The sum of the squares of robust errors in units of their scatter, and the number of errors.
fn squares(errors: &[RunError]) -> (f64, usize) {
    let scatter = |at: usize| match at - at / RunFigures::NAMES.len() * 3 {
        column if column == at => SCATTER[column],
        column => SCATTER[column] * LIMITED,
    };
    let all = errors.iter().flat_map(|error| (0..ERROR_NAMES.len()).map(|at| (at, error[at])));
    let all = all.filter_map(|(at, error)| Some(robust(error?.ln_1p() / scatter(at)).powi(2)));
    all.fold((0.0, 0), |(sum, count), square| (sum + square, count + 1))
}

/// For each run, the errors of a fit that leaves out this run and its replicates.
fn left_out(
    starts: &[Profile],
    runs: &[MeasuredRun],
    groups: &[Vec<usize>],
    share: f64,
) -> Result<Vec<RunError>, EngineError> {
    let mut found = vec![[None; 7]; runs.len()];
    let fits = groups.len().min(MOST_FITS);
    for number in 0..fits {
        let mut out: Vec<usize> =
            groups.iter().skip(number).step_by(fits).flatten().copied().collect();
        out.sort_unstable();
        let of = |wanted: bool| -> Vec<MeasuredRun> {
            let places = (0..runs.len()).filter(|at| out.contains(at) == wanted);
            places.map(|at| runs[at].clone()).collect()
        };
        let fitted = fit_runs_near(starts, &of(false), &[], share)?;
        let errors = run_errors(&fitted.profiles, &of(true))?;
        out.iter().zip(errors).for_each(|(&at, error)| found[at] = error);
    }
    Ok(found)
}
