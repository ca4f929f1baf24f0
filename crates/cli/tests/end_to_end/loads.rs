//! Custom loads, repeats and objectives on requests, end to end: the requested values reach the server and the results.
//! Figures are not tested here, but in virtual time.

use std::fs;

use serde_json::Value;

use crate::support::{folder, inferometer, told};

/// Arguments of a run with one small cell on the embedded engine. The engine runs a hundred times faster than the
/// simulated hardware.
const CELL: [&str; 9] = [
    "run", "--speed", "100", "--input-lengths", "32", "--output-lengths", "8", "--json", "--quiet",
];

fn passes(more: &[&str], files: &[(&str, &str)]) -> (Value, Vec<Value>) {
    let folder = folder();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let output = inferometer(folder.path(), &[&CELL[..], more].concat());
    let summary: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", told(&output)));
    let passes = summary["cells"][0]["passes"].as_array().unwrap().clone();
    (summary, passes)
}

#[test]
fn stages_ramps_and_replays_send_the_requests_of_their_schedules() {
    let instants: String =
        (0..21).map(|i| format!("{}\n", 1_000.0 + 0.02 * f64::from(i))).collect();
    let plan = "replay = 'trace.txt'\nreplay_speed = 2\nconcurrency = ['200ms@1..4']\n\
                burstiness = 'inf'\n[[stages]]\nduration = '200ms'\nrate = 20\n\
                [[stages]]\nduration = '200ms'\nrate = 80\n";
    let (_, passes) = passes(&["plan.toml"], &[("trace.txt", &instants), ("plan.toml", plan)]);
    let seen: Vec<_> =
        passes.iter().map(|pass| (pass["load"].as_str(), pass["planned"].as_u64())).collect();
    assert_eq!(seen[0].0, Some("closed loop, 0.2s@1..4 in flight"));
    // The number of requests in flight at a given time is tested in virtual time.
    let peak = passes[0]["peak_concurrency"].as_u64().unwrap();
    assert!((1..=4).contains(&peak), "{}", passes[0]);
    assert_eq!(
        seen[1..],
        [
            (Some("open loop, 0.2s@20+0.2s@80 requests/s, constant arrivals"), Some(20)),
            (Some("replay of trace.txt at 2 times its speed"), Some(21)),
        ]
    );
    let classes = |pass: &Value| -> Vec<_> {
        let classes = pass["classes"].as_array().expect("classes");
        classes.iter().map(|of| (of["class"].to_string(), of["planned"].as_u64())).collect()
    };
    let stages = [("\"stage 1\"", 4), ("\"stage 2\"", 16)];
    assert_eq!(classes(&passes[1]), stages.map(|(name, n)| (name.to_owned(), Some(n))));
    assert_eq!(classes(&passes[2]), []);
}

#[test]
fn requests_above_max_in_flight_are_dropped_and_count_as_missed_objectives() {
    let (summary, passes) = passes(
        &[
            "--rate", "inf", "--requests", "12", "--max-in-flight", "2", "--over-limit", "drop",
            "--goodput", "e2e<3600s",
        ],
        &[],
    );
    let pass = &passes[0];
    assert_eq!(
        (&pass["outcomes"]["dropped"], &pass["outcomes"]["complete"]),
        (&10.into(), &2.into())
    );
    assert_eq!(pass["goodput"]["met"], 2);
    assert_eq!(pass["goodput"]["attainment"].as_f64(), Some(2.0 / 12.0));
    assert_eq!(summary["verdict"]["validity"], "suspect");
}

