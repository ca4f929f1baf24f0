//! Stored runs: listed, shown, tagged, annotated with notes, exported in formats of other programs, and removed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::support::{folder, inferometer, told};

fn text(folder: &Path, arguments: &[&str]) -> String {
    let output = inferometer(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", told(&output));
    String::from_utf8(output.stdout).expect("text")
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&text(folder, arguments)).expect("JSON")
}

/// The validator of the schema of exported rows, or of a part of this file.
fn schema(name: &str, part: &str) -> jsonschema::Validator {
    let path = format!("{}/../formats/schema/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut schema: Value =
        serde_json::from_str(&fs::read_to_string(path).expect("a schema")).expect("JSON");
    if !part.is_empty() {
        schema = schema.pointer(part).expect("a part of it").clone();
    }
    jsonschema::validator_for(&schema).expect("a schema")
}

/// Creates a store with two predictions and a measured run of six requests. Returns the id of the measured run.
fn shelf(folder: &Path) -> String {
    let grid = ["--input-lengths", "24", "--output-lengths", "6", "--quiet"];
    for _ in 0..2 {
        text(folder, &[&["predict"], &grid[..]].concat());
    }
    let load = ["--passes", "saturated", "--requests", "6", "--warmup", "0", "--speed", "20"];
    text(folder, &[&["run"], &grid[..], &load[..]].concat());
    json(folder, &["runs", "--kind", "measured", "--json"])["runs"][0]["run_id"]
        .as_str()
        .expect("a name")
        .to_owned()
}

#[test]
fn stored_runs_are_listed_tagged_annotated_shown_repeated_and_removed() {
    let folder = folder();
    let folder = folder.path();
    let run = shelf(folder);

    let listed = json(folder, &["runs", "--json"]);
    let kinds: Vec<_> =
        listed["runs"].as_array().expect("runs").iter().map(|run| run["kind"].clone()).collect();
    assert_eq!(kinds, ["predicted", "predicted", "measured"]);
    let one = text(folder, &["runs", "--model", "CHATGLM", "--limit", "1"]);
    let lines: Vec<&str> = one.lines().collect();
    assert_eq!(lines.iter().filter(|line| line.starts_with("20")).count(), 1, "{one}");
    assert!(one.contains("TTFT p50 (ms)") && one.contains("all at once"), "{one}");
    assert_eq!(text(folder, &["runs", "--until", "2020-01-01"]), "");

    assert_eq!(text(folder, &["tag", "latest", "+基线", "night"]), format!("{run}: night 基线\n"));
    assert_eq!(text(folder, &["tag", &run, "-night"]), format!("{run}: 基线\n"));
    assert!(text(folder, &["runs", "--tag", "基线"]).contains(&run));
    let part = &run[run.len() - 8..];
    for name in ["基线", part] {
        assert!(text(folder, &["tag", name]).starts_with(&run), "{name} is {run}");
    }
    assert_eq!(text(folder, &["note", &run]), format!("{run}: no notes\n"));
    let unknown = inferometer(folder, &["tag", &run, "-night"]);
    assert_eq!(unknown.status.code(), Some(2), "{}", told(&unknown));
    text(folder, &["note", &run, "the fan was broken\nand mended"]);

    assert!(text(folder, &["note", &run]).contains("the fan was broken\nand mended"));

    let shown = text(folder, &["show"]);
    for part in ["measured", "complete", "基线", "the fan was broken", "Throughput", "show "] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.contains("the fan was broken\n             and mended\n"), "{shown}");
    let shown = json(folder, &["show", "--json"]);
    assert_eq!(shown["notes"][0]["text"], "the fan was broken\nand mended");
    assert_eq!(shown["summary"]["run_id"], *run);
    fs::write(folder.join("again.toml"), text(folder, &["show", "--plan"])).expect("written");
    text(folder, &["run", "again.toml", "--quiet", "--speed", "20"]);
    let hash = |run: &Value| run["summary"]["workload_hash"].clone();
    assert_eq!(hash(&json(folder, &["show", "--json"])), hash(&shown), "the requests differ");

    removed(folder, &run);
}

fn removed(folder: &Path, run: &str) {
    let latest = inferometer(folder, &["rm", "latest", "--yes"]);
    assert_eq!(latest.status.code(), Some(2), "{}", told(&latest));
    assert!(told(&latest).contains("give its own name"), "{}", told(&latest));
    let asked = inferometer(folder, &["rm", run]);
    assert_eq!(asked.status.code(), Some(2), "no terminal for the question: {}", told(&asked));
    assert!(text(folder, &["rm", run, "-y"]).starts_with(run));
    assert!(!folder.join(format!("inferometer.runs/{run}.log")).exists());
    let left = text(folder, &["runs"]);
    assert_eq!(left.lines().filter(|line| line.starts_with("20")).count(), 3, "{left}");
    let gone = inferometer(folder, &["show", run]);
    assert_eq!(gone.status.code(), Some(2), "{}", told(&gone));
}

