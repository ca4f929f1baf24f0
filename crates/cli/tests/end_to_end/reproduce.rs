//! A bundle's run measured again: identical, same, slower, faster or undecided results, and the rejection of different
//! work.

use std::fs;
use std::path::Path;

use inferometer::Summary;
use inferometer::bundle::Bundle;
use inferometer::compare::Options;
use inferometer::reproduce::{NewRun, reproduced};
use inferometer_formats::bundle::{MANIFEST, PLAN, Part, RECORDS, SUMMARY, of_run, write};
use serde_json::Value;

use crate::bundle::{bundle_of, document, id, stdout};
use crate::support::{Engine, folder, inferometer, small_run, told};

#[test]
fn a_reproduced_prediction_is_identical() {
    let (here, there) = (folder(), folder());
    let line = "predict --input-lengths 16,64 --output-lengths 8 --requests 20 --one-by-one 2 \
                --noise step=0.1 --max-num-seqs 8 --quiet --json";
    let first = document(there.path(), &line.split_whitespace().collect::<Vec<_>>());
    let bundle = bundle_of(there.path(), "latest-predicted", &[]);
    let bundle = bundle.to_str().expect("a path");
    let again = document(here.path(), &["reproduce", bundle, "--json", "--quiet"]);
    assert_eq!(again["answer"]["outcome"]["kind"], "identical", "{again:#}");
    let sentence = again["sentence"].as_str().expect("a sentence");
    assert!(
        sentence.starts_with("identical: ") && sentence.ends_with("no known fact differs"),
        "{sentence}"
    );
    assert_eq!(
        (&again["bundled"][0], again["schema"].as_str()),
        (&first["run_id"], Some("inferometer.reproduction/1"))
    );
    let run = again["runs"][0].as_str().expect("a run");
    let shown = stdout(here.path(), &["show", run]);
    assert!(shown.contains(&format!("reproduces run {}", id(&first))), "{shown}");
    let text = stdout(here.path(), &["reproduce", bundle, "--quiet"]);
    assert_eq!(text.lines().last(), Some(sentence), "{text}");
    let refused =
        inferometer(here.path(), &["reproduce", bundle, "--target", "http://127.0.0.1:1"]);
    assert_eq!(refused.status.code(), Some(2), "{}", told(&refused));
    assert!(told(&refused).contains("is a prediction"), "{}", told(&refused));
    let dry = stdout(here.path(), &["reproduce", bundle, "--dry-run"]);
    assert!(dry.contains("# reproduces run") && dry.contains("in virtual time"), "{dry}");
}

#[test]
fn the_card_file_of_a_prediction_is_stored_in_its_bundle() {
    let (here, there) = (folder(), folder());
    let card = include_str!("../../../engine/data/cards/l40s.toml");
    fs::write(there.path().join("mine.toml"), card.replace("\"l40s\"", "\"mine\""))
        .expect("written");
    let line = "predict --model llama-3.1-8b --engine vllm-0.8 --card mine.toml --input-lengths 16 \
                --output-lengths 8 --requests 20 --quiet --json";
    document(there.path(), &line.split_whitespace().collect::<Vec<_>>());
    let bundle = bundle_of(there.path(), "latest-predicted", &[]);
    let bundle = bundle.to_str().expect("a path");
    // In this folder, a file of the same name contains another card.
    fs::write(here.path().join("mine.toml"), "name = \"mine\"").expect("written");
    let again = document(here.path(), &["reproduce", bundle, "--json", "--quiet"]);
    assert_eq!(again["answer"]["outcome"]["kind"], "identical", "{again:#}");
}

