//! Tests what other tools would have printed for four requests. All expected figures were computed by hand.
//!
//! Times are in milliseconds. Each request was sent when it was picked, except A, which was sent at 2.
//!
//! | | picked | chunks (tokens) | usage | ended | requested output | actual output |
//! |---|---|---|---|---|---|---|
//! | A | 0 | empty at 100, text at 150 (3) and 200 (2) | at 230 | 230 | 8 | 5 |
//! | B | 10 | text at 60 | at 60 | 60 | 1 | 1 |
//! | C, cut off | 20 | text at 70 | - | 400 | 8 | - |
//! | D | 30 | role at 40, text at 130, 140, 170 | at 170 | 170 | 3 | 3 |

use inferometer_formats::dialect::{Pass, Tool, ToolTable};
use inferometer_model::outcome::Outcome;
use inferometer_model::record::EventKind::{self, EmptyText, Role, Text, Usage};
use inferometer_model::record::{Event, Read, Record};
use inferometer_model::time::Nanos;

fn tool(name: &str) -> Tool {
    Tool::named(name).expect("a tool of this name")
}

fn ms(value: f64) -> Nanos {
    Nanos((value * 1e6).round() as u64)
}

fn record(index: u32, picked: f64, events: &[(f64, EventKind, Option<u32>)]) -> Record {
    let mut record = Record::planned(0, index, ms(picked));
    record.picked = Some(ms(picked));
    record.send_start = Some(ms(picked));
    record.outcome = Outcome::Complete;
    for (read, &(at, kind, tokens)) in (0_u32..).zip(events) {
        let stamp = Read { kernel: Some(ms(at)), user: ms(at), empty_before: ms(at), bytes: 9 };
        record.reads.push(stamp);
        record.events.push(Event { read, kind, chars: 4, tokens });
    }
    record.ended = record.reads.last().map(Read::arrival);
    record.asked_input = 10;
    record.usage.prompt = Some(10);
    record
}

fn log() -> Vec<Record> {
    let mut a = record(
        0,
        0.0,
        &[
            (100.0, EmptyText, Some(0)),
            (150.0, Text, Some(3)),
            (200.0, Text, Some(2)),
            (230.0, Usage, None),
        ],
    );
    a.send_start = Some(ms(2.0));
    let b = record(1, 10.0, &[(60.0, Text, None), (60.0, Usage, None)]);
    let mut c = record(2, 20.0, &[(70.0, Text, None)]);
    c.outcome = Outcome::Truncated;
    c.ended = Some(ms(400.0));
    let d = record(
        3,
        30.0,
        &[
            (40.0, Role, None),
            (130.0, Text, None),
            (140.0, Text, None),
            (170.0, Text, None),
            (170.0, Usage, None),
        ],
    );
    let mut records = vec![a, b, c, d];
    for (record, (asked, came)) in
        records.iter_mut().zip([(8, Some(5)), (1, Some(1)), (8, None), (3, Some(3))])
    {
        record.asked_output = asked;
        record.usage.completion = came;
    }
    records
}

fn printed(tool: Tool) -> ToolTable {
    let records = log();
    tool.printed(&Pass {
        records: &records,
        dialect: "openai-completions",
        concurrency: Some(4),
        rate: None,
        duration_s: None,
    })
}

fn assert_figures(tool: Tool, expected: &[(&str, f64)]) {
    let printed = printed(tool);
    for (name, value) in expected {
        let found = printed.value(name).unwrap_or_else(|| panic!("{name}: {printed:?}"));
        assert!((found - value).abs() < 1e-9 * value.max(1.0), "{tool:?} {name}: {found} {value}");
    }
}

#[test]
fn vllm_figures_start_when_a_request_is_picked_and_empty_chunks_count_as_first_token() {
    assert_figures(
        tool("vllm"),
        &[
            ("completed", 3.0),
            ("failed", 1.0),
            ("max_concurrency", 4.0),
            ("duration", 0.4),
            ("total_input_tokens", 30.0),
            ("total_output_tokens", 9.0),
            ("request_throughput", 7.5),
            ("output_throughput", 22.5),
            ("total_token_throughput", 97.5),
            // A's three chunks, B's one and D's three arrive in one second.
            ("max_output_tokens_per_s", 7.0),
            ("max_concurrent_requests", 3.0),
            // A, B and D: 100, 50, 100.
            ("mean_ttft_ms", 250.0 / 3.0),
            ("median_ttft_ms", 100.0),
            ("p99_ttft_ms", 100.0),
            // A: (200 - 100) / 4; D: (140 - 100) / 2; B has only one token.
            ("mean_tpot_ms", 22.5),
            ("median_tpot_ms", 22.5),
            ("p99_tpot_ms", 24.95),
            // Gaps: 50 and 50 of A, 10 and 30 of D.
            ("mean_itl_ms", 35.0),
            ("median_itl_ms", 40.0),
            ("p99_itl_ms", 50.0),
            // A, B and D: 200, 50, 140. The usage event of A does not count.
            ("mean_e2el_ms", 130.0),
            ("median_e2el_ms", 140.0),
            ("p99_e2el_ms", 198.8),
        ],
    );
}

