//! Tests that the profiles have the errors that they state.

use inferometer_engine::EngineConfig;
use inferometer_engine::fit::runs::{RunError, column_errors, parse_steps, run_errors, step_error};
use inferometer_engine::profile::{Profile, profile, profiles};
use inferometer_engine::ranges::run_ranges;
use inferometer_model::cell::CellPlan;

use crate::{calibration, median};

/// The allowed difference between a stated and a computed error, in percentage points.
const TOLERANCE: f64 = 0.05;

fn of_today() -> impl Iterator<Item = &'static Profile> {
    profiles().iter().filter(|profile| profile.steps.is_some())
}

#[test]
fn every_profile_of_a_current_engine_has_the_median_and_maximum_errors_that_it_states() {
    let runs = calibration();
    let errors = run_errors(profiles(), &runs).expect("runs that can be simulated");
    let mut rows = 0;
    for profile in of_today() {
        assert!(!profile.provenance.is_empty(), "{}", profile.name);
        for provenance in &profile.provenance {
            let place = format!("{} on {}", profile.name, provenance.table);
            let of_table: Vec<RunError> = runs
                .iter()
                .zip(&errors)
                .filter(|(run, _)| {
                    run.config.profile.name == profile.name
                        && run.config.model.name == provenance.table
                        && run.weights() == provenance.weights
                })
                .map(|(_, error)| *error)
                .collect();
            assert_eq!(of_table.len() as u32, provenance.rows, "{place}");
            rows += of_table.len();
            for (column, found) in column_errors(&of_table) {
                let stated = provenance.errors[&column];
                for (found, stated) in [(found.median, stated.median), (found.max, stated.max)] {
                    let near = (found - stated).abs() < TOLERANCE;
                    assert!(near, "{place}: {column}: found {found}, stated {stated}");
                }
            }
        }
    }
    assert_eq!(rows, runs.len(), "each row belongs to exactly one table of one profile");
    // The limits of the median errors in percent, in the order of `ERROR_NAMES`: output tokens/s, TPOT, TTFT p50,
    // TTFT p99, E2E p50; then TTFT p50 and TTFT p99 of runs with a limit of requests in flight.
    for (at, most) in [(0, 1.0), (1, 1.0), (2, 2.5), (3, 10.0), (4, 1.0), (5, 4.0), (6, 10.0)] {
        assert!(median(&errors, at) < most, "figure {at}: {}", median(&errors, at));
    }
}

#[test]
fn simulated_steps_take_as_long_as_measured_within_3_percent() {
    let text = include_str!("../../data/rows/current/steps.csv");
    let profile = profile("vllm-0.23-h100-sxm").expect("a known profile");
    let config = EngineConfig::of_model("qwen3-14b").expect("a known model");
    for step in parse_steps(text, "steps.csv").expect("steps that parse") {
        let error = step_error(&profile, &config, &step).expect("a step");
        assert!(error.abs() < 0.03, "{:?}: {error}", step.shape);
    }
}

/// No constant was fitted to the run of these steps.
#[test]
fn simulated_steps_of_a_held_out_run_take_as_long_as_measured_within_4_percent() {
    let text = include_str!("../../data/rows/current/steps-test.csv");
    let profile = profile("vllm-0.23-h100-sxm").expect("a known profile");
    let config = EngineConfig::of_model("qwen3-14b").expect("a known model");
    for step in parse_steps(text, "steps-test.csv").expect("steps that parse") {
        let error = step_error(&profile, &config, &step).expect("a step");
        assert!(error.abs() < 0.04, "{:?}: {error}", step.shape);
    }
}

#[test]
fn no_run_that_a_profile_was_fitted_to_is_reported_as_uncalibrated() {
    for run in calibration() {
        let (input_length, output_length) = run.lengths[0];
        let cell = CellPlan { input_length, output_length };
        let ranges = run_ranges(profiles(), &run, cell, 8).expect("a configuration that runs");
        assert!(ranges[1].is_some_and(|tpot| tpot.calibrated), "{}", run.set);
    }
}

/// Checks the stated median errors of TPOT for runs that a fit did not use. The limit is 4 % if half of all runs were
/// left out, and 13 % if the whole set of the run was left out.
#[test]
fn stated_tpot_errors_of_runs_left_out_of_a_fit_stay_below_their_limits() {
    for profile in of_today() {
        for provenance in &profile.provenance {
            let place = format!("{} on {}", profile.name, provenance.table);
            let halves = &provenance.left_out_lengths["tpot_ms"];
            assert!(halves.median < 4.0, "{place}: {}", halves.median);
            let table = &provenance.left_out_table["tpot_ms"];
            assert!(table.median < 13.0, "{place}: {}", table.median);
        }
    }
}
