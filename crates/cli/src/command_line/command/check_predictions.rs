//! `check --predictions`: compares predictions with the measured runs of a store.

use std::{fmt::Write as _, path::Path};

use inferometer_analysis::prediction::{FigurePrediction, PassPrediction};
use inferometer_engine::profile::profile as profile_named;
use inferometer_model::{CellPlan, stats::percentile};
use inferometer_predict::{Expected, ProfileChoice, Unpredictable, expected};
use inferometer_store::Store;
use serde_json::{Value, json};

use super::{own_profiles::own_profiles, prediction_of_run::judged};
use crate::command_line::{Failure, print};

/// Prints the prediction errors on all stored runs that are not predictions themselves. `profile` is used for all runs;
/// if absent, each run is predicted with the user's own profile of its engine, card and model, or with the profile of
/// its engine and card.
pub fn check_predictions(
    store: &Path,
    profile: Option<&str>,
    as_json: bool,
) -> Result<(), Failure> {
    let given = profile.map(profile_named).transpose().map_err(Failure::usage)?;
    let own = if given.is_none() { own_profiles() } else { Vec::new() };
    let choice = given.as_ref().map_or(ProfileChoice::Own(&own), ProfileChoice::Given);
    let store = Store::open_existing(store).map_err(Failure::usage)?;
    let mut held = Vec::new();
    let mut skipped = Vec::new();
    for row in store.runs().map_err(Failure::run_failed)?.iter().filter(|row| !row.predicted) {
        let id = row.id.to_string();
        let found = store.run(&id).map_err(Unpredictable::from);
        match found.and_then(|run| expected(&run, choice)) {
            Ok(expected) => held.push((id, expected)),
            Err(why) => skipped.push((id, why.to_string())),
        }
    }
    match as_json {
        true => print(&format!("{:#}\n", document(&held, &skipped))),
        false => print(&text(&held, &skipped)),
    }
}

/// A predicted figure that was also measured.
struct Measured<'a> {
    run: &'a str,
    profile: &'a str,
    cell: CellPlan,
    load: &'a str,
    name: &'static str,
    figure: FigurePrediction,
}

fn measured(held: &[(String, Expected)]) -> impl Iterator<Item = Measured<'_>> {
    held.iter().flat_map(|(run, expected)| {
        expected.passes.iter().flat_map(move |(cell, pass)| {
            let named = PassPrediction::NAMES.into_iter().zip(pass.figures());
            named.filter_map(move |(name, figure)| {
                let figure = figure.filter(|figure| figure.measured.is_some())?;
                let (profile, load) = (&expected.profile, &pass.load);
                Some(Measured { run, profile, cell: *cell, load, name, figure })
            })
        })
    })
}

/// Statistics of the figure `wanted` over all passes. None if there is no measured value. The items of the tuple are:
///
/// - the number of measured values
/// - the number of measured values whose prediction has a calibrated interval
/// - the number of measured values inside their calibrated interval
/// - the median absolute error in percent
fn of_figure(held: &[(String, Expected)], wanted: &str) -> Option<(usize, usize, usize, f64)> {
    let figures: Vec<FigurePrediction> =
        measured(held).filter(|found| found.name == wanted).map(|found| found.figure).collect();
    let mut errors: Vec<f64> =
        figures.iter().filter_map(|figure| figure.error_pct).map(f64::abs).collect();
    errors.sort_unstable_by(f64::total_cmp);
    let sure: Vec<_> = figures.iter().filter(|figure| figure.calibrated).collect();
    let inside = sure.iter().filter(|figure| figure.holds() == Some(true)).count();
    (!errors.is_empty()).then(|| (errors.len(), sure.len(), inside, percentile(&errors, 0.5)))
}

