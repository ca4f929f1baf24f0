//! What the commands print, compared with `snapshots/texts__*.snap`: each text stands there once.
//! `INSTA_UPDATE=always cargo test -p inferometer --test end_to_end texts` writes the snapshots again.

use crate::support::{NAME_OF_RUN, command, told, with_stored_runs};

/// What differs from run to run: names of runs and groups, times, and how long the program needed.
const VARYING: [(&str, &str); 5] = [
    NAME_OF_RUN,
    (r"\bab-[0-9a-f]{8}\b", "GROUP"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?", "TIME"),
    (r"(simulated .* in )[\d.]+ \w+", "${1}SOME TIME"),
    (r"in [\d.]+ m?s\b", "in SOME TIME"),
];

/// Lines whose words a snapshot of the crate `report` holds. Here they end after their first words.
const HELD_BY_REPORT: [(&str, &str); 11] = [
    (r"(?m)^(SIMULATED: the) [^,\n]*", "$1 ..."),
    (r"(?m)^(SIMULATION: the) embedded engine simulates", "$1 ..."),
    (r"(?m)^(Findings) \(.*\)$", "$1 ..."),
    (r"(?m)^(suspect, .*?): .*$", "$1: ..."),
    (r"(; figures) .* (\d+) that completed", "$1 ... $2"),
    (r"(?m)^(Summary): .*\n(?: .*\n)+Input Length.*$", "$1: ..."),
    (r"\b[Ll]atency per (output )?token \(ms\)", "latency per ${1}..."),
    (r"(?m)^(# a \w+) (?:ends when its|starts with one)[^:\d\n]*", "$1 ... "),
    (r" in total, if every trial had ", " in total ... "),
    (r"(?m)^(# this \w+) .*$", "$1 ..."),
    (r"(?m)^(# estimate: unknown) .*$", "$1 ..."),
];

/// Runs commands one after the other in a folder of [`with_stored_runs`], and compares their outputs and exit codes.
fn compare(name: &str, commands: &str) {
    let folder = with_stored_runs();
    let mut text = String::new();
    for words in commands.lines().map(str::trim).filter(|words| !words.is_empty()) {
        let mut command = command(folder.path());
        command.env("INFEROMETER_CACHE", folder.path()).args(shlex::split(words).expect("words"));
        let output = command.output().expect("the binary runs");
        let printed = String::from_utf8_lossy(&output.stdout);
        let code = output.status.code().expect("an exit code");
        text += &format!("$ inferometer {words}\n{printed}{}exit code {code}\n\n", told(&output));
    }
    let filters = [&VARYING[..], &HELD_BY_REPORT].concat();
    insta::with_settings!(
        { prepend_module_to_snapshot => false, omit_expression => true, filters => filters },
        { insta::assert_snapshot!(format!("texts__{name}"), text) }
    );
}

#[test]
fn wrong_usage() {
    let mistakes = "
        run --tagret x
        rnu
        run --input-lengths 0,5 --rate -1 --burstiness 0 --workload sharegtp --slo ttft<5 --dialect vlm --timeout 5 --max-failures 300%
        run --requests many
        run nothing.toml
        run --workload jsonl --dataset nothing.jsonl
        run --workload csv --dataset data/workload/fixtures/rows.csv --columns prompt=none
        run --workload trace --dataset data/workload/fixtures/trace-plain.csv --input-lengths 5
        run --target http://127.0.0.1:1 --input-lengths 8 --output-lengths 4 --connect-timeout 1s
        predict --target x
        predict --workload conversation
        predict --model nothing
        predict --dtype int3
        calibrate nothing.md --model chatglm3-6b
        search
        search --slo ttft_p99<1s --rate 3
        search --slo requests_per_s>3
        ab --b nothing=3 --predict
        runs --store nothing.db
        report 2001
        show 20
        export --format xml
        export faults --format csv --pass 1
        export faults --format vllm-bench --what cells
        import data/workload/fixtures/trace-plain.csv nothing.md
        compare faults conversation --gate nothing>3%
        compare faults conversation
        report faults conversation --json
        runs --since 2026-13-01
        runs --since 2026-11-22 --until 2026-11-20
        fetch sharegtp
        run --resume faults
        rm latest --yes
        rm faults
        engine --fault nothing
        engine --max-num-seqs 0
        list things
        presets vlm
    ";
    compare("mistakes", mistakes);
}

#[test]
fn lists() {
    compare(
        "lists",
        "
        list
        scenarios
        dialects
        models
        presets
        presets vllm
        list profiles
        list cards
        fetch
        ",
    );
}

#[test]
fn predictions() {
    let commands = "
        predict --input-lengths 64 --output-lengths 8,16 --one-by-one 2 --requests 4 --salt s --out out
        search --predict --input-lengths 64 --output-lengths 16 --slo tpot_p95<25ms --max-requests 900 --salt s --out out
        sweep --predict --input-lengths 64 --output-lengths 16 --max-requests 2000 --salt s --out out
        ab --predict --input-lengths 64 --output-lengths 16 --noise step=0.05,seed=1 --b max-num-seqs=4 --salt s --out out
        predict --model qwen-14b --against data/analysis/src/table_import/fixtures/qwen-14b.md --input-lengths 128 --output-lengths 128 --requests 60 --salt s --out out
        calibrate data/analysis/src/table_import/fixtures/qwen-14b.md --model qwen-14b --rows 128x128,2048x512 --name mine --out mine.toml
        memory --model qwen-14b
    ";
    compare("predictions", commands);
}

#[test]
fn stored_runs() {
    let commands = "
        import data/formats/fixtures/vllm.json data/formats/fixtures/llama-bench.md
        import data/formats/fixtures/vllm.json
        runs
        show faults
        show conversation --plan
        report faults --dialect vllm
        report faults --dialect sglang
        report faults --dialect guidellm
        report faults --dialect aiperf
        report faults --dialect inference-perf
        report conversation --dialect v0.2
        export faults --format table
        tag faults +a -faults
        note latest-imported 'a note'
        runs --tag a
        compare data/analysis/src/table_import/fixtures/mistral-7b-openorca-awq.md#tgi data/analysis/src/table_import/fixtures/mistral-7b-openorca-awq.md#vllm --gate requests_per_s>-3%
    ";
    compare("stored-runs", commands);
}

#[test]
fn plans() {
    let commands = "
        run --dry-run
        run --dry-run --scenario chat
        run --dry-run --target https://host.invalid:8443/v1 --dialect vllm --model m --insecure --slo ttft_p99<500ms,failures<1% --goodput ttft<500ms,tpot<50ms --until ttft_p50±2% --rate 2,4
        search --dry-run --input-lengths 64 --output-lengths 16 --slo ttft_p99<1s --from 2 --to 4
        sweep --dry-run --salt s --input-lengths 64 --output-lengths 16
        ab --dry-run --salt s --input-lengths 64 --output-lengths 16 --b speed=0.95
    ";
    compare("plans", commands);
}
