//! Bundles: a run is written to one file, and restored into another store as the same run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Engine, command, folder, inferometer, small_run, told};

/// The output of a command, which must succeed.
pub fn stdout(folder: &Path, arguments: &[&str]) -> String {
    let out = inferometer(folder, arguments);
    assert_eq!(out.status.code(), Some(0), "{arguments:?}: {}", told(&out));
    String::from_utf8(out.stdout).expect("text")
}

/// The output of a command as JSON.
pub fn document(folder: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(folder, arguments)).expect("JSON")
}

/// The id of a run, from its summary.
pub fn id(summary: &Value) -> &str {
    summary["run_id"].as_str().expect("an id")
}

/// Writes a bundle of a run, and returns its path.
pub fn bundle_of(folder: &Path, run: &str, more: &[&str]) -> PathBuf {
    stdout(folder, &[&["bundle", run, "--out", "run.tar.gz"], more].concat());
    folder.join("run.tar.gz")
}

#[test]
fn a_bundle_copies_a_run_unchanged_into_another_store() {
    let engine = Engine::start(&[]);
    let (here, there) = (folder(), folder());
    let summary = document(here.path(), &small_run(&engine.url));
    let id = id(&summary);
    let made = document(here.path(), &["bundle", "--json"]);
    let name = format!("inferometer-{id}.tar.gz");
    assert_eq!(
        (&made["file"], &made["manifest"]["runs"][0]["run_id"]),
        (&name.clone().into(), &id.into())
    );
    let file = here.path().join(name);
    let first = fs::read(&file).expect("a file");
    let again = bundle_of(here.path(), &id[..18], &[]);
    assert!(fs::read(&again).expect("a file") == first, "the two bundles of a run differ");
    let path = file.to_str().expect("a path");

    assert!(stdout(there.path(), &["import", path]).contains("was added"));
    assert!(stdout(there.path(), &["import", path]).contains("already"));
    let imported = document(there.path(), &["import", path, "--json"]);
    assert_eq!(
        (&imported["runs"][0]["run_id"], &imported["runs"][0]["new"]),
        (&id.into(), &false.into())
    );
    for arguments in [
        &["report", id, "--json"][..],
        &["export", id, "--format", "json"],
        &["export", id, "--format", "json", "--what", "events"],
        &["show", id, "--plan"],
        &["runs", "--json"],
    ] {
        let of = |at: &Path| stdout(at, arguments);
        assert_eq!(of(here.path()), of(there.path()), "{arguments:?}");
    }
    let mut shown = [here.path(), there.path()].map(|at| document(at, &["show", id, "--json"]));
    for shown in &mut shown {
        shown["files"]["reports"] = Value::Null;
    }
    assert_eq!(shown[0], shown[1]);
    // A bundle of the restored run equals the bundle of the original run.
    assert!(fs::read(bundle_of(there.path(), id, &[])).expect("a file") == first);
    let files = fs::read_dir(there.path().join("inferometer.runs")).expect("a folder");
    assert_eq!(files.count(), 1, "the only file of the run in this store is its log");
}

#[test]
fn a_bundle_can_be_unpacked_and_verified_without_this_program() {
    let engine = Engine::start(&[]);
    let at = folder();
    let summary = document(at.path(), &small_run(&engine.url));
    let id = id(&summary);
    bundle_of(at.path(), "latest", &[]);
    let run = |program: &str, arguments: &[&str], within: &Path| {
        let out =
            Command::new(program).args(arguments).current_dir(within).output().expect(program);
        assert!(out.status.success(), "{program} {arguments:?}: {}", told(&out));
    };
    run("tar", &["xzf", "run.tar.gz"], at.path());
    let unpacked = at.path().join("inferometer-bundle");
    run("sha256sum", &["--quiet", "-c", "SHA256SUMS"], &unpacked);
    let read = |name: &str| fs::read_to_string(unpacked.join(name)).expect(name);
    let of_run = |name: &str| read(&format!("runs/{id}/{name}"));
    let held: Value = serde_json::from_str(&of_run("summary.json")).expect("JSON");
    assert_eq!(held["cells"], summary["cells"]);
    let manifest: Value = serde_json::from_str(&read("manifest.json")).expect("JSON");
    let of_manifest = &manifest["runs"][0];
    for key in ["run_id", "plan_hash", "workload_hash", "body_hash", "target", "environment"] {
        assert_eq!(of_manifest[key], summary[key], "{key}");
    }
    let schema = include_str!("../../../../schema/bundle.schema.json");
    let schema: Value = serde_json::from_str(schema).expect("JSON");
    let valid = jsonschema::validator_for(&schema).expect("a schema");
    let told: Vec<String> = valid.iter_errors(&manifest).map(|error| error.to_string()).collect();
    assert_eq!(told, [""; 0], "{manifest:#}");
    assert!(of_run("plan.toml").contains("input_lengths"), "{}", of_run("plan.toml"));
    for words in ["sha256sum -c SHA256SUMS", "inferometer reproduce", "simulated", id] {
        assert!(read("README.md").contains(words), "{words}");
    }
}

#[test]
fn bundle_advises_more_repeats_only_for_a_measured_run_with_one_repeat() {
    let engine = Engine::start(&[]);
    let at = folder();
    let advice = |run: &str| {
        let out = inferometer(at.path(), &["bundle", run, "--out", "run.tar.gz"]);
        assert_eq!(out.status.code(), Some(0), "{}", told(&out));
        told(&out)
    };
    document(at.path(), &small_run(&engine.url));
    let once = advice("latest");
    assert!(once.contains("one repeat") && once.contains("`--repeat 5`"), "{once}");
    document(at.path(), &[&small_run(&engine.url)[..], &["--repeat", "2"]].concat());
    assert_eq!(advice("latest"), "");
    let line = "predict --input-lengths 16 --output-lengths 4 --requests 3 --quiet --json";
    document(at.path(), &line.split(' ').collect::<Vec<_>>());
    assert_eq!(advice("latest-predicted"), "");
}

