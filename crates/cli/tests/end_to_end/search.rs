//! `search` as users run it: in virtual time, and against a server over sockets.

use std::path::Path;

use serde_json::Value;

use crate::support::{Engine, folder, inferometer, told};

const CELL: [&str; 4] = ["--input-lengths", "64", "--output-lengths", "16"];

fn search(folder: &Path, code: i32, arguments: &[&str]) -> Value {
    search_cells(folder, code, &CELL, arguments)
}

pub fn search_cells(folder: &Path, code: i32, cell: &[&str], arguments: &[&str]) -> Value {
    let mut all = vec!["search", "--json", "--quiet"];
    all.extend(cell);
    all.extend(arguments);
    let output = inferometer(folder, &all);
    assert_eq!(output.status.code(), Some(code), "{}", told(&output));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

pub fn ends(summary: &Value) -> (Option<f64>, Option<f64>) {
    let answer = &summary["searches"][0];
    (answer["low"].as_f64(), answer["high"].as_f64())
}

#[test]
fn a_search_in_virtual_time_finds_an_interval_and_the_report_reproduces_it() {
    let folder = folder();
    let slo = ["--predict", "--slo", "tpot_p95<25ms", "--max-requests", "8000"];
    let summary = search(folder.path(), 0, &slo);
    let schema = include_str!("../../../../schema/summary.schema.json");
    let schema = serde_json::from_str(schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(&summary).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(summary["predicted"], true);
    let (low, high) = ends(&summary);
    // A fine sweep over rates gives 18.2 requests/s.
    assert!(low.expect("a lower end") < 18.2 && high.expect("an upper end") > 18.2);
    let answer = &summary["searches"][0];
    let estimate = answer["estimate"].as_f64().expect("an estimate");
    assert!((estimate / 18.2).ln().abs() < 0.1, "{answer}");
    let sentence = answer["answer"].as_str().expect("a sentence");
    assert!(sentence.contains("in the simulation, the server sustains 1"), "{sentence}");
    assert!(answer["requests"].as_u64().expect("a count") <= 8_000);
    let trials = summary["searches"][0]["trials"].as_u64().expect("a count");
    assert_eq!(summary["cells"][0]["passes"].as_array().map(Vec::len), Some(trials as usize));

    let run = summary["run_id"].as_str().expect("a name");
    let again =
        inferometer(folder.path(), &["report", run, "--json", "--out", "again", "--plots", "svg"]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    assert_eq!(again["searches"], summary["searches"]);
    assert_eq!(again["findings"], summary["findings"]);
    let page = folder.path().join("again");
    let report = std::fs::read_to_string(page.join("report.md")).expect("a report");
    let words = " requests/s with tpot_p95\\<25ms (95 % interval; best estimate: 1";
    assert!(report.contains(words), "{report}");
    assert!(page.join("search.svg").exists());

    let shown = inferometer(folder.path(), &["show", run]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains(&format!("inferometer search --predict {run}.toml")), "{shown}");

    // The first trial of a search with --start has this load.
    let bracket = ["--predict", "--start", "18", "--slo", "tpot_p95<25ms"];
    let near = search(folder.path(), 0, &[&bracket[..], &["--max-requests", "8000"]].concat());
    assert_eq!(near["cells"][0]["passes"][0]["rate"], 18.0);
}

#[test]
fn a_search_that_starts_far_too_high_cuts_trials_off_without_counting_failures() {
    let folder = folder();
    let far = ["--predict", "--start", "800", "--slo", "ttft_p95<100ms", "--max-requests", "8000"];
    let cell = ["--input-lengths", "128", "--output-lengths", "32"];
    let summary = search_cells(folder.path(), 0, &cell, &far);
    let passes = summary["cells"][0]["passes"].as_array().expect("trials");
    assert_eq!((&passes[0]["rate"], &passes[0]["trial"]), (&Value::from(800.0), &Value::from(1)));
    let cut_of = |pass: &Value| -> u64 {
        let kinds = ["cancelled", "skipped"].map(|kind| &pass["outcomes"][kind]);
        kinds.iter().filter_map(|count| count.as_u64()).sum()
    };
    let cut: u64 = passes.iter().filter(|pass| pass["rate"] == 800.0).map(cut_of).sum();
    assert!(cut > 0, "{}", passes[0]["outcomes"]);
    let answer = &summary["searches"][0];
    let highest = answer["loads"].as_array().and_then(|loads| loads.last()).expect("loads");
    assert_eq!((&highest["load"], &highest["claim"]), (&800.0.into(), &"not_met".into()));
    assert!(answer["high"].as_f64().is_some_and(|high| high < 800.0), "{answer}");
    assert_eq!(highest["overwhelmed"]["cut_off"].as_u64(), Some(cut));
    assert_eq!(summary["verdict"]["validity"], "valid");
    let findings = summary["findings"].as_array().expect("findings");
    let codes: Vec<_> = findings.iter().map(|finding| &finding["code"]).collect();
    assert!(codes.contains(&&Value::from("search_trial_cut_off")), "{codes:?}");
    assert!(!codes.contains(&&Value::from("requests_failed")), "{codes:?}");
    // The figures of the cell are those of a load that meets the objectives.
    let estimate = answer["estimate"].as_f64().expect("an estimate");
    let rate = summary["cells"][0]["requests_per_s"].as_f64().expect("its throughput");
    assert!((0.7..1.1).contains(&(rate / estimate)), "{rate} at {estimate}");

    let run = summary["run_id"].as_str().expect("a name");
    let again =
        inferometer(folder.path(), &["report", run, "--json", "--out", "again", "--plots", "svg"]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    assert_eq!(again["searches"], summary["searches"]);
    let passes = |of: &Value| of["cells"][0]["passes"].clone();
    assert!(passes(&again) == passes(&summary), "the passes of the report differ");
    let report = std::fs::read_to_string(folder.path().join("again/report.md")).expect("a report");
    assert!(report.contains("trial 1") && !report.contains("repeat 2"), "{report}");
    let [answer, trials] = ["the server sustains ", "## Trials"].map(|words| report.find(words));
    assert!(answer.expect("the answer") < trials.expect("the trials"), "{report}");
}

#[test]
fn objectives_met_at_no_load_or_at_every_load_are_reported_with_an_exit_code() {
    let folder = folder();
    let bounds = ["--predict", "--from", "2", "--to", "4"];
    let never = search(folder.path(), 3, &[&bounds[..], &["--slo", "ttft_p90<1ms"]].concat());
    assert_eq!(never["searches"][0]["outcome"], "not_met_at_lowest");
    assert!(
        ends(&never).1.is_some_and(|high| high < 2.0) && never["searches"][0]["estimate"].is_null()
    );
    // With a server over sockets, trials are cut off before any answer has ended, because an answer takes minutes at
    // this speed. The cut-off must not count as a failure to measure.
    let engine = Engine::start_at("1", &[]);
    let cell = ["--input-lengths", "64", "--output-lengths", "8000"];
    let high = ["--from", "400", "--to", "800", "--max-requests", "900", "--warmup", "0"];
    let late = [&["--target", &engine.url, "--slo", "e2e_p99<200ms"], &high[..]].concat();
    let late = search_cells(folder.path(), 3, &cell, &late);
    assert_eq!(late["searches"][0]["outcome"], "not_met_at_lowest");
    assert_eq!(late["cells"][0]["passes"][0]["outcomes"]["complete"], 0);
    let always = search(folder.path(), 0, &[&bounds[..], &["--slo", "ttft_p90<9s"]].concat());
    assert_eq!(always["searches"][0]["outcome"], "met_at_highest");
    assert!(ends(&always).0.is_some_and(|low| low >= 4.0) && ends(&always).1.is_none());
}

#[test]
fn a_predicted_answer_begins_with_the_range_that_includes_the_error_of_the_model() {
    let folder = folder();
    let cell = ["--input-lengths", "512", "--output-lengths", "128"];
    let calibrated = ["--model", "qwen3-14b", "--card", "h100-sxm"];
    let guess = ["--model", "qwen3-14b", "--card", "a100-sxm-80gb"];
    let search = ["search", "--slo", "ttft_p90<1s", "--max-requests", "6000", "--salt", "s"];
    for (command, answers) in [(&search[..], "searches"), (&["sweep"], "sweeps")] {
        let width = |engine: &[&str], is_calibrated: bool| {
            let asked = [command, engine, &cell, &["--predict", "--json", "--quiet"]].concat();
            let output = inferometer(folder.path(), &asked);
            let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let answer = &summary[answers][0];
            let model = &answer["model"];
            let [low, high] = ["low", "high"].map(|end| model[end].as_f64().expect("an end"));
            let own = if command[0] == "sweep" {
                answer["saturation"]["requests_per_s"].clone()
            } else {
                answer.clone()
            };
            let [own_low, own_high] = ["low", "high"].map(|end| own[end].as_f64().expect("an end"));
            assert!(low <= own_low && own_high <= high, "{answer}");
            assert_eq!(model["calibrated"], is_calibrated, "{answer}");
            let sentence = answer["answer"].as_str().expect("a sentence");
            assert!(sentence.contains("Expect ") && sentence.contains("; in the simulation, "));
            (high / low, own_high / own_low)
        };
        let (of_rows, _) = width(&calibrated, true);
        let (of_guess, of_simulation) = width(&guess, false);
        assert!(of_rows < of_guess, "{of_rows} for {of_guess}");
        // From half to twice as fast. The trials at the ends are random, too.
        assert!(of_guess > 2.9 * of_simulation, "{of_guess} for {of_simulation}");
    }
}

#[test]
fn a_search_with_too_few_requests_to_judge_any_load_is_undecided_and_fails_if_strict() {
    let folder = folder();
    let engine = ["--model", "qwen3-14b", "--engine", "vllm-0.23", "--card", "h100-sxm"];
    let cell = ["--input-lengths", "1024", "--output-lengths", "128", "--max-requests", "200"];
    let asked =
        [&["search", "--predict", "--quiet", "--slo", "ttft_p99<500ms"][..], &engine, &cell];
    for (strict, code) in [(&[][..], 0), (&["--strict"][..], 4)] {
        let output = inferometer(folder.path(), &[&asked.concat(), strict].concat());
        assert_eq!(output.status.code(), Some(code), "{}", told(&output));
        let last = told(&output).lines().last().unwrap_or_default().to_owned();
        for words in ["UNDECIDED: 1024 x 128: ", "200 requests", "raise --max-requests"] {
            assert!(last.contains(words), "{words}: {last}");
        }
    }
}

#[test]
fn a_search_or_sweep_whose_requests_are_all_refused_says_so_first_and_advises_no_other_loads() {
    let folder = folder();
    let engine = ["--model", "qwen-14b", "--max-model-len", "1024", "--predict", "--out", "out"];
    let cell = ["--input-lengths", "2000", "--output-lengths", "128", "--json"];
    let answered =
        [("search", "searches", &["--slo", "ttft_p99<500ms"][..]), ("sweep", "sweeps", &[])];
    for (command, answers, objective) in answered {
        let asked = [&[command][..], &engine, &cell, objective].concat();
        let output = inferometer(folder.path(), &asked);
        assert_eq!(output.status.code(), Some(1), "{}", told(&output));
        let summary: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
        let sentence = summary[answers][0]["answer"].as_str().expect("a sentence");
        let words = "(HTTP status 400: the prompt of 2000 tokens";
        assert!(
            sentence.starts_with("The server refused ") && sentence.contains(words),
            "{sentence}"
        );
        let findings = summary["findings"].as_array().expect("findings");
        let code = format!("{command}_not_finished");
        let found = findings.iter().find(|finding| finding["code"] == code.as_str());
        let advice = found.and_then(|found| found["advice"].as_str()).expect("advice");
        assert!(!advice.contains("--"), "{advice}");
    }
}

#[test]
fn a_closed_loop_with_equal_lengths_has_a_note_that_its_requests_start_together() {
    let folder = folder();
    let asked = ["--predict", "--over", "concurrency", "--slo", "ttft_p90<300ms", "--max-requests"];
    let cell = ["--input-lengths", "512", "--output-lengths", "64", "--model", "qwen-14b"];
    for (lengths, is_noted) in [(&[][..], true), (&["--range-ratio", "0.3"][..], false)] {
        let summary =
            search_cells(folder.path(), 0, &cell, &[&asked[..], &["4000"], lengths].concat());
        let findings = summary["findings"].as_array().expect("findings");
        let noted = findings.iter().filter(|finding| finding["code"] == "search_in_bursts");
        assert_eq!(noted.count(), usize::from(is_noted), "{lengths:?}: {findings:?}");
    }
}

#[test]
fn a_search_prints_its_answer_as_the_last_line() {
    let folder = folder();
    let asked = ["search", "--predict", "--quiet", "--slo", "ttft_p90<9s", "--from", "2", "--to"];
    let output = inferometer(folder.path(), &[&asked, &["4"][..], &CELL].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = text.lines().last().unwrap_or_default();
    let words = "the server sustains 4 requests/s with ttft_p90<9s (95 % interval: 4";
    assert!(last.starts_with("answer: 64 x 16: ") && last.contains(words), "{text}");
    assert!(told(&output).contains("PASS"), "{}", told(&output));
}

#[test]
fn each_tier_has_an_answer_from_the_same_trials() {
    let folder = folder();
    let tiers = ["--tier", "gold=tpot_p95<22ms", "--tier", "bronze=tpot_p95<40ms"];
    let asked = [&["--predict", "--max-requests", "4000", "--out", "out"], &tiers[..]].concat();
    let summary = search(folder.path(), 0, &asked);
    let report = std::fs::read_to_string(folder.path().join("out/report.md")).expect("a report");
    for name in ["gold", "bronze"] {
        for heading in ["## By load, 64 x 16", "### By load, 64 x 16"] {
            assert!(report.contains(&format!("{heading}, {name}\n")), "{heading}: {report}");
        }
    }
    let of = |at: usize| &summary["searches"][at];
    assert_eq!((&of(0)["tier"], &of(1)["tier"]), (&"gold".into(), &"bronze".into()));
    let estimate = |at: usize| of(at)["estimate"].as_f64().expect("an estimate");
    assert!(estimate(0) < estimate(1), "{} {}", of(0), of(1));
    assert_eq!(of(0)["requests"], of(1)["requests"]);
    assert!(of(0)["answer"].as_str().is_some_and(|it| it.starts_with("gold: Expect ")));
}

#[test]
fn a_search_reports_an_unreachable_server_as_an_error_and_not_as_a_result() {
    let folder = folder();
    let asked = ["--target", "http://127.0.0.1:9", "--model", "m", "--slo", "ttft_p90<9s"];
    let output = inferometer(folder.path(), &[&["search"], &CELL[..], &asked].concat());
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    let last = told(&output).lines().last().unwrap_or_default().to_owned();
    assert!(last.contains("cannot connect") && !last.contains("bear"), "{last}");
}

#[test]
fn a_search_over_concurrency_can_start_at_the_result_of_a_stored_search() {
    let engine = Engine::start(&[]);
    let folder = folder();
    let asked = ["--target", &engine.url, "--over", "concurrency", "--slo", "e2e_p50<3ms"];
    let bounds = ["--start", "2", "--max-requests", "900", "--precision", "20%"];
    // The answer depends on the speed of this machine, so any answer is accepted.
    let arguments = [&["search", "--json", "--quiet"], &CELL[..], &asked, &bounds].concat();
    let output = inferometer(folder.path(), &arguments);
    let code = output.status.code().expect("an exit code");
    assert!([0, 1, 3].contains(&code), "{}", told(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let answer = &summary["searches"][0];
    assert_eq!(answer["over"], "concurrency");
    let passes = summary["cells"][0]["passes"].as_array().expect("trials");
    assert!(passes.iter().all(|pass| pass["kind"] == "closed"));
    assert!(passes.len() as u64 == answer["trials"].as_u64().expect("a count"));
    let run = summary["run_id"].as_str().expect("a name");
    let near = ["search", "--dry-run", "--json", "--bracket-from", run];
    let guessed = ["estimate", "low", "high"].iter().any(|end| answer[*end].is_f64());
    let dry = inferometer(folder.path(), &[&near[..], &CELL, &asked].concat());
    let plan: Value = serde_json::from_slice(&dry.stdout).expect("JSON");
    let guess = ["estimate", "low", "high"].iter().find_map(|end| answer[*end].as_f64());
    assert_eq!(
        plan["plan"]["search"]["start"].as_f64(),
        guess.map(|load| load.round().max(1.0)).or(Some(8.0))
    );
    let said = told(&dry).contains("a search of the same plan with other limits");
    assert_eq!(said, guessed, "{}", told(&dry));
}

#[test]
fn flags_and_objectives_that_do_not_fit_a_search_are_refused() {
    let folder = folder();
    for (arguments, words) in [
        (&[][..], "a search needs objectives"),
        (
            &["--slo", "ttft_p99<1s", "--rate", "3"],
            "rate (--rate): cannot be set: a search chooses the loads",
        ),
        (&["--slo", "requests_per_s>3"], "a search needs upper limits"),
        (
            &["--slo", "ttft_p99<1s", "--attainment", "90%"],
            "share of requests that must meet --goodput",
        ),
        (&["--slo", "ttft_p99<1s", "--from", "3", "--to", "2"], "is not above --from"),
        (&["--slo", "ttft_p99<1s", "--max-num-seqs", "3"], "add --predict"),
        (&["--slo", "ttft_p99<1s", "--bracket-from", "nothing"], "neither a stored search"),
        (&["--slo", "ttft_p99<1s", "--start", "3", "--bracket-from", "a"], "leave out one of them"),
        (&["--slo", "ttft_p99<1s", "--start", "3", "--to", "2"], "not between --from and --to"),
        (&["--slo", "ttft_p99<1s", "--max-failures", "0"], "must hold for every request"),
        (&["--tier", "ttft_p99<1s"], "is not NAME=OBJECTIVES"),
        (&["--slo", "ttft_p99<1s", "--max-time", "soon"], "is not a duration"),
        (&["--resume", "a", "--predict"], "leave out --predict"),
        (&["--resume", "a", "--bracket-from", "b"], "leave out --bracket-from"),
        (&["--resume", "a", "--max-num-seqs", "3"], "leave out the embedded engine's"),
    ] {
        let output = inferometer(folder.path(), &[&["search"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", told(&output));
        assert!(told(&output).contains(words), "{arguments:?}: {}", told(&output));
    }
}

#[test]
fn a_dry_run_of_a_search_states_its_limits_and_measures_nothing() {
    let folder = folder();
    let asked = ["--slo", "ttft_p99<1s", "--to", "4", "--from", "2"];
    for (virtual_time, words) in [
        (&["--predict"][..], &["in virtual time"][..]),
        (&[], &["; at most about 2.8 h in total", "--predict runs it in virtual time"]),
    ] {
        let command = [&["search", "--dry-run"], &CELL[..], &asked, virtual_time].concat();
        let output = inferometer(folder.path(), &command);
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        let plan = String::from_utf8_lossy(&output.stdout).into_owned();
        let always = ["[search]", "precision = 0.05", "max_trials = 40", "# plan_hash"];
        let most = ["at most 20000 requests (or 40 trials)"];
        for words in always.iter().chain(&most).chain(words) {
            assert!(plan.contains(words), "{words}: {plan}");
        }
        assert!(!folder.path().join("inferometer.db").exists(), "a store was created");
    }
}

#[test]
fn a_search_that_cannot_be_predicted_starts_at_the_default_load() {
    let folder = folder();
    let blocks = ["--workload", "blocks", "--block-sizes", "100", "--wanted-lengths", "100"];
    for more in [&blocks[..], &["--max-in-flight", "8", "--over-limit", "drop"]] {
        let arguments = [&["search", "--slo", "ttft_p99<1s", "--dry-run"], more].concat();
        let output = inferometer(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        assert!(!told(&output).contains("search starts at"), "{}", told(&output));
    }
}