#[test]
fn a_slower_server_is_reported_with_the_slowdown_and_the_facts_that_differ() {
    let at = folder();
    let fast = Engine::start(&["--profile", "a100-40g-vllm-0.2.7"]);
    let repeated = [&small_run(&fast.url)[..], &["--repeat", "4", "--quiet"]].concat();
    let first = document(at.path(), &repeated);
    let bundle = bundle_of(at.path(), "latest", &[]);
    let bundle = bundle.to_str().expect("a path");
    // The server is about a hundred times slower. A busy machine could not slow a server down that much.
    let slow = Engine::start_at("1", &["--profile", "a100-40g-vllm-0.32"]);
    let arguments = ["reproduce", bundle, "--target", &slow.url, "--quiet"];
    let again = document(at.path(), &[&arguments[..], &["--json"]].concat());
    let sentence = again["sentence"].as_str().expect("a sentence");
    assert_eq!(again["answer"]["outcome"]["kind"], "slower", "{again:#}");
    assert!(sentence.contains(" % slower (requests_per_s, 24 x 12, saturated: "), "{sentence}");
    assert!(sentence.contains("and these facts differ: "), "{sentence}");
    assert!(sentence.contains("engine version 0.2.7 -> "), "{sentence}");
    for irrelevant in ["salt", "plan", "workload", "127.0.0.1"] {
        assert!(!sentence.contains(irrelevant), "{irrelevant}: {sentence}");
    }
    let new = document(at.path(), &["report", again["runs"][0].as_str().expect("a run"), "--json"]);
    assert_eq!(new["workload_hash"], first["workload_hash"], "the requests differ");
    assert_eq!(new["environment"]["salt"], first["environment"]["salt"]);
    let gated =
        inferometer(at.path(), &[&arguments[..], &["--gate", "requests_per_s>-10%"]].concat());
    assert_eq!(gated.status.code(), Some(3), "{}", told(&gated));
    assert!(told(&gated).contains("FAIL: not met: requests_per_s -"), "{}", told(&gated));
}

#[test]
fn reproduce_prints_the_warnings_of_the_new_run_and_names_the_flag_against_cached_prompts() {
    let at = folder();
    let flags = "--model qwen3-14b --engine vllm-0.23 --card h100-sxm";
    let engine = Engine::start(&flags.split(' ').collect::<Vec<_>>());
    let line = "--input-lengths 256 --output-lengths 4 --passes saturated --requests 6 --warmup 0 \
                --quiet --json";
    let line: Vec<&str> = line.split_whitespace().collect();
    document(at.path(), &[&["run", "--target", engine.url.as_str()], &line[..]].concat());
    let bundle = bundle_of(at.path(), "latest", &[]);
    let bundle = bundle.to_str().expect("a path");
    let reproduce = |more: &[&str]| {
        let arguments = ["reproduce", bundle, "--target", &engine.url, "--quiet"];
        stdout(at.path(), &[&arguments[..], more].concat())
    };
    // The server has the prompts of the bundle's run in its prefix cache.
    let text = reproduce(&[]);
    let words =
        ["Warnings of run ", "  warning server_prefix_hits (256 x 4", "--new-salt measures"];
    assert!(words.iter().all(|words| text.contains(words)), "{text}");
    assert!(!text.contains("  note "), "{text}");
    let text = reproduce(&["--new-salt"]);
    assert!(!text.contains("server_prefix_hits") && !text.contains("--new-salt"), "{text}");
}

#[test]
fn one_repeat_per_side_is_undecided_and_more_repeats_or_other_prompts_count_as_the_same_work() {
    let at = folder();
    let engine = Engine::start(&[]);
    document(at.path(), &[&small_run(&engine.url)[..], &["--quiet"]].concat());
    let bundle = bundle_of(at.path(), "latest", &[]);
    let bundle = bundle.to_str().expect("a path");
    let reproduce = |more: &[&str]| {
        let arguments = ["reproduce", bundle, "--target", &engine.url, "--quiet"];
        stdout(at.path(), &[&arguments[..], more].concat())
    };
    let once = reproduce(&[]);
    assert!(
        once.contains("not decided: requests_per_s") && once.contains("the bundle has 1 repeat"),
        "{once}"
    );
    // Additional repeats have additional requests, but this does not count as different work.
    let often = reproduce(&["--repeat", "3"]);
    assert!(
        often.contains("the single value, ") && often.contains("3 values of the other"),
        "{often}"
    );
    assert!(!often.contains("workload differs"), "{often}");
    // Other prompts of the same kind do not count as different work either.
    let other: Value = serde_json::from_str(&reproduce(&["--new-salt", "--json"])).expect("JSON");
    let warnings = other["comparison"]["warnings"].to_string();
    assert!(!warnings.contains("workload differs"), "{warnings}");
    let (run, new) = (other["bundled"][0].as_str(), other["runs"][0].as_str());
    let hash = |run: Option<&str>| {
        document(at.path(), &["report", run.expect("a run"), "--json"])["workload_hash"].take()
    };
    assert_ne!(hash(run), hash(new));
}

