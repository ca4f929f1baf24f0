//! One load over several servers: the requests of each server, figures by server, and problems of one server.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Output;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::{
    Engine, Nobody, Running, folder, inferometer, is_generation, told, wait_until,
};
use crate::tiny_server;
use crate::tls::{FIXTURES, gate};

const CELL: [&str; 6] = ["--seed", "7", "--salt", "spread", "--quiet", "--json"];
const LENGTHS: [&str; 4] = ["--input-lengths", "64", "--output-lengths", "16"];

fn summary(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", told(output));
    valid(output)
}

/// The printed document, which must conform to its schema.
fn valid(output: &Output) -> Value {
    let summary = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let schema = include_str!("../../../../schema/summary.schema.json");
    let schema = serde_json::from_str(schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(&summary).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    summary
}

fn run(folder: &Path, targets: &[&str], more: &[&str]) -> Output {
    let mut arguments = vec!["run"];
    targets.iter().for_each(|url| arguments.extend(["--target", url]));
    inferometer(folder, &[&arguments, more, &CELL[..]].concat())
}

/// The number of requests that each server got in each pass.
fn planned(summary: &Value) -> Vec<Vec<u64>> {
    let cells = summary["cells"].as_array().expect("cells").iter();
    let passes = cells.flat_map(|cell| cell["passes"].as_array().expect("passes"));
    let of = |pass: &Value| -> Vec<u64> {
        let servers = pass["servers"].as_array().expect("servers").iter();
        servers.map(|server| server["planned"].as_u64().expect("a number")).collect()
    };
    passes.map(of).collect()
}

#[test]
fn every_balancing_method_spreads_the_same_requests_over_two_servers() {
    let (a, b) = (Engine::start(&[]), Engine::start(&[]));
    let both = [a.url.as_str(), b.url.as_str()];
    let loads: [(&[&str], &[&str]); 4] = [
        (&LENGTHS, &["--concurrency", "2", "--requests", "12"]),
        (&LENGTHS, &["--rate", "200", "--requests", "12"]),
        (&[], &["--workload", "conversation", "--concurrency", "3", "--conversations", "6"]),
        (
            &["--input-lengths", "64", "--output-lengths", "8"],
            &[
                "--workload", "prefix", "--prefix-groups", "4", "--prefix-length", "16",
                "--concurrency", "2", "--requests", "12",
            ],
        ),
    ];
    for (cell, load) in loads {
        let folder = folder();
        let more = [cell, load].concat();
        let alone = summary(&run(folder.path(), &both[..1], &more));
        assert!(alone["cells"][0]["passes"][0].get("servers").is_none());
        let has_sessions = load.contains(&"--workload");
        for way in ["round-robin", "least-in-flight", "session"] {
            if way == "session" && !has_sessions {
                continue;
            }
            let together =
                summary(&run(folder.path(), &both, &[&more[..], &["--balance", way]].concat()));
            assert_eq!(together["workload_hash"], alone["workload_hash"], "{way} {load:?}");
            if !load.contains(&"conversation") {
                assert_eq!(together["body_hash"], alone["body_hash"], "{way} {load:?}");
            }
            assert_eq!(together["target"]["servers"], json!(both), "{way}");
            assert_eq!(together["target"]["facts"]["balance"], way);
            let pass = &together["cells"][0]["passes"][0];
            let by_server = planned(&together);
            assert_eq!(
                by_server[0].iter().sum::<u64>(),
                pass["planned"].as_u64().unwrap(),
                "{way} {load:?}"
            );
            assert!(by_server[0].iter().all(|count| *count > 0), "{way} {load:?}: {by_server:?}");
            if way == "round-robin" && !load.contains(&"conversation") {
                assert_eq!(by_server, [[6, 6]], "{load:?}");
            }
            let own = pass["server_metrics"].as_array().expect("metrics of each");
            let names: Vec<_> = own.iter().map(|one| one["name"].as_str().unwrap()).collect();
            assert_eq!(names, both);
            let tokens = |of: &Value| of["generation_tokens"].as_f64().unwrap();
            assert_eq!(tokens(&own[0]) + tokens(&own[1]), tokens(&pass["server"]), "{way}");
            let name = together["run_id"].as_str().expect("a name");
            let again = inferometer(folder.path(), &["report", name, "--json", "--out", "again"]);
            assert_eq!(summary(&again), together, "{way} {load:?}");
        }
    }
}

#[test]
fn tables_and_reports_show_results_by_server_and_exported_rows_name_the_server() {
    let (a, b) = (Engine::start(&[]), Engine::start(&[]));
    let folder = folder();
    let plan = format!(
        "target = [\"{}\", \"{}\"]\ninput_lengths = [64]\noutput_lengths = [8]\nconcurrency = [2]\nrequests = 8\n",
        a.url, b.url
    );
    std::fs::write(folder.path().join("plan.toml"), plan).expect("written");
    let output = inferometer(folder.path(), &["run", "plan.toml", "--quiet", "--out", "out"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("By server") && text.contains(&a.url) && text.contains(&b.url), "{text}");
    let report = std::fs::read_to_string(folder.path().join("out/report.md")).expect("a report");
    assert!(report.contains("By server") && report.contains(&b.url), "{report}");
    let rows = inferometer(
        folder.path(),
        &["export", "latest", "--what", "requests", "--format", "jsonl"],
    );
    let rows = String::from_utf8(rows.stdout).expect("text");
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for line in rows.lines() {
        let row: Value = serde_json::from_str(line).expect("JSON");
        if let Some(server) = row["server"].as_str() {
            *counts.entry(server.to_owned()).or_default() += 1;
        }
    }
    assert_eq!(counts, BTreeMap::from([(a.url.clone(), 4), (b.url.clone(), 4)]), "{rows}");
}

#[test]
fn a_finding_names_a_failing_server_and_the_other_server_completes_its_requests() {
    let (good, bad) = (Engine::start(&[]), Engine::start(&["--fault", "status=503"]));
    let folder = folder();
    let more = [&LENGTHS[..], &["--concurrency", "2", "--requests", "20", "--max-failures", "60%"]]
        .concat();
    let output = run(folder.path(), &[&good.url, &bad.url], &more);
    let summary = summary(&output);
    let pass = &summary["cells"][0]["passes"][0];
    let outcomes = |at: usize| {
        let of = &pass["servers"][at]["outcomes"];
        (of["complete"].as_u64().unwrap(), of["rejected"].as_u64().unwrap())
    };
    assert_eq!((outcomes(0), outcomes(1)), ((10, 0), (0, 10)));
    let findings = summary["findings"].as_array().expect("findings").iter();
    let told: Vec<_> = findings.filter(|one| one["code"] == "server_fails").collect();
    let [one] = told[..] else { panic!("{told:?}") };
    let message = one["message"].as_str().expect("a text");
    assert!(message.starts_with(&format!("{} failed 10 of its 10 requests", bad.url)), "{message}");
}

#[test]
fn unreachable_unequal_or_duplicate_servers_are_refused_before_anything_is_measured() {
    let (a, other) = (Engine::start(&[]), Engine::start(&["--model", "qwen-14b"]));
    let nobody = Nobody::new();
    let folder = folder();
    let twice = format!("{}/v1", a.url);
    let by_name = a.url.replace("127.0.0.1", "localhost");
    let cases: [(&[&str], &[&str], i32, &str); 7] = [
        (&[&a.url, &twice], &[], 2, "is given twice"),
        (&[&a.url, &nobody.url], &[], 1, &nobody.url),
        (&[&a.url, &other.url], &[], 1, "has the model chatglm3-6b"),
        (&[&a.url, &by_name], &[], 1, "lead to the same address"),
        (&[&a.url], &["--balance", "round-robin"], 2, "only one is given"),
        (&[&a.url, &other.url], &["--balance", "session"], 2, "has no sessions"),
        (&[&a.url, &other.url], &["--balance", "at-random"], 2, "is not a balancing method"),
    ];
    for (targets, more, code, words) in cases {
        let more = [&LENGTHS[..], &["--concurrency", "2", "--requests", "4"], more].concat();
        let output = run(folder.path(), targets, &more);
        assert_eq!(output.status.code(), Some(code), "{targets:?}: {}", told(&output));
        assert!(told(&output).contains(words), "{targets:?}, {words}: {}", told(&output));
    }
    let runs = inferometer(folder.path(), &["runs", "--json"]);
    let runs: Value = serde_json::from_slice(&runs.stdout).expect("JSON");
    assert_eq!(runs["runs"], json!([]));
}

#[test]
fn each_turn_sends_its_session_id_in_a_header_and_a_cookie() {
    let seen = Arc::new(Mutex::new(Vec::<(String, String, String)>::new()));
    let keeps = Arc::clone(&seen);
    let url = tiny_server::serve(move |asked| {
        if asked.path().ends_with("/models") {
            return tiny_server::whole(
                "200 OK",
                r#"{"object":"list","data":[{"id":"m","object":"model"}]}"#,
            );
        }
        if !is_generation(asked) {
            return tiny_server::whole("404 Not Found", "");
        }
        let field = |name: &str| {
            let line = asked.head.lines().find_map(|line| {
                let (found, value) = line.split_once(':')?;
                found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
            });
            line.unwrap_or_default()
        };
        let body: Value = serde_json::from_str(&asked.body).expect("JSON");
        let first = body["messages"][0]["content"].to_string();
        keeps.lock().unwrap().push((field("x-session"), field("cookie"), first));
        let usage = json!({"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11});
        let answer = json!({
            "choices": [{"index": 0, "message": {"role": "assistant", "content": " w"}, "finish_reason": "length"}],
            "usage": usage,
        });
        tiny_server::whole("200 OK\r\ncontent-type: application/json", &answer.to_string())
    });
    let folder = folder();
    let more = [
        "--dialect", "openai-chat", "--no-stream", "--workload", "conversation", "--conversations",
        "3", "--concurrency", "2", "--warmup", "0", "--session-header", "X-Session",
        "--session-cookie", "sid", "--header", "Cookie: a=1",
    ];
    let output = run(folder.path(), &[&url], &more);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let mut by_conversation: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (header, cookie, first) in
        seen.lock().unwrap().iter().filter(|(header, ..)| !header.is_empty())
    {
        assert_eq!(cookie, &format!("a=1; sid={header}"));
        by_conversation.entry(first.clone()).or_default().insert(header.clone());
    }
    assert_eq!(by_conversation.len(), 3, "{by_conversation:?}");
    assert!(by_conversation.values().all(|ids| ids.len() == 1), "{by_conversation:?}");
    let ids: BTreeSet<_> = by_conversation.values().flatten().collect();
    assert_eq!(ids.len(), 3, "{by_conversation:?}");
}

#[test]
fn metrics_of_several_urls_are_reported_per_url_and_not_summed() {
    let (router, decode) = (Engine::start(&[]), Engine::start(&[]));
    let folder = folder();
    let pools = ["--metrics-url", &router.url, "--metrics-url", &decode.url];
    let more = [&LENGTHS[..], &["--concurrency", "2", "--requests", "4"], &pools].concat();
    let summary = summary(&run(folder.path(), &[&router.url], &more));
    let pass = &summary["cells"][0]["passes"][0];
    let own = pass["server_metrics"].as_array().expect("metrics of each");
    let names: Vec<_> = own.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, [format!("{}/metrics", router.url), format!("{}/metrics", decode.url)]);
    assert_eq!(own[1]["generation_tokens"], 0.0, "{}", own[1]);
    assert!(own[0]["generation_tokens"].as_f64().unwrap() > 0.0 && pass.get("server").is_none());
    let nobody = Nobody::new();
    let more =
        [&LENGTHS[..], &["--metrics-url", &router.url, "--metrics-url", &nobody.url]].concat();
    let output = run(folder.path(), &[&router.url], &more);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(told(&output).contains(&nobody.url), "{}", told(&output));
}

#[test]
fn a_search_uses_several_servers_and_a_resumed_run_keeps_its_servers() {
    let (a, b) = (Engine::start(&[]), Engine::start(&[]));
    let folder = folder();
    let search = [
        "search", "--target", &a.url, "--target", &b.url, "--slo", "ttft_p50<10s", "--to", "64",
        "--start", "32", "--max-requests", "600",
    ];
    let found = summary(&inferometer(folder.path(), &[&search[..], &LENGTHS, &CELL].concat()));
    assert!(found["searches"][0]["answer"].is_string(), "{}", found["searches"]);
    assert!(planned(&found).iter().all(|trial| trial.len() == 2));

    // At the speed of the hardware, the second cell takes minutes. So the interruption comes after the first cell is
    // stored, and before the second cell ends.
    let (a, b) = (Engine::start_at("1", &[]), Engine::start_at("1", &[]));
    let folder = crate::support::folder();
    let load = [
        "run", "--target", &a.url, "--target", &b.url, "--input-lengths", "64", "--output-lengths",
        "8,8000", "--concurrency", "2", "--requests", "4", "--quiet",
    ];
    let mut running = Running::start(folder.path(), &load);
    let figures = folder.path().join("inferometer-out");
    wait_until("the first cell", || {
        figures.read_dir().is_ok_and(|mut runs| {
            runs.any(|run| run.is_ok_and(|run| run.path().join("summary.json").exists()))
        })
    });
    running.signal("-INT");
    assert_eq!(running.finish().status.code(), Some(130));
    let other = ["run", "--resume", "latest", "--balance", "least-in-flight"];
    let refused = inferometer(folder.path(), &other);
    assert_eq!(refused.status.code(), Some(2), "{}", told(&refused));
    let plan = inferometer(folder.path(), &["run", "--resume", "latest", "--dry-run"]);
    let text = String::from_utf8(plan.stdout.clone()).expect("text");
    assert!(text.contains(&b.url), "{text}{}", told(&plan));
}

#[test]
fn each_server_behind_tls_is_checked_against_its_own_host_name() {
    let (a, b) = (Engine::start(&[]), Engine::start(&[]));
    let gates = [gate(&a.url), gate(&b.url).replace("127.0.0.1", "localhost")];
    let authority = format!("{FIXTURES}authority.pem");
    let load = ["--concurrency", "2", "--requests", "6", "--ca-cert", &authority];
    let targets = gates.each_ref().map(String::as_str);
    let folder = folder();
    let found = summary(&run(folder.path(), &targets, &[&LENGTHS[..], &load].concat()));
    assert_eq!(planned(&found), [[3, 3]]);
    assert_eq!(found["cells"][0]["passes"][0]["outcomes"]["complete"], 6);
    let mixed = run(folder.path(), &[&gates[0], &a.url], &[&LENGTHS[..], &load[..4]].concat());
    assert_eq!(mixed.status.code(), Some(2), "{}", told(&mixed));
    assert!(
        told(&mixed).contains("some addresses begin with http:// and some with https://"),
        "{}",
        told(&mixed)
    );
}
