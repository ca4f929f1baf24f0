//! Results in the forms of others: out of the store, into it, and out again the same.

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
fn a_run_goes_out_as_a_result_of_vllm_bench_and_comes_back_the_same() {
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
    // What was imported is never the latest run.
    assert_eq!(document(at, &["report", "--json"])["run_id"], id);
    let compared = stdout(at, &["compare", back, "result.json"]);
    assert!(compared.contains("ttft_p50"), "{compared}");
    let out = inferometer(at, &["export", id, "--format", "vllm-bench", "--pass", "7"]);
    assert_eq!(out.status.code(), Some(2), "{}", told(&out));
}

#[test]
fn a_published_table_is_a_run_among_others() {
    let folder = folder();
    let at = folder.path();
    let table = include_str!("../../../core/src/table_import/fixtures/mistral-7b-openorca-awq.md");
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
    for command in [["report", id, "--dialect", "vllm"], ["export", id, "--format", "vllm-bench"]] {
        let refused = inferometer(at, &command);
        assert_eq!(refused.status.code(), Some(2), "{}", told(&refused));
        assert!(told(&refused).contains("is a prediction"), "{}", told(&refused));
    }
    let compared = stdout(at, &["compare", ids[0], "page.md#tgi"]);
    assert!(compared.contains("differs: engine: vllm -> tgi"), "{compared}");
    let refused = inferometer(at, &["report", ids[0], "--dialect", "vllm"]);
    assert!(told(&refused).contains("has no records"), "{}", told(&refused));
}
