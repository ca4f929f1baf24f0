//! The figures of representative commands, compared with `snapshots/figures__*.snap`. All commands are deterministic:
//! predictions in virtual time, imports, and reports of stored runs. Texts are left out, so that a snapshot changes only
//! with a figure. `INSTA_UPDATE=always cargo test -p inferometer --test end_to_end figures` writes the snapshots again.

use std::fmt::Write;

use serde_json::Value;

use crate::support::{NAME_OF_RUN, command, told, with_stored_runs};

const PREDICT: &str = "predict --quiet --salt s --json";
const CELL: &str = "--input-lengths 64 --output-lengths 16";
const ROWS: &str = "export latest-predicted --format json --what requests";

/// Names, times and hashes of new runs, and what the program states about itself.
const NOT_COMPARED: [&str; 9] = [
    "run_id", "started_at", "origin_unix_ns", "baseline", "contender", "group", "plan_hash",
    "tool", "schema",
];

/// Runs commands in a folder of [`with_stored_runs`], and compares the figures of the JSON documents that they print:
/// those below the JSON pointers `parts`, or all.
fn compare(name: &str, commands: &[&str], parts: &[&str]) {
    let folder = with_stored_runs();
    let mut text = String::new();
    for words in commands {
        let output = command(folder.path()).args(shlex::split(words).expect("words")).output();
        let output = output.expect("the binary runs");
        let document: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{words}: {error}: {}", told(&output)));
        writeln!(text, "$ inferometer {words}").expect("a string");
        for part in if parts.is_empty() { &[""] } else { parts } {
            if let Some(found) = document.pointer(part) {
                write_figures(&mut text, part.trim_start_matches('/'), found);
            }
        }
    }
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true, filters => [NAME_OF_RUN] }, {
        insta::assert_snapshot!(format!("figures__{name}"), text);
    });
}

/// Writes a line for each object: its path, then its numbers, words and switches. Zeros and empty values are left out.
fn write_figures(text: &mut String, path: &str, value: &Value) {
    let below =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(members) => {
            let members = || members.iter().filter(|one| !NOT_COMPARED.contains(&one.0.as_str()));
            let own =
                members().filter_map(|(name, value)| Some(format!("{name}={}", short(value)?)));
            let own: Vec<String> = own.collect();
            if !own.is_empty() {
                writeln!(text, "{path}: {}", own.join(" ")).expect("a string");
            }
            members().for_each(|(name, value)| write_figures(text, &below(name), value));
        }
        Value::Array(items) => {
            let own: Vec<String> = items.iter().filter_map(short).collect();
            if !own.is_empty() {
                writeln!(text, "{path}: {}", own.join(" ")).expect("a string");
            }
            let items = items.iter().enumerate();
            items.for_each(|(at, item)| write_figures(text, &below(&at.to_string()), item));
        }
        _ => {}
    }
}

/// A value in few characters: numbers with five digits. None for zeros, empty values, and texts.
fn short(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => {
            let number = number.as_f64().filter(|number| *number != 0.0)?;
            let digits = 4 - number.abs().log10().floor() as i32;
            let scale = 10f64.powi(digits);
            Some(
                if digits > 0 { (number * scale).round() / scale } else { number.round() }
                    .to_string(),
            )
        }
        Value::Bool(is_true) => is_true.then(|| "true".to_owned()),
        Value::String(text) => {
            (!text.is_empty() && text.split(' ').count() < 4).then(|| text.clone())
        }
        _ => None,
    }
}

#[test]
fn a_grid_with_requests_one_by_one_and_all_at_once() {
    let grid = "--input-lengths 64 --output-lengths 8,16 --one-by-one 2 --requests 4";
    compare("grid", &[&format!("{PREDICT} {grid}"), ROWS], &[]);
}

#[test]
fn an_open_loop_with_objectives_bursts_and_a_limit_in_flight() {
    let load = "--rate 2,8 --burstiness 0.5 --max-in-flight 3 --requests 20";
    let objectives = "--slo ttft_p99<200ms,tpot_p99<30ms";
    compare("open-loop", &[&format!("{PREDICT} {CELL} {load} {objectives}")], &[]);
}

#[test]
fn closed_loops_stages_and_ramps() {
    let load = "--stages 2s@2,2s@8 --concurrency 2,1s@1..4";
    compare("closed-loop", &[&format!("{PREDICT} {CELL} {load} --duration 2s")], &["/cells"]);
}

