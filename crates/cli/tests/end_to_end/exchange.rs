//! Exchange of results: exported from the store in formats of other tools, imported, and exported again unchanged.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{folder, inferometer, told};

fn stdout(folder: &Path, arguments: &[&str]) -> String {
    let out = inferometer(folder, arguments);
    assert_eq!(out.status.code(), Some(0), "{arguments:?}: {}", told(&out));
    String::from_utf8(out.stdout).expect("text")
}

fn document(folder: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(folder, arguments)).expect("JSON")
}

#[test]
fn a_run_exported_as_a_vllm_bench_result_is_imported_with_the_same_figures() {
    let folder = folder();
    let at = folder.path();
    let run = "run --speed 200 --input-lengths 16 --output-lengths 4 --concurrency 2 --requests 4 \
               --warmup 0 --quiet --json";
    let summary = document(at, &run.split(' ').collect::<Vec<_>>());
    let id = summary["run_id"].as_str().expect("an id");
    stdout(at, &["export", id, "--format", "vllm-bench", "--out", "result.json"]);
    let imported = document(at, &["import", "result.json", "--json"]);
    let back = imported["runs"][0]["run_id"].as_str().expect("an id");
    let pass = &imported["runs"][0]["summary"]["cells"][0]["passes"][0];
    let measured = &summary["cells"][0]["passes"][0];
    for figure in ["kind", "concurrency", "planned", "input_tokens", "output_tokens"] {
        assert_eq!(pass[figure], measured[figure], "{figure}");
    }
    let file = fs::read_to_string(at.join("result.json")).expect("a file");
    assert!(file.contains(r#""label":"simulated at speed 200.0""#), "{file}");
    assert!(stdout(at, &["runs"]).contains("(imported from result.json) (simulation)"));
    let again = stdout(at, &["export", back, "--format", "vllm-bench"]);
    assert_eq!(again, fs::read_to_string(at.join("result.json")).expect("a file"));
    let figures = |run: &str| {
        let mut seen = document(at, &["report", run, "--dialect", "vllm", "--json"]);
        seen["passes"][0]["figures"].take()
    };
    let (ours, theirs) = (figures(id), figures(back));
    for name in ["mean_ttft_ms", "p99_itl_ms", "median_e2el_ms", "total_output_tokens"] {
        assert_eq!(ours[name], theirs[name], "{name}");
    }
    assert!(stdout(at, &["import", "result.json"]).contains("was imported before"));
    assert!(stdout(at, &["runs"]).contains("(imported from result.json)"));
    // `latest` never refers to an imported run.
    assert_eq!(document(at, &["report", "--json"])["run_id"], id);
    let compared = stdout(at, &["compare", back, "result.json"]);
    assert!(compared.contains("ttft_p50"), "{compared}");
    let out = inferometer(at, &["export", id, "--format", "vllm-bench", "--pass", "7"]);
    assert_eq!(out.status.code(), Some(2), "{}", told(&out));
}

#[test]
fn an_import_says_that_records_are_left_out_because_one_pass_has_none() {
    let folder = folder();
    let file = include_str!("../../../formats/fixtures/guidellm.json");
    let mut file: Value = serde_json::from_str(file).expect("JSON");
    let mut without = file["benchmarks"][0].clone();
    without["requests"]["successful"] = Value::Array(Vec::new());
    file["benchmarks"].as_array_mut().expect("a list").push(without);
    fs::write(folder.path().join("two.json"), file.to_string()).expect("a file");
    let told = stdout(folder.path(), &["import", "two.json"]);
    assert!(told.contains("1 of 2 passes have no data of single requests"), "{told}");
    assert!(told.contains("figures: `inferometer show 20"), "{told}");
}

#[test]
fn an_imported_table_is_listed_exported_reported_compared_and_predicted_like_a_run() {
    let folder = folder();
    let at = folder.path();
    let table =
        include_str!("../../../analysis/src/table_import/fixtures/mistral-7b-openorca-awq.md");
    fs::write(at.join("page.md"), table).expect("written");
    let imported = document(at, &["import", "page.md", "--json"]);
    let ids: Vec<&str> =
        (0..2).map(|at| imported["runs"][at]["run_id"].as_str().expect("an id")).collect();
    let rows = |text: &str| -> Vec<String> {
        let rows = text.lines().filter(|line| line.starts_with("|  ") && line.contains('.'));
        rows.map(str::to_owned).collect()
    };
    let printed: String =
        ids.iter().map(|id| stdout(at, &["export", id, "--format", "table"])).collect();
    assert_eq!(rows(&printed), rows(table));
    stdout(at, &["report", ids[1], "--out", "made"]);
    let report = fs::read_to_string(at.join("made/report.md")).expect("a report");
    for told in ["IMPORTED from page.md", "did not measure", "16 of 16 rows", "SHA-256"] {
        assert!(report.contains(told), "{told}");
    }
    let against = ["predict", "--model", "mistral-7b-openorca-awq", "--against", ids[0], "--json"];
    let predicted = document(at, &against);
    assert_eq!(predicted["cells"].as_array().map(Vec::len), Some(16));
    let id = predicted["run_id"].as_str().expect("an id");
    made_again(at, id);
    check_compared_predictions(at, ids[0]);
    let listed = stdout(at, &["runs"]);
    for table in ["A100 40G / vllm v0.2.5)", "A100 40G / tgi v1.3.4)"] {
        assert_eq!(listed.matches(table).count(), 1, "{listed}");
    }
    for command in [["report", id, "--dialect", "vllm"], ["export", id, "--format", "vllm-bench"]] {
        let refused = inferometer(at, &command);
        assert_eq!(refused.status.code(), Some(2), "{}", told(&refused));
        assert!(told(&refused).contains("is a prediction"), "{}", told(&refused));
    }
    let compared = stdout(at, &["compare", ids[0], "page.md#tgi"]);
    assert!(compared.contains("differs: engine: vllm -> tgi"), "{compared}");
    let refused = inferometer(at, &["report", ids[0], "--dialect", "vllm"]);
    assert!(told(&refused).contains("has no request records"), "{}", told(&refused));
}

/// Checks that the report of a prediction has the same content if it is written again.
fn made_again(at: &Path, id: &str) {
    stdout(at, &["report", id, "--out", "again"]);
    for file in ["prediction.md", "summary.json", "report.md"] {
        let read = |folder: &str| fs::read_to_string(at.join(folder).join(file)).expect("a file");
        assert_eq!(read("again"), read(&format!("inferometer-out/{id}")), "{file}");
    }
}

/// Checks three predictions that are compared with a stored table: a prediction without a common cell, a prediction for
/// the same model, and a prediction for another model.
fn check_compared_predictions(at: &Path, table: &str) {
    let against = |model: &str, length: &str| {
        let lengths = ["--input-lengths", length, "--output-lengths", length];
        let flags = ["predict", "--model", model, "--against", table, "--json"];
        inferometer(at, &[&flags[..], &lengths].concat())
    };
    let nothing = against("mistral-7b-openorca-awq", "100");
    assert_eq!(nothing.status.code(), Some(2), "{}", told(&nothing));
    let said = told(&nothing);
    assert!(said.contains("100 x 100") && said.contains("128 x 128"), "{said}");
    for (model, is_other) in [("mistral-7b-openorca-awq", false), ("chatglm3-6b", true)] {
        let out = against(model, "128");
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert_eq!(text.contains("against_another_model"), is_other, "{model}: {}", told(&out));
        assert!(told(&out).contains("compared with run"), "{}", told(&out));
    }
}

/// Measures a run of the embedded engine whose requests are sent one by one. Writes its summary to `summary.json`, and
/// returns its id.
fn simulated(at: &Path) -> String {
    let run = "run --speed 200 --input-lengths 16 --output-lengths 4 --passes one_by_one \
               --one-by-one 2 --warmup 0 --quiet --json";
    let summary = stdout(at, &run.split_whitespace().collect::<Vec<_>>());
    fs::write(at.join("summary.json"), &summary).expect("written");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    summary["run_id"].as_str().expect("an id").to_owned()
}

#[test]
fn simulated_and_imported_runs_are_marked_as_such_in_every_output() {
    let folder = folder();
    let at = folder.path();
    let id = simulated(at);
    let table = stdout(at, &["report", &id, "--dialect", "sglang"]);
    assert!(table.contains("SIMULATED: the server was the embedded engine"), "{table}");
    let limit = table.lines().find(|line| line.starts_with("Max request concurrency:"));
    assert!(limit.is_some_and(|line| line.trim_end().ends_with(" 1")), "{table}");
    assert_eq!(document(at, &["report", &id, "--dialect", "vllm", "--json"])["simulated"], true);
    let rows = stdout(at, &["export", &id, "--format", "jsonl"]);
    assert_eq!(rows.matches(r#""simulated":true,"predicted":false"#).count(), 2, "{rows}");

    let imported = document(at, &["import", "summary.json", "--json"]);
    let back = imported["runs"][0]["run_id"].as_str().expect("an id");
    let listed = stdout(at, &["runs"]);
    let line = listed.lines().find(|line| line.starts_with(back)).expect("a line");
    assert!(
        line.ends_with(&format!("(imported from summary.json / run {id}) (simulation)")),
        "{line}"
    );
    stdout(at, &["report", back, "--out", "made"]);
    let report = fs::read_to_string(at.join("made/report.md")).expect("a report");
    for told in ["IMPORTED from summary.json", "SIMULATED: ", "the verdict was made there"] {
        assert!(report.contains(told), "{told}");
    }
    let compared = stdout(at, &["compare", &id, back, "--margin", "7%"]);
    assert!(compared.contains("compares a run with itself"), "{compared}");
    assert!(compared.contains("within 7 %"), "{compared}");
    let refused = inferometer(at, &["compare", &id, "made"]);
    let meant = "made: is a folder (did you mean `made/summary.json`?); give a stored run";
    assert!(told(&refused).contains(meant), "{}", told(&refused));
    for format in ["csv", "jsonl", "json", "vllm-bench"] {
        let refused = inferometer(at, &["export", back, "--format", format, "--out", "nothing"]);
        assert_eq!(refused.status.code(), Some(2), "{format}: {}", told(&refused));
        assert!(told(&refused).contains("has no request records"), "{}", told(&refused));
        assert!(!at.join("nothing").exists());
    }
}

#[test]
fn an_export_reports_what_it_wrote_and_whether_it_replaced_a_file() {
    let folder = folder();
    let at = folder.path();
    let id = simulated(at);
    for (format, what) in
        [("table", "the table of run"), ("vllm-bench", "pass 0 of run"), ("csv", "2 rows of run")]
    {
        for replaced in [false, true] {
            let out = inferometer(at, &["export", &id, "--format", format, "--out", format]);
            let said = told(&out);
            assert!(out.status.success() && said.contains(what), "{said}");
            assert_eq!(said.contains("replacing the existing file"), replaced, "{said}");
        }
    }
    for format in ["mlflow", "table", "csv"] {
        let refused = inferometer(at, &["export", &id, "--format", format, "--pass", "0"]);
        assert!(told(&refused).contains("--pass: "), "{}", told(&refused));
    }
}
