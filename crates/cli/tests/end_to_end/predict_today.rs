//! Tests predictions with the cost model for vLLM 0.8 and later, predictions against stored runs, and
//! `check --predictions`.

use serde_json::Value;

use crate::predict::predict;
use crate::support::{folder, inferometer, told};

const TODAY: [&str; 6] = ["--model", "llama-3.1-8b", "--engine", "vllm-0.8", "--card", "l40s"];

/// Every figure of every pass of a prediction, except the load.
fn figures(summary: &Value) -> Vec<(String, Value)> {
    let cells = summary["cells"].as_array().expect("cells");
    let passes = cells.iter().flat_map(|cell| cell["predicted_passes"].as_array().expect("passes"));
    let figures = passes.flat_map(|pass| pass.as_object().expect("a pass"));
    let figures = figures.filter(|(name, _)| *name != "load");
    figures.map(|(name, figure)| (name.clone(), figure.clone())).collect()
}

#[test]
fn each_figure_of_a_predicted_pass_of_a_current_engine_has_an_interval() {
    let folder = folder();
    let load =
        ["--input-lengths", "938", "--output-lengths", "170", "--rate", "1", "--requests", "30"];
    let summary = predict(folder.path(), &[&TODAY[..], &["--weights", "fp8"], &load].concat());
    let schema = include_str!("../../../../schema/summary.schema.json");
    let schema = serde_json::from_str(schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(&summary).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let found = figures(&summary);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let expected = ["requests_per_s", "tpot_p50_ms", "ttft_p50_ms", "ttft_p99_ms", "e2e_p50_ms"];
    assert_eq!(names, expected);
    for (name, figure) in &found {
        assert_eq!(figure["calibrated"], true, "{name}");
        let [low, high] = [0, 1].map(|at| figure["interval"][at].as_f64().expect("an end"));
        let predicted = figure["predicted"].as_f64().expect("a figure");
        assert!(low < predicted && predicted < high && high / low < 2.0, "{name}: {figure}");
    }
    // If the client limits the requests in flight, the 99th percentile of TTFT is uncertain.
    let limited = [&TODAY[..], &["--weights", "fp8", "--max-in-flight", "2"], &load].concat();
    let limited = predict(folder.path(), &limited);
    let width = |found: &[(String, Value)], at: usize| {
        let range = &found[at].1["interval"];
        range[1].as_f64().expect("an end") / range[0].as_f64().expect("an end")
    };
    let [p50, limited_p50] = [&found, &figures(&limited)].map(|found| width(found, 2));
    assert!(p50 < 1.35 && limited_p50 < 1.25, "{p50} {limited_p50}");
    assert!(width(&figures(&limited), 3) > 1.5);
    // No measured row of the profile has both random arrivals and a limit of requests in flight.
    let own = ["--weights", "fp8", "--max-in-flight", "2", "--arrivals", "inferometer"];
    for (name, figure) in figures(&predict(folder.path(), &[&TODAY[..], &own, &load].concat())) {
        assert_eq!(figure["calibrated"], !name.starts_with("ttft"), "{name}");
    }
    // No measured row of the profile has 16-bit weights.
    let other = predict(folder.path(), &[&TODAY[..], &load].concat());
    assert!(figures(&other).iter().all(|(_, figure)| figure["calibrated"] == false));
}

#[test]
fn a_cell_has_the_interval_of_its_loaded_pass_and_one_by_one_rates_are_as_uncertain_as_latencies() {
    let folder = folder();
    let width =
        |range: &Value| range[1].as_f64().expect("an end") / range[0].as_f64().expect("an end");
    for (load, loading) in
        [(&["--requests", "30"][..], 1), (&["--rate", "1", "--requests", "30"], 0)]
    {
        let load = [&["--input-lengths", "938", "--output-lengths", "170"][..], load].concat();
        let summary = predict(folder.path(), &[&TODAY[..], &["--weights", "fp8"], &load].concat());
        let cell = &summary["cells"][0];
        let passes = &cell["predicted_passes"];
        let of_pass = &passes[loading]["requests_per_s"]["interval"];
        assert_eq!(&cell["interval"]["requests_per_s"], of_pass, "{cell}");
        let of_tokens = width(&cell["interval"]["output_tokens_per_s"]);
        assert!((of_tokens / width(of_pass) - 1.0).abs() < 1e-9, "{cell}");
        if loading == 1 {
            let [rate, latency] = ["requests_per_s", "e2e_p50_ms"]
                .map(|figure| width(&passes[0][figure]["interval"]));
            assert!((rate / latency - 1.0).abs() < 1e-9, "{passes}");
        }
    }
}

#[test]
fn a_cell_without_output_has_no_figure_and_its_stored_prediction_is_readable() {
    let folder = folder();
    let lengths = ["--input-lengths", "128,200000", "--output-lengths", "16", "--requests", "4"];
    let arguments = [&["predict", "--json", "--quiet"], &TODAY[..], &lengths].concat();
    let output = inferometer(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let cell = &summary["cells"][1];
    assert!(
        cell["requests_per_s"].is_null() && cell["interval"]["requests_per_s"].is_null(),
        "{cell}"
    );
    assert!(!summary["cells"].to_string().contains("[null,null]"), "{summary}");
    let again = inferometer(folder.path(), &["show", "latest-predicted", "--json"]);
    assert_eq!(again.status.code(), Some(0), "{}", told(&again));
}

#[test]
fn the_interval_of_predicted_tpot_reaches_higher_near_the_capacity_than_at_low_load() {
    let folder = folder();
    let engine = ["--model", "qwen3-14b", "--engine", "vllm-0.23", "--card", "h100-sxm"];
    let lengths = ["--input-lengths", "986", "--output-lengths", "128", "--requests", "800"];
    let upper = |rate: &str| {
        let load = [&engine[..], &lengths, &["--rate", rate]].concat();
        let found = figures(&predict(folder.path(), &load));
        let tpot = &found.iter().find(|(name, _)| name == "tpot_p50_ms").expect("a TPOT").1;
        let [predicted, high] = [&tpot["predicted"], &tpot["interval"][1]];
        high.as_f64().expect("an end") / predicted.as_f64().expect("a figure")
    };
    let [low, near] = ["2", "16"].map(upper);
    // The error of the profile for a single step is about 5 %. Near the capacity, requests wait if steps are slower
    // by this error.
    assert!(low < 1.08 && near > 1.12, "{low} {near}");
}

#[test]
fn no_range_of_an_open_load_has_more_requests_per_second_than_arrive() {
    let folder = folder();
    let engine = ["--model", "qwen3-14b", "--card", "a100-sxm-80gb"];
    let load = ["--rate", "8", "--input-lengths", "512", "--output-lengths", "128"];
    let summary = predict(folder.path(), &[engine.as_slice(), &load].concat());
    let (name, figure) = &figures(&summary)[0];
    assert_eq!((name.as_str(), &figure["calibrated"]), ("requests_per_s", &false.into()));
    assert_eq!(figure["interval"][1], 8.0, "{figure}");
}

#[test]
fn a_prediction_against_a_stored_run_repeats_its_load() {
    let folder = folder();
    for load in [
        &["--rate", "3", "--max-in-flight", "4", "--requests", "40", "--range-ratio", "0.5"][..],
        &["--concurrency", "2,8", "--requests", "20", "--range-ratio", "0.3"],
        &["--rate", "2", "--duration", "9s"],
    ] {
        let lengths = ["--input-lengths", "200", "--output-lengths", "30"];
        let first = predict(folder.path(), &[&TODAY[..], &lengths, load].concat());
        let run = first["run_id"].as_str().expect("a name");
        let again = predict(folder.path(), &[&TODAY[..], &["--against", run]].concat());
        let held = figures(&again);
        assert!(held.len() >= 5, "{load:?}");
        for (name, figure) in held {
            let error = figure["error_pct"].as_f64().expect("an error");
            assert!(error.abs() < 0.2, "{load:?}: {name}: {figure}");
        }
    }
    let arguments = [&["predict"], &TODAY[..], &["--against", "latest-predicted", "--rate", "5"]];
    let output = inferometer(folder.path(), &arguments.concat());
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("each pass with its own load"), "{}", told(&output));
}

#[test]
fn a_prediction_against_a_run_may_have_further_lengths_in_any_order() {
    let folder = folder();
    let load = ["--rate", "3", "--requests", "20", "--output-lengths", "30"];
    let of = |more: &[&str]| predict(folder.path(), &[&TODAY[..], more].concat());
    let run = of(&[&load[..], &["--input-lengths", "200"]].concat());
    let run = run["run_id"].as_str().expect("a name");
    for lengths in ["200,300", "300,200"] {
        let found = of(&["--against", run, "--input-lengths", lengths, "--output-lengths", "30"]);
        assert_eq!(found["cells"].as_array().expect("cells").len(), 2, "{lengths}");
    }
}

#[test]
fn check_predictions_lists_the_accuracy_of_predictions_for_stored_runs() {
    let folder = folder();
    let measured = ["run", "--quiet", "--model", "llama-3.1-8b", "--profile", "vllm-0.8-l40s"];
    let load = ["--input-lengths", "64", "--output-lengths", "3", "--concurrency", "2"];
    let output = inferometer(folder.path(), &[&measured[..], &load, &["--requests", "4"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let check = || {
        let output = inferometer(folder.path(), &["check", "--predictions", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    // Runs of the embedded engine are skipped, because predictions are made with this engine.
    let found = check();
    let why = found["skipped"][0]["why"].as_str().expect("a reason");
    assert!(why.contains("embedded engine") && found["runs"] == serde_json::json!([]), "{found}");
    // Import the same results as if they came from a real server.
    let mut reports = std::fs::read_dir(folder.path().join("inferometer-out")).expect("a folder");
    let report = reports.next().expect("a report").expect("an entry").path();
    let results = std::fs::read_to_string(report.join("summary.json")).expect("results");
    let mut results: Value = serde_json::from_str(&results).expect("JSON");
    results["target"]["simulated"] = false.into();
    std::fs::write(folder.path().join("measured.json"), results.to_string()).expect("written");
    let output = inferometer(folder.path(), &["import", "measured.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let found = check();
    assert_eq!(found["runs"][0]["profile"], "vllm-0.8-l40s", "{found}");
    assert_eq!(found["figures"]["tpot_p50_ms"]["measured"], 1, "{found}");
}

#[test]
fn an_unmeasured_engine_or_card_is_a_finding_that_names_the_profile_in_use() {
    let folder = folder();
    let lengths = ["--input-lengths", "64", "--output-lengths", "8"];
    let finding = |arguments: &[&str]| {
        let flags = ["--model", "qwen3-8b", "--json", "--quiet"];
        let out = inferometer(folder.path(), &[arguments, &flags, &lengths].concat());
        let found: Value =
            serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{}", told(&out)));
        let summary = if arguments[0] == "ab" { &found["runs"][0] } else { &found };
        let all = summary["findings"].as_array().expect("findings").clone();
        let found = all.iter().find(|finding| finding["code"] == "profile_uncalibrated");
        found.map(|finding| finding["message"].as_str().expect("a text").to_owned())
    };
    for (flags, words) in [
        (&["--card", "h200"][..], &["on h200", "vllm-0.23-h100-sxm", "no --engine was given"][..]),
        (
            &["--card", "l4", "--max-model-len", "8192"],
            &["on l4", "vllm-0.23-h100-sxm", "latest known version"],
        ),
        (&["--engine", "vllm-9.9"], &["vllm 9.9 on h100-sxm", "vllm-0.23-h100-sxm"]),
        (&["--engine", "vllm-9.9", "--card", "h100-sxm"], &["vllm 9.9", "vllm-0.23-h100-sxm"]),
        (&["--profile", "a100-40g-vllm-0.32"], &["a100-40g-vllm-0.32"]),
    ] {
        for command in [
            &["predict", "--requests", "20"][..],
            &["search", "--predict", "--slo", "ttft_p99<500ms", "--max-requests", "40"],
            &["sweep", "--predict", "--max-concurrency", "2", "--max-requests", "40"],
            &["ab", "--predict", "--concurrency", "2", "--b", "max-num-seqs=1"],
        ] {
            let message = finding(&[command, flags].concat()).unwrap_or_default();
            for word in words.iter().chain(&["uncalibrated"]) {
                assert!(message.contains(word), "{command:?} {flags:?} {word}: {message}");
            }
        }
    }
    let known = ["predict", "--requests", "20", "--engine", "vllm-0.23", "--card", "h100-sxm"];
    assert_eq!(finding(&known), None);
}

#[test]
fn an_objective_of_a_prediction_is_undecided_if_its_limit_is_in_the_stated_range() {
    let folder = folder();
    let load =
        ["--input-lengths", "938", "--output-lengths", "170", "--rate", "1", "--requests", "300"];
    let asked = [&TODAY[..], &["--weights", "fp8"], &load].concat();
    let found = figures(&predict(folder.path(), &asked));
    let (name, figure) = &found[2];
    assert_eq!(name, "ttft_p50_ms");
    let [low, high] = [0, 1].map(|at| figure["interval"][at].as_f64().expect("an end"));
    let value = figure["predicted"].as_f64().expect("a figure");
    let judged = |limit: f64, more: &[&str]| {
        let slo = format!("ttft_p50<{limit:.3}ms");
        let asked = [&["predict", "--quiet"][..], &asked, &["--slo", &slo], more].concat();
        let output = inferometer(folder.path(), &asked);
        let last = told(&output).trim_end().lines().last().unwrap_or_default().to_owned();
        (output.status.code(), last)
    };
    // The predicted value is below this limit, but the upper end of its range is above it.
    let inside = (value + high) / 2.0;
    for (limit, more, code, words) in [
        (1.1 * high, &[][..], 0, "PASS: met: ttft_p50 = "),
        (0.9 * low, &[], 3, "FAIL: not met: ttft_p50 = "),
        (inside, &[], 0, "UNDECIDED: not decided: ttft_p50 = "),
        (inside, &["--strict"], 4, "UNDECIDED: not decided: ttft_p50 = "),
        (1.1 * high, &["--strict"], 0, "PASS: met: ttft_p50 = "),
    ] {
        let (found, last) = judged(limit, more);
        assert_eq!(found, Some(code), "{last}");
        assert!(last.starts_with(words), "{last}");
        assert!(last.contains(" to ") && last.contains("limit < "), "{last}");
    }
    let (_, last) = judged(inside, &[]);
    assert!(last.contains("90 % of measurements"), "{last}");
    // A report that is computed again from the records has the same results.
    let slo = format!("ttft_p50<{inside:.3}ms");
    let asked = [&["predict", "--json", "--slo", &slo][..], &asked].concat();
    let first = inferometer(folder.path(), &asked);
    let first: Value = serde_json::from_slice(&first.stdout).expect("JSON");
    let run = first["run_id"].as_str().expect("an id");
    let again = inferometer(folder.path(), &["report", run, "--json", "--out", "again"]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    assert_eq!(
        (&again["verdict"], &first["verdict"]["validity"]),
        (&first["verdict"], &"suspect".into())
    );
}