#[test]
fn prompts_with_shared_prefixes_in_a_prefix_cache() {
    let engine = "--profile a100-40g-vllm-0.32 --model qwen2.5-7b";
    let workload = "--workload prefix --prefix-length 64 --input-lengths 96 --output-lengths 8";
    let all = format!("{PREDICT} {engine} {workload} --concurrency 4 --requests 16");
    compare("prefix", &[&all], &["/target", "/cells"]);
}

#[test]
fn conversations_of_a_data_set_and_a_trace_at_its_own_times() {
    let talk = "--workload sharegpt --dataset data/workload/fixtures/sharegpt.json --rate 4";
    let trace = "--workload trace --dataset data/workload/fixtures/trace-mooncake.jsonl";
    let commands = [format!("{PREDICT} {talk} --requests 12"), format!("{PREDICT} {trace}")];
    compare("data-sets", &commands.each_ref().map(String::as_str), &["/cells", "/findings"]);
}

#[test]
fn a_prediction_next_to_a_measured_table() {
    let table = "data/analysis/src/table_import/fixtures/qwen-14b.md";
    let against = format!("{PREDICT} --model qwen-14b --against {table}");
    let few = format!("{against} --input-lengths 128 --output-lengths 128,512 --requests 60");
    compare("against", &[&few], &["/errors", "/cells/0/passes", "/findings"]);
}

#[test]
fn a_search_for_the_highest_rate() {
    let search = "search --predict --quiet --salt s --json --slo tpot_p95<25ms --max-requests 900";
    let parts = ["/searches", "/findings", "/verdict", "/cells/0/passes/0"];
    compare("search", &[&format!("{search} {CELL}")], &parts);
}

#[test]
fn a_sweep_over_the_concurrency() {
    let sweep = "sweep --predict --quiet --salt s --json --max-requests 2000";
    let parts = ["/sweeps", "/findings", "/verdict", "/cells/0/passes/0"];
    compare("sweep", &[&format!("{sweep} {CELL}")], &parts);
}

#[test]
fn a_comparison_of_two_engines_in_pairs_of_blocks() {
    let ab = "ab --predict --quiet --salt s --json --noise step=0.05,seed=1 --b max-num-seqs=4";
    compare("ab", &[&format!("{ab} {CELL}")], &["/ab", "/runs/0/verdict", "/runs/1/findings"]);
}

#[test]
fn one_file_of_each_format_of_other_tools() {
    let files = "vllm.json vllm-detailed.json vllm-rs-steady-state.json sglang.jsonl \
                 sglang-detailed.jsonl guidellm.json aiperf.json aiperf-records.jsonl \
                 llama-bench.json llama-bench.md";
    let files = files.split(' ').map(|name| format!("import data/formats/fixtures/{name} --json"));
    let tables = ["chatglm3-6b", "mistral-7b-openorca-awq", "sus-chat-34b"];
    let folder = "data/analysis/src/table_import/fixtures";
    let tables = tables.map(|name| format!("import {folder}/{name}.md --json"));
    let all: Vec<String> = files.chain(tables).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let first = ["findings", "cells/0", "cells/1", "imported/format", "imported/passes/0/agreeing"];
    let first = first.map(|part| format!("/runs/0/summary/{part}"));
    compare("imports", &all, &first.each_ref().map(String::as_str));
}

#[test]
fn a_stored_run_whose_requests_failed_in_every_way() {
    compare("faults", &["report faults --json"], &[]);
    // A request that completed, and one of each fault.
    let rows = [0, 4, 6, 8, 10, 12, 14, 16, 18].map(|row| format!("/rows/{row}"));
    let rows = rows.each_ref().map(String::as_str);
    let rows_of = |what| format!("export faults --format json --what {what}");
    compare("rows", &[&rows_of("requests"), &rows_of("events")], &rows);
}

#[test]
fn stored_conversations() {
    compare(
        "conversation",
        &["report conversation --json", "export conversation --format json --what cells"],
        &[],
    );
}

#[test]
fn a_comparison_of_a_measured_table_with_a_prediction() {
    let table = "data/analysis/src/table_import/fixtures/chatglm3-6b.md";
    let predict = format!("{PREDICT} --model chatglm3-6b --requests 60");
    let predict = format!("{predict} --input-lengths 128 --output-lengths 128,512");
    let gate = "--gate requests_per_s>-3%";
    let commands = [predict, format!("compare {table} latest-predicted {gate} --json")];
    let parts = ["/comparisons", "/gate", "/ranking", "/cells/0"];
    compare("compare", &commands.each_ref().map(String::as_str), &parts);
}
