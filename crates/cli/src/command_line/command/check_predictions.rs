//! `check --predictions`: compares predictions with the measured runs of a store. `run` uses the same comparison for a
//! run that it has just measured.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use inferometer_analysis::prediction::{FigurePrediction, PassPrediction};
use inferometer_analysis::summary::Summary;
use inferometer_engine::card::cards;
use inferometer_engine::confidence::card_in_words;
use inferometer_engine::profile::profile as profile_named;
use inferometer_model::cell::CellPlan;
use inferometer_model::suggest::did_you_mean;
use inferometer_model::target::CARD_SOURCE;
use inferometer_model::visible;
use inferometer_plan::shell::word;
use inferometer_plan::spec::Variant;
use inferometer_predict::{BUILT_IN, Expected, ProfileChoice, expected, known_engine};
use inferometer_stats::percentile;
use inferometer_store::Store;
use serde_json::{Value, json};

use super::own_profiles::own_profiles;
use super::settings::profiles_folder;
use crate::command_line::console::tell;
use crate::command_line::exit::{Failure, print};

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
        let found = store.run(&id).map_err(|error| error.to_string());
        match found.and_then(|run| expected(&run, choice)) {
            Ok(expected) => held.push((id, expected)),
            Err(why) => skipped.push((id, why)),
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
            let _ =
                writeln!(text, "{run}  {cell}, {load}: left out, none of its requests completed");
        }
    }
    for name in PassPrediction::NAMES {
        if let Some((count, sure, inside, median)) = of_figure(held, name) {
            let _ = writeln!(
                text,
                "{name}: median absolute error {median:.1} % of {count}; {inside} of {sure} calibrated \
                 predictions inside their 90 % interval"
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
    for (run, why) in skipped {
        let _ = writeln!(text, "  {run}: {why}");
    }
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

fn judged(figure: FigurePrediction, low: f64, high: f64) -> String {
    let calibrated = if figure.calibrated { "" } else { "uncalibrated " };
    match figure.holds() {
        Some(true) => format!("inside the {calibrated}interval"),
        _ => format!("outside the {calibrated}interval, {low:.2} to {high:.2}"),
    }
}

/// Compares a run that was just measured with its prediction. The text has a line for each pass, and the commands that
/// print all figures and fit a profile. It is empty if the target is simulated, or if its engine, card or model is
/// unknown and the user did not state the card. If the prediction fails, the text states the reason.
pub fn of_run(store: &Path, run: &str, summary: &Summary) -> String {
    if summary.target.simulated {
        return String::new();
    }
    if let Err(why) = known_engine(summary, BUILT_IN) {
        // Who states the card expects a prediction.
        let is_stated = summary.target.facts.contains_key(CARD_SOURCE);
        return if is_stated { format!("\nnot predicted: {why}\n") } else { String::new() };
    }
    let own = own_profiles();
    let stored = Store::open_existing(store).and_then(|store| store.run(run));
    let found = stored.map_err(|error| error.to_string());
    match found.and_then(|run| expected(&run, ProfileChoice::Own(&own))) {
        Ok(found) => lines(run, &found, store, profiles_folder().as_deref()),
        Err(why) => format!("\nnot predicted: {why}\n"),
    }
}

/// Prints a warning for each card that the user states for a server and that this program does not know.
pub fn warn_of_unknown_cards(variants: &[Variant]) {
    let servers = variants.iter().map(|variant| &variant.spec);
    let servers = servers.filter(|spec| spec.target.is_some() || spec.server.is_some());
    let stated: BTreeSet<&str> = servers.filter_map(|spec| spec.server_card.as_deref()).collect();
    for name in stated.into_iter().filter(|name| card_in_words(name).is_none()) {
        tell(&format!(
            "warning: server_card (--server-card): this program does not know the card {}{}, so the run will have no \
             prediction; `inferometer list cards` lists the cards that it knows",
            visible::name(name),
            did_you_mean(&name.to_lowercase(), cards().iter().map(|card| card.name.as_str()))
        ));
    }
}

/// `folder` is the folder of the user's own profiles, in which later predictions find the profile.
fn lines(run: &str, found: &Expected, store: &Path, folder: Option<&Path>) -> String {
    let mut text = String::from("\n");
    for (cell, pass) in &found.passes {
        let Some(figure) = pass.requests_per_s.filter(|figure| figure.measured.is_some()) else {
            continue;
        };
        let [low, high] = figure.interval;
        let _ = writeln!(
            text,
            "{cell}, {}: predicted {:.1}, measured {:.1} requests/s: {}",
            pass.load,
            figure.predicted,
            figure.measured.unwrap_or_default(),
            judged(figure, low, high)
        );
    }
    for (cell, load) in &found.left_out {
        let _ = writeln!(text, "{cell}, {load}: not predicted, none of its requests completed");
    }
    let Expected { profile, profile_file, model, flags, predict_flags, .. } = found;
    let model = word(model);
    let profile = match profile_file {
        Some(file) => format!("your own profile {profile} ({})", visible::line(file)),
        None => format!("profile {profile}"),
    };
    let store = match store.to_str() {
        Some("inferometer.db") | None => String::new(),
        Some(store) => format!(" --store {}", word(store)),
    };
    let file = format!("{run}.toml");
    let (out, later) = match folder {
        Some(folder) => (folder.join(file), ", which later predictions of this server use"),
        None => (PathBuf::from(file), ""),
    };
    let _ = writeln!(
        text,
        "by {profile}; all figures: inferometer predict --against {run} --model {model} {predict_flags}{store}; to \
         learn a profile of this server{later}: inferometer calibrate {run} --model {model} {flags}{store} --out {}",
        word(&out.display().to_string())
    );
    text
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Args, Command, FromArgMatches};
    use inferometer_predict::ServerFacts;

    use super::*;
    use crate::command_line::command::engine_flags::{EngineFlags, config};

    fn expected_of(predicted: f64, measured: f64, calibrated: bool) -> Expected {
        let interval = [predicted / 1.1, predicted * 1.1];
        let figure =
            FigurePrediction { predicted, interval, calibrated, measured: None, error_pct: None };
        let figures = [Some(figure.against(Some(measured))), None, None, None, None];
        let cell = CellPlan { input_length: 128, output_length: 32 };
        let pass = PassPrediction::of("saturated".to_owned(), figures);
        Expected {
            profile: "vllm-0.23-h100-sxm".to_owned(),
            model: "qwen3-14b".to_owned(),
            profile_file: None,
            flags: "--engine vllm-0.23.0 --card h100-sxm".to_owned(),
            predict_flags: "--engine vllm-0.23.0 --card h100-sxm".to_owned(),
            passes: vec![(cell, pass)],
            left_out: Vec::new(),
        }
    }

    /// The text after run `run`, whose results are in the default store, for a user without a folder of profiles.
    fn lines_of(run: &str, found: &Expected) -> String {
        lines(run, found, Path::new("inferometer.db"), None)
    }

    #[test]
    fn a_learned_profile_is_written_where_later_predictions_find_it_and_is_named_when_it_is_used() {
        let built_in = expected_of(11.4, 10.9, true);
        let folder = Path::new("/home/u/my settings/profiles");
        let text = lines("r1", &built_in, Path::new("/data/runs.db"), Some(folder));
        let command = "calibrate r1 --model qwen3-14b --engine vllm-0.23.0 --card h100-sxm --store /data/runs.db \
                       --out '/home/u/my settings/profiles/r1.toml'";
        assert!(text.contains(command), "{text}");
        let own = Expected {
            profile: "calibrated".to_owned(),
            profile_file: Some("/home/u/r0.toml".to_owned()),
            predict_flags: "--profile /home/u/r0.toml".to_owned(),
            left_out: vec![(built_in.passes[0].0, "closed".to_owned())],
            ..built_in
        };
        let text = lines_of("r1", &own);
        assert!(text.contains("by your own profile calibrated (/home/u/r0.toml); all"), "{text}");
        let command = "predict --against r1 --model qwen3-14b --profile /home/u/r0.toml;";
        assert!(text.contains(command), "{text}");
        assert!(text.contains("128 x 32, closed: not predicted, none of its requests"), "{text}");
    }

    #[test]
    fn a_measured_run_is_shown_with_its_prediction_and_a_command_to_calibrate() {
        let text = lines_of("r1", &expected_of(11.4, 10.9, true));
        let first = "predicted 11.4, measured 10.9 requests/s: inside the interval\n";
        assert!(text.contains(first), "{text}");
        assert!(text.contains("inferometer calibrate r1 --model qwen3-14b --engine vllm-0.23.0"));
        let spaced =
            Expected { model: "my model/a.json".to_owned(), ..expected_of(1.0, 1.0, true) };
        let quoted = "predict --against r1 --model 'my model/a.json' --engine";
        assert!(lines_of("r1", &spaced).contains(quoted), "{}", lines_of("r1", &spaced));
        let off = lines_of("r1", &expected_of(11.4, 20.0, false));
        assert!(off.contains("outside the uncalibrated interval, 10.36 to 12.54"), "{off}");
    }

    #[test]
    fn the_printed_command_simulates_the_engine_of_the_printed_prediction() {
        let target = json!({
            "url": "http://h", "dialect": "openai-completions", "engine": "vllm",
            "engine_version": "0.23.1", "model": "chat", "simulated": false, "profile": null,
            "facts": {
                "root": "Qwen/Qwen3-14B", "gpu": "NVIDIA H100 80GB HBM3", "weights": "fp8",
                "max_model_len": "8192", "--max-num-seqs": "64", "gpu_memory_utilization": "0.8",
                "block_size": "32", "kv_cache_dtype": "fp8", "async_scheduling": "false",
                "max_num_batched_tokens": "4096", "tensor_parallel_size": "2",
                "long_prefill_token_threshold": "512",
            },
        });
        let summary: Summary = serde_json::from_value(json!({
            "schema": "inferometer.summary/1", "tool": { "name": "inferometer", "version": "0" },
            "run_id": "r", "started_at": "", "plan_hash": "", "workload_hash": "", "body_hash": "",
            "predicted": false, "target": target, "environment": {}, "findings": [], "cells": [],
            "verdict": { "validity": "valid", "reasons": [], "slo": [] },
        }))
        .expect("a summary");
        let simulated = known_engine(&summary, BUILT_IN).expect("a known engine");
        let facts = ServerFacts::of("run r".to_owned(), &summary, None);
        let model = facts.model.clone().expect("a model");
        let flags = facts.to_string();
        let predict_flags = flags.clone();
        let found = Expected { model, flags, predict_flags, ..expected_of(1.0, 1.0, true) };
        let text = lines_of("r", &found);
        for command in ["predict --against r ", "calibrate r "] {
            let printed = text.split(&format!("inferometer {command}")).nth(1).expect("printed");
            let printed = printed.split([';', '\n']).next().expect("a command");
            let words = printed.split_whitespace().take_while(|word| *word != "--out");
            let parser = Command::new(command).no_binary_name(true);
            let parser = EngineFlags::augment_args(parser.arg(Arg::new("model").long("model")));
            let matches = parser.try_get_matches_from(words).expect("flags of the command");
            let flags = EngineFlags::from_arg_matches(&matches).expect("flags of the engine");
            let model = matches.get_one::<String>("model").map(String::as_str);
            assert_eq!(config(model, None, &flags).expect("an engine"), simulated, "{printed}");
        }
        assert_eq!((simulated.block_size, simulated.gpu_memory_utilization), (Some(32), Some(0.8)));
    }

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
        assert!(told.contains("e  128 x 32, saturated: left out, none of its requests"), "{told}");
        assert!(told.contains("left out: 1, because none of their requests completed"), "{told}");
        assert_eq!(document(&failed, &[])["runs"][0]["left_out"][0]["load"], "saturated");
        let document = document(&held, &skipped);
        assert_eq!(document["figures"]["requests_per_s"]["inside"], 1);
        assert_eq!(document["skipped"][0]["run"], "d");
    }
}
