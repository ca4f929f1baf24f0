//! Tests the errors on runs to which nothing was fitted. A change that makes these errors larger is not an
//! improvement.

use inferometer_engine::confidence::{Confidence, ErrorColumn, MeasuredOn, confidence};
use inferometer_engine::fit::runs::{MeasuredRun, RunError, run_errors, simulate_run};
use inferometer_engine::profile::profiles;
use inferometer_model::cell::CellPlan;
use inferometer_model::load::{PassPlan, SaturatedPlan};

use crate::{median, test_rows};

#[test]
fn median_errors_of_held_out_runs_stay_below_their_limits() {
    let runs = test_rows();
    let errors = run_errors(profiles(), &runs).expect("runs that play");
    let of_set = |set: &str| -> Vec<RunError> {
        let of = runs.iter().zip(&errors).filter(|(run, _)| run.set.starts_with(set));
        of.map(|(_, error)| *error).collect()
    };
    let resid = of_set("resid");
    for (at, most) in [(1, 2.0), (2, 5.0), (3, 10.0), (4, 2.0)] {
        assert!(median(&resid, at) < most, "figure {at}: {}", median(&resid, at));
    }
    // The source states an SXM card, but its steps are as slow as those of a PCIe card. The errors are large.
    let other = of_set("gpustack");
    for (at, most) in [(0, 80.0), (1, 60.0)] {
        assert!(median(&other, at) < most, "figure {at}: {}", median(&other, at));
    }
}

/// Returns the confidence of a row, computed as for a prediction of the same load.
fn sure_of(run: &MeasuredRun) -> Confidence {
    let resolved = run.config.resolve().expect("a configuration that runs");
    let (input_length, output_length) = run.lengths[0];
    let cell = CellPlan { input_length, output_length };
    let at_once = match run.pass {
        PassPlan::Saturated(SaturatedPlan { requests }) => requests,
        _ => run.pass.limit().0.unwrap_or(32),
    };
    let sequences = at_once.min(resolved.limits.max_num_seqs);
    confidence(&resolved, cell, sequences, &MeasuredOn::default())
}

/// Counts figures, not rows. A figure without a calibrated range does not count.
#[test]
fn at_least_85_percent_of_held_out_figures_lie_in_their_calibrated_ranges() {
    let (mut inside, mut all) = (0, 0);
    let mut outside = Vec::new();
    for run in &test_rows() {
        let sure = sure_of(run);
        let found = simulate_run(&run.config.profile, run).expect("a run").values();
        let measured = run.measured.values();
        // Requests/s is left out: for an open load below capacity, it is the rate of the load.
        for (at, column) in [
            (1, ErrorColumn::Tpot),
            (2, ErrorColumn::TtftP50),
            (3, ErrorColumn::TtftP99),
            (4, ErrorColumn::Latency),
        ] {
            let (Some(found), Some(measured)) = (found[at], measured[at]) else { continue };
            if !sure.is_calibrated(column) {
                continue;
            }
            let [low, high] = sure.interval(column, found);
            let is_inside = (low..=high).contains(&measured);
            all += 1;
            inside += usize::from(is_inside);
            if !is_inside {
                outside.push(format!("{} {}: {measured} of {low} to {high}", run.set, run.pass));
            }
        }
    }
    assert!(all >= 40 && 100 * inside >= 85 * all, "{inside} of {all}: {outside:?}");
}

/// The profile of this engine version has no rows of this model. The tested rows have thousands of tokens, or hundreds
/// of requests in flight.
#[test]
fn rows_far_from_the_fitted_rows_are_reported_as_uncalibrated() {
    for run in test_rows().iter().filter(|run| run.set.starts_with("gpustack")) {
        let why = sure_of(run).uncalibrated.unwrap_or_default();
        assert!(
            why.contains("the measured rows of the profile have"),
            "{:?}: {why}",
            run.lengths[0]
        );
    }
}
