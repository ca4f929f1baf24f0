//! Tests that each figure that a result file of another tool states is imported as stated, and that the table of the tool
//! is printed again line by line. The files are from the newest releases of the tools (November 2026): AIPerf 0.13, vLLM
//! 0.33 with its Python and its Rust client, SGLang 0.5.23, GuideLLM 0.8.1.

mod rows;

use std::fs;
use std::path::Path;

use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::summary::Summary;
use inferometer_formats::dialect::{Pass, Tool};
use inferometer_formats::import::read as import;
use inferometer_model::Outcome;
use inferometer_model::metrics::throughput;
use serde_json::Value;

use rows::*;

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    fs::read_to_string(path).expect("a fixture")
}

fn imported(file: &str, text: &str) -> Summary {
    import(file, text.as_bytes()).unwrap_or_else(|error| panic!("{error}")).remove(0).summary
}

fn only(summary: &Summary) -> &PassSummary {
    assert_eq!((summary.cells.len(), summary.cells[0].passes.len()), (1, 1));
    &summary.cells[0].passes[0]
}

#[test]
fn each_stated_figure_is_imported_as_stated() {
    for row in &ROWS {
        let (file, text) = (row.file, fixture(row.file));
        // Python writes infinity, which JSON does not have.
        let json = text.replace("Infinity", "null");
        let source: Value = serde_json::from_str(json.lines().next().unwrap_or_default())
            .or_else(|_| serde_json::from_str(&json))
            .unwrap_or_default();
        let summary = imported(file, &text);
        let (cell, pass) = (&summary.cells[0], only(&summary));
        assert!(pass.load.starts_with(row.load), "{file}: {}", pass.load);
        let failed = pass.outcomes.failed();
        assert_eq!([pass.planned, pass.outcomes.complete, failed], row.requests, "{file}");
        assert_eq!([cell.input_length, cell.output_length], row.lengths, "{file}");
        for (figure, place, factor) in row.figures {
            let found = match figure {
                Duration => pass.duration_s,
                Requests => pass.requests_per_s,
                Tokens => pass.output_tokens_per_s,
                Total => pass.figure(&throughput::TOTAL_TOKENS),
                Latency(metric, statistic) => {
                    pass.latency(metric).and_then(|values| statistic.of(values))
                }
            };
            let expected = match *place {
                "" => *factor,
                place => source.pointer(place).and_then(Value::as_f64).expect(place) * factor,
            };
            let found = found.unwrap_or_else(|| panic!("{file}: no {place} {expected}"));
            // Records have instants in steps of 100 ns.
            assert!((found / expected - 1.0).abs() < 1e-5, "{file} {place}: {found} {expected}");
        }
        for metric in row.absent {
            assert!(pass.latency(metric).is_none(), "{file}: {}", metric.name);
        }
        for told in row.told {
            let is_told = summary.findings.iter().any(|found| found.message.contains(told));
            assert!(is_told, "{file}: {told}: {:?}", summary.findings);
        }
    }
}

/// The lines of a printed table without spaces and lines that only fill its width.
fn lines(text: &str) -> Vec<String> {
    let trimmed = text.lines().map(|line| {
        let words = line.trim_matches(['-', '=', ' ']).split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    });
    trimmed.filter(|line| !line.is_empty()).collect()
}

#[test]
fn the_table_of_a_tool_is_printed_again_line_by_line() {
    for (tool, file, left_out) in [
        ("vllm", "vllm-py-asked.json", 0),
        ("vllm", "vllm-py-failed.json", 0),
        ("vllm", "vllm-rs-asked.json", 0),
        ("vllm", "vllm-rs-multi.json", 0),
        // Max ITL is not in the file.
        ("sglang", "sglang-failed.jsonl", 1),
    ] {
        let summary = imported(file, &fixture(file));
        let from = summary.imported.as_ref().expect("an imported run");
        let table = Tool::named(tool)
            .and_then(|tool| tool.printed_again(&from.format, &from.passes[0]))
            .unwrap_or_else(|| panic!("{file}: no table"));
        let stem = file.split_once('.').map_or(file, |(stem, _)| stem);
        let expected = lines(&fixture(&format!("{stem}.txt")));
        let found = lines(&table.text());
        let missing: Vec<&String> = expected.iter().filter(|line| !found.contains(line)).collect();
        assert_eq!(missing.len(), left_out, "{file}: {missing:?}\n{}", table.text());
        assert_eq!(table.left_out.len(), left_out, "{file}: {:?}", table.left_out);
        let further: Vec<&String> = found.iter().filter(|line| !expected.contains(line)).collect();
        assert_eq!(further.len(), left_out, "{file}: {further:?}");
    }
    // The file of another tool is not printed.
    let summary = imported("vllm-rs-plain.json", &fixture("vllm-rs-plain.json"));
    let from = summary.imported.expect("an imported run");
    assert_eq!(Tool::named("sglang").unwrap().printed_again(&from.format, &from.passes[0]), None);
}

