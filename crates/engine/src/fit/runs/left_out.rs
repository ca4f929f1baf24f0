//! Computes the errors of predicted runs, and the provenance of a profile from these errors. Nothing is fitted here.

use std::collections::BTreeMap;

use super::{MeasuredRun, RunFigures, play::simulate_run};
use crate::profile::{ColumnErrors, Coverage, Provenance, Role, SignedError, SignedErrors};
use crate::{EngineError, Profile, fit::spread_of_errors};

/// The signed errors of a run's figures, prediction / measurement - 1, in the order of [`ERROR_NAMES`]. An error is
/// absent if the figure is absent. A run has only the TTFT errors whose names apply to its load. TTFT errors are also
/// absent if the engine could not run all requests at the same time, because TTFT then depends on the queue of the
/// engine.
pub type RunError = [Option<f64>; 7];

/// The names of the errors. TTFT errors have other names if the client limits the requests in flight. In this case a
/// request starts when another one ends. So TTFT also depends on the requests that arrive together.
pub const ERROR_NAMES: [&str; 7] = [
    RunFigures::NAMES[0],
    RunFigures::NAMES[1],
    RunFigures::NAMES[2],
    RunFigures::NAMES[3],
    RunFigures::NAMES[4],
    "ttft_p50_limited_ms",
    "ttft_p99_limited_ms",
];

/// Returns the errors of each run, predicted with the profile of its engine version and card. If `profiles` has no
/// such profile, the run's own profile is used.
///
/// # Errors
/// If the engine cannot start with the configuration of a run.
pub fn run_errors(
    profiles: &[Profile],
    runs: &[MeasuredRun],
) -> Result<Vec<RunError>, EngineError> {
    let error = |run: &MeasuredRun| {
        let own = &run.config.profile;
        let is_own = |profile: &&Profile| {
            profile.card == own.card && profile.engine_version == own.engine_version
        };
        let found = simulate_run(profiles.iter().find(is_own).unwrap_or(own), run)?.values();
        let measured = run.measured.values();
        let mut errors: RunError = [None; 7];
        for (at, name) in RunFigures::NAMES.iter().enumerate() {
            let error = found[at].zip(measured[at]).map(|(found, measured)| found / measured - 1.0);
            match name.starts_with("ttft") {
                true if run.exceeds_max_num_seqs() => {}
                // In `ERROR_NAMES`, the TTFT errors of limited loads are three positions after the others.
                true if run.pass.is_limited() => errors[at + 3] = error,
                _ => errors[at] = error,
            }
        }
        Ok(errors)
    };
    runs.iter().map(error).collect()
}

/// Returns the distributions of absolute errors in percent, by figure. Figures without errors are left out.
pub fn column_errors(errors: &[RunError]) -> ColumnErrors {
    by_column(errors, |errors| Some(spread_of_errors(errors.iter().copied())))
}

/// Returns the bias and the scatter of the errors by figure: the mean and the standard deviation of their logarithms,
/// in percent. Figures with fewer than two errors are left out.
pub fn signed_errors(errors: &[RunError]) -> SignedErrors {
    signed_errors_of(errors, 2)
}

/// Errors of more than this factor count as this factor. Such errors come from rows in which requests waited in a
/// queue, and they would outweigh all other rows.
const LARGEST_FACTOR: f64 = 2.0;

/// Like [`signed_errors`], but leaves out figures with fewer than `fewest` errors. The scatter of a single error is 0.
fn signed_errors_of(errors: &[RunError], fewest: usize) -> SignedErrors {
    by_column(errors, |errors| {
        let largest = LARGEST_FACTOR.ln();
        let values: Vec<f64> =
            errors.iter().map(|error| 100.0 * error.ln_1p().clamp(-largest, largest)).collect();
        (errors.len() >= fewest).then(|| SignedError::of(&values))
    })
}

