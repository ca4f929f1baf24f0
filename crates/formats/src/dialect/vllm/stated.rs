//! The table of `vllm bench serve` from the figures that its result file states, of the Python and of the Rust client.

use inferometer_analysis::ImportedPass;

use crate::dialect::layout::{TableLine, ToolTable, Value, figure, section};
use crate::dialect::selection::{ServingMetric, percentile_word};

/// How the value of a line is printed.
#[derive(Clone, Copy)]
enum As {
    Count,
    Number,
}
use As::{Count, Number};

/// A line: its label, its name in the file, and how its value is printed.
type Line = (&'static str, &'static str, As);

const HEAD: [Line; 16] = [
    ("Successful requests:", "completed", Count),
    ("Failed requests:", "failed", Count),
    ("Maximum request concurrency:", "max_concurrency", Count),
    ("Request rate configured (RPS):", "request_rate", Number),
    ("Benchmark duration (s):", "duration", Number),
    ("Total input tokens:", "total_input_tokens", Count),
    ("Total generated tokens:", "total_output_tokens", Count),
    ("Request throughput (req/s):", "request_throughput", Number),
    ("Input throughput (inputs/s):", "input_sequence_throughput", Number),
    ("Request goodput (req/s):", "request_goodput", Number),
    // Only the Rust client states it, and prints it only for conversations.
    ("Input token throughput (tok/s):", "input_throughput", Number),
    ("Output token throughput (tok/s):", "output_throughput", Number),
    ("Peak output token throughput (tok/s):", "max_output_tokens_per_s", Number),
    ("Peak concurrent requests:", "max_concurrent_requests", Number),
    ("RTFx (Inverse Real-Time Factor):", "rtfx", Number),
    ("Total token throughput (tok/s):", "total_token_throughput", Number),
];

const PROBES: [Line; 5] = [
    ("Probe requests completed:", "probe_completed", Count),
    ("Probe requests failed:", "probe_failed", Count),
    ("Median probe E2EL (ms):", "probe_median_e2el_ms", Number),
    ("P99 probe E2EL (ms):", "probe_p99_e2el_ms", Number),
    ("Max probe E2EL (ms):", "probe_max_e2el_ms", Number),
];

const DIFFUSION: [Line; 6] = [
    ("Committed throughput (tok/s):", "diffusion_committed_throughput", Number),
    ("Denoising steps per canvas:", "diffusion_steps_per_canvas", Number),
    ("Committed per denoising step:", "diffusion_committed_per_step", Number),
    ("Committed tokens:", "diffusion_committed_tokens", Count),
    ("Denoising steps:", "diffusion_denoising_steps", Count),
    ("Canvas positions evaluated:", "diffusion_canvas_positions", Count),
];

const SPECULATION: [Line; 5] = [
    ("Acceptance rate (%):", "spec_decode_acceptance_rate", Number),
    ("Acceptance length:", "spec_decode_acceptance_length", Number),
    ("Drafts:", "spec_decode_num_drafts", Count),
    ("Draft tokens:", "spec_decode_draft_tokens", Count),
    ("Accepted tokens:", "spec_decode_accepted_tokens", Count),
];

const STEADY: [Line; 6] = [
    ("Observed peak concurrency:", "window.observed_peak", Count),
    ("Requests completed in window:", "window.requests_completed_in_window", Count),
    ("Request throughput (req/s):", "request_throughput", Number),
    ("Output token throughput (tok/s):", "output_throughput", Number),
    ("Input token throughput (tok/s):", "input_throughput", Number),
    ("Total token throughput (tok/s):", "total_token_throughput", Number),
];

/// Returns the table with each figure that the file states.
pub(super) fn table(stated: &ImportedPass) -> ToolTable {
    let has = |key: &str| stated.numbers.contains_key(key);
    let is_multi_turn = has("num_conversations");
    let mut lines = conversations(stated);
    let head = HEAD.into_iter().filter(|(_, key, _)| match *key {
        "input_throughput" => is_multi_turn,
        // It is above the heading of all turns.
        "duration" => !is_multi_turn,
        // The Python client prints it only if audio was sent.
        "rtfx" => stated.numbers.get("rtfx").is_some_and(|rtfx| *rtfx > 0.0),
        _ => true,
    });
    lines.extend(block(stated, "", &head.collect::<Vec<_>>()));
    lines.extend(headed("Probe Requests", block(stated, "", &PROBES)));
    lines.extend(metrics(stated, ""));
    lines.extend(headed("Diffusion Decoding", block(stated, "", &DIFFUSION)));
    if !has("diffusion_committed_tokens") {
        let mut speculation = block(stated, "", &SPECULATION);
        for at in 0.. {
            let key = format!("spec_decode_per_position_acceptance_rates.{at}");
            let Some(rate) = stated.numbers.get(&key) else { break };
            let label = format!("  Position {at}:");
            speculation.push(figure(&label, &key, Value::Number(rate * 100.0)));
        }
        lines.extend(headed("Speculative Decoding", speculation));
    }
    for turn in 0.. {
        let prefix = format!("per_turn_metrics.{turn}.");
        let Some(samples) = stated.numbers.get(&format!("{prefix}num_samples")) else { break };
        lines.push(section(&format!("Turn {} ({samples} samples)", turn + 1)));
        lines.extend(block(stated, &prefix, &HEAD));
        lines.extend(metrics(stated, &prefix));
    }
    lines.extend(steady_state(stated));
    let title =
        if is_multi_turn { "Multi-Turn Benchmark Result" } else { "Serving Benchmark Result" };
    let mut table = ToolTable::new(title, lines);
    // The Rust client writes its dates in another form, and wider headings.
    if stated.texts.get("date").is_some_and(|date| date.contains('T')) {
        table.width = 60;
    }
    table
}

