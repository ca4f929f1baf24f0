//! Translates the data set flags of `vllm bench serve` into keys of a plan.

use serde_json::{Map, Value, json};

use super::reader::Reader;
use super::target::{backend, is_chat};

/// The data sets of vLLM that are supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataSet {
    Random,
    Sharegpt,
    Custom,
    PrefixRepetition,
    TimedTrace,
}

// The names are those of vLLM.
inferometer_model::names!(DataSet {
    Random => "random", Sharegpt => "sharegpt", Custom => "custom",
    PrefixRepetition => "prefix_repetition", TimedTrace => "timed_trace",
});

impl DataSet {
    /// The data set that --dataset-name names. If it is not supported, records a mistake and returns `Random`.
    pub fn of(reader: &mut Reader<'_>) -> Self {
        let name = reader.text("--dataset-name").unwrap_or("random");
        if let Some(known) = Self::named(name) {
            return known;
        }
        let why = match name {
            "burstgpt" => {
                "vllm bench serve sends only the GPT-4 rows, in another order; use \
                 `inferometer run --workload trace --trace-format burstgpt --rate R`"
            }
            "sonnet" => {
                "the poem is not included, and vllm bench serve has removed it; `--dataset-name \
                    prefix_repetition` has prompts with a shared prefix"
            }
            "hf" => {
                "data sets of the Hugging Face hub are not read; save the rows as JSON lines with a `prompt` \
                 and use --dataset-name custom"
            }
            "random-mm" | "custom_image" | "custom_audio" => "images and audio are not measured",
            "random-rerank" => "reranking is not measured",
            "spec_bench" | "speed_bench" | "speed-bench" => {
                "this data set is not supported; save its rows as JSON lines with a `prompt` and use \
                 --dataset-name custom"
            }
            _ => "it is not one of random, sharegpt, custom, prefix_repetition, timed_trace",
        };
        reader.mistake("--dataset-name", format!("`{name}`: {why}"));
        Self::Random
    }

    /// Whether the data set states when requests arrive.
    pub fn is_self_timed(self, reader: &Reader<'_>) -> bool {
        self == Self::TimedTrace && !reader.has("--no-self-timed")
    }
}

/// Adds the keys of a plan for the workload. `requests` is the requested number of requests; returns the number that a
/// pass sends.
pub fn keys(
    reader: &mut Reader<'_>,
    dataset: DataSet,
    requests: u32,
    keys: &mut Map<String, Value>,
) -> u32 {
    let mut own = Map::new();
    let mut sent = requests;
    path(reader, dataset, &mut own);
    match dataset {
        DataSet::Random => random(reader, &mut own),
        DataSet::Sharegpt => sharegpt(reader, &mut own),
        DataSet::Custom => custom(reader, &mut own),
        DataSet::PrefixRepetition => {
            sent = prefixes(reader, requests, &mut own);
        }
        DataSet::TimedTrace => trace(reader, &mut own),
    }
    let is_endless = matches!(dataset, DataSet::Random | DataSet::TimedTrace);
    own.insert("ignore_eos".to_owned(), (is_endless || reader.has("--ignore-eos")).into());
    // With prefix repetition, the number of requests follows from the prompts per prefix.
    if dataset != DataSet::PrefixRepetition {
        own.insert("requests".to_owned(), requests.into());
    }
    if reader.has("--prompt-token-ids") {
        own.insert("token_ids".to_owned(), true.into());
    }
    keys.extend(own);
    sent
}

fn put(keys: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    keys.insert(key.to_owned(), value.into());
}

fn path(reader: &mut Reader<'_>, dataset: DataSet, keys: &mut Map<String, Value>) {
    let has_file = !matches!(dataset, DataSet::Random | DataSet::PrefixRepetition);
    match reader.text("--dataset-path") {
        Some(path) if has_file => put(keys, "dataset", path),
        Some(_) => {
            let problem = format!("--dataset-name {} reads no file", dataset.name());
            reader.mistake("--dataset-path", problem);
        }
        None if has_file => {
            let problem = format!("is missing: --dataset-name {} reads a file", dataset.name());
            reader.mistake("--dataset-path", problem);
        }
        None => {}
    }
}

/// A length in tokens. The flag `general` has precedence over the flag `own`, as in vLLM.
fn length(reader: &mut Reader<'_>, general: &str, own: &str, default: u32) -> u32 {
    let own = reader.count(own);
    reader.count(general).or(own).unwrap_or(default)
}

fn random(reader: &mut Reader<'_>, keys: &mut Map<String, Value>) {
    put(keys, "workload", "random");
    let input = length(reader, "--input-len", "--random-input-len", 1_024);
    let output = length(reader, "--output-len", "--random-output-len", 128);
    let tokens = "a whole number of tokens";
    let prefix: u32 = reader.number("--random-prefix-len", tokens, |_| true).unwrap_or(0);
    if prefix > 0 {
        put(keys, "prefix_length", prefix);
    }
    let (of_input, of_output) = range_ratio(reader);
    if of_input == of_output {
        if of_input > 0.0 {
            put(keys, "range_ratio", of_input);
        }
        put(keys, "input_lengths", json!([input.saturating_add(prefix)]));
        put(keys, "output_lengths", json!([output]));
        return;
    }
    for (length, ratio, before, lengths, distribution) in [
        (input, of_input, prefix, "input_lengths", "input_distribution"),
        (output, of_output, 0, "output_lengths", "output_distribution"),
    ] {
        if ratio > 0.0 {
            let least = (f64::from(length) * (1.0 - ratio)).floor();
            let most = (f64::from(length) * (1.0 + ratio)).ceil();
            put(keys, distribution, format!("uniform:{least}..{most}"));
        } else {
            put(keys, lengths, json!([length.saturating_add(before)]));
        }
    }
}