#[test]
fn a_bundle_includes_data_unless_excluded_and_is_refused_if_the_data_contains_a_key() {
    let engine = Engine::start(&[]);
    let at = folder();
    let rows = "{\"prompt\": \"tell me of sk-live-0123456789\", \"output_tokens\": 4}\n".repeat(6);
    fs::write(at.path().join("rows.jsonl"), rows).expect("written");
    let arguments =
        ["run", "--target", &engine.url, "--workload", "jsonl", "--dataset", "rows.jsonl"];
    let more = ["--requests", "4", "--warmup", "0", "--passes", "saturated", "--quiet", "--json"];
    document(at.path(), &[&arguments[..], &more].concat());
    let made = |more: &[&str]| document(at.path(), &[&["bundle", "--json"], more].concat());
    let data = |more: &[&str]| made(more)["manifest"]["data"][0].take();
    let small = data(&[]);
    assert_eq!((&small["key"], &small["named"]), (&"dataset".into(), &"rows.jsonl".into()));
    assert_eq!(small["file"], "data/1-rows.jsonl");
    let without = data(&["--without-data"]);
    assert_eq!((&without["file"], &without["sha256"]), (&Value::Null, &small["sha256"]));
    fs::write(at.path().join("run.tar.gz"), "what was there").expect("written");
    let out = command(at.path())
        .args(["bundle", "--out", "run.tar.gz"])
        .env("OPENAI_API_KEY", "sk-live-0123456789")
        .output()
        .expect("the binary runs");
    assert_eq!(out.status.code(), Some(2), "{}", told(&out));
    assert!(
        told(&out).contains("rows.jsonl: contains an API key of this process"),
        "{}",
        told(&out)
    );
    assert!(!told(&out).contains("sk-live"), "{}", told(&out));
    assert_eq!(fs::read(at.path().join("run.tar.gz")).expect("a file"), b"what was there");
    let out = inferometer(at.path(), &["bundle", "--out", "-"]);
    assert_eq!(out.status.code(), Some(2), "{}", told(&out));
    let out = inferometer(at.path(), &["bundle", "--out", "nowhere/run.tar.gz"]);
    assert!(
        out.status.code() == Some(1) && told(&out).contains("nowhere/run.tar.gz"),
        "{}",
        told(&out)
    );
}

#[test]
fn a_bundle_copies_predicted_and_imported_runs_into_another_store() {
    let (here, there) = (folder(), folder());
    let line =
        "predict --input-lengths 16 --output-lengths 4 --requests 3 --one-by-one 1 --quiet --json";
    let predicted = document(here.path(), &line.split(' ').collect::<Vec<_>>());
    let table =
        include_str!("../../../analysis/src/table_import/fixtures/mistral-7b-openorca-awq.md");
    fs::write(here.path().join("page.md"), table).expect("written");
    let imported = document(here.path(), &["import", "page.md", "--json"]);
    let imported = id(&imported["runs"][0]).to_owned();
    for (run, word) in [(id(&predicted), "predicted"), (&imported, "imported from page.md")] {
        let bundle = bundle_of(here.path(), run, &[]);
        let bundle = bundle.to_str().expect("a path");
        stdout(there.path(), &["import", bundle]);
        let listed = stdout(there.path(), &["runs"]);
        assert!(
            listed.lines().any(|line| line.starts_with(run) && line.contains(word)),
            "{listed}"
        );
        assert_eq!(
            stdout(here.path(), &["report", run, "--json"]),
            stdout(there.path(), &["report", run, "--json"])
        );
        if run == imported {
            let refused = inferometer(there.path(), &["reproduce", bundle]);
            assert_eq!(refused.status.code(), Some(2), "{}", told(&refused));
            assert!(told(&refused).contains("was imported, not planned"), "{}", told(&refused));
        }
    }
}

#[test]
fn a_damaged_bundle_is_refused_and_nothing_of_it_is_stored() {
    let at = folder();
    let line =
        "predict --input-lengths 16 --output-lengths 4 --requests 3 --one-by-one 1 --quiet --json";
    document(at.path(), &line.split(' ').collect::<Vec<_>>());
    let whole = fs::read(bundle_of(at.path(), "latest-predicted", &[])).expect("a file");
    let half = &whole[..whole.len() / 2];
    let mut behind = whole.clone();
    behind.extend(b"more");
    let mut altered = whole.clone();
    altered[whole.len() / 2] ^= 1;
    for (bytes, words) in [
        (half, "is incomplete"),
        (&behind, "bytes after"),
        (&altered, "is damaged"),
        (&whole[..2], "is incomplete"),
    ] {
        fs::write(at.path().join("bad.tar.gz"), bytes).expect("written");
        for arguments in
            [&["import", "bad.tar.gz", "--store", "new.db"][..], &["reproduce", "bad.tar.gz"]]
        {
            let out = inferometer(at.path(), arguments);
            assert_eq!(out.status.code(), Some(2), "{arguments:?}: {}", told(&out));
            assert!(
                told(&out).contains(words) && told(&out).contains("bad.tar.gz"),
                "{}",
                told(&out)
            );
            assert_eq!(told(&out).lines().count(), 1, "{}", told(&out));
        }
    }
    assert!(!at.path().join("new.db").exists() && !at.path().join("new.runs").exists());
}