#[test]
fn sglang_ttft_ends_at_the_first_text_and_its_e2e_at_the_last_line_of_the_stream() {
    assert_figures(
        tool("sglang"),
        &[
            ("completed", 3.0),
            ("duration", 0.4),
            ("total_input_tokens", 30.0),
            // As requested: 8, 1 and 3.
            ("total_output_tokens", 12.0),
            ("request_throughput", 7.5),
            ("input_throughput", 75.0),
            ("output_throughput", 30.0),
            ("total_throughput", 105.0),
            // The sum of latencies, 230 + 50 + 140, divided by the duration of 400.
            ("concurrency", 1.05),
            ("mean_e2e_latency_ms", 140.0),
            ("median_e2e_latency_ms", 140.0),
            ("p90_e2e_latency_ms", 212.0),
            ("p95_e2e_latency_ms", 221.0),
            ("p99_e2e_latency_ms", 228.2),
            // A, B and D: 150, 50, 100.
            ("mean_ttft_ms", 100.0),
            ("median_ttft_ms", 100.0),
            ("p90_ttft_ms", 140.0),
            ("p95_ttft_ms", 145.0),
            ("p99_ttft_ms", 149.0),
            // A: (230 - 150) / 7; D: (140 - 100) / 2.
            ("mean_tpot_ms", 110.0 / 7.0),
            ("median_tpot_ms", 110.0 / 7.0),
            ("p90_tpot_ms", 134.0 / 7.0),
            ("p95_tpot_ms", 137.0 / 7.0),
            ("p99_tpot_ms", 139.4 / 7.0),
            // Gaps: 50 of A, 10 and 30 of D.
            ("mean_itl_ms", 30.0),
            ("median_itl_ms", 30.0),
            ("p90_itl_ms", 46.0),
            ("p95_itl_ms", 48.0),
            ("p99_itl_ms", 49.6),
            ("max_itl_ms", 50.0),
        ],
    );
}

#[test]
fn sglang_divides_a_gap_by_the_tokens_of_its_chunk_in_its_native_protocol() {
    let records = log();
    let native = tool("sglang").printed(&Pass {
        records: &records,
        dialect: "sglang",
        concurrency: None,
        rate: Some(2.5),
        duration_s: Some(0.5),
    });
    // A's gap of 50 is spread over two tokens: 25, 25. D's gaps are 10 and 30.
    assert_eq!(native.value("mean_itl_ms"), Some(22.5));
    assert_eq!(native.value("max_itl_ms"), Some(30.0));
    assert_eq!(native.value("request_throughput"), Some(6.0));
}

#[test]
fn guidellm_tpot_includes_the_ttft_and_weights_requests_by_their_tokens() {
    assert_figures(
        tool("guidellm"),
        &[
            ("request_totals.successful", 3.0),
            ("request_totals.errored", 1.0),
            ("prompt_token_count.mean", 10.0),
            ("output_token_count.mean", 3.0),
            ("output_token_count.median", 3.0),
            ("output_token_count.max", 5.0),
            // Up to the end of the request. A, B and D: 230, 50, 140.
            ("request_latency.mean", 0.14),
            ("request_latency.p99", 0.23),
            ("time_to_first_token_ms.mean", 100.0),
            ("time_to_first_token_ms.median", 100.0),
            ("time_to_first_token_ms.p95", 150.0),
            ("time_to_first_token_ms.min", 50.0),
            ("time_to_first_token_ms.std_dev", (5_000.0_f64 / 3.0).sqrt()),
            // A: (200 - 150) / 4 with weight 4; D: (170 - 130) / 2 with weight 2; B has no value.
            ("inter_token_latency_ms.mean", 15.0),
            ("inter_token_latency_ms.median", 12.5),
            ("inter_token_latency_ms.p95", 20.0),
            ("inter_token_latency_ms.min", 12.5),
            ("inter_token_latency_ms.std_dev", 12.5_f64.sqrt()),
            // A, B and D: 200 / 5, 50 / 1, 140 / 3, with the weights 5, 1, 3.
            ("time_per_output_token_ms.mean", 390.0 / 9.0),
            ("time_per_output_token_ms.median", 40.0),
            // C failed after 380, and counts here.
            ("requests_per_second", 10.0),
            ("request_concurrency", 2.0),
            ("prompt_tokens_per_second", 100.0),
            ("output_tokens_per_second", 22.5),
            ("tokens_per_second", 122.5),
        ],
    );
}

