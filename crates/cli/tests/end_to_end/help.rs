//! The help of `predict`, `search`, `sweep` and `ab`, which share flags of `run`. Each flag of `run` is tried in dry
//! runs, which send nothing, and in predictions. The help of a command must list exactly the flags that have a use in
//! the command.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;

use crate::support::{folder, inferometer, told};

/// For flags of `run`: the flag with a value, and the other flags that it needs in every command.
const EXAMPLES: [&str; 109] = [
    "--price 2/gpu-hour",
    "--gpus 2 --price 2/gpu-hour",
    "--price-split 4 --price 2/gpu-hour",
    "--target https://localhost:3",
    "--balance least-in-flight",
    "--session-header X-Session --workload prefix --prefix-length 4 ONE_CELL",
    "--session-cookie session --workload prefix --prefix-length 4 ONE_CELL",
    "--traceparent --header X-Test:1",
    "--abandon 10%,after=2tok",
    "--class a;rate=2;input=8;output=2",
    "--adapters a,b",
    "--dialect openai-chat",
    "--split-think tagged",
    "--endpoint /v1/x",
    "--model qwen-14b",
    "--profile a100-40g-vllm-0.2.7",
    "--speed 2",
    "--noise step=0.1",
    "--header X-Test:1",
    "--metrics-url /metrics",
    "--dcgm-url http://localhost:9400",
    "--cards 0",
    "--server-card h100-sxm",
    "--api-key-env PATH",
    "--ca-cert authority.pem",
    "--client-cert client.pem --client-key client.key",
    "--client-key client.key --client-cert client.pem",
    "--proxy none",
    "--tokenizer tokenizer.json",
    "--workload trace --dataset trace.csv",
    "--scenario summarising",
    "--range-ratio 0.1 ONE_CELL",
    "--input-distribution uniform:8..16 --output-lengths 8",
    "--output-distribution uniform:8..16 --input-lengths 8",
    "--prefix-length 4 ONE_CELL",
    "--prefix-groups 2 --workload prefix --prefix-length 4 ONE_CELL",
    "--prompts-per-group 20 --workload prefix --prefix-length 4 ONE_CELL",
    "--prefix-zipf 1 --workload prefix --prefix-length 4 ONE_CELL",
    "--warm-share 0.5 --workload prefix --prefix-length 4 ONE_CELL",
    "--columns prompt=prompt --workload jsonl --dataset rows.jsonl",
    "--output-length 4 --workload jsonl --dataset rows.jsonl",
    "--replay-rows --workload jsonl --dataset rows.jsonl",
    "--dump-workload sent.jsonl",
    "--dataset rows.jsonl --workload jsonl",
    "--trace-format plain --workload trace --dataset trace.csv",
    "--trace-window ..2s --workload trace --dataset trace.csv",
    "--trace-scale 2 --workload trace --dataset trace.csv",
    "--trace-max-tokens 100 --workload trace --dataset trace.csv",
    "--jobs 2 --workload agents --dataset agents.jsonl --concurrency 1",
    "--max-gap 1s --workload agents --dataset agents.jsonl",
    "--answers live --workload agents --dataset agents.jsonl",
    "--conversations 4 --workload conversation",
    "--turns 2 --workload conversation",
    "--think-time 1s --workload conversation",
    "--first-turn-input 8 --workload conversation",
    "--turn-input 8 --workload conversation",
    "--turn-output 8 --workload conversation",
    "--concurrency-of requests --workload conversation",
    "--input-lengths 8 --output-lengths 8",
    "--output-lengths 8 --input-lengths 8",
    "--images 2",
    "--image-size 64x64",
    "--image-kind noise",
    "--image-format png",
    "--image-files picture.gif",
    "--audio 1",
    "--audio-length 1s",
    "--audio-files sound.wav",
    "--media-reuse 50% --images 1",
    "--batch-size 2 --dialect openai-embeddings",
    "--query-length 8 --dialect rerank",
    "--temperature 0",
    "--salt a",
    "--extra-body {}",
    "--block-sizes 100 --wanted-lengths 100 --workload blocks",
    "--wanted-lengths 100 --block-sizes 100 --workload blocks",
    "--block-concurrency 2 --block-sizes 100 --wanted-lengths 100 --workload blocks",
    "--template continue-en --block-sizes 100 --wanted-lengths 100 --workload blocks",
    "--preamble a --block-sizes 100 --wanted-lengths 100 --workload blocks",
    "--max-output-tokens 100 --block-sizes 100 --wanted-lengths 100 --workload blocks",
    "--min-tokens 1 --workload sharegpt --dataset talk.json",
    "--max-prompt-tokens 512 --workload sharegpt --dataset talk.json",
    "--max-total-tokens 512 --workload sharegpt --dataset talk.json",
    "--passes saturated",
    "--one-by-one 5 --passes one_by_one",
    "--requests 40",
    "--concurrency 4",
    "--rate 4",
    "--stages 1s@2,1s@4",
    "--replay times.txt",
    "--replay-speed 2 --replay times.txt",
    "--burstiness 2",
    "--arrivals inferometer",
    "--over-limit drop --max-in-flight 4",
    "--duration 1s --concurrency 4",
    "--warmup 0",
    "--until ttft_p50±5%",
    "--max-repeats 3 --until ttft_p50±5%",
    "--slo e2e_p99<1s",
    "--budget 1m",
    "--goodput e2e<1s",
    "--store a.db",
    "--out out",
    "--plots svg",
    "--resume x",
    "--junit a.xml",
    "--metrics-listen 0",
    "--rendezvous localhost:1",
    "--token-file token",
];
/// A WAV file of one second: 16 samples of 8 bits.
const SOUND: &str = "RIFF\u{34}\0\0\0WAVEfmt \u{10}\0\0\0\u{1}\0\u{1}\0\u{10}\0\0\0\u{10}\0\0\0\
    \u{1}\0\u{8}\0data\u{10}\0\0\0abcdefghijklmnop";
