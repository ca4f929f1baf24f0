//! `predict` and `calibrate` as users run them: a grid, a published table, a stored run.

use std::path::Path;

use serde_json::Value;

use crate::support::{folder, inferometer, told};

/// The path of a file with a published table. The file has exactly the published content.
fn published(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../analysis/src/table_import/fixtures");
    format!("{folder}/{name}.md")
}

pub fn predict(folder: &Path, arguments: &[&str]) -> Value {
    let mut all = vec!["predict", "--json", "--quiet"];
    all.extend(arguments);
    let output = inferometer(folder, &all);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert_eq!(told(&output), "");
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn codes(summary: &Value) -> Vec<&str> {
    let findings = summary["findings"].as_array().expect("findings");
    findings.iter().filter_map(|finding| finding["code"].as_str()).collect()
}

#[test]
fn a_prediction_matches_the_summary_schema_and_has_an_interval_around_each_figure() {
    let folder = folder();
    let grid = ["--input-lengths", "128,1024", "--output-lengths", "32,128"];
    let summary = predict(folder.path(), &grid);
    let schema = include_str!("../../../../schema/summary.schema.json");
    let schema = serde_json::from_str(schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(&summary).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(summary["predicted"], true);
    assert!(summary.get("errors").is_none());
    let cells = summary["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 4);
    for cell in cells {
        let was_seen = cell["output_length"] == 128;
        assert_eq!(cell.get("uncalibrated").is_none(), was_seen, "{cell}");
        for column in ["requests_per_s", "output_tokens_per_s", "latency_per_output_token_ms"] {
            let figure = cell[column].as_f64().expect("a figure");
            let range = &cell["interval"][column];
            let (low, high) = (range[0].as_f64().unwrap(), range[1].as_f64().unwrap());
            assert!(low < figure && figure < high);
            assert_eq!(high / low > 2.0, !was_seen, "{column}: {low} to {high}");
        }
    }
}

#[test]
fn predictions_have_a_small_median_error_against_published_tables() {
    let folder = folder();
    for (model, throughput, latency) in
        [("chatglm3-6b", 2.0, 1.5), ("qwen-14b", 2.0, 1.5), ("baichuan2-13b-gptq", 2.0, 1.5)]
    {
        let table = published(model);
        let summary = predict(folder.path(), &["--model", model, "--against", &table]);
        for (column, goal) in
            [("output_tokens_per_s", throughput), ("latency_per_output_token_ms", latency)]
        {
            let median = summary["errors"][column]["median"].as_f64().expect("a median");
            assert!(median <= goal, "{model}: {column}: {median}");
        }
    }
}

#[test]
fn capped_rows_and_rows_with_a_larger_limit_have_findings_and_capped_rows_have_no_error() {
    let folder = folder();
    let table = published("qwen-14b");
    let summary = predict(folder.path(), &["--model", "qwen-14b", "--against", &table]);
    let codes = codes(&summary);
    assert!(codes.contains(&"output_capped") && codes.contains(&"larger_limit"), "{codes:?}");
    let cells = summary["cells"].as_array().expect("cells");
    let of = |input: u32, output: u32| {
        let found = cells
            .iter()
            .find(|cell| cell["input_length"] == input && cell["output_length"] == output);
        found.expect("a cell")
    };
    let capped = of(128, 2048);
    assert_eq!(capped["measured"]["output_tokens_per_s"], 255.35);
    assert!(capped.get("error_pct").is_none());
    let error = of(2048, 512)["error_pct"]["output_tokens_per_s"].as_f64().expect("an error");
    assert!(error.abs() < 5.0, "{error}");
}

#[test]
fn a_stored_prediction_can_be_reported_again_and_used_as_a_reference() {
    let folder = folder();
    let lengths = ["--input-lengths", "128", "--output-lengths", "128"];
    let mut first = vec!["--store", "runs.db"];
    first.extend(lengths);
    let one = predict(folder.path(), &first);
    let again =
        inferometer(folder.path(), &["report", "latest-predicted", "--store", "runs.db", "--json"]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    assert_eq!(again["predicted"], true);
    assert_eq!(again["cells"][0]["passes"], one["cells"][0]["passes"]);
    let run = one["run_id"].as_str().expect("a name");
    let two = predict(folder.path(), &["--store", "runs.db", "--against", run]);
    assert_eq!(two["cells"].as_array().map(Vec::len), Some(1));
    assert!(two["errors"]["output_tokens_per_s"]["max"].as_f64().expect("an error") < 1e-9);
    // The prediction creates only lengths and no prompts, so there is nothing to hash.
    assert_eq!((&two["workload_hash"], &two["body_hash"]), (&"".into(), &"".into()));
    assert!(!two["findings"].to_string().contains("in_sample"), "{}", two["findings"]);
}

#[test]
fn a_table_used_to_fit_the_profile_is_labelled_in_sample_and_no_row_uncalibrated() {
    let folder = folder();
    for (model, section, profile) in [
        ("baichuan2-13b-gptq", "", "a100-40g-vllm-0.2.7"),
        ("mistral-7b-openorca-awq", "#tgi", "a100-40g-tgi-1.3.4"),
        ("sus-chat-34b", "", "v100-32g-x4-vllm-0.2"),
    ] {
        let table = published(model) + section;
        let arguments = ["predict", "--model", model, "--profile", profile, "--against", &table];
        let output = inferometer(folder.path(), &arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let told = [&text, told(&output).as_str()].concat();
        assert!(text.contains(&format!("in sample: profile {profile} was fitted to")), "{told}");
        assert!(!text.contains("uncalibrated"), "{told}");
    }
}

#[test]
fn predict_uses_the_request_counts_of_the_run_and_calibrate_accepts_only_measured_runs() {
    let folder = folder();
    let grid = ["--input-lengths", "32", "--output-lengths", "4,8", "--requests", "6"];
    let measure = |speed: &str| {
        let mut arguments = vec!["run", "--quiet", "--warmup", "0", "--one-by-one", "2"];
        arguments.extend(grid);
        arguments.extend(["--speed", speed]);
        assert_eq!(inferometer(folder.path(), &arguments).status.code(), Some(0));
    };
    measure("1");
    let held = predict(folder.path(), &["--against", "latest"]);
    let planned = |at: usize| held["cells"][0]["passes"][at]["planned"].as_u64();
    assert_eq!((planned(0), planned(1)), (Some(2), Some(6)));
    let calibrate = |run: &str, more: &[&str]| {
        let arguments = [&["calibrate", run, "--model", "chatglm3-6b"], more].concat();
        String::from_utf8(inferometer(folder.path(), &arguments).stderr).expect("text")
    };
    let told = calibrate("latest-predicted", &[]);
    assert!(told.contains("a profile is fitted to measured rows"), "{told}");
    measure("50");
    let told = calibrate("latest", &[]);
    assert!(told.contains("50 times as fast") && told.contains("--speed 1"), "{told}");
    measure("1");
    let told = calibrate("latest", &["--requests", "399"]);
    assert!(told.contains("399, but the run sent 6"), "{told}");
    assert_eq!(calibrate("latest", &[]), "");
    let profile = std::fs::read_to_string(folder.path().join("profile.toml")).expect("written");
    assert!(profile.contains("requests = [6, 1]"), "{profile}");
    // A fit to a run of another model is possible, but a message names the two models.
    let other = ["calibrate", "latest", "--model", "qwen-14b", "--out", "other.toml"];
    let output = inferometer(folder.path(), &other);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("chatglm3-6b was measured") && text.contains("--model is qwen-14b"),
        "{text}"
    );
    // A mistake in --out is reported before anything is read or fitted.
    let told = calibrate("no such run", &["--out", "no/such/folder.toml"]);
    assert!(told.contains("--out: no/such/folder.toml cannot be written"), "{told}");
}

#[test]
fn a_profile_fitted_to_two_rows_predicts_the_other_rows() {
    let folder = folder();
    let table = published("chatglm3-6b");
    let arguments = ["calibrate", &table, "--model", "chatglm3-6b", "--rows", "128x128,2048x2048"];
    let output = inferometer(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("three multipliers") && text.contains("profile.toml"), "{text}");
    let against =
        ["--model", "chatglm3-6b", "--profile", "profile.toml", "--against", table.as_str()];
    let summary = predict(folder.path(), &against);
    let mean = summary["errors"]["output_tokens_per_s"]["mean"].as_f64().expect("a mean");
    assert!(mean < 4.0, "{mean}");
    // An existing file is not replaced.
    let output = inferometer(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("profile.toml"), "{}", told(&output));
}

#[test]
fn the_error_for_an_impossible_prediction_names_the_wrong_flag_or_value() {
    let folder = folder();
    let mistral = published("mistral-7b-openorca-awq");
    for (arguments, flag) in [
        (vec!["predict", "--model", "gpt-9"], "--model"),
        (vec!["predict", "--profile", "abacus"], "--profile"),
        (vec!["predict", "--max-model-len", "999999"], "--max-model-len"),
        (vec!["predict", "--weights", "awq"], "awq"),
        (vec!["predict", "--against", "nothing.md"], "--against"),
        (vec!["calibrate", &mistral, "--model", "chatglm3-6b", "--rows", "128x128"], "at least 2"),
    ] {
        let output = inferometer(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", told(&output));
        assert!(told(&output).contains(flag), "{arguments:?}: {}", told(&output));
    }
}

#[test]
fn a_prediction_uses_exactly_the_requests_that_a_run_sends() {
    let folder = folder();
    let rows = "{\"prompt\": \"one and two\", \"output_tokens\": 5}\n\
                {\"prompt\": \"three\", \"output_tokens\": 9}\n";
    std::fs::write(folder.path().join("rows.jsonl"), rows).expect("a file");
    std::fs::write(folder.path().join("trace.csv"), "0.0,30,6\n0.2,10,4\n").expect("a file");
    for workload in [
        &["--workload", "jsonl", "--dataset", "rows.jsonl", "--requests", "2"][..],
        &["--workload", "trace", "--dataset", "trace.csv", "--trace-format", "plain"],
        &[
            "--range-ratio", "0.5", "--input-lengths", "32", "--output-lengths", "4", "--requests",
            "5",
        ],
    ] {
        let mut all = vec!["run", "--json", "--quiet", "--no-progress", "--speed", "50"];
        let same = ["--salt", "same", "--seed", "3"];
        all.extend(same.iter().chain(workload));
        let run = inferometer(folder.path(), &all);
        let run: Value = serde_json::from_slice(&run.stdout).expect("JSON");
        let predicted = predict(folder.path(), &[&same[..], workload].concat());
        assert_eq!(predicted["workload_hash"], run["workload_hash"], "{workload:?}");
        let tokens = |summary: &Value| {
            let passes = summary["cells"][0]["passes"].as_array().expect("passes").clone();
            let of = |pass: &Value| (pass["input_tokens"].clone(), pass["output_tokens"].clone());
            passes.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(tokens(&predicted), tokens(&run), "{workload:?}");
    }
}

#[test]
fn prompts_above_the_model_limit_are_a_finding_and_a_pass_without_output_fails() {
    let folder = folder();
    let arguments = ["predict", "--json", "--quiet", "--model", "qwen-14b", "--requests", "4"];
    let lengths = ["--input-lengths", "128,4096", "--output-lengths", "16", "--rate", "5"];
    let output = inferometer(folder.path(), &[&arguments[..], &lengths].concat());
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = summary["findings"].as_array().expect("findings");
    let found = findings.iter().find(|finding| finding["code"] == "prompts_ignored");
    let found = found.expect("a finding about the ignored prompts");
    assert_eq!(found["place"], "4096 x 16");
    assert!(found["message"].as_str().expect("text").contains("at most 2048 tokens"), "{found}");
    assert!(
        found["message"].as_str().expect("text").starts_with("no request can be served: all 4 ")
    );
    let [served, other] = [0, 1].map(|at| summary["cells"][at].clone());
    assert!(served["requests_per_s"].as_f64() > Some(0.0));
    for figure in [&other["requests_per_s"], &other["passes"][0]["requests_per_s"]] {
        assert!(figure.is_null(), "{other}");
    }
    let range = |cell: &Value| cell["interval"]["requests_per_s"].is_array();
    assert!(range(&served) && !range(&other) && other["interval_of"].is_null(), "{other}");
}

#[test]
fn an_objective_on_a_figure_that_is_not_measured_is_undecided() {
    let folder = folder();
    // An output of one token has no time between tokens.
    let lengths = ["--input-lengths", "64", "--output-lengths", "1", "--requests", "2"];
    let objective = ["predict", "--quiet", "--slo", "itl_p50<500ms"];
    let output = inferometer(folder.path(), &[&objective[..], &lengths].concat());
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let text = told(&output);
    assert!(text.contains("UNDECIDED") && text.contains("itl was not measured"), "{text}");
}

#[test]
fn noise_depends_on_the_salt_unless_a_seed_is_given_and_is_reported_with_its_seed() {
    let folder = folder();
    let of = |noise: &[&str], salt: &str| {
        let load = ["--input-lengths", "64", "--output-lengths", "16", "--concurrency", "2,4"];
        let summary = predict(folder.path(), &[&load, noise, &["--salt", salt]].concat());
        let passes = summary["cells"][0]["passes"].as_array().expect("passes");
        let figures: Vec<f64> =
            passes.iter().map(|pass| pass["requests_per_s"].as_f64().expect("a rate")).collect();
        (figures, summary["target"]["facts"]["noise"].as_str().map(str::to_owned))
    };
    let noise = ["--noise", "step=0.05,drift=0.1:10s,pause=20ms:1s"];
    let (quiet, none) = of(&[], "a");
    let (first, told) = of(&noise, "a");
    assert_eq!((none, of(&[], "b").0), (None, quiet.clone()));
    let told = told.expect("the noise");
    assert!(told.starts_with("step=0.05,drift=0.1:10s,pause=0.02s:1s,seed="), "{told}");
    assert_eq!(of(&noise, "a").0, first);
    assert_ne!(of(&noise, "b").0, first);
    let same = of(&["--noise", &told], "b").0;
    assert_eq!(same, first, "a seed in --noise replaces the seed from the salt");
    for (noisy, quiet) in first.iter().zip(&quiet) {
        assert!(noisy != quiet && (noisy / quiet - 1.0).abs() < 0.5, "{noisy} {quiet}");
    }
}

#[test]
fn an_invalid_noise_value_is_refused_by_every_command() {
    let folder = folder();
    for command in ["predict", "run", "engine"] {
        let output = inferometer(folder.path(), &[command, "--noise", "step=0.1,drift=0.1"]);
        assert_eq!(output.status.code(), Some(2), "{command}: {}", told(&output));
        let told = told(&output);
        assert!(told.contains("--noise drift=0.1: write drift=SD:TIME"), "{command}: {told}");
    }
}

#[test]
fn a_short_pass_has_the_same_steady_state_rate_as_a_long_pass() {
    let folder = folder();
    let steady = |more: &[&str]| -> Vec<(f64, f64, f64)> {
        let load = ["--input-lengths", "128", "--output-lengths", "32", "--salt", "s"];
        let summary = predict(folder.path(), &[&load, more].concat());
        let passes = summary["cells"][0]["passes"].as_array().expect("passes");
        let figures = |pass: &Value| {
            let steady = &pass["steady_state"];
            let complete = pass["outcomes"]["complete"].as_f64().expect("a count");
            let mean = pass["output_tokens"].as_f64().expect("a count") / complete;
            let figure = |key: &str| steady[key].as_f64().expect("a steady state");
            (figure("requests_per_s"), figure("output_tokens_per_s"), mean)
        };
        passes.iter().map(figures).collect()
    };
    let loops = ["--concurrency", "1,8,32"];
    let short = steady(&[&loops[..], &["--requests", "160"]].concat());
    let long = steady(&[&loops[..], &["--requests", "3200"]].concat());
    for ((short, ..), (long, ..)) in short.iter().zip(&long) {
        assert!((short / long - 1.0).abs() < 0.01, "{short} {long}");
    }
    let varied = ["--rate", "4,10", "--requests", "600", "--range-ratio", "0.5"];
    for (requests, tokens, mean) in steady(&[&loops[..], &varied].concat()) {
        assert!((requests * mean / tokens - 1.0).abs() < 0.01, "{requests} {mean} {tokens}");
    }
}