#[test]
fn reproduce_refuses_missing_or_different_data_before_anything_is_measured() {
    let at = folder();
    let engine = Engine::start(&[]);
    fs::write(
        at.path().join("rows.jsonl"),
        "{\"prompt\": \"one two\", \"output_tokens\": 4}\n".repeat(6),
    )
    .expect("written");
    let arguments =
        ["run", "--target", &engine.url, "--workload", "jsonl", "--dataset", "rows.jsonl"];
    let more = ["--requests", "4", "--warmup", "0", "--passes", "saturated", "--quiet", "--json"];
    document(at.path(), &[&arguments[..], &more].concat());
    let bundle = bundle_of(at.path(), "latest", &["--without-data"]);
    let bundle = bundle.to_str().expect("a path");
    let there = folder();
    let refused = |more: &[&str], words: &str| {
        let out = inferometer(there.path(), &[&["reproduce", bundle], more].concat());
        assert!(matches!(out.status.code(), Some(1 | 2)), "{more:?}: {}", told(&out));
        assert!(told(&out).contains(words), "{more:?}: {}", told(&out));
    };
    let to = ["--target", engine.url.as_str()];
    refused(&[], "give the server to measure now with --target");
    refused(&to, "dataset: `rows.jsonl` is neither in the bundle nor on this machine");
    refused(&to, "give it with --data FILE");
    fs::write(there.path().join("other.jsonl"), "{\"prompt\": \"three\"}\n").expect("written");
    refused(
        &[&to[..], &["--data", "other.jsonl"]].concat(),
        "the bundle names no file with this SHA-256",
    );
    refused(&["--start-server"], "give the server to measure now");
    let dry = ["--data", at.path().join("rows.jsonl").to_str().expect("a path"), "--dry-run"]
        .map(str::to_owned);
    let dry: Vec<&str> = dry.iter().map(String::as_str).collect();
    let shown = stdout(there.path(), &[&["reproduce", bundle], &to[..], &dry].concat());
    assert!(shown.contains("rows.jsonl") && shown.contains("# reproduces run"), "{shown}");
    // A bundle that contains the data needs no other file.
    let whole = bundle_of(at.path(), "latest", &[]);
    let whole = whole.to_str().expect("a path");
    let done =
        document(there.path(), &[&["reproduce", whole, "--quiet", "--json"], &to[..]].concat());
    assert_eq!(done["answer"]["outcome"]["kind"], "not_decided", "{done:#}");
    // If the requests differ from those of the bundle, nothing is measured. Here, only the hash in the bundle differs.
    document(at.path(), &[&small_run(&engine.url)[..], &["--quiet"]].concat());
    let random = bundle_of(at.path(), "latest", &[]);
    let other = there.path().join("other.tar.gz");
    changed(&random, &other, |summary| summary.workload_hash = Some("0".repeat(64)));
    let out = inferometer(
        there.path(),
        &["reproduce", other.to_str().expect("a path"), "--target", &engine.url, "--quiet"],
    );
    assert_eq!(out.status.code(), Some(1), "{}", told(&out));
    let words = ["this is not the workload of run", "have 000000000000;", "nothing was measured"];
    assert!(words.iter().all(|words| told(&out).contains(words)), "{}", told(&out));
    let listed = document(there.path(), &["runs", "--json"]);
    assert_eq!(
        listed["runs"].as_array().map(Vec::len).or(listed.as_array().map(Vec::len)),
        Some(1),
        "{listed:#}"
    );
}