fn by_column<T>(errors: &[RunError], of: impl Fn(&[f64]) -> Option<T>) -> BTreeMap<String, T> {
    let column = |(at, name): (usize, &str)| {
        let column: Vec<f64> = errors.iter().filter_map(|error| error[at]).collect();
        let of = if column.is_empty() { None } else { of(&column) };
        of.map(|of| (name.to_owned(), of))
    };
    ERROR_NAMES.into_iter().enumerate().filter_map(column).collect()
}

/// Returns the provenance of a profile from its runs: one entry for each model, weights and number of cards. An entry
/// has the ranges that the runs cover and three kinds of errors. `errors` are the errors of the fit to all runs.
/// `halves` come from fits without half of the runs, or without the run and its replicates. `left_out` comes from fits
/// without the set of the run. Each slice has one element for each run, or is empty.
pub fn run_provenances(
    runs: &[MeasuredRun],
    [errors, halves, left_out]: [&[RunError]; 3],
) -> Vec<Provenance> {
    let mut kinds: BTreeMap<(&str, &str, u32), Vec<usize>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        let cards = run.config.tensor_parallel_size.unwrap_or(1);
        let kind = (run.config.model.name.as_str(), run.weights().name(), cards);
        kinds.entry(kind).or_default().push(at);
    }
    let provenance = |((model, _, cards), places): ((&str, &str, u32), Vec<usize>)| {
        let weights = runs[places[0]].weights();
        let own: Vec<&MeasuredRun> = places.iter().map(|&at| &runs[at]).collect();
        let of = |errors: &[RunError]| -> Vec<RunError> {
            places.iter().filter_map(|&at| errors.get(at).copied()).collect()
        };
        Provenance {
            table: model.to_owned(),
            weights,
            role: Role::Fitted,
            rows: own.len() as u32,
            requests: (own.iter().filter_map(|run| run.pass.requests()).max().unwrap_or(1), 1),
            seen: coverage(&own, cards),
            errors: column_errors(&of(errors)),
            left_out_lengths: column_errors(&of(halves)),
            without_half: signed_errors_of(&of(halves), 1),
            left_out_table: column_errors(&of(left_out)),
            without_table: signed_errors(&of(left_out)),
            ..Provenance::default()
        }
    };
    kinds.into_iter().map(provenance).collect()
}

/// Returns the ranges that the runs on `cards` cards cover.
fn coverage(runs: &[&MeasuredRun], cards: u32) -> Coverage {
    let lengths = || runs.iter().flat_map(|run| run.lengths.iter().copied());
    let range = |of: fn((u32, u32)) -> u32| {
        (lengths().map(of).min().unwrap_or(1), lengths().map(of).max().unwrap_or(1))
    };
    let most = |run: &&MeasuredRun| {
        let slots = run.config.resolve().ok().map(|resolved| resolved.limits.max_num_seqs);
        slots.into_iter().chain(run.pass.most_in_flight()).min()
    };
    Coverage {
        input_tokens: range(|lengths| lengths.0),
        output_tokens: range(|lengths| lengths.1),
        sequences: (1, runs.iter().filter_map(most).max().unwrap_or(1)),
        cards,
        cached_percent: cached(runs),
    }
}

/// The shares of prompt tokens in the prefix cache, in percent: (smallest, largest).
fn cached(runs: &[&MeasuredRun]) -> (u32, u32) {
    let of_runs = || runs.iter().map(|run| (run.cached_share() * 100.0).round() as u32);
    (of_runs().min().unwrap_or(0), of_runs().max().unwrap_or(0))
}

/// Groups the runs with the same model, weights, set, load and lengths. The runs of a group are replicates, which must
/// be left out of a fit together. Returns the indices of the runs of each group.
pub fn replicates(runs: &[MeasuredRun]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let is_alike = |group: &&mut Vec<usize>| {
            let first = &runs[group[0]];
            (&first.config.model.name, &first.set, first.weights())
                == (&run.config.model.name, &run.set, run.weights())
                && (&first.pass, &first.lengths) == (&run.pass, &run.lengths)
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups
}
