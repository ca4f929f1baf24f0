//! The user's own profiles and the stated card of a server: predictions after a run use both.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{command, folder, inferometer, told};
use crate::tiny_server::{Request, serve, whole};

/// A server that states the same facts as vLLM: the engine, its version and its model, but not the card.
fn vllm() -> String {
    serve(|asked: &Request| match asked.path() {
        "/version" => whole("200 OK", r#"{"version":"0.23.0"}"#),
        "/v1/models" => {
            let model = json!({ "id": "chat", "root": "Qwen/Qwen3-14B", "owned_by": "vllm" });
            whole("200 OK", &json!({ "data": [model] }).to_string())
        }
        "/v1/completions" => {
            let mut body = String::new();
            for finish in [Value::Null, Value::Null, Value::Null, "length".into()] {
                let event =
                    json!({ "choices": [{ "index": 0, "text": "a", "finish_reason": finish }] });
                body += &format!("data: {event}\n\n");
            }
            let usage = json!({ "prompt_tokens": 16, "completion_tokens": 4, "total_tokens": 20 });
            body +=
                &format!("data: {}\n\ndata: [DONE]\n\n", json!({ "choices": [], "usage": usage }));
            whole("200 OK\r\ncontent-type: text/event-stream", &body)
        }
        _ => whole("404 Not Found", ""),
    })
}

/// Measures a server. Returns the printed text.
fn measured(folder: &Path, url: &str, more: &[&str]) -> String {
    let load = ["--input-lengths", "16", "--output-lengths", "4", "--concurrency", "1"];
    let counts = ["--requests", "2", "--warmup", "0"];
    let output =
        inferometer(folder, &[&["run", "--target", url][..], &load, &counts, more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn shown(folder: &Path) -> Value {
    let output = inferometer(folder, &["show", "latest", "--json"]);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(&output)))
}

#[test]
fn a_run_of_a_server_whose_card_the_user_states_is_predicted_for_this_card() {
    let (folder, url) = (folder(), vllm());
    let silent = measured(folder.path(), &url, &[]);
    assert!(!silent.contains("predicted"), "{silent}");
    let stated = measured(folder.path(), &url, &["--server-card", "h100-sxm"]);
    assert!(stated.contains("by profile vllm-0.23-h100-sxm;"), "{stated}");
    let summary = shown(folder.path());
    let facts = &summary.to_string();
    assert!(facts.contains(r#""card_source":"stated by the user""#), "{facts}");
    let unknown = measured(folder.path(), &url, &["--server-card", "MI999"]);
    let why = "not predicted: this program does not know its card, MI999; `inferometer list cards`";
    assert!(unknown.contains(why), "{unknown}");
    // A dry run warns about an unknown name of a card.
    let warned = |name: &str| {
        let output = inferometer(
            folder.path(),
            &["run", "--dry-run", "--target", &url, "--server-card", name],
        );
        told(&output)
    };
    for (name, says) in [
        ("nonsense", "does not know the card nonsense, so the run will have no prediction"),
        ("H100", "H100 (did you mean `h100-sxm` or `h100-pcie`?), so the run will have no"),
    ] {
        assert!(warned(name).contains(says), "{}", warned(name));
    }
    assert!(!warned("NVIDIA H200").contains("warning: server_card"), "{}", warned("NVIDIA H200"));
    let embedded = inferometer(folder.path(), &["run", "--dry-run", "--server-card", "l40s"]);
    assert_eq!(embedded.status.code(), Some(2));
    assert!(told(&embedded).contains("server_card"), "{}", told(&embedded));
    let empty = ["run", "--dry-run", "--target", &url, "--server-card", " "];
    let empty = inferometer(folder.path(), &empty);
    assert_eq!(empty.status.code(), Some(2));
    assert!(told(&empty).contains("must be the name of a card"), "{}", told(&empty));
}

#[test]
fn a_run_is_predicted_with_the_users_own_profile_of_its_engine_card_and_model() {
    let (folder, url) = (folder(), vllm());
    // The settings of a test are in its own folder.
    let profiles = folder.path().join("inferometer/profiles");
    let before = measured(folder.path(), &url, &["--server-card", "h100-sxm"]);
    assert!(before.contains(&format!("--out {}/", profiles.display())), "{before}");
    std::fs::create_dir_all(&profiles).expect("a folder");
    let text = include_str!("../../../engine/data/profiles/vllm-0.23-h100-sxm.toml");
    let own = text.replacen("name = \"vllm-0.23-h100-sxm\"", "name = \"mine\"", 1);
    let file = profiles.join("mine.toml");
    std::fs::write(&file, own).expect("written");
    std::fs::write(profiles.join("broken.toml"), "name = 1").expect("written");
    let after = measured(folder.path(), &url, &["--server-card", "h100-sxm"]);
    let line = format!("by your own profile mine ({})", file.display());
    assert!(after.contains(&line), "{after}");
    assert!(after.contains(&format!("--profile {}", file.display())), "{after}");
    let list = inferometer(folder.path(), &["list", "profiles"]);
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    assert!(list.contains("mine ") && list.contains(&file.display().to_string()), "{list}");
    assert!(list.contains("broken.toml\n    cannot be used: "), "{list}");
    // A prediction without --profile does not use the user's profile. A message says that this profile exists.
    let flags = ["--model", "qwen3-14b", "--engine", "vllm-0.23", "--card", "h100-sxm"];
    let load = ["--input-lengths", "16", "--output-lengths", "4", "--requests", "4"];
    let predicted = inferometer(folder.path(), &[&["predict"][..], &flags, &load].concat());
    let says = told(&predicted);
    let hint = "not used: your own profile";
    assert!(says.contains(hint) && says.contains("broken.toml"), "{says}");
    // INFEROMETER_PROFILES names another folder for the user's profiles.
    let check = |profiles: &str| {
        let mut command = command(folder.path());
        let output = command.env("INFEROMETER_PROFILES", profiles).args(["check", "--predictions"]);
        String::from_utf8_lossy(&output.output().expect("it runs").stdout).into_owned()
    };
    let of_own = check(profiles.to_str().expect("text"));
    assert!(of_own.contains("  mine  ") && !of_own.contains("  vllm-0.23-h100-sxm  "), "{of_own}");
    let none = command(folder.path())
        .env("INFEROMETER_PROFILES", "none")
        .args(["list", "profiles"])
        .output()
        .expect("it runs");
    let says = "warning: INFEROMETER_PROFILES: the folder none does not exist";
    assert!(told(&none).contains(says), "{}", told(&none));
    let of_none = check("none");
    assert!(of_none.contains("  vllm-0.23-h100-sxm  "), "{of_none}");
}

#[test]
fn a_learned_profile_predicts_other_runs_but_not_the_run_that_it_was_fitted_to() {
    let folder = folder();
    let engine = ["--model", "llama-3.1-8b", "--profile", "vllm-0.8-l40s"];
    let load = ["--input-lengths", "64", "--output-lengths", "3", "--concurrency", "2"];
    let run = [&["run", "--quiet"][..], &engine, &load, &["--requests", "4"]].concat();
    let output = inferometer(folder.path(), &run);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    // Below, the same results are imported twice, as if they came from a real server.
    let mut reports = std::fs::read_dir(folder.path().join("inferometer-out")).expect("a folder");
    let report = reports.next().expect("a report").expect("an entry").path();
    let results = std::fs::read_to_string(report.join("summary.json")).expect("results");
    let mut results: Value = serde_json::from_str(&results).expect("JSON");
    results["target"]["simulated"] = false.into();
    results["target"]["profile"] = Value::Null;
    let import = |name: &str, started_at: &str| {
        let mut results = results.clone();
        results["started_at"] = started_at.into();
        std::fs::write(folder.path().join(name), results.to_string()).expect("written");
        let output = inferometer(folder.path(), &["import", name]);
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    };
    import("first.json", "2099-01-01T00:00:00.000Z");
    let out = folder.path().join("inferometer/profiles/learned.toml");
    let out = out.to_str().expect("text");
    // `check` and `calibrate` take the card and the engine from the run.
    let check = || {
        let output = inferometer(folder.path(), &["check", "--predictions", "--json"]);
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    let first = check()["runs"][0]["run"].as_str().expect("a run").to_owned();
    let calibrate = ["calibrate", &first, "--model", "llama-3.1-8b", "--out", out];
    let output = inferometer(folder.path(), &calibrate);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(told(&output).contains("--engine vllm-0.8"), "{}", told(&output));
    import("second.json", "2099-01-02T00:00:00.000Z");
    let found = check();
    let runs = found["runs"].as_array().expect("runs");
    let files: Vec<&Value> = runs.iter().map(|run| &run["profile_file"]).collect();
    assert_eq!(files.len(), 2, "{found}");
    assert!(files.contains(&&Value::Null) && files.contains(&&json!(out)), "{found}");
    // If a profile is fitted from a learned profile, its file lists the runs of both fits.
    let mut ids = runs.iter().map(|run| run["run"].as_str().expect("a run"));
    let second = ids.find(|id| *id != first).expect("another run");
    let calibrated = |run: &str, out: &str| {
        let mut command = command(folder.path());
        command.env("INFEROMETER_PROFILES", "own profiles").args(["calibrate", run]);
        let flags = ["--model", "llama-3.1-8b", "--profile", "inferometer/profiles/learned.toml"];
        command.args(flags).args(["--out", out]).output().expect("it runs")
    };
    // A failed fit leaves no folder.
    let out = "./own profiles/chained.toml";
    let failed = calibrated("no-such-run", out);
    assert_ne!(failed.status.code(), Some(0), "{}", told(&failed));
    assert!(!folder.path().join("own profiles").exists());
    let chained = calibrated(second, out);
    assert_eq!(chained.status.code(), Some(0), "{}", told(&chained));
    let printed = String::from_utf8_lossy(&chained.stdout).into_owned();
    assert!(printed.contains(&format!("--profile '{out}'")), "{printed}");
    let text = std::fs::read_to_string(folder.path().join(out)).expect("a profile");
    let profile: toml::Table = toml::from_str(&text).expect("TOML");
    let fitted: Vec<&str> = profile["fitted_to"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| run.as_str().expect("text"))
        .collect();
    let mut both = [first.as_str(), second];
    both.sort_unstable();
    assert_eq!(fitted, both);
}

#[test]
fn the_hash_of_a_prediction_depends_on_the_figures_of_a_card_file_and_not_on_its_folder() {
    let hash = |bandwidth: &str| {
        let folder = folder();
        let file = inferometer(folder.path(), &["list", "cards", "l40s"]);
        let text = String::from_utf8_lossy(&file.stdout).replace("8.64e+11", bandwidth);
        assert!(text.contains(&format!("bandwidth_bytes_per_s = {bandwidth}")), "{text}");
        std::fs::write(folder.path().join("mine.toml"), text).expect("written");
        let flags = ["--model", "llama-3.1-8b", "--engine", "vllm-0.23", "--card", "mine.toml"];
        let load = ["--input-lengths", "16", "--output-lengths", "4", "--requests", "4", "--json"];
        let output = inferometer(folder.path(), &[&["predict"][..], &flags, &load].concat());
        let found: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(&output)));
        found["plan_hash"].as_str().expect("a hash").to_owned()
    };
    let first = hash("8.64e+11");
    assert_eq!(hash("8.64e+11"), first);
    assert_ne!(hash("8.0e+11"), first);
}

#[test]
fn calibration_refuses_runs_that_state_different_cards_and_names_both() {
    let (folder, url) = (folder(), vllm());
    let mut runs = Vec::new();
    for card in ["h100-sxm", "l40s"] {
        measured(folder.path(), &url, &["--server-card", card]);
        runs.push(shown(folder.path())["run"]["run_id"].as_str().expect("an id").to_owned());
    }
    let [first, second] = runs.as_slice() else { panic!("two runs: {runs:?}") };
    let output = inferometer(folder.path(), &["calibrate", first, second, "--model", "qwen3-14b"]);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    let words =
        format!("run {first} was measured on h100-sxm, and run {second} on l40s: a profile is");
    assert!(told(&output).contains(&words), "{}", told(&output));
}
