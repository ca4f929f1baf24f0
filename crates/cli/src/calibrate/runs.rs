//! Reads measured runs from a CSV file. Fits the step constants of vLLM 0.8 and later to measured runs, and computes
//! the errors on runs that were left out of the fit. This module measures nothing and writes no file.

use std::{fmt::Write as _, path::Path};

use inferometer_engine::fit::runs::{
    Details, ERROR_NAMES, FittedRuns, MeasuredRun, OwnFit, column_errors, details, fit_own,
    parse_runs, run_errors, run_provenances,
};
use inferometer_engine::profile::{ColumnErrors, ErrorPercent};
use inferometer_engine::{EngineConfig, Profile};
use inferometer_net::file::{self, MAX_SETTINGS_BYTES};
use inferometer_run::PlanError;

use super::{Calibrated, add_errors};

/// If this share or more of a constant's initial uncertainty remains after the fit, the rows did not determine the
/// constant.
const MAX_REMAINING_SHARE: f64 = 0.5;

/// The largest accepted median error of a figure over the rows, in percent, for the engine that was fitted to these
/// rows. If the error is larger, the rows do not describe such an engine.
const LARGEST_ERROR: f64 = 50.0;
/// With a larger `bandwidth_factor` than this, the card would read its memory faster than its data sheet states. The
/// factor is relative to the bandwidth that single operations reached in measurements.
const FASTEST: f64 = 1.3;
/// A constant has moved if the fit multiplied or divided its value by more than this factor.
const MOVED: f64 = 1.25;

/// Whether the measurements are a CSV file of runs.
pub(crate) fn is_file_of_runs(measured: &str) -> bool {
    Path::new(measured).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
}

/// Fits a profile to `runs`, which must not be empty. `origin` describes the source of the runs. `name` is the name of
/// the new profile.
pub(crate) fn calibrate_runs(
    origin: &str,
    runs: &[MeasuredRun],
    name: Option<&str>,
) -> Result<Calibrated, PlanError> {
    let start = &runs[0].config.profile;
    if start.steps.is_none() {
        return Err(PlanError::new(format!(
            "{origin}: profile {} is for an engine of 2023, which is fitted to tables; name an \
                engine with --engine, such as vllm-0.23, and a card with --card",
            start.name
        )));
    }
    let other = runs.iter().find(|run| {
        let own = &run.config.profile;
        own.card != start.card || own.engine_version != start.engine_version
    });
    if let Some(other) = other {
        return Err(PlanError::new(format!(
            "{origin}: rows of {} {} on {} and of {} on {}: a profile is for one engine version on \
                one card",
            start.engine, start.engine_version, start.card, other.engine, other.config.profile.card
        )));
    }
    let clean = Profile { provenance: Vec::new(), ..start.clone() };
    let OwnFit { fitted, share, left_out } = fit_own(&clean, runs).map_err(PlanError::new)?;
    let mut text = format!("measured: {origin}, {} runs\n", runs.len());
    match share {
        None => {
            let _ = writeln!(
                text,
                "the constants of {} are kept: fits predict rows that they leave out hardly better",
                start.name
            );
        }
        Some(share) => {
            if share < 1.0 {
                let _ = writeln!(
                    text,
                    "constants are held at {share} of their usual freedom: such fits predict rows that they leave out \
                     best"
                );
            }
            add_constants(&mut text, &fitted);
        }
    }
    let [mut profile] = <[Profile; 1]>::try_from(fitted.profiles.clone())
        .map_err(|_| PlanError::new("a fit gives one profile for each start"))?;
    let in_sample = run_errors(&fitted.profiles, runs).map_err(PlanError::new)?;
    if let Some(at) = in_sample.iter().position(|error| error.iter().all(Option::is_none)) {
        return Err(PlanError::new(format!(
            "{origin}: run {} ({}): none of its figures can be predicted; a run with a single \
             output token has no TPOT",
            at + 1,
            runs[at].set
        )));
    }
    let errors = column_errors(&in_sample);
    let is_far = |median: f64| median > LARGEST_ERROR || !median.is_finite();
    let unlike = errors.iter().find(|(_, error)| is_far(error.median));
    if let Some((name, error)) = unlike {
        return Err(PlanError::new(format!(
            "{origin}: the engine that was fitted to these rows differs from them by {:.0} % ({name}, \
                median over the rows), so no profile is written; check the units (milliseconds, \
                requests per second), --model, --engine and --card",
            error.median
        )));
    }
    add_errors(&mut text, "rows fitted on", in_order(errors));
    add_errors(&mut text, "rows left out of the fit", in_order(column_errors(&left_out)));
    profile.name = name.map_or_else(|| format!("calibrated-{}", start.name), str::to_owned);
    profile.provenance = run_provenances(runs, [&in_sample, &left_out, &[]]);
    Ok(Calibrated { profile, text })
}