fn text(held: &[(String, Expected)], skipped: &[(String, String)]) -> String {
    let mut text = String::new();
    for Measured { run, profile, cell, load, name, figure } in measured(held) {
        let FigurePrediction { predicted, interval: [low, high], .. } = figure;
        let _ = writeln!(
            text,
            "{run}  {profile}  {cell}, {load}  {name}: predicted {predicted:.2}, measured {:.2} ({:+.1} %): {}",
            figure.measured.unwrap_or_default(),
            figure.error_pct.unwrap_or_default(),
            judged(figure, low, high)
        );
    }
    for (run, expected) in held {
        for (cell, load) in &expected.left_out {
            let _ = writeln!(
                text,
                "{run}  {cell}, {load}: left out, because none of its requests completed"
            );
        }
    }
    for name in PassPrediction::NAMES {
        if let Some((count, sure, inside, median)) = of_figure(held, name) {
            let _ = writeln!(
                text,
                "{name}: median absolute error {median:.1} % over {count} measured values; {inside} of {sure} \
                 calibrated predictions inside their 90 % interval"
            );
        }
    }
    let _ = write!(text, "{} runs predicted, {} not", held.len(), skipped.len());
    let left_out: usize = held.iter().map(|(_, expected)| expected.left_out.len()).sum();
    let _ = match left_out {
        0 => writeln!(text),
        count => writeln!(
            text,
            "; passes of the predicted runs left out: {count}, because none of their requests completed"
        ),
    };
    text.extend(skipped.iter().map(|(run, why)| format!("  {run}: {why}\n")));
    text
}

fn document(held: &[(String, Expected)], skipped: &[(String, String)]) -> Value {
    let runs = held.iter().map(|(run, expected)| {
        let passes = expected.passes.iter().map(|(cell, pass)| {
            json!({
                "input_length": cell.input_length,
                "output_length": cell.output_length,
                "prediction": pass,
            })
        });
        let left_out = expected.left_out.iter().map(|(cell, load)| {
            json!({
                "input_length": cell.input_length,
                "output_length": cell.output_length,
                "load": load,
                "why": "none of its requests completed",
            })
        });
        json!({
            "run": run,
            "profile": expected.profile,
            "profile_file": expected.profile_file,
            "passes": passes.collect::<Vec<_>>(),
            "left_out": left_out.collect::<Vec<_>>(),
        })
    });
    let figures = PassPrediction::NAMES.into_iter().filter_map(|name| {
        let (count, sure, inside, median) = of_figure(held, name)?;
        let figure = json!({
            "measured": count,
            "calibrated": sure,
            "inside": inside,
            "median_absolute_error_pct": median,
        });
        Some((name.to_owned(), figure))
    });
    json!({
        "runs": runs.collect::<Vec<_>>(),
        "figures": figures.collect::<serde_json::Map<_, _>>(),
        "skipped": skipped.iter().map(|(run, why)| json!({ "run": run, "why": why })).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::prediction_of_run::tests::expected_of;
    use super::*;

    #[test]
    fn the_summary_counts_all_runs_and_names_those_that_could_not_be_predicted() {
        let held = [
            ("a".to_owned(), expected_of(10.0, 10.5, true)),
            ("b".to_owned(), expected_of(10.0, 20.0, true)),
            ("c".to_owned(), expected_of(10.0, 9.0, false)),
        ];
        let skipped = [("d".to_owned(), "engine, card or model unknown".to_owned())];
        let text = text(&held, &skipped);
        assert!(text.contains("1 of 2 calibrated predictions inside"), "{text}");
        assert!(text.contains("3 runs predicted, 1 not") && text.contains("d: engine"), "{text}");
        let mut failed = expected_of(10.0, 10.5, true);
        failed.left_out.push((failed.passes[0].0, "saturated".to_owned()));
        let failed = [("e".to_owned(), failed)];
        let told = self::text(&failed, &[]);
        assert!(told.contains("e  128 x 32, saturated: left out, because none of"), "{told}");
        assert!(told.contains("left out: 1, because none of their requests completed"), "{told}");
        assert_eq!(document(&failed, &[])["runs"][0]["left_out"][0]["load"], "saturated");
        let document = document(&held, &skipped);
        assert_eq!(document["figures"]["requests_per_s"]["inside"], 1);
        assert_eq!(document["skipped"][0]["run"], "d");
    }
}
