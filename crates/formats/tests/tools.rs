//! Tests the import of result files of real tools. The tools measured the embedded engine. The files of
//! llama-bench come from its documentation.

use inferometer_model::metrics::{e2e, icl, itl, tpot, ttft};
use std::fs;
use std::path::Path;

use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::summary::Summary;
use inferometer_formats::export::vllm_bench;
use inferometer_formats::import::{Import, read as import};
use inferometer_model::load::PassKind;
use inferometer_model::record::Record;
use serde_json::{Value, json};

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    fs::read(path).expect("a fixture")
}

fn imports(name: &str) -> Vec<Import> {
    import(name, &fixture(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn only(name: &str) -> Import {
    let mut all = imports(name);
    assert_eq!(all.len(), 1, "{name}");
    all.remove(0)
}

fn pass(summary: &Summary) -> &PassSummary {
    assert_eq!((summary.cells.len(), summary.cells[0].passes.len()), (1, 1));
    &summary.cells[0].passes[0]
}

fn near(found: Option<f64>, expected: f64) {
    let found = found.expect("a figure");
    // Instants are rounded to 100 ns.
    assert!((found - expected).abs() < 2e-4 * expected.max(1.0), "{found} for {expected}");
}

#[test]
fn requests_of_vllm_bench_become_records_with_the_figures_of_the_file() {
    let Import { summary, records } = only("vllm-detailed.json");
    let source: Value = serde_json::from_slice(&fixture("vllm-detailed.json")).unwrap();
    let number = |name: &str| source[name].as_f64().unwrap();
    let pass = pass(&summary);
    assert_eq!((pass.kind, pass.concurrency), (PassKind::Closed, Some(2)));
    assert_eq!((pass.planned, pass.outcomes.complete), (4, 4));
    assert_eq!((summary.cells[0].input_length, summary.cells[0].output_length), (64, 8));
    assert_eq!((pass.input_tokens, pass.output_tokens), (Some(256), 32));
    assert_eq!(pass.requests_per_s, Some(number("request_throughput")));
    assert_eq!(pass.output_tokens_per_s, Some(number("output_throughput")));
    near(pass.latencies.get(&ttft::FROM_SENT).map(|d| d.mean), number("mean_ttft_ms"));
    near(pass.latencies.get(&ttft::FROM_SENT).map(|d| d.p99), number("p99_ttft_ms"));
    near(pass.latencies.get(&tpot::DEFINITION).map(|d| d.p50), number("median_tpot_ms"));
    near(pass.latencies.get(&e2e::FROM_SENT).map(|d| d.mean), number("mean_e2el_ms"));
    assert_eq!(records[0].records.len(), 4);
    let target = &summary.target;
    assert_eq!(
        (target.model.as_str(), target.dialect.as_str()),
        ("chatglm3-6b", "openai-completions")
    );
    let stated = &summary.imported.as_ref().unwrap().passes[0];
    assert_eq!(stated.numbers["p99_itl_ms"], number("p99_itl_ms"));
    assert_eq!(stated.texts["tokenizer_id"], "tiny", "the folder is removed");
}

#[test]
fn a_vllm_bench_file_without_requests_keeps_its_stated_figures() {
    let summary = only("vllm.json").summary;
    let source: Value = serde_json::from_slice(&fixture("vllm.json")).unwrap();
    let pass = pass(&summary);
    assert_eq!((pass.kind, pass.rate), (PassKind::Open, Some(20.0)));
    let ttft_ms = pass.latencies.get(&ttft::FROM_SENT).expect("TTFT is stated");
    let number = |name: &str| source[name].as_f64();
    assert_eq!(Some(ttft_ms.mean), number("mean_ttft_ms"));
    assert_eq!((Some(ttft_ms.p90), ttft_ms.p95), (number("p90_ttft_ms"), None));
    let stated = &summary.imported.as_ref().unwrap().passes[0];
    for (ours, theirs) in [
        ("ttft_p50", "median_ttft_ms"),
        ("ttft_p90", "p90_ttft_ms"),
        ("ttft_p99", "p99_ttft_ms"),
        ("tpot_mean", "mean_tpot_ms"),
    ] {
        assert_eq!(stated.agreeing[ours], source[theirs].as_f64().unwrap());
    }
    assert!(!stated.agreeing.contains_key("itl_p99"), "gaps between chunks are not our ITL");
    assert_eq!(summary.cells[0].input_length, 0, "the prompts have different lengths");
}

/// Imports an exported file and exports it again.
fn again(file: &Value) -> Value {
    let text = file.to_string();
    let Import { mut summary, records } =
        import("again.json", text.as_bytes()).expect("an exported file").remove(0);
    summary.started_at = "2026-11-20T15:01:12.000Z".to_owned();
    exported(&summary, &records[0].records)
}

fn exported(summary: &Summary, records: &[Record]) -> Value {
    vllm_bench(summary, 0, records, 1.0, &Default::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn importing_an_exported_file_and_exporting_it_again_gives_the_same_file() {
    let Import { summary, records } = only("vllm-detailed.json");
    let file = exported(&summary, &records[0].records);
    assert_eq!(again(&file), file);
    let source: Value = serde_json::from_slice(&fixture("vllm-detailed.json")).unwrap();
    let waited = |file: &Value, at: usize| file["queue_times"][at].as_f64().unwrap();
    for request in 0..4 {
        // This includes the first request, because the origin is the earliest due time.
        let (ours, theirs) = (waited(&file, request), waited(&source, request));
        assert!((ours - theirs).abs() < 2e-7, "{ours} {theirs}");
    }
    let (ours, theirs) = (file.as_object().unwrap(), source.as_object().unwrap());
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    for (name, value) in theirs {
        match (value.as_f64(), ours[name].as_f64()) {
            (Some(expected), found) => near(found, expected),
            (None, _)
                if ["generated_texts", "start_times", "tokenizer_id"].contains(&name.as_str()) => {}
            (None, _) if value.is_array() => {
                assert_eq!(value.as_array().unwrap().len(), 4, "{name}");
            }
            (None, _) => assert_eq!(&ours[name], value, "{name}"),
        }
    }
}

#[test]
fn a_selection_determines_the_exported_metrics_and_the_start_of_the_measurement() {
    use inferometer_formats::dialect::{ServingMetric, ServingSelection};
    let Import { summary, mut records } = only("vllm-detailed.json");
    // Each request is due when it was picked, as in a closed loop. Its wait then counts only from `begin`.
    records[0].records.iter_mut().for_each(|record| record.due = record.picked.unwrap());
    let records = &records[0].records;
    let all = exported(&summary, records);
    let begin = records.iter().filter_map(|record| record.picked).min().unwrap();
    let selection = ServingSelection {
        metrics: vec![ServingMetric::E2el, ServingMetric::ClientQueueTime],
        percentiles: vec![50.0, 99.9],
        goodput: vec![(ServingMetric::Ttft, 1e9), (ServingMetric::E2el, 1e9)],
        all_arrive_at_start: true,
        begin: Some(begin),
        steady_state: None,
    };
    let file = vllm_bench(&summary, 0, records, 1.0, &selection).unwrap();
    assert!(file.get("mean_ttft_ms").is_none() && file.get("p99_e2el_ms").is_none());
    near(file["p50_e2el_ms"].as_f64(), all["median_e2el_ms"].as_f64().unwrap());
    assert!(file["p99.9_client_queue_time_ms"].is_number());
    for at in 0..4 {
        let start = all["start_times"][at].as_f64().unwrap();
        near(file["queue_times"][at].as_f64(), start);
    }
    let duration = file["duration"].as_f64().unwrap();
    let last = records.iter().filter_map(|record| record.ended).max().unwrap();
    near(Some(duration), last.seconds_after(begin));
    let completed = file["completed"].as_f64().unwrap();
    near(file["request_throughput"].as_f64(), completed / duration);
    near(file["request_goodput"].as_f64(), completed / duration);
}

#[test]
fn export_and_import_preserve_the_label_of_a_simulated_run() {
    let Import { mut summary, records } = only("vllm-detailed.json");
    assert_eq!(exported(&summary, &records[0].records)["label"], Value::Null);
    summary.target.simulated = true;
    for (speed, label) in [(1.0, "simulated"), (200.0, "simulated at speed 200.0")] {
        summary.target.facts.speed = Some(speed);
        let file = exported(&summary, &records[0].records);
        assert_eq!(file["label"], label);
        let back = import("x.json", file.to_string().as_bytes()).unwrap().remove(0).summary;
        assert!(back.target.simulated);
        assert_eq!(again(&file), file);
    }
    let mut labelled: Value = serde_json::from_slice(&fixture("vllm-detailed.json")).unwrap();
    labelled["label"] = json!("night run");
    assert_eq!(again(&labelled)["label"], "night run");
}

#[test]
fn export_and_import_preserve_failed_requests_and_queue_times() {
    let Import { summary, mut records } = only("vllm-detailed.json");
    let records = &mut records[0].records;
    records[1].outcome = inferometer_model::outcome::Outcome::Rejected { status: 503 };
    records[1].detail = Some("overloaded,\ntry again".into());
    let file = exported(&summary, records);
    assert_eq!((&file["completed"], &file["failed"]), (&json!(3), &json!(1)));
    assert_eq!(file["itls"][1], json!([]));
    assert_eq!(again(&file), file);
    let back = import("x.json", file.to_string().as_bytes()).unwrap().remove(0);
    assert_eq!(back.records[0].records[1].outcome, records[1].outcome);
    assert_eq!(back.records[0].records[1].detail, records[1].detail);
    assert_eq!(pass(&back.summary).outcomes.rejected, 1);
}

#[test]
fn sglang_files_may_contain_infinity_and_their_e2e_latency_is_not_used_as_ours() {
    let summary = only("sglang.jsonl").summary;
    let one = pass(&summary);
    assert_eq!((one.kind, one.concurrency, one.outcomes.complete), (PassKind::Closed, Some(2), 4));
    assert_eq!((summary.cells[0].input_length, summary.cells[0].output_length), (64, 8));
    let stated = &summary.imported.as_ref().unwrap().passes[0];
    assert!(stated.agreeing.keys().all(|name| name.starts_with("ttft_")), "{stated:?}");
    assert_eq!(stated.texts["request_rate"], "Infinity");
    assert!((stated.numbers["mean_e2e_latency_ms"] - 136.898).abs() < 1e-3);
    let detailed = only("sglang-detailed.jsonl").summary;
    assert_eq!(pass(&detailed).latencies.get(&ttft::FROM_SENT).map(|d| d.n), Some(4));
    // The file has no requests, so the maximum number in flight is not known; it is not 0.
    assert_eq!(one.peak_concurrency, None);
    assert_eq!(pass(&only("vllm-detailed.json").summary).peak_concurrency, Some(2));
    let two = [fixture("sglang.jsonl"), fixture("sglang-detailed.jsonl")].concat();
    let runs = import("two.jsonl", &two).unwrap();
    let sections = runs.iter().map(|run| run.summary.imported.clone().unwrap().section);
    assert_eq!(sections.collect::<Vec<_>>(), [["result 1"], ["result 2"]]);
}

#[test]
fn guidellm_files_give_ttft_and_tpot_but_no_itl_and_use_other_percentiles() {
    let Import { summary, records } = only("guidellm.json");
    let pass = pass(&summary);
    assert_eq!((pass.kind, pass.concurrency, pass.planned), (PassKind::Closed, Some(2), 4));
    // The TTFTs in the file are 20.006, 23.490, 25.137 and 32.142 ms.
    near(pass.latencies.get(&ttft::FROM_SENT).map(|d| d.mean), 25.194);
    near(pass.latencies.get(&ttft::FROM_SENT).map(|d| d.p50), 24.3138);
    let stated = &summary.imported.as_ref().unwrap().passes[0];
    near(Some(stated.numbers["metrics.time_to_first_token_ms.successful.median"]), 23.4904);
    // (last - first) / (8 - 1), which is the file's ITL and our TPOT.
    let itl = stated.numbers["metrics.inter_token_latency_ms.successful.mean"];
    near(pass.latencies.get(&tpot::DEFINITION).map(|d| d.mean), itl);
    assert_eq!(pass.latencies.get(&itl::DEFINITION).copied(), None);
    assert_eq!(records[0].records.len(), 4);
    assert_eq!(summary.target.url, "http://127.0.0.1:18231");
}

#[test]
fn the_itl_of_aiperf_is_our_tpot_only_if_chunks_are_tokens_and_different_counts_are_a_finding() {
    let summary = only("aiperf.json").summary;
    let source: Value = serde_json::from_slice(&fixture("aiperf.json")).unwrap();
    let stated = |name: &str, of: &str| source[name][of].as_f64().unwrap();
    let pass = pass(&summary);
    assert_eq!((pass.kind, pass.concurrency, pass.planned), (PassKind::Closed, Some(2), 4));
    // The chunks of this file are not tokens: its gaps are ours between chunks, and its ITL is not our TPOT.
    assert!(pass.latencies.get(&tpot::DEFINITION).is_none());
    assert_eq!(
        pass.latencies.get(&icl::DEFINITION).map(|d| d.mean),
        Some(stated("inter_chunk_latency", "avg"))
    );
    assert_eq!(
        pass.latencies.get(&ttft::FROM_SENT).map(|d| d.mean),
        Some(stated("time_to_first_token", "avg"))
    );
    assert_eq!(
        pass.latencies.get(&e2e::FROM_SENT).map(|d| d.max),
        Some(stated("request_latency", "max"))
    );
    let differ = summary.findings.iter().find(|f| f.code == "imported_token_counts_differ");
    assert!(differ.is_some_and(|f| f.message.contains("83") && f.message.contains("32")));

    let Import { summary: of_records, records } = only("aiperf-records.jsonl");
    assert_eq!(records[0].records.len(), 4);
    let pass = self::pass(&of_records);
    near(
        pass.latencies.get(&ttft::FROM_SENT).map(|d| d.mean),
        stated("time_to_first_token", "avg"),
    );
    near(pass.latencies.get(&e2e::FROM_SENT).map(|d| d.mean), stated("request_latency", "avg"));
}

#[test]
fn llama_bench_files_give_none_of_our_metrics_and_keep_their_own() {
    for (name, rows) in [("llama-bench.json", 2), ("llama-bench.md", 3)] {
        let summary = only(name).summary;
        assert_eq!(summary.cells.len(), rows);
        assert_eq!(summary.target.engine.as_deref(), Some("llama.cpp"));
        assert!(summary.target.model.starts_with("qwen2 7B"));
        assert!(summary.cells.iter().all(|cell| cell.output_tokens_per_s.is_none()));
        let lengths: Vec<_> =
            summary.cells.iter().map(|cell| (cell.input_length, cell.output_length)).collect();
        assert_eq!(&lengths[..2], [(512, 0), (0, 128)]);
        let passes = &summary.imported.as_ref().unwrap().passes;
        assert!(passes[1].numbers["avg_ts"] > 118.0);
    }
    let page = String::from_utf8(fixture("llama-bench.md")).unwrap();
    let table = only("llama-bench.md").summary.imported.unwrap().tables.remove(0);
    assert!(page.starts_with(&table.markdown()), "{}", table.markdown());
    let lines = String::from_utf8(fixture("llama-bench.json")).unwrap();
    let rows: Vec<Value> = serde_json::from_str(&lines).unwrap();
    let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
    assert_eq!(import("l.jsonl", lines.join("\n").as_bytes()).unwrap()[0].summary.cells.len(), 2);
}

#[test]
fn an_invalid_file_is_refused_with_its_name_and_the_reason() {
    let mut file: Value = serde_json::from_slice(&fixture("vllm-detailed.json")).unwrap();
    let mut far = file.clone();
    far["start_times"][1] = json!(4.6e11);
    file["itls"].as_array_mut().unwrap().pop();
    for (text, told) in [
        (far.to_string(), "are not in seconds"),
        ("{\"a\": 1}".to_owned(), "is JSON, but not"),
        ("{\"a\": 1".to_owned(), "neither a JSON document"),
        (file.to_string(), "`itls` has 3 values, "),
        (
            r#"{"metadata": {"guidellm_version": "0.3.0"}, "benchmarks": []}"#.to_owned(),
            "contains no results",
        ),
        (
            "{\"request_throughput\":1,\"total_token_throughput\":1,\"model_id\":\"m\"}".to_owned(),
            "`completed` is missing",
        ),
    ] {
        let error = import("result.json", text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("result.json: ") && error.contains(told), "{error}");
    }
}

#[test]
fn a_file_that_lists_only_a_sample_of_its_requests_is_reported_as_sampled() {
    let mut file: Value = serde_json::from_slice(&fixture("guidellm.json")).unwrap();
    file["benchmarks"][0]["requests"]["successful"].as_array_mut().unwrap().truncate(2);
    let run = import("sampled.json", file.to_string().as_bytes()).unwrap().remove(0);
    let pass = pass(&run.summary);
    assert_eq!((pass.planned, pass.outcomes.complete), (4, 4));
    assert_eq!((pass.mean_concurrency, pass.steady_state.is_some()), (None, false));
    assert_eq!(pass.latencies.get(&ttft::FROM_SENT).map(|d| d.n), Some(2));
    assert!(run.summary.findings.iter().any(|f| f.code == "imported_requests_sampled"));
}

#[test]
fn a_request_with_only_zeros_counts_as_failed_and_a_distant_start_time_is_accepted() {
    let mut file: Value = serde_json::from_slice(&fixture("vllm-detailed.json")).unwrap();
    file.as_object_mut().unwrap().remove("errors");
    file["ttfts"][1] = json!(0.0);
    file["itls"][1] = json!([]);
    file["output_lens"][1] = json!(0);
    file["start_times"][2] = json!(1e9);
    let run = import("zeros.json", file.to_string().as_bytes()).unwrap().remove(0);
    assert_eq!(pass(&run.summary).outcomes.complete, 3);
    assert!(run.summary.findings.iter().any(|f| f.message.contains("its lists have 3")));
    assert_eq!(exported(&run.summary, &run.records[0].records)["completed"], 3);
}

#[test]
fn without_start_times_latencies_are_computed_but_no_concurrency_and_no_steady_state() {
    let whole = only("vllm-detailed.json").summary;
    let mut file: Value = serde_json::from_slice(&fixture("vllm-detailed.json")).unwrap();
    // Versions before 0.10 do not write these lists.
    for later in ["start_times", "queue_times", "latencies"] {
        file.as_object_mut().unwrap().remove(later);
    }
    let Import { summary, records } =
        import("old.json", file.to_string().as_bytes()).unwrap().remove(0);
    let (found, expected) = (pass(&summary), pass(&whole));
    for metric in [&ttft::FROM_SENT, &tpot::DEFINITION, &itl::DEFINITION, &e2e::FROM_SENT] {
        let [found, expected] = [found, expected].map(|pass| pass.latencies.get(metric).unwrap());
        near(Some(found.p50), expected.p50);
        near(Some(found.max), expected.max);
        assert_eq!(found.n, expected.n);
    }
    assert_eq!(summary.cells[0].input_length, 64);
    assert_eq!((found.peak_concurrency, found.mean_concurrency), (None, None));
    assert!(found.steady_state.is_none());
    assert!(records.iter().all(|pass| pass.records.is_empty()), "no record without start times");
    let ttft = found.latencies.get(&ttft::FROM_SENT).unwrap();
    assert_eq!((ttft.mean_ci, ttft.p50_ci, found.requests_per_s_ci), (None, None, None));
    assert!(found.intervals.none_because.as_ref().unwrap().contains("when requests were sent"));
    let told = summary.findings.iter().find(|f| f.code == "imported_no_start_times").unwrap();
    assert!(told.message.contains("0.10"), "{}", told.message);
    assert!(!summary.findings.iter().any(|f| f.code == "imported_no_requests"));
    // A list that is too short is still reported.
    file["itls"].as_array_mut().unwrap().pop();
    let error = import("old.json", file.to_string().as_bytes()).unwrap_err().to_string();
    assert!(error.contains("`itls` has 3"), "{error}");
}

#[test]
fn aiperf_figures_are_converted_from_their_stated_unit() {
    let mut file: Value = serde_json::from_slice(&fixture("aiperf.json")).unwrap();
    let mean = file["time_to_first_token"]["avg"].as_f64().unwrap();
    file["time_to_first_token"]["unit"] = json!("sec");
    let run = import("a.json", file.to_string().as_bytes()).unwrap().remove(0);
    assert_eq!(
        pass(&run.summary).latencies.get(&ttft::FROM_SENT).map(|d| d.mean),
        Some(mean * 1e3)
    );
    file["time_to_first_token"]["unit"] = json!("fortnights");
    let error = import("a.json", file.to_string().as_bytes()).unwrap_err().to_string();
    assert!(error.contains("fortnights"), "{error}");
}