/// The flags in place of the word ONE_CELL in an example.
const ONE_CELL: &str = "--input-lengths 8 --output-lengths 8";

/// For each command: flags with which the examples are tried, one after the other. The command accepts a flag if it
/// accepts the example of the flag with one of them.
const TRIED_WITH: [(&str, &[&str]); 5] = [
    ("predict", &["", "--rate 4"]),
    (
        "run",
        &[
            "--target https://localhost:1",
            "",
            "--target https://localhost:1 --rate 4",
            "--slo e2e_p99<1s",
            "--budget 1m",
        ],
    ),
    (
        "search",
        &["--tier a=e2e_p99<1s --target https://localhost:1", "--tier a=e2e_p99<1s --predict"],
    ),
    (
        "sweep",
        &["--target https://localhost:1", "--target https://localhost:1 --by rate", "--predict"],
    ),
    (
        "ab",
        &[
            "--target https://localhost:1 --target https://localhost:2 --gate e2e_p50<5%",
            "--target https://localhost:1 --rate 4",
            "--predict",
        ],
    ),
];

/// Errors that do not refuse a flag: a test has no run that could be resumed, and no terminal.
const NOT_REFUSED: [&str; 3] =
    ["inferometer.db does not exist", "no run \"x\" in inferometer.db", "is not a terminal"];

/// Writes the files that the examples name.
fn write_files(folder: &Path) {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for file in [
        "net/fixtures/tls/authority.pem",
        "net/fixtures/tls/client.pem",
        "net/fixtures/tls/client.key",
        "workload/assets/tokenizer.json",
    ] {
        let from = crates.join(file);
        fs::copy(&from, folder.join(from.file_name().expect("a name"))).expect("a copy");
    }
    let talk = r#"[{"conversations": [{"from": "human", "value": "one two three four five"},
        {"from": "gpt", "value": "six seven eight nine ten"}]}]"#;
    for (name, text) in [
        ("rows.jsonl", "{\"prompt\": \"a b c\", \"output_tokens\": 4, \"timestamp\": 0}\n"),
        ("trace.csv", "0,64,8\n1,64,8\n"),
        (
            "agents.jsonl",
            "{\"session_id\":\"a\",\"input_length\":64,\"output_length\":4,\"timestamp\":0}\n",
        ),
        ("times.txt", "0\n1\n"),
        ("talk.json", talk),
        ("picture.gif", "GIF89a\u{1}\0\u{1}\0\0\0\0"),
        ("sound.wav", SOUND),
        ("token", "a secret of all ranks"),
    ] {
        fs::write(folder.join(name), text).expect("a file");
    }
}

