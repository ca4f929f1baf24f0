//! Tests of the profiles of current engines. They compute the errors of the profiles again, on the measured runs that
//! the profiles were fitted to, and on runs to which nothing was fitted.

mod ahead;
mod fitting;
mod held_out;
mod hold_rates;
mod queueing;
mod slower;
mod stated;

use inferometer_engine::EngineError;
use inferometer_engine::fit::runs::{MeasuredRun, RunError, details, parse_runs};

/// Parses the runs of a file in `data/rows/current`.
fn runs(text: &str) -> Vec<MeasuredRun> {
    let details_of = |name: &str| {
        let text = match name {
            "resid-rate-2rps" => {
                include_str!("../../data/rows/current/details/resid-rate-2rps.json")
            }
            "resid-rate-8rps" => {
                include_str!("../../data/rows/current/details/resid-rate-8rps.json")
            }
            "lss-rtxpro6000-llama8b" => {
                include_str!("../../data/rows/current/details/lss-rtxpro6000-llama8b.json")
            }
            other => {
                return Err(EngineError::Malformed {
                    path: other.to_owned(),
                    reason: "there are no such details".to_owned(),
                });
            }
        };
        details(text, name)
    };
    parse_runs(text, "rows", None, &details_of).expect("rows that parse")
}

fn calibration() -> Vec<MeasuredRun> {
    runs(include_str!("../../data/rows/current/calibration.csv"))
}

fn test_rows() -> Vec<MeasuredRun> {
    runs(include_str!("../../data/rows/current/test.csv"))
}

/// Returns the median absolute error of a figure, in percent. `at` is the index of the figure.
fn median(errors: &[RunError], at: usize) -> f64 {
    let mut column: Vec<f64> =
        errors.iter().filter_map(|e| e[at]).map(|e| 100.0 * e.abs()).collect();
    column.sort_by(f64::total_cmp);
    column[column.len() / 2]
}
