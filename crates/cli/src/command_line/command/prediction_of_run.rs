//! The prediction of a run that `run` has just measured, as text: each pass next to its prediction, or why there is none
//! and which command predicts the run.

use std::path::{Path, PathBuf};
use std::{collections::BTreeSet, fmt::Write as _};

use inferometer_analysis::{Summary, prediction::FigurePrediction};
use inferometer_engine::{card::cards, confidence::card_in_words, model::model, profile::profiles};
use inferometer_model::{did_you_mean, visible};
use inferometer_plan::{shell::word, spec::Variant};
use inferometer_predict::{
    BUILT_IN, Expected, ProfileChoice, ServerFacts, Unpredictable, expected, known_engine,
};
use inferometer_store::Store;

use super::{own_profiles::own_profiles, settings::profiles_folder};
use crate::command_line::tell;

/// Compares a run that was just measured with its prediction. The text has a line for each pass, and the commands that
/// print all figures and fit a profile. If the prediction fails, the text states the reason.
///
/// The text is empty if the target is simulated. If a fact that the prediction needs (such as the engine, the card or
/// the model) is unknown or cannot be simulated, there are three cases:
/// - The model is unknown, and the engine can be simulated: the text has the command that predicts the run with the
///   model's config.json.
/// - In other cases, if the user stated the card: the text states the reason.
/// - In all remaining cases, the text is empty.
pub fn of_run(store: &Path, run: &str, summary: &Summary) -> String {
    if summary.target.simulated {
        return String::new();
    }
    if let Err(why) = known_engine(summary, BUILT_IN) {
        if let Some(text) = of_unknown_model(store, run, summary) {
            return text;
        }
        // A user who states the card expects a prediction.
        let is_stated = summary.target.facts.card_is_by_user;
        return if is_stated { format!("\nnot predicted: {why}\n") } else { String::new() };
    }
    let own = own_profiles();
    let stored = Store::open_existing(store).and_then(|store| store.run(run));
    let found = stored.map_err(Unpredictable::from);
    match found.and_then(|run| expected(&run, ProfileChoice::Own(&own))) {
        Ok(found) => lines(run, &found, store, profiles_folder().as_deref()),
        Err(why) => format!("\nnot predicted: {why}\n"),
    }
}

/// The command that predicts a run of an unknown model on a known engine. `None` if the engine is
/// unknown or the model is known.
fn of_unknown_model(store: &Path, run: &str, summary: &Summary) -> Option<String> {
    let target = &summary.target;
    let facts = ServerFacts::of(String::new(), summary, None);
    let (name, _) = facts.get("engine")?.split_once('-')?;
    let is_simulated = profiles().iter().any(|profile| profile.engine == name);
    if !is_simulated || facts.model.as_deref().is_some_and(|name| model(name).is_ok()) {
        return None;
    }
    // A server on this machine may state the folder of its model.
    let files = target.facts.model_places().map(|folder| Path::new(folder).join("config.json"));
    let file = files.into_iter().find(|file| file.is_file());
    let file = file.unwrap_or_else(|| PathBuf::from("PATH/config.json"));
    let card = if facts.get("card").is_none() { " --card NAME" } else { "" };
    let store = store_flag(store);
    Some(format!(
        "\nnot predicted: this program does not know the model {}; with the config.json of the model, this command \
         predicts the run: inferometer predict --against {run} --model {}{card}{store}\n",
        visible::name(&target.model),
        word(&file.display().to_string()),
    ))
}

/// ` --store FILE` for a command, if the store is not the default one.
fn store_flag(store: &Path) -> String {
    match store.to_str() {
        Some("inferometer.db") | None => String::new(),
        Some(store) => format!(" --store {}", word(store)),
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
            did_you_mean(&name.to_lowercase(), cards().map(|card| card.name.as_str()))
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
        let _ =
            writeln!(text, "{cell}, {load}: not predicted, because none of its requests completed");
    }
    let Expected { profile, profile_file, model, flags, predict_flags, .. } = found;
    let model = word(model);
    let profile = match profile_file {
        Some(file) => format!("your own profile {profile} ({})", visible::line(file)),
        None => format!("profile {profile}"),
    };
    let store = store_flag(store);
    let file = format!("{run}.toml");
    let (out, later) = match folder {
        Some(folder) => (folder.join(file), ", which later predictions of this server use"),
        None => (PathBuf::from(file), ""),
    };
    let _ = writeln!(
        text,
        "predicted by {profile}; for all figures: inferometer predict --against {run} --model {model} \
         {predict_flags}{store}; to fit a profile to this server{later}: inferometer calibrate {run} --model {model} \
         {flags}{store} --out {}",
        word(&out.display().to_string())
    );
    text
}