/// The lines of flags in the help of a command: the flag, and the placeholder of its value.
fn listed_with_values(folder: &Path, command: &str) -> Vec<(String, String)> {
    let output = inferometer(folder, &[command, "--help"]);
    let help = String::from_utf8(output.stdout).expect("text");
    let is_flag = |line: &&str| line.trim_start().starts_with('-') && !line.starts_with("       ");
    let long = |line: &str| {
        let mut words = line.split_whitespace().skip_while(|it| !it.starts_with("--"));
        Some((words.next()?.to_owned(), words.next().unwrap_or_default().to_owned()))
    };
    help.lines().filter(is_flag).filter_map(long).filter(|(flag, _)| flag != "--help").collect()
}

/// The flags that the help of a command lists.
fn listed(folder: &Path, command: &str) -> BTreeSet<String> {
    listed_with_values(folder, command).into_iter().map(|(flag, _)| flag).collect()
}

/// The examples for all flags of `run`. A flag that needs no other flag, and has a usual placeholder, needs no entry in
/// `EXAMPLES`.
fn examples(folder: &Path) -> Vec<String> {
    let simple = |(flag, placeholder): (String, String)| {
        let value = match placeholder.as_str() {
            "" => "",
            "<N>" => "2",
            "<TIME>" => "1s",
            "<SHARE>" => "5%",
            other => panic!("{flag} {other} needs an example"),
        };
        format!("{flag} {value}")
    };
    let has_entry = |flag: &str| EXAMPLES.iter().any(|it| it.split(' ').next() == Some(flag));
    let others = listed_with_values(folder, "run").into_iter().filter(|(flag, _)| !has_entry(flag));
    EXAMPLES.iter().map(|it| (*it).to_owned()).chain(others.map(simple)).collect()
}

/// Whether a command accepts the flag of an example. If not, the errors.
fn accepts(folder: &Path, command: &str, example: &str) -> Result<(), String> {
    let (_, tried_with) = TRIED_WITH.iter().find(|(name, _)| *name == command).expect("a command");
    let example = example.replace("ONE_CELL", ONE_CELL);
    let mut errors = Vec::new();
    for more in *tried_with {
        let words = example.split_whitespace().chain(more.split_whitespace());
        // A prediction sends nothing, so it has no dry run.
        let is_dry = command != "predict" && !example.starts_with("--dry-run");
        let dry = is_dry.then_some("--dry-run");
        let arguments: Vec<&str> = [command].into_iter().chain(words).chain(dry).collect();
        let output = inferometer(folder, &arguments);
        let told = told(&output);
        let code = output.status.code();
        // With exit code 3, a prediction misses an objective.
        let is_accepted = matches!(code, Some(0 | 3));
        if is_accepted || NOT_REFUSED.iter().any(|words| told.contains(words)) {
            return Ok(());
        }
        assert_eq!(code, Some(2), "{arguments:?}: {told}");
        errors.push(told);
    }
    Err(errors.concat())
}

/// What is wrong with the help of a command.
fn mistakes_in_help(folder: &Path, command: &str, examples: &[String]) -> Vec<String> {
    let listed = listed(folder, command);
    let mistake = |example: &String| {
        let flag = example.split_whitespace().next().expect("a flag");
        match (listed.contains(flag), accepts(folder, command, example)) {
            (true, Err(why)) => Some(format!("{command}: {flag} is listed but refused: {why}")),
            (false, Ok(())) => Some(format!("{command}: {flag} is accepted but not listed")),
            (true, Ok(())) | (false, Err(_)) => None,
        }
    };
    examples.iter().filter_map(mistake).collect()
}

#[test]
fn the_help_of_a_command_lists_no_flag_that_the_command_always_refuses() {
    let folder = folder();
    write_files(folder.path());
    let path = folder.path();
    let examples = &examples(path);
    let flags = examples.iter().filter_map(|example| example.split_whitespace().next());
    let flags: BTreeSet<String> = flags.map(str::to_owned).collect();
    assert_eq!(flags, listed(path, "run"), "each example is for a flag of `run`");
    let mistakes = thread::scope(|scope| {
        let tried =
            TRIED_WITH.map(|(name, _)| scope.spawn(move || mistakes_in_help(path, name, examples)));
        tried.map(|one| one.join().expect("a result")).concat()
    });
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}