#[test]
fn reproduce_runs_the_embedded_engine_itself_and_a_server_command_only_on_request() {
    let at = folder();
    // Except for the speed, the run uses only default values. It is measured again with its resolved values, even on
    // another server.
    document(at.path(), &["run", "--speed", "400", "--quiet", "--json"]);
    let bundle = bundle_of(at.path(), "latest", &[]);
    let to = ["--target", "http://127.0.0.1:1", "--dry-run"];
    let dry =
        stdout(at.path(), &[&["reproduce", bundle.to_str().expect("a path")], &to[..]].concat());
    assert!(dry.contains("one_by_one = 2\n") && dry.contains("requests = 32\n"), "{dry}");
    let line = "run --speed 200 --input-lengths 16 --output-lengths 4 --passes one_by_one \
                --one-by-one 2 --warmup 0 --quiet --json";
    document(at.path(), &line.split_whitespace().collect::<Vec<_>>());
    let bundle = bundle_of(at.path(), "latest", &[]);
    let bundle = bundle.to_str().expect("a path");
    let again = document(at.path(), &["reproduce", bundle, "--quiet", "--json"]);
    assert_eq!(again["runs"].as_array().map(Vec::len), Some(1), "{again:#}");
    let compared =
        stdout(at.path(), &["compare", bundle, again["runs"][0].as_str().expect("a run")]);
    assert!(compared.contains("of the bundle (the baseline)"), "{compared}");
    // Several runs are repeats of one measurement; each is reproduced with its own prompts.
    let run = |key: &str| again[key][0].as_str().expect("a run").to_owned();
    let runs = format!("{},{}", run("bundled"), run("runs"));
    let several = bundle_of(at.path(), &runs, &[]);
    let several =
        document(at.path(), &["reproduce", several.to_str().expect("a path"), "--quiet", "--json"]);
    assert_eq!(several["bundled"].as_array().map(Vec::len), Some(2), "{several:#}");
    assert_eq!(
        several["comparison"]["rows"][0]["repeats"],
        serde_json::json!([2, 2]),
        "{several:#}"
    );

    let plan = "input_lengths = [16]\noutput_lengths = [4]\npasses = [\"one_by_one\"]\none_by_one = 2\nwarmup = 0\n\
                [server]\npreset = \"inferometer\"\narguments = { speed = 100 }\n";
    fs::write(at.path().join("plan.toml"), plan).expect("written");
    document(at.path(), &["run", "plan.toml", "--quiet", "--json"]);
    let bundle = bundle_of(at.path(), "latest", &[]);
    let bundle = bundle.to_str().expect("a path");
    let refused = inferometer(at.path(), &["reproduce", bundle]);
    assert_eq!(refused.status.code(), Some(2), "{}", told(&refused));
    assert!(
        told(&refused).contains("--start-server runs that command here, as you"),
        "{}",
        told(&refused)
    );
    let dry = stdout(at.path(), &["reproduce", bundle, "--start-server", "--dry-run"]);
    assert!(dry.contains("# starts the server: "), "{dry}");
    let started =
        document(at.path(), &["reproduce", bundle, "--start-server", "--quiet", "--json"]);
    assert_eq!(started["answer"]["outcome"]["kind"], "not_decided", "{started:#}");
    let line = format!("{} engine --listen {{host}}:{{port}} --speed 100", crate::support::BINARY);
    let other =
        document(at.path(), &["reproduce", bundle, "--server-command", &line, "--quiet", "--json"]);
    assert_eq!(other["answer"]["outcome"]["kind"], "not_decided", "{other:#}");
    let facts = other["facts"].to_string();
    assert!(!facts.contains("--port") && !facts.contains("round"), "{facts}");
}