#[test]
fn exports_match_their_schemas_and_have_a_row_per_request_event_or_pass() {
    let folder = folder();
    let folder = folder.path();
    let run = shelf(folder);
    for (what, rows) in [("requests", 6), ("events", 0), ("cells", 1)] {
        let name = format!("{what}.schema.json");
        let document = json(folder, &["export", "--format", "json", "--what", what]);
        let errors: Vec<String> = schema(&name, "")
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(errors, [""; 0], "{what}");
        let found = document["rows"].as_array().expect("rows");
        assert!(if rows > 0 { found.len() == rows } else { found.len() > 6 * 6 }, "{what}");
        let lines = text(folder, &["export", &run, "--format", "jsonl", "--what", what]);
        let row = schema(&name, "/$defs/row");
        for (line, of_document) in lines.lines().zip(found) {
            let line: Value = serde_json::from_str(line).expect("a line is a document");
            assert!(row.is_valid(&line), "{line}");
            assert_eq!(line, *of_document);
        }
        let table = text(folder, &["export", "--format", "csv", "--what", what]);
        assert_eq!(table.lines().count(), found.len() + 1, "{what}");
    }
    let cells = text(folder, &["export", "--format", "csv", "--what", "cells"]);
    let report = fs::read_to_string(folder.join(format!("inferometer-out/{run}/cells.csv")));
    assert_eq!(cells, report.expect("the file of the report"));
    text(folder, &["export", "--format", "parquet", "--out", "rows.parquet"]);
    let bytes = fs::read(folder.join("rows.parquet")).expect("a file");
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    for arguments in [
        &["export"][..],
        &["export", "--format", "xlsx"],
        &["export", "--format", "mlflow", "--what", "events"],
        &["export", "nobody", "--format", "csv"],
        &["export", "--format", "csv", "--out", "."],
    ] {
        let refused = inferometer(folder, arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {}", told(&refused));
    }
}

#[test]
fn a_run_is_exported_to_an_mlflow_file_store_with_its_figures_and_files() {
    let folder = folder();
    let folder = folder.path();
    let run = shelf(folder);
    text(folder, &["tag", &run, "+release", "+基线", "+对照"]);
    // Twice: the second export replaces the first.
    for _ in 0..2 {
        text(folder, &["export", "--format", "mlflow", "--out", "runs of ml"]);
    }
    text(folder, &["export", "latest-predicted", "--format", "mlflow", "--out", "runs of ml"]);
    let inside = |path: &Path| -> Vec<_> {
        let entries = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("one").path());
        entries.filter(|path| path.is_dir()).collect()
    };
    let experiments = inside(&folder.join("runs of ml"));
    let [experiment] = experiments.as_slice() else { panic!("{experiments:?}") };
    let runs = inside(experiment);
    assert_eq!(runs.len(), 2, "{runs:?}");
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| panic!("{error}"));
    let is_measured = |path: &&std::path::PathBuf| read(&path.join("tags/mlflow.runName")) == run;
    let measured = runs.iter().find(is_measured).expect("the measured run");
    let meta = read(&measured.join("meta.yaml"));
    assert!(meta.contains("status: 3") && meta.contains("/runs%20of%20ml/"), "{meta}");
    assert_eq!(read(&measured.join("params/model")), "chatglm3-6b");
    let keys = fs::read_dir(measured.join("tags")).expect("a folder").map(|one| one.expect("one"));
    let tags = keys.filter(|one| one.file_name().to_string_lossy().starts_with("tag."));
    let tags: BTreeSet<_> = tags.map(|one| read(&one.path())).collect();
    assert_eq!(tags, ["release", "基线", "对照"].map(str::to_owned).into());
    assert_eq!(read(&measured.join("tags/tag.release")), "release");
    let history = read(&measured.join("metrics/24x6/saturated/output_tokens_per_s"));
    let [_, value, step] = history.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{history}")
    };
    let summary: Value =
        serde_json::from_str(&read(&measured.join("artifacts/summary.json"))).expect("the summary");
    let pass = &summary["cells"][0]["passes"][0];
    assert_eq!((value.parse().ok(), step), (pass["output_tokens_per_s"].as_f64(), "1"));
}

#[test]
fn the_command_that_repeats_a_prediction_with_noise_states_its_seed() {
    let folder = folder();
    let noisy =
        ["predict", "--noise", "step=0.05", "--input-lengths", "32", "--output-lengths", "4"];
    text(folder.path(), &[&noisy[..], &["--requests", "4", "--quiet"]].concat());
    let shown = text(folder.path(), &["show", "latest-predicted"]);
    let again = shown.lines().find(|line| line.starts_with("repeat with")).expect("a command");
    // Without the seed in the command, the repeated prediction would derive another seed from its own salt.
    assert!(again.contains("--noise=step=0.05,seed="), "{again}");
}