/// The shares by which input and output lengths vary, each from 0 to below 1. The flag --random-range-ratio has one
/// number for both, or a JSON object with one number for each.
fn range_ratio(reader: &mut Reader<'_>) -> (f64, f64) {
    let Some(text) = reader.text("--random-range-ratio") else { return (0.0, 0.0) };
    let both = match serde_json::from_str(text) {
        Ok(Value::Number(ratio)) => ratio.as_f64().map(|ratio| (ratio, ratio)),
        Ok(Value::Object(shares)) => {
            let of = |name| shares.get(name).map_or(Some(0.0), Value::as_f64);
            let is_known = shares.keys().all(|name| name == "input" || name == "output");
            of("input").zip(of("output")).filter(|_| is_known)
        }
        _ => None,
    };
    let is_share = |ratio: f64| (0.0..1.0).contains(&ratio);
    match both {
        Some((input, output)) if is_share(input) && is_share(output) => (input, output),
        _ => {
            let problem = format!(
                "`{text}` is neither a share from 0 to below 1, nor an object such as {{\"input\": \
                 0.3, \"output\": 0.5}}"
            );
            reader.mistake("--random-range-ratio", problem);
            (0.0, 0.0)
        }
    }
}

fn sharegpt(reader: &mut Reader<'_>, keys: &mut Map<String, Value>) {
    put(keys, "workload", "sharegpt");
    unused(reader, "--input-len");
    let own = reader.count("--sharegpt-output-len");
    if let Some(length) = reader.count("--output-len").or(own) {
        put(keys, "output_length", length);
    }
}

/// A value of the plan key `columns`. It reads `output_tokens` from a column that no row has, so all rows get the
/// output length of the flag, as in vLLM. A finding states that the file's own `output_tokens` are not used.
const NO_COLUMN: &str = "output_tokens=(none)";

fn custom(reader: &mut Reader<'_>, keys: &mut Map<String, Value>) {
    put(keys, "workload", "jsonl");
    unused(reader, "--input-len");
    let is_length = "a whole number of at least 1, or -1 for the rows' own `output_tokens`";
    let is_taken = |length: &i64| *length == -1 || (1..=i64::from(u32::MAX)).contains(length);
    let own = reader.number("--custom-output-len", is_length, is_taken);
    let general = reader.number("--output-len", is_length, is_taken);
    let length = general.or(own).unwrap_or(256);
    if length > 0 {
        put(keys, "output_length", length);
        put(keys, "columns", NO_COLUMN);
    }
    if !reader.has("--skip-chat-template") && !is_chat(backend(reader)) {
        reader.mistake(
            "--dataset-name",
            "`custom`: vllm bench serve puts the model's chat template around each prompt. Here, the \
             server does this with --backend openai-chat --endpoint /v1/chat/completions; give \
             these flags, or --skip-chat-template to send prompts as they are",
        );
    }
    if !reader.has("--skip-chat-template") && is_chat(backend(reader)) {
        reader.note(
            "--backend",
            "openai-chat: the server puts the chat template around a prompt, once; vllm bench \
             serve also applies it before sending",
        );
    }
}

/// Adds the keys for prompts with shared prefixes. Returns the number of requests that are sent, a multiple of the
/// number of prefixes.
fn prefixes(reader: &mut Reader<'_>, requests: u32, keys: &mut Map<String, Value>) -> u32 {
    put(keys, "workload", "prefix");
    unused(reader, "--input-len");
    let mut or = |flag, default| reader.count(flag).unwrap_or(default);
    let prefix = or("--prefix-repetition-prefix-len", 256);
    let suffix = or("--prefix-repetition-suffix-len", 256);
    let groups = or("--prefix-repetition-num-prefixes", 10);
    let output = length(reader, "--output-len", "--prefix-repetition-output-len", 128);
    let each = requests / groups;
    if each == 0 {
        let problem = format!("is below --prefix-repetition-num-prefixes, which is {groups}");
        reader.mistake("--num-prompts", problem);
    } else if !requests.is_multiple_of(groups) {
        let note =
            format!("{} requests are sent, as in vLLM: {each} of each prefix", each * groups);
        reader.note("--num-prompts", note);
    }
    put(keys, "input_lengths", json!([prefix.saturating_add(suffix)]));
    put(keys, "output_lengths", json!([output]));
    put(keys, "prefix_length", prefix);
    put(keys, "prefix_groups", groups);
    put(keys, "prompts_per_group", each);
    each * groups
}

fn trace(reader: &mut Reader<'_>, keys: &mut Map<String, Value>) {
    put(keys, "workload", "trace");
    unused(reader, "--input-len");
    unused(reader, "--output-len");
    let block = reader.count("--timed-trace-chunk-hash-size").unwrap_or(16);
    let factor = reader
        .number("--timed-trace-sec-multiplier", "a number", |factor: &f64| factor.is_finite());
    let format = match factor {
        Some(0.001) => "mooncake",
        Some(1.0) => "bailian",
        // The rows show the unit of their times, and the report states it.
        None => "auto",
        Some(_) => {
            let problem = "give 0.001 for times in milliseconds, or 1 for times in seconds";
            reader.mistake("--timed-trace-sec-multiplier", problem);
            "auto"
        }
    };
    put(keys, "trace_format", format!("{format}:{block}"));
}

/// Records a note that a flag has no effect with this data set.
fn unused(reader: &mut Reader<'_>, flag: &str) {
    if reader.has(flag) {
        reader.note(flag, "has no effect with this data set, as in vLLM");
    }
}
