//! `compare` and its gate: exit codes, and warnings about runs with different workloads.

use crate::support::inferometer;
use serde_json::Value;
use tempfile::TempDir;

/// A measured summary of one pass. All measured summaries that a test compares are derived from it, because two
/// measurements never give the same figures.
fn measured(folder: &TempDir) -> Value {
    let line = "run --speed 200 --input-lengths 16 --output-lengths 4 --passes one_by_one --one-by-one 1 \
                --warmup 0 --salt s --quiet --json";
    let out = inferometer(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
    serde_json::from_slice(&out.stdout).expect("a summary")
}

/// Writes a summary with five repeats of the pass in `of`, and returns its path. The first repeat starts at `from_s`
/// seconds, and the repeats are two seconds apart. Each latency is set to `slower` times 100 ms, plus up to 0.8 %.
fn summary(
    folder: &TempDir,
    of: &Value,
    name: &str,
    (slower, from_s): (f64, u32),
    workload: &str,
) -> String {
    let mut document = of.clone();
    let pass = document["cells"][0]["passes"][0].clone();
    let passes = [0.0, 0.006, 0.002, 0.008, 0.001].iter().zip(0_u32..).map(|(jitter, repeat)| {
        let mut pass = pass.clone();
        pass["repeat"] = (repeat + 1).into();
        pass["started_s"] = (from_s + 2 * repeat).into();
        for figure in ["ttft_ms", "tpot_ms", "e2e_ms", "latency_per_output_token_ms"] {
            // On a busy machine, all tokens may arrive in one read; then there are no gaps between them.
            if pass[figure].is_null() {
                continue;
            }
            for statistic in ["mean", "p50", "p99"] {
                pass[figure][statistic] = (100.0 * slower * (1.0 + jitter)).into();
            }
        }
        pass
    });
    document["cells"][0]["passes"] = passes.collect();
    document["run_id"] = format!("20261120-074747-000{}", &name[..1]).into();
    document["workload_hash"] = workload.into();
    document["started_at"] = "2026-11-20T07:47:47Z".into();
    if workload == "two" {
        let early = serde_json::json!({"code": "output_shorter_than_asked", "severity": "warning",
            "place": "16 x 4", "message": "outputs ended early", "advice": null});
        document["findings"].as_array_mut().expect("findings").push(early);
        document["cells"][0]["passes"][0]["outcomes"]["server_error"] = 2.into();
    }
    let path = folder.path().join(name);
    std::fs::write(&path, document.to_string()).expect("written");
    path.to_str().expect("a path").to_owned()
}

#[test]
fn a_gate_sets_the_exit_code_and_a_different_workload_gives_a_warning() {
    let folder = TempDir::new().expect("a folder");
    let of = measured(&folder);
    let a = summary(&folder, &of, "a.json", (1.0, 0), "one");
    let b = summary(&folder, &of, "b.json", (1.2, 1), "two");
    let compare = |more: &[&str]| {
        let arguments = [&["compare", &a, &b], more].concat();
        let out = inferometer(folder.path(), &arguments);
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        (out.status.code(), text, String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let (code, text, told) = compare(&[]);
    assert_eq!(code, Some(0), "{told}");
    assert!(text.contains("WORSE") && text.contains("measured: in turn, 5 rounds"), "{text}");
    assert!(text.contains("warning: workload differs (one and two)"), "{text}");
    assert!(text.contains("b.json has a warning: 16 x 4: outputs ended early"), "{text}");
    assert!(text.contains("b.json has failed requests: 2 of 7"), "{text}");
    let (code, _, told) = compare(&["--gate", "e2e_p50<+25%,ttft_p50<+10%"]);
    assert_eq!(code, Some(3));
    assert!(
        told.contains("not met: ttft_p50 +")
            && told.contains("limit < +10 %")
            && !told.contains("e2e_p50"),
        "{told}"
    );
    assert_eq!(compare(&["--gate", "e2e_p50<+25%"]).0, Some(0));
    assert_eq!(compare(&["--gate", "e2e_p50<+20%"]).0, Some(0), "an undecided gate passes");
    assert_eq!(compare(&["--gate", "e2e_p50<+20%", "--strict"]).0, Some(3));
    let (code, _, told) = compare(&["--gate", "e2e_p5<+25%"]);
    assert!(code == Some(2) && told.contains("did you mean"), "{told}");
    let mut failed = of.clone();
    for place in ["/cells/0", "/cells/0/passes/0"] {
        for (key, value) in failed.pointer_mut(place).and_then(Value::as_object_mut).expect(place) {
            match key {
                key if key.ends_with("_ms") || key.starts_with("per_user") => *value = Value::Null,
                key if key.ends_with("_per_s") => *value = 0.into(),
                _ => {}
            }
        }
    }
    std::fs::write(folder.path().join("failed.json"), failed.to_string()).expect("written");
    let out = inferometer(folder.path(), &["compare", &a, "failed.json"]);
    let told = String::from_utf8_lossy(&out.stderr);
    assert!(told.contains("failed.json has no figures"), "{told}");
    let (_, text, _) = compare(&["--json"]);
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let rows = document["comparisons"][0]["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["figure"] == "ttft_p50").expect("a row");
    assert_eq!((&row["repeats"][1], &row["verdict"]), (&5.into(), &"worse".into()));
    assert_eq!(document["comparisons"][0]["design"]["kind"], "alternated");
}

#[test]
fn runs_not_measured_in_turn_differ_and_the_gate_warns_of_a_possible_drift() {
    let folder = TempDir::new().expect("a folder");
    let of = measured(&folder);
    let a = summary(&folder, &of, "a.json", (1.0, 0), "one");
    let b = summary(&folder, &of, "b.json", (1.2, 100), "one");
    let compare = |arguments: &[&str]| {
        let out = inferometer(folder.path(), &[&["compare"], arguments].concat());
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        (out.status.code(), text, String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let (code, text, told) = compare(&[&a, &b]);
    assert_eq!(code, Some(0), "{told}");
    assert!(text.contains("DIFFERS") && text.contains("+20.00"), "{text}");
    assert!(!text.contains("WORSE (") && text.contains("measure both in turn"), "{text}");
    let (code, _, told) = compare(&[&a, &b, "--gate", "ttft_p50<+10%"]);
    assert_eq!(code, Some(3));
    assert!(
        told.contains("not measured in turn: the server changed, or the machine drifted"),
        "{told}"
    );
    // Several files are treated as one subject, in order of time.
    let (second, third) = (
        summary(&folder, &of, "c.json", (1.0, 200), "one"),
        summary(&folder, &of, "d.json", (1.2, 300), "one"),
    );
    let both = [format!("{a},{second}"), format!("{b},{third}")];
    let (_, text, told) = compare(&[&both[0], &both[1]]);
    assert!(text.contains("in turn, 2 rounds each"), "{text}{told}");
    let (code, _, told) = compare(&["group-none/a", &b]);
    assert!(code == Some(2) && !told.is_empty(), "{told}");
}

#[test]
fn an_unwritable_file_does_not_lose_the_comparison_and_duplicate_file_names_are_refused() {
    let folder = TempDir::new().expect("a folder");
    let of = measured(&folder);
    let a = summary(&folder, &of, "a.json", (1.0, 0), "one");
    let b = summary(&folder, &of, "b.json", (1.2, 1), "one");
    let compare = |more: &[&str]| {
        let out = inferometer(folder.path(), &[&["compare", &a, &b], more].concat());
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        (out.status.code(), text, String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let lost = ["--junit", "nowhere/x.xml", "--markdown=page.md"];
    let (code, text, told) = compare(&lost);
    assert_eq!(code, Some(1), "{told}");
    assert!(text.contains("WORSE") && told.contains("nowhere/x.xml cannot be written"), "{told}");
    assert!(folder.path().join("page.md").is_file(), "the other file is not written");
    let (code, _, told) = compare(&[&lost[..], &["--gate", "ttft_p50<+10%"]].concat());
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("nowhere/x.xml") && told.contains("FAIL: not met"), "{told}");
    for (more, words) in [
        (&["--junit", "./x", "--markdown=x"][..], "both name the same file"),
        (&["--junit", "-"], "give the name of a file"),
        (&["--markdown", "new.md"], "give --markdown=new.md"),
    ] {
        let (code, text, told) = compare(more);
        assert_eq!((code, &*text), (Some(2), ""), "{told}");
        assert!(told.contains(words), "{told}");
    }
}

/// Predicts a search or a sweep, and returns the path of its results.
fn predicted(folder: &TempDir, name: &str, line: &str) -> String {
    let line =
        format!("{line} --predict --input-lengths 64 --output-lengths 16 --quiet --out {name}");
    let out = inferometer(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    format!("{name}/summary.json")
}

#[test]
fn two_searches_are_compared_by_their_answers_and_not_by_their_trials() {
    let folder = TempDir::new().expect("a folder");
    let line = "search --slo tpot_p95<25ms --start 16 --max-requests 6000";
    let a = predicted(&folder, "a", line);
    let b = predicted(&folder, "b", &format!("{line} --max-num-seqs 2"));
    let out = inferometer(folder.path(), &["compare", &a, &b, "--json"]);
    let document: Value = serde_json::from_slice(&out.stdout).expect("one document");
    let compared = &document["comparisons"][0];
    // Both searches have a trial at 16 requests/s. `compare` compares the answers of searches, not their trials.
    assert_eq!(compared["rows"], Value::Array(Vec::new()));
    let [answer] = compared["answers"].as_array().expect("answers").as_slice() else {
        panic!("{compared}")
    };
    assert_eq!((&answer["figure"], &answer["verdict"]), (&"highest_load".into(), &"lower".into()));
    let estimate = |side: &str| answer[side]["known"]["value"].as_f64().expect("an estimate");
    let ratio = answer["ratio"]["value"].as_f64().expect("a ratio");
    assert!((ratio * estimate("baseline") / estimate("contender") - 1.0).abs() < 1e-9, "{answer}");

    for arguments in [vec!["compare", &a, &b], vec!["compare", &a, &b, "--markdown"]] {
        let out = inferometer(folder.path(), &arguments);
        let told = String::from_utf8_lossy(&out.stdout).into_owned();
        for words in
            ["b/summary.json sustains 0.", " times the load of a/summary.json (95 % interval: 0."]
        {
            assert!(told.replace('\\', "").contains(words), "{words}: {told}");
        }
        assert!(!told.contains("no such load"), "{told}");
    }
    for (gate, code) in [("highest_load>-3%", 3), ("highest_load<+3%", 0), ("ttft_p99<+3%", 2)] {
        let out = inferometer(folder.path(), &["compare", &a, &b, "--gate", gate]);
        assert_eq!(out.status.code(), Some(code), "{gate}");
    }

    let out = inferometer(folder.path(), &["compare", &a, &a]);
    let told = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(told.starts_with("Both sides are the same run (a/summary.json): "), "{told}");
}

#[test]
fn two_sweeps_are_compared_by_their_throughput_at_saturation_and_their_knees() {
    let folder = TempDir::new().expect("a folder");
    let a = predicted(&folder, "a", "sweep");
    let b = predicted(&folder, "b", "sweep --max-num-seqs 4");
    let out = inferometer(folder.path(), &["compare", &b, &a, "--json"]);
    let document: Value = serde_json::from_slice(&out.stdout).expect("one document");
    let answers = document["comparisons"][0]["answers"].as_array().expect("answers").clone();
    let figures: Vec<&Value> = answers.iter().map(|answer| &answer["figure"]).collect();
    let all = ["saturated_requests_per_s", "saturated_output_tokens_per_s", "knee"];
    assert_eq!(figures, all.map(Value::from).iter().collect::<Vec<_>>());
    assert_eq!(answers[0]["verdict"], "higher");
    let out = inferometer(folder.path(), &["compare", &b, &a]);
    let told = String::from_utf8_lossy(&out.stdout).into_owned();
    let first = told.lines().next().unwrap_or_default();
    for words in
        ["a/summary.json sustains ", " output tokens/s ", "; the knee is at ", " in flight "]
    {
        assert!(first.contains(words), "{words}: {first}");
    }
}