/// Copies a bundle with one run, and changes the results of the run.
fn changed(from: &Path, to: &Path, change: impl Fn(&mut Summary)) {
    let opened = Bundle::open(from).expect("a bundle");
    let mut manifest = opened.manifest().clone();
    let run = &opened.runs[0];
    let mut summary = run.summary.clone();
    change(&mut summary);
    manifest.runs[0].workload_hash.clone_from(&summary.workload_hash);
    let mut log = Vec::new();
    opened.copy_log(run, &mut log).expect("a log");
    let of = |file: &str| of_run(run.id.as_str(), file);
    let parts = vec![
        Part::of_bytes(MANIFEST, serde_json::to_vec(&manifest).expect("JSON")),
        Part::of_bytes(of(PLAN), run.plan_json.clone()),
        Part::of_bytes(of(SUMMARY), serde_json::to_vec(&summary).expect("JSON")),
        Part::of_bytes(of(RECORDS), log),
    ];
    fs::write(to, write(Vec::new(), parts).expect("a bundle")).expect("written");
}

/// Replaces the passes with five repeats of the first pass. They start one second apart; the first starts one second
/// after `from_s`. Each latency is set to `slower` times 100 ms, plus up to 0.8 %. The rates are inversely proportional
/// to the latencies.
fn five_repeats(summary: &mut Summary, slower: f64, from_s: f64) {
    let mut document = serde_json::to_value(&*summary).expect("JSON");
    let pass = document["cells"][0]["passes"][0].clone();
    let passes =
        [0.0, 0.006, 0.002, 0.008, 0.001].into_iter().zip(1_u32..).map(|(jitter, repeat)| {
            let figure = 100.0 * slower * (1.0 + jitter);
            let mut pass = pass.clone();
            pass["repeat"] = repeat.into();
            pass["started_s"] = (from_s + f64::from(repeat)).into();
            pass["requests_per_s"] = (1e6 / figure).into();
            pass["output_tokens_per_s"] = (1e7 / figure).into();
            let latencies = ["latency_per_token_ms", "latency_per_output_token_ms"];
            for name in latencies.into_iter().chain(["ttft_ms", "tpot_ms", "e2e_ms"]) {
                // On a busy machine, all tokens may arrive in one read; then there are no gaps between them.
                for statistic in ["mean", "p50", "p99"] {
                    if let Some(value) = pass[name].get_mut(statistic) {
                        *value = figure.into();
                    }
                }
            }
            pass
        });
    document["cells"][0]["passes"] = passes.collect();
    document["started_at"] = "2026-11-20T07:47:47Z".into();
    *summary = serde_json::from_value(document).expect("a summary");
}

#[test]
fn the_answer_of_a_reproduction_bounds_the_difference() {
    let at = folder();
    let engine = Engine::start(&[]);
    document(at.path(), &[&small_run(&engine.url)[..], &["--quiet"]].concat());
    let path = at.path().join("five.tar.gz");
    changed(&bundle_of(at.path(), "latest", &[]), &path, |summary| five_repeats(summary, 1.0, 0.0));
    let bundle = Bundle::open(&path).expect("a bundle");
    let sentence = |slower: f64| {
        let mut summary = bundle.runs[0].summary.clone();
        five_repeats(&mut summary, slower, 100.0);
        summary.run_id = "20261120-074747-0001".to_owned();
        summary.target.engine_version = Some("0.10.0".to_owned());
        let plan = bundle.runs[0].plan().expect("a plan");
        let new = NewRun { plan, summary, is_same_work: true };
        reproduced(&bundle, &[new], Options::default(), &[])
            .expect("the runs have figures in common")
            .sentence
    };
    let same = sentence(1.01);
    assert!(
        same.starts_with("same within 2 %: requests_per_s -0.99 % (95 % interval -1.4"),
        "{same}"
    );
    let slower = sentence(1.2);
    assert!(
        slower.starts_with("16 to 17 % slower (requests_per_s, 24 x 12, saturated: "),
        "{slower}"
    );
    assert!(slower.ends_with("and these facts differ: engine version 0.2.7 -> 0.10.0"), "{slower}");
    let faster = sentence(0.8);
    assert!(faster.contains("% faster (requests_per_s"), "{faster}");
}