pub(super) fn judged(figure: FigurePrediction, low: f64, high: f64) -> String {
    let calibrated = if figure.calibrated { "" } else { "uncalibrated " };
    match figure.holds() {
        Some(true) => format!("inside the {calibrated}interval"),
        _ => format!("outside the {calibrated}interval, {low:.2} to {high:.2}"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use clap::{Arg, Args, Command, FromArgMatches};
    use inferometer_analysis::prediction::PassPrediction;
    use inferometer_model::cell::CellPlan;
    use serde_json::{Value, json};

    use super::*;
    use crate::command_line::command::engine_flags::{EngineFlags, config};

    pub(in super::super) fn expected_of(
        predicted: f64,
        measured: f64,
        calibrated: bool,
    ) -> Expected {
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

    /// The results of a run on this server.
    fn summary_of(target: Value) -> Summary {
        serde_json::from_value(json!({
            "schema": "inferometer.summary/1", "tool": { "name": "inferometer", "version": "0" },
            "run_id": "r", "started_at": "", "plan_hash": "", "workload_hash": "", "body_hash": "",
            "predicted": false, "target": target, "environment": {}, "findings": [], "cells": [],
            "verdict": { "validity": "valid", "reasons": [], "slo": [] },
        }))
        .expect("a summary")
    }

    #[test]
    fn a_run_of_an_unknown_model_gets_the_command_that_predicts_it_with_its_config_file() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("config.json"), "{}").expect("a file");
        let own = folder.path().join("config.json").display().to_string();
        let at = folder.path().display().to_string();
        let gpu = "NVIDIA H100 80GB HBM3";
        for (engine, model, facts, command) in [
            (
                "vllm",
                "acme-9b",
                json!({"gpu": gpu}),
                Some("--model PATH/config.json --store s.db\n"),
            ),
            (
                "vllm",
                "acme-9b",
                json!({}),
                Some("--model PATH/config.json --card NAME --store s.db\n"),
            ),
            ("vllm", "acme-9b", json!({"gpu": gpu, "root": at}), Some(own.as_str())),
            // The card is stated, but the model is unknown.
            (
                "vllm",
                "acme-9b",
                json!({"card": "h100-sxm", "card_source": "stated by the user"}),
                Some("--model PATH/config.json --store"),
            ),
            // A known model, and an engine that cannot be simulated.
            ("vllm", "Qwen/Qwen3-14B", json!({}), None),
            ("llama.cpp", "acme-9b", json!({"gpu": gpu}), None),
        ] {
            let target = json!({
                "url": "http://h", "dialect": "openai-completions", "engine": engine,
                "engine_version": "0.23.1", "model": model, "simulated": false, "profile": null,
                "facts": facts,
            });
            let text = of_run(Path::new("s.db"), "r1", &summary_of(target));
            let Some(command) = command else {
                assert_eq!(text, "", "{model}");
                continue;
            };
            assert!(
                text.starts_with("\nnot predicted: this program does not know the model acme-9b")
            );
            assert!(text.contains("inferometer predict --against r1 --model "), "{text}");
            assert!(text.contains(command), "{command}: {text}");
        }
    }

    #[test]
    fn a_fitted_profile_is_written_where_later_predictions_find_it_and_is_named_when_it_is_used() {
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
        assert!(text.contains("by your own profile calibrated (/home/u/r0.toml); for"), "{text}");
        let command = "predict --against r1 --model qwen3-14b --profile /home/u/r0.toml;";
        assert!(text.contains(command), "{text}");
        assert!(text.contains("128 x 32, closed: not predicted, because none of"), "{text}");
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
        let summary = summary_of(target);
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
}