/// The lines on conversations, with the heading of the figures of all turns; none for other loads.
fn conversations(stated: &ImportedPass) -> Vec<TableLine> {
    let of = |key: &str| stated.numbers.get(key).copied();
    let Some(all) = of("num_conversations") else { return Vec::new() };
    let words = |label: &str, key: &str, text: &dyn Fn(f64) -> String| {
        Some(figure(label, key, Value::Words(text(of(key)?))))
    };
    let lines = [
        words("Conversations completed/total:", "conversations_completed", &|completed| {
            format!("{completed}/{all}")
        }),
        words("Turns per conversation (configured):", "turns_per_conversation", &|turns| {
            format!("{turns}")
        }),
        words("Avg turns completed:", "avg_turns_completed", &|turns| format!("{turns:.1}")),
        words("Avg conversation duration (ms):", "avg_conversation_duration_ms", &|ms| {
            format!("{ms:.0}")
        }),
        words("Concurrency:", "multi_turn_concurrency", &|count| format!("{count}")),
        words("Inter-turn delay (ms):", "inter_turn_delay_ms", &|ms| format!("{ms}")),
        of("duration").map(|s| figure("Benchmark duration (s):", "duration", Value::Number(s))),
        Some(section("Overall (All Turns)")),
    ];
    lines.into_iter().flatten().collect()
}

fn block(stated: &ImportedPass, prefix: &str, lines: &[Line]) -> Vec<TableLine> {
    let line = |(label, key, form): &Line| {
        let key = format!("{prefix}{key}");
        let value = *stated.numbers.get(&key)?;
        let value = match form {
            Count => Value::Count(value as u64),
            Number => Value::Number(value),
        };
        Some(figure(label, &key, value))
    };
    lines.iter().filter_map(line).collect()
}

/// The lines below a heading; none if there are no lines.
fn headed(heading: &str, lines: Vec<TableLine>) -> Vec<TableLine> {
    let heading = (!lines.is_empty()).then(|| section(heading));
    heading.into_iter().chain(lines).collect()
}

/// The lines of each metric: mean, median and the percentiles that were asked for, in the order of the file.
fn metrics(stated: &ImportedPass, prefix: &str) -> Vec<TableLine> {
    let percentiles = stated.texts.get("metric_percentiles").map_or("", String::as_str);
    let mut lines = Vec::new();
    for metric in ServingMetric::ALL {
        let mut of_metric = Vec::new();
        let mut put = |label: String, key: String| {
            let key = format!("{prefix}{key}_{}_ms", metric.name());
            let value = stated.numbers.get(&key).map(|value| Value::Number(*value));
            of_metric
                .extend(value.map(|value| {
                    figure(&format!("{label} {} (ms):", metric.label()), &key, value)
                }));
        };
        put("Mean".to_owned(), "mean".to_owned());
        put("Median".to_owned(), "median".to_owned());
        for percentile in percentiles.split(',') {
            put(format!("P{percentile}"), format!("p{percentile}"));
        }
        lines.extend(headed(metric.heading(), of_metric));
    }
    lines
}

fn steady_state(stated: &ImportedPass) -> Vec<TableLine> {
    let of = |key: &str| stated.numbers.get(&format!("steady_state.{key}")).copied();
    let (Some(threshold), Some(limit), Some(from), Some(to)) = (
        of("window.threshold"),
        of("window.target_concurrency"),
        of("window.start_s"),
        of("window.end_s"),
    ) else {
        return Vec::new();
    };
    let fewest = of("window.threshold_abs").unwrap_or(f64::NAN);
    let (started, all) = (of("window.requests_started_in_window"), of("window.requests_total"));
    let (started, all) = (started.unwrap_or(f64::NAN), all.unwrap_or(f64::NAN));
    let words = |label: &str, key: &str, text: String| {
        figure(label, &format!("steady_state.{key}"), Value::Words(text))
    };
    let mut lines = vec![
        section("Steady-State Metrics"),
        words(
            "Concurrency threshold:",
            "threshold",
            format!(">= {threshold} * {limit} = {fewest}"),
        ),
        words("Window:", "window", format!("{from:.1}s -> {to:.1}s  ({:.1}s)", to - from)),
    ];
    let share = 100.0 * started / all;
    let started =
        words("Requests started in window:", "started", format!("{started} / {all} ({share:.1}%)"));
    let mut rest = block(stated, "steady_state.", &STEADY);
    rest.insert(1.min(rest.len()), started);
    lines.extend(rest);
    let warning = stated.texts.get("steady_state.window.warning");
    lines.extend(warning.map(|warning| words("Warning:", "warning", warning.clone())));
    for (metric, key) in [("TTFT", "ttft"), ("TPOT", "tpot")] {
        let prefix = format!("steady_state.percentiles_{key}_ms.");
        let mut stems = vec![
            ("Mean".to_owned(), format!("steady_state.mean_{key}_ms")),
            ("Median".to_owned(), format!("steady_state.median_{key}_ms")),
        ];
        let asked = stated.texts.get("metric_percentiles").map_or("", String::as_str);
        for percent in asked.split(',') {
            // The client prints whole numbers here.
            let whole = percent.split('.').next().unwrap_or(percent);
            stems.push((format!("P{whole}"), format!("{prefix}{percent}")));
        }
        for percent in [90.0, 99.0] {
            let word = percentile_word(percent);
            stems.push((format!("P{word}"), format!("steady_state.p{word}_{key}_ms")));
        }
        lines.extend(stems.into_iter().filter_map(|(label, key)| {
            let value = Value::Number(*stated.numbers.get(&key)?);
            Some(figure(&format!("{label} {metric} (ms):"), &key, value))
        }));
    }
    lines
}