/// Reads the runs of a CSV file.
pub(crate) fn read_csv(path: &str, config: &EngineConfig) -> Result<Vec<MeasuredRun>, PlanError> {
    let text = |path: &Path| {
        file::read_text(path, MAX_SETTINGS_BYTES).map_err(|error| {
            let path = path.display().to_string();
            inferometer_engine::EngineError::Unreadable { path, reason: error.to_string() }
        })
    };
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let details_of = |name: &str| -> Result<Details, inferometer_engine::EngineError> {
        let of_run = folder.join("details").join(format!("{name}.json"));
        details(&text(&of_run)?, &of_run.display().to_string())
    };
    let rows = text(Path::new(path)).map_err(PlanError::new)?;
    parse_runs(&rows, path, Some(config), &details_of).map_err(PlanError::new)
}

fn add_constants(text: &mut String, fitted: &FittedRuns) {
    let (determined, undetermined): (Vec<_>, Vec<_>) =
        fitted.constants.iter().partition(|constant| constant.remaining < MAX_REMAINING_SHARE);
    text.push_str("determined by the rows:\n");
    for constant in &determined {
        let of = format!("{} {:.4}, {:.4} before", constant.name, constant.value, constant.prior);
        let _ = writeln!(text, "  {of}");
    }
    if determined.is_empty() {
        text.push_str("  none\n");
    }
    let has_moved = |value: f64, prior: f64| {
        value != prior && !(prior / MOVED..=prior * MOVED).contains(&value)
    };
    let (moved, kept): (Vec<_>, Vec<_>) =
        undetermined.into_iter().partition(|constant| has_moved(constant.value, constant.prior));
    if !moved.is_empty() {
        text.push_str(
            "changed by the fit, although the rows determine only combinations of them:\n",
        );
    }
    for constant in moved {
        let _ = writeln!(
            text,
            "  {} {:.4}, {:.4} before",
            constant.name, constant.value, constant.prior
        );
    }
    let names: Vec<&str> = kept.iter().map(|constant| constant.name).collect();
    if !names.is_empty() {
        let names = names.join(", ");
        let _ =
            writeln!(text, "not determined by the rows, so kept near the previous values: {names}");
    }
    let bandwidth = fitted.constants.iter().find(|constant| constant.name == "bandwidth_factor");
    if let Some(fast) = bandwidth.filter(|constant| constant.value > FASTEST) {
        let _ = writeln!(
            text,
            "warning: bandwidth_factor is {:.2}: by these rows, the card reads its memory faster \
                than its data sheet says; check the units, --model, --weights and --card",
            fast.value
        );
    }
}

/// The errors in the order of their names.
fn in_order(mut columns: ColumnErrors) -> impl Iterator<Item = (String, ErrorPercent)> {
    ERROR_NAMES.into_iter().filter_map(move |name| columns.remove_entry(name))
}

#[cfg(test)]
mod tests {
    use inferometer_engine::fit::runs::{RunFigures, simulate_run};

    use super::*;

    const HEADER: &str =
        "card,requests,max_in_flight,input_length,output_length,requests_per_s,tpot_p50_ms\n";