#[test]
fn aiperf_names_tpot_inter_token_latency_and_chunk_gaps_inter_chunk_latency() {
    assert_figures(
        tool("aiperf"),
        &[
            ("time_to_first_token.avg", 100.0),
            ("time_to_first_token.p50", 100.0),
            ("time_to_second_token.avg", 30.0),
            ("time_to_first_output_token.max", 150.0),
            ("request_latency.avg", 130.0),
            ("request_latency.p90", 188.0),
            // A: 50 / (5 - 1); D: 40 / (3 - 1). With the flag, the 3 tokens of A's first chunk count: 50 / (5 - 3).
            ("inter_token_latency.avg", 16.25),
            ("inter_token_latency.min", 12.5),
            ("inter_token_latency.max", 20.0),
            ("inter_token_latency_per_chunk_usage.avg", 22.5),
            ("inter_token_latency_per_chunk_usage.max", 25.0),
            ("inter_chunk_latency.avg", 30.0),
            ("inter_chunk_latency.p99", 49.6),
            ("output_token_throughput_per_user.avg", 65.0),
            ("output_sequence_length.avg", 3.0),
            ("input_sequence_length.avg", 10.0),
            // The phase is from 0 to the end of C at 400.
            ("output_token_throughput.avg", 22.5),
            ("input_token_throughput.avg", 75.0),
            ("request_throughput.avg", 7.5),
            ("request_count.avg", 3.0),
            ("completed_request_count.avg", 4.0),
            ("request_error_rate.avg", 25.0),
            // From 0 to A's last content at 200. C failed, and does not count.
            ("benchmark_duration.avg", 0.2),
            ("decode_duration.avg", 30.0),
            ("e2e_output_token_throughput.avg", (25.0 + 20.0 + 3.0 / 0.14) / 3.0),
        ],
    );
    assert_eq!(printed(tool("aiperf")).value("request_count.p99"), None);
}

#[test]
fn inference_perf_counts_gaps_of_zero_between_tokens_of_one_chunk() {
    assert_figures(
        tool("inference-perf"),
        &[
            ("successes.count", 3.0),
            ("failures.count", 1.0),
            ("request_latency.mean", 0.14),
            ("normalized_time_per_output_token.mean", (0.046 + 0.05 + 0.14 / 3.0) / 3.0),
            ("time_per_output_token.mean", 0.01625),
            // Only A and D count: B has one token, and the tool needs more than one.
            ("time_to_first_token.mean", 0.125),
            ("time_to_first_token.p90", 0.145),
            // A: 0, 0, 50, 0; D: 10, 30.
            ("inter_token_latency.mean", 0.015),
            ("inter_token_latency.p50", 0.005),
            ("inter_token_latency.max", 0.05),
            ("input_tokens_per_sec", 75.0),
            ("output_tokens_per_sec", 22.5),
            ("total_tokens_per_sec", 97.5),
            ("requests_per_sec", 7.5),
            ("prompt_len.mean", 10.0),
            ("output_len.max", 5.0),
        ],
    );
}

#[test]
fn inference_perf_prints_milliseconds_although_its_files_have_seconds() {
    let text = printed(tool("inference-perf")).text();
    let line = text.lines().find(|line| line.starts_with("inter_token_latency")).unwrap();
    // Mean, minimum, p10 and median of 0, 0, 50, 0, 10, 30.
    let shown: Vec<&str> = line.split_whitespace().skip(1).take(4).collect();
    assert_eq!(shown, ["15.00", "0.00", "0.00", "5.00"], "{line}");
    assert!(text.contains("successes.latency, ms (s in files)"), "{text}");
}

#[test]
fn the_vllm_v0_2_script_divides_latencies_by_the_requested_number_of_tokens() {
    assert_figures(
        tool("v0.2"),
        &[
            // The duration counts from the first send, at 2.
            ("Total time", 0.398),
            ("Throughput", 3.0 / 0.398),
            ("Average latency", (0.198 + 0.05 + 0.14) / 3.0),
            ("Average latency per token", (0.198 / 18.0 + 0.05 / 11.0 + 0.14 / 13.0) / 3.0),
            ("Average latency per output token", (0.198 / 8.0 + 0.05 + 0.14 / 3.0) / 3.0),
            ("Completion tokens per second", 12.0 / 0.398),
        ],
    );
}

#[test]
fn each_tool_prints_its_own_metric_names_and_has_definitions() {
    for (tool, line) in [
        (tool("vllm"), "Median TPOT (ms):                        22.50     "),
        (tool("sglang"), "Max ITL (ms):                            50.00     "),
        (tool("guidellm"), "TPOT (ms)"),
        (tool("aiperf"), "Inter Token Latency (ms)"),
        (tool("inference-perf"), "normalized_time_per_output_token"),
        (tool("v0.2"), "Average latency per output token (s):    0.04      "),
    ] {
        let text = printed(tool).text();
        assert!(text.lines().any(|found| found.starts_with(line)), "{text}");
        assert!(!tool.definitions.is_empty());
        assert_eq!(Tool::named(tool.name).map(|tool| tool.name), Some(tool.name));
        let json = printed(tool).json();
        assert!(json.as_object().is_some_and(|figures| figures.len() >= 6), "{json}");
    }
}

#[test]
fn a_pass_without_completed_requests_is_printed_with_a_mean_ttft_of_zero_or_none() {
    let records = &log()[2..3];
    let pass =
        Pass { records, dialect: "openai-chat", concurrency: None, rate: None, duration_s: None };
    for tool in Tool::ALL {
        let printed = tool.printed(&pass);
        assert_eq!(printed.value("mean_ttft_ms").unwrap_or(0.0), 0.0, "{tool:?}");
        assert!(!printed.text().is_empty());
    }
}