#[test]
fn the_table_of_aiperf_has_lines_for_failures_and_none_of_streams_if_answers_were_whole() {
    let mut file: Value = serde_json::from_str(&fixture("aiperf-bundled.json")).unwrap();
    let table = |file: &Value| {
        let from = imported("aiperf.json", &file.to_string()).imported.unwrap();
        Tool::named("aiperf").unwrap().printed_again(&from.format, &from.passes[0]).unwrap()
    };
    assert!(!table(&file).text().contains("error-adjusted"));
    file["adj_request_latency"] = serde_json::json!({"unit": "ms", "min": 57.94, "p50": 71.93});
    let with_failures = table(&file);
    assert_eq!(with_failures.value("adj_request_latency.p50"), Some(71.93));
    assert_eq!(with_failures.value("adj_request_latency.p99"), None);

    let text = fixture("aiperf-nostream-records.jsonl");
    let mut records =
        import("r.jsonl", text.as_bytes()).unwrap().remove(0).records.remove(0).records;
    records[1].outcome = Outcome::Malformed;
    let pass = Pass { records: &records, ..Pass::default() };
    let table = Tool::named("aiperf").unwrap().printed(&pass);
    assert!(table.value("request_latency.avg").is_some());
    for absent in ["time_to_first_token", "decode_duration", "inter_token_latency"] {
        assert!(!table.lines.iter().any(|line| format!("{line:?}").contains(absent)), "{absent}");
    }
    let told = table.left_out.join("; ");
    assert!(
        told.contains("no time_to_first_token, ") && told.contains("(error-adjusted)"),
        "{told}"
    );
}

#[test]
fn the_listed_latencies_of_completed_requests_are_read_although_others_failed() {
    let mut file: Value = serde_json::from_str(&fixture("vllm-py-failed.json")).unwrap();
    let mean = file["mean_e2el_ms"].as_f64().unwrap();
    // By default, the tool states no figures of E2E.
    file.as_object_mut().unwrap().retain(|key, _| !key.ends_with("_e2el_ms"));
    let e2e = |file: &Value| only(&imported("f.json", &file.to_string())).latency(E2E).copied();
    let found = e2e(&file).expect("E2E");
    assert!((found.mean / mean - 1.0).abs() < 1e-9 && found.n == 10, "{found:?}");
    // One of the failed requests has a latency, too.
    file["latencies"][4] = 0.05.into();
    assert!(e2e(&file).is_none());
}

#[test]
fn guidellm_counts_over_its_window_and_lists_failures() {
    let mut file: Value = serde_json::from_str(&fixture("guidellm.json")).unwrap();
    let benchmark = &mut file["benchmarks"][0];
    // Four requests are listed, three of them ended within the window.
    benchmark["metrics"]["request_totals"]["successful"] = 3.into();
    benchmark["metrics"]["requests_per_second"]["successful"]["mean"] = 76.0.into();
    let mut failed = benchmark["requests"]["successful"][0].clone();
    failed["info"]["error"] =
        "HTTPStatusError(\"Server error '503 Service Unavailable' for\")".into();
    benchmark["requests"]["errored"] = vec![failed].into();
    let summary = imported("window.json", &file.to_string());
    let pass = only(&summary);
    // The errored request is listed, but not counted in the totals of this file.
    assert_eq!((pass.planned, pass.outcomes.complete), (3, 3));
    assert_eq!(pass.requests_per_s, Some(76.0));
    assert_eq!(pass.duration_s, file["benchmarks"][0]["duration"].as_f64());
    for told in ["4 completed requests and counts 3 of them", "states 76.0000 requests/s"] {
        let is_told = summary.findings.iter().any(|found| found.message.contains(told));
        assert!(is_told, "{told}: {:?}", summary.findings);
    }
    let table = Tool::named("guidellm").unwrap();
    let from = summary.imported.as_ref().unwrap();
    let table = table.printed_again(&from.format, &from.passes[0]).unwrap();
    assert_eq!(table.value("request_totals.successful"), Some(3.0));
    assert!(!table.text().contains("-0.00"), "{}", table.text());
}

#[test]
fn a_latency_below_zero_is_told_and_a_zipped_file_is_unpacked() {
    use std::io::Write as _;
    let mut file: Value = serde_json::from_str(&fixture("vllm-rs-plain.json")).unwrap();
    file["mean_tpot_ms"] = (-3.0).into();
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    zipped.write_all(file.to_string().as_bytes()).unwrap();
    let zipped = zipped.finish().unwrap();
    let summary = import("plain.json.gz", &zipped).unwrap().remove(0).summary;
    assert_eq!(only(&summary).latency(TPOT).map(|values| values.mean), Some(-3.0));
    let told =
        summary.findings.iter().find(|found| found.code == "imported_latencies_inconsistent");
    assert!(told.is_some_and(|found| found.message.contains("`mean_tpot_ms`")), "{told:?}");
}