    fn read(rows: &str, profile: &str) -> Result<Vec<MeasuredRun>, PlanError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("runs.csv");
        std::fs::write(&path, format!("{HEADER}{rows}")).expect("a file");
        let config = EngineConfig::of("llama-3.1-8b", Some(profile)).expect("known");
        read_csv(&path.display().to_string(), &config)
    }

    fn calibrated(rows: &str, profile: &str) -> Result<Calibrated, PlanError> {
        calibrate_runs("runs.csv", &read(rows, profile)?, Some("mine"))
    }

    #[test]
    fn two_rows_give_a_profile_and_a_list_of_the_parameters_that_they_do_not_determine() {
        let rows = "l40s,8,1,500,60,0.89,18.0\nl40s,64,32,500,60,11.0,42.0\n";
        let mut runs = read(rows, "vllm-0.8-l40s").expect("rows");
        // The measured card reads its memory more slowly.
        let mut slower = runs[0].config.profile.clone();
        slower.steps.as_mut().expect("a profile with [steps]").bandwidth_factor *= 0.8;
        for run in &mut runs {
            run.measured = simulate_run(&slower, run).expect("a run that plays");
        }
        let fit = calibrate_runs("runs.csv", &runs, Some("mine"));
        let Calibrated { profile, text } = fit.expect("a fit");
        assert_eq!((profile.name.as_str(), profile.card.as_str()), ("mine", "l40s"));
        assert_eq!((profile.provenance.len(), profile.provenance[0].rows), (1, 2));
        assert!(text.contains("2 runs") && text.contains("rows left out of the fit"), "{text}");
        let held = text.split("not determined by the rows").nth(1).expect("some are held");
        assert!(held.contains("reduction_factor") && held.contains("fp8_factor"), "{text}");
        let told = text.split("not determined").next().unwrap_or_default();
        assert!(told.contains("step_us"), "{text}");
        // Rows that contradict each other change nothing.
        let start = runs[0].config.profile.clone();
        for (run, factor) in runs.iter_mut().zip([1.2, 0.85]) {
            let same = simulate_run(&start, run).expect("a run that plays");
            let tpot_p50_ms = same.tpot_p50_ms.map(|tpot| tpot * factor);
            run.measured = RunFigures { tpot_p50_ms, ..RunFigures::default() };
        }
        let kept = calibrate_runs("runs.csv", &runs, Some("mine"));
        let Calibrated { profile, text } = kept.expect("a profile");
        assert_eq!(profile.steps, start.steps);
        assert!(text.contains("the constants of vllm-0.8-l40s are kept"), "{text}");
    }

    #[test]
    fn rows_in_other_units_are_refused_and_rows_faster_than_the_data_sheet_are_reported() {
        let in_seconds = "l40s,8,1,500,60,0.89,0.018\nl40s,64,32,500,60,11.0,0.042\n";
        let why = calibrated(in_seconds, "vllm-0.8-l40s").err().expect("refused").to_string();
        assert!(why.contains("no profile is written; check the units"), "{why}");
        let fast = "l40s,8,1,500,60,2.7,6.0\nl40s,64,32,500,60,33.0,14.0\n";
        let told = match calibrated(fast, "vllm-0.8-l40s") {
            Ok(Calibrated { text, .. }) => text,
            Err(why) => why.to_string(),
        };
        assert!(told.contains("check the units"), "{told}");
    }

    #[test]
    fn calibration_refuses_rows_of_two_cards_profiles_of_2023_and_an_empty_table() {
        let why =
            |rows: &str, profile| calibrated(rows, profile).err().expect("refused").to_string();
        let two = "l40s,8,1,500,60,0.5,18.0\nh100-sxm,8,1,500,60,1.5,8.0\n";
        assert!(why(two, "vllm-0.8-l40s").contains("on l40s and of"), "two cards");
        let one = "a100-pcie-40gb,8,1,500,60,0.5,18.0\n";
        assert!(why(one, "a100-40g-vllm-0.2.7").contains("--engine"), "2023");
        assert!(why("", "vllm-0.8-l40s").contains("has no row"), "no row");
    }
}