#[test]
fn repeats_give_a_confidence_interval_and_the_report_reproduces_them() {
    let folder = folder();
    let more = ["--concurrency", "2", "--requests", "6", "--repeat", "3", "--warmup", "20ms"];
    let output = inferometer(folder.path(), &[&CELL[..], &more[..]].concat());
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    let cell = &summary["cells"][0];
    let repeats: Vec<_> =
        cell["passes"].as_array().unwrap().iter().map(|pass| pass["repeat"].as_u64()).collect();
    assert_eq!(repeats, [Some(1), Some(2), Some(3)]);
    let spread = &cell["over_repeats"]["requests_per_s"];
    assert_eq!((&spread["n"], &spread["mean"]), (&3.into(), &cell["requests_per_s"]));
    assert!(spread["ci"].is_array() && spread["cv"].is_number());
    let again = inferometer(folder.path(), &["report", "latest", "--json"]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("a summary");
    assert_eq!(again["cells"], summary["cells"]);
}

#[test]
fn repeats_continue_until_the_precision_or_the_maximum_count_is_reached() {
    let load = ["--concurrency", "2", "--requests", "4", "--until"];
    let (_, passes_) = passes(&[&load[..], &["requests_per_s+-100000%"]].concat(), &[]);
    assert_eq!(passes_.len(), 2, "an interval needs at least two repeats");
    let never = ["requests_per_s±0.000001%", "--max-repeats", "3"];
    let (summary, passes) = passes(&[&load[..], &never[..]].concat(), &[]);
    assert_eq!(passes.len(), 3);
    let codes: Vec<_> =
        summary["findings"].as_array().unwrap().iter().map(|found| &found["code"]).collect();
    assert!(codes.contains(&&"precision_not_reached".into()), "{codes:?}");
}

#[test]
fn an_unreadable_replay_file_is_a_usage_error() {
    let folder = folder();
    fs::write(folder.path().join("trace.txt"), "0\nsoon\n").unwrap();
    for (file, words) in [("trace.txt", "line 2: `soon`"), ("none.txt", "none.txt")] {
        let output = inferometer(folder.path(), &[&CELL[..], &["--replay", file]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains("--replay") && told(&output).contains(words));
    }
}

#[test]
fn every_turn_of_a_conversation_contains_the_previous_answers() {
    let folder = folder();
    let flags = [
        "run", "--speed", "100", "--json", "--quiet", "--workload", "conversation",
        "--conversations", "3", "--turns", "3", "--think-time", "10ms", "--first-turn-input", "40",
        "--turn-input", "10", "--turn-output", "5", "--concurrency", "2", "--dialect",
        "openai-chat", "--seed", "1", "--salt", "s",
    ];
    let output = inferometer(folder.path(), &flags);
    let summary: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", told(&output)));
    let classes = summary["cells"][0]["passes"][0]["classes"].as_array().unwrap();
    let of = |class: &Value| (class["class"].clone(), class["input_tokens"].as_u64().unwrap());
    let template = of(&classes[0]).1 - 3 * 40;
    for (number, class) in classes.iter().enumerate() {
        let turn = number as u64;
        let said = 3 * (40 + turn * (5 + 10)) + template;
        assert_eq!(of(class), (format!("turn {}", turn + 1).into(), said));
        assert_eq!(class["outcomes"]["complete"], 3);
    }
    assert_eq!(classes.len(), 3);
}

#[test]
fn a_trace_is_replayed_with_its_lengths_and_skipped_rows_are_reported() {
    let folder = folder();
    let rows = "timestamp,input_tokens,output_tokens\n0,40,4\n0.02,60,8\nlater,1,1\n0.05,20,2\n";
    fs::write(folder.path().join("trace.csv"), rows).unwrap();
    let flags = [
        "run", "--speed", "100", "--json", "--quiet", "--workload", "trace", "--dataset",
        "trace.csv", "--trace-scale", "2",
    ];
    let output = inferometer(folder.path(), &flags);
    let summary: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", told(&output)));
    let pass = &summary["cells"][0]["passes"][0];
    assert_eq!((&pass["input_tokens"], &pass["output_tokens"]), (&240.into(), &28.into()));
    assert_eq!((&pass["planned"], &pass["outcomes"]["complete"]), (&6.into(), &6.into()));
    let findings = summary["findings"].to_string();
    assert!(findings.contains("`timestamp` is not a valid time (row 3)"), "{findings}");
}

#[test]
fn rows_with_timestamps_are_replayed_as_an_open_loop() {
    let folder = folder();
    let rows = "prompt,output_tokens,timestamp\nfirst,4,100\nthird,2,100.05\nsecond,8,100.02\n";
    fs::write(folder.path().join("rows.csv"), rows).unwrap();
    let flags = ["run", "--speed", "100", "--json", "--quiet", "--workload", "csv"];
    let flags = [&flags[..], &["--dataset", "rows.csv", "--replay-rows"]].concat();
    let output = inferometer(folder.path(), &flags);
    let summary: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", told(&output)));
    let passes = summary["cells"][0]["passes"].as_array().unwrap();
    assert_eq!(passes.len(), 1);
    assert_eq!((&passes[0]["kind"], &passes[0]["output_tokens"]), (&"open".into(), &14.into()));
    assert_eq!(passes[0]["outcomes"]["complete"], 3);
}

/// The due times of the requests of each pass in nanoseconds, from a `--dump-workload` file.
fn due(folder: &std::path::Path, command: &str, more: &[&str]) -> Vec<Vec<u64>> {
    let load = ["--output-lengths", "4", "--salt", "s", "--dump-workload", "sent.jsonl"];
    let _ = fs::remove_file(folder.join("sent.jsonl"));
    let quiet = ["--json", "--quiet"];
    let output = inferometer(folder, &[&[command][..], &load, &quiet, more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let text = fs::read_to_string(folder.join("sent.jsonl")).unwrap();
    let mut passes: Vec<Vec<u64>> = Vec::new();
    for line in text.lines().skip(1) {
        let line: Value = serde_json::from_str(line).unwrap();
        let pass = line["pass"].as_u64().unwrap() as usize;
        passes.resize(passes.len().max(pass + 1), Vec::new());
        passes[pass].push(line["due_ns"].as_u64().unwrap());
    }
    passes
}

#[test]
fn arrivals_have_the_requested_rate_and_gaps_and_are_equal_in_run_and_predict() {
    let folder = folder();
    let folder = folder.path();
    let of = |command: &str, more: &[&str]| {
        let load = ["--rate", "200,400", "--requests", "50", "--input-lengths", "16,32"];
        due(folder, command, &[&load, more].concat())
    };
    let played = of("run", &["--speed", "100", "--warmup", "0"]);
    for (pass, last_ms) in played.iter().zip([250, 125, 250, 125]) {
        assert_eq!(pass.last(), Some(&(last_ms * 1_000_000)));
    }
    // The second rate is twice the first rate. If both use the same random numbers, twice the first gap at the second
    // rate equals the first gap at the first rate.
    let first = |passes: &[Vec<u64>]| -> Vec<u64> {
        passes.iter().zip([1, 2, 1, 2]).map(|(due, by)| due[0] * by).collect()
    };
    let gaps = first(&played);
    assert!(gaps.iter().all(|due| due.abs_diff(gaps[0]) < 3), "{gaps:?}");
    let gaps = first(&of("predict", &["--arrivals", "inferometer"]));
    for (at, due) in gaps.iter().enumerate() {
        assert!(!gaps[..at].iter().any(|other| due.abs_diff(*other) < 3), "{gaps:?}");
    }
    assert_eq!(of("predict", &[]), played);
    let drawn = of("predict", &["--no-scale"]);
    assert!(drawn.iter().zip(&played).all(|(drawn, scaled)| drawn.last() != scaled.last()));
    let (_, passes) = passes(&["--rate", "400", "--duration", "0.1s"], &[]);
    assert_eq!(passes[0]["planned"].as_u64(), Some(40));
}

#[test]
fn scale_is_refused_for_a_closed_loop_and_for_a_search() {
    let folder = folder();
    for (command, more) in [
        ("run", &["--concurrency", "2", "--no-scale"][..]),
        ("search", &["plan.toml", "--slo", "ttft_p99<1s", "--max-requests", "100"]),
    ] {
        fs::write(folder.path().join("plan.toml"), "scale = true\n").unwrap();
        let output = inferometer(folder.path(), &[&[command], more].concat());
        assert_eq!(output.status.code(), Some(2), "{command}: {}", told(&output));
        assert!(told(&output).contains("scale"), "{command}: {}", told(&output));
    }
}

#[test]
fn classes_of_traffic_have_their_own_loads_fields_figures_and_objectives() {
    let plan = "requests = 40\n\
                [[class]]\nname = 'chat'\nrate = 40\nburstiness = 'inf'\ninput = 16\noutput = 4\n\
                goodput = 'e2e<3600s'\nalone = true\nbody = { priority = 0 }\n\
                [[class]]\nname = 'batch'\nrate = '10'\ninput = 'uniform:24..40'\noutput = 16\n\
                goodput = 'e2e<0.001ms'\n";
    let folder = folder();
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    let output = inferometer(folder.path(), &["run", "plan.toml", "--speed", "100", "--json"]);
    let summary: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", told(&output)));
    let passes = summary["cells"][0]["passes"].as_array().expect("passes");
    let loads: Vec<_> = passes.iter().map(|pass| pass["load"].as_str().expect("a load")).collect();
    let chat = "chat 40/s (constant)";
    assert_eq!(loads, [format!("{chat} + batch 10/s"), format!("{chat} alone")]);
    let classes = passes[0]["classes"].as_array().expect("classes");
    let of = |name: &str| classes.iter().find(|class| class["class"] == name).expect("a class");
    let (chat, batch) = (of("chat"), of("batch"));
    assert_eq!(
        chat["planned"].as_u64().zip(batch["planned"].as_u64()).map(|(a, b)| a + b),
        Some(40)
    );
    assert_eq!(
        (&chat["goodput"]["attainment"], &batch["goodput"]["attainment"]),
        (&1.0.into(), &0.0.into())
    );
    assert_eq!(passes[0]["goodput"]["met"], chat["planned"]);
    assert_eq!(batch["output_tokens"].as_u64(), batch["planned"].as_u64().map(|n| 16 * n));
    crate::support::fits_its_schema(&summary);
    let shown = inferometer(folder.path(), &["show", "latest"]);
    let shown = told(&shown) + &String::from_utf8_lossy(&shown.stdout);
    assert!(shown.contains("Classes beside others and alone"), "{shown}");
    assert!(shown.contains("chat beside others: "), "{shown}");
    let predicted = inferometer(folder.path(), &["predict", "plan.toml", "--json"]);
    let predicted: Value = serde_json::from_slice(&predicted.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", told(&predicted)));
    let predicted = &predicted["cells"][0]["passes"][0]["classes"];
    let planned = |of: &Value, name: &str| -> Option<u64> {
        of.as_array()?.iter().find(|class| class["class"] == name)?["planned"].as_u64()
    };
    assert_eq!(planned(predicted, "chat"), chat["planned"].as_u64(), "the same arrivals");
}
